package format

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// perArray is a posterior whose arrays have spreads of different scales, or none, and whose
// last layer has no bias.
func perArray(t testing.TB) *posterior.Posterior {
	t.Helper()
	eps, err := posterior.ParseScale("softplus:1.1920928955078125e-07")
	if err != nil {
		t.Fatal(err)
	}
	minusInf := math.Inf(-1)
	return &posterior.Posterior{Scale: eps, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(2, 2, network.Activation{Kind: network.Tanh}), Weight: posterior.NewParams([]float64{1, 2, 3, 4}, []float64{0, -1, -2, minusInf}, eps),
			Bias: posterior.NewParams([]float64{5, 6}, []float64{0, 0}, posterior.ScaleNone)},
		{Layer: network.DenseLayer(2, 3, network.Activation{Kind: network.Tanh}), Weight: posterior.NewParams([]float64{1, 2, 3, 4, 5, 6}, make([]float64, 6), posterior.ScaleNone),
			Bias: posterior.NewParams([]float64{7, 8, 9}, []float64{-1, minusInf, 0}, posterior.ScaleLogVariance)},
		{Layer: network.DenseLayer(3, 1, network.Activation{}), NoBias: true, Weight: posterior.NewParams([]float64{1, 2, 3}, []float64{-3, -4, -5}, posterior.ScaleLogSD),
			Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleNone)},
	}}
}

func TestRoundTripPerArray(t *testing.T) {
	p := perArray(t)
	for ext, write := range writers {
		var one, two bytes.Buffer
		if err := write(&one, p); err != nil {
			t.Fatal(err)
		}
		got, _, err := readBytes(t, one.Bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Scale != p.Scale || got.ScaleList() != "softplus:1.1920928955078125e-07,none,log_variance,log_sd" || !reflect.DeepEqual(got.Layers, p.Layers) {
			t.Errorf("%s: got %s %+v, want %+v", ext, got.ScaleList(), got.Layers, p.Layers)
		}
		if err := write(&two, got); err != nil || (ext == ".npz") != bytes.Contains(two.Bytes(), []byte(`"weight_scale":"none","bias_scale":"log_variance"`)) {
			t.Errorf("%s: %v, the header is %.600s", ext, err, two.Bytes())
		}
		for _, absent := range []string{"layers.0.bias.scale", "layers.1.weight.scale", "layers.2.bias.mean", "layers.2.bias.scale"} {
			if bytes.Contains(one.Bytes(), []byte(absent)) {
				t.Errorf("%s: %s was written", ext, absent)
			}
		}
	}
	// A bias that is not 0 is written, whatever the layer says.
	p.Layers[2].Bias.Mean[0] = 1
	for ext, q := range rewritten(t, p) {
		if q.Layers[2].NoBias || q.Layers[2].Bias.Mean[0] != 1 {
			t.Errorf("%s: the bias is lost", ext)
		}
	}
}

// The other kinds may have layers without a bias.
func TestRoundTripNoBias(t *testing.T) {
	for kind, p := range others(t) {
		p.Layers[0].NoBias = true
		for ext, q := range rewritten(t, p) {
			if q.Layers[0].NoBias {
				t.Errorf("%v %s: a bias was dropped that is not 0", kind, ext)
			}
		}
		for _, part := range parts(kind) {
			if part.bias {
				clear(part.data(p, 0))
			}
		}
		clear(p.Layers[0].Bias.Mean)
		if swag := p.SWAG(); swag != nil {
			clear(swag.Sd[1])
		}
		for ext, q := range rewritten(t, p) {
			q.Source = p.Source
			if !q.Layers[0].NoBias || !reflect.DeepEqual(q, p) {
				t.Errorf("%v %s: got %+v, want %+v", kind, ext, q, p)
			}
		}
	}
}

// TestSWAGWithoutBias: a bias that is not there is not random, though softplus(0) and exp(0)
// are not 0.
func TestSWAGWithoutBias(t *testing.T) {
	for _, scale := range []string{"sd", "variance", "softplus", "softplus:0.5", "log_sd", "log_variance"} {
		text := `{"format": "psafe-posterior", "version": 1, "kind": "swag", "rank": 2, "scale": "` + scale + `", "layout": "in,out",
			"layers": [{"kind": "dense", "activation": "identity", "in": 1, "out": 1, "bias": false}]}`
		one := &npy.Array{Shape: []int{1, 1}, Data: []float64{1}, DType: "<f8"}
		arrays := map[string]*npy.Array{"layers.0.weight.mean": one, "layers.0.weight.scale": one,
			"layers.0.weight.deviations": {Shape: []int{2, 1, 1}, Data: []float64{1, -1}, DType: "<f8"}}
		p, _, err := readBytes(t, npz(t, text, arrays), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if swag := p.SWAG(); swag.Sd[1][0] != 0 || swag.Sd[0][0] == 0 {
			t.Errorf("%s: the standard deviations are %v", scale, swag.Sd)
		}
		for ext, q := range rewritten(t, p) {
			if q.Source = p.Source; !reflect.DeepEqual(q, p) {
				t.Errorf("%s %s: got %+v, want %+v", scale, ext, q, p)
			}
		}
	}
}

func TestReadPerArrayErrors(t *testing.T) {
	out := func(fields string) string { return strings.Replace(goodMeta, `"out":1`, `"out":1,`+fields, 1) }
	without := func(names ...string) map[string]*npy.Array {
		return with(func(a map[string]*npy.Array) {
			for _, name := range names {
				delete(a, name)
			}
		})
	}
	if p, _, err := readBytes(t, npz(t, out(`"bias":true`), goodArrays()), Options{}); err != nil || p.Layers[0].NoBias {
		t.Errorf("bias is true: %v", err)
	}
	if p, _, err := readBytes(t, npz(t, out(`"bias":false`), without("layers.0.bias.mean", "layers.0.bias.scale")), Options{Scale: posterior.ScaleSD}); err != nil || !p.Layers[0].NoBias || p.ScaleList() != "sd,none" {
		t.Errorf("bias is false: %v", err)
	}
	// A weight (0, out) takes no room in the file.
	empty := func(out int) string {
		return strings.NewReplacer(`"in":2,"out":1`, fmt.Sprintf(`"in":0,"out":%d,"bias":false`, out)).Replace(goodMeta)
	}
	wide := func(out int) map[string]*npy.Array {
		return map[string]*npy.Array{"layers.0.weight.mean": {Shape: []int{0, out}, DType: "<f4"}, "layers.0.weight.scale": {Shape: []int{0, out}, DType: "<f4"}}
	}
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"no such scale", `layer 0: weight_scale: scale "std" is none of sd, variance`, npz(t, out(`"weight_scale":"std"`), goodArrays())},
		{"none, but there is one", `array "layers.0.bias.scale" belongs to none`, npz(t, out(`"bias_scale":"none"`), goodArrays())},
		{"no bias, but there is one", `array "layers.0.bias.mean" belongs to none`, npz(t, out(`"bias":false`), goodArrays())},
		{"no bias, but a scale", `layer 0: bias is false, so there is nothing for bias_scale "none"`, npz(t, out(`"bias":false,"bias_scale":"none"`), goodArrays())},
		{"bias is a word", `where it takes`, npz(t, out(`"bias":"no"`), goodArrays())},
		{"missing", `array "layers.0.weight.scale" is missing`, npz(t, out(`"bias_scale":"none"`), without("layers.0.weight.scale", "layers.0.bias.scale"))},
		{"none for the file", `scale "none" is none of`, npz(t, strings.Replace(goodMeta, `"sd"`, `"none"`, 1), goodArrays())},
		// What is not in the file takes memory all the same.
		{"zeros without end", "more than", npz(t, empty(math.MaxInt64), wide(math.MaxInt64))},
		{"a billion zeros", "in a file of", npz(t, empty(1e9), wide(1e9))},
	}
	for _, test := range tests {
		_, path, err := readBytes(t, test.file, Options{})
		wantError(t, test.name, err, path, test.want)
	}
	for _, p := range others(t) {
		var b bytes.Buffer
		if err := WriteNPZ(&b, p); err != nil {
			t.Fatal(err)
		}
		// Of the same length, so that the zip is still one but for its sum.
		header, list, err := encode(p)
		if err != nil {
			t.Fatal(err)
		}
		arrays := map[string]*npy.Array{}
		for _, a := range list {
			arrays[a.Name] = a.Array
		}
		_, path, err := readBytes(t, npz(t, strings.Replace(string(header), `"in":3`, `"in":3,"bias_scale":"sd"`, 1), arrays), Options{})
		wantError(t, p.Kind.String(), err, path, `layer 0: field "bias_scale" does not belong`)
	}
}

// Widening, drawing and taking the mean network leave a bias that is not there at 0.
func TestNoBiasStays(t *testing.T) {
	p := perArray(t)
	if err := p.Widen(2, 2); err != nil {
		t.Fatal(err)
	}
	w := p.NewWeights()
	p.Draw(1, 0, w)
	if !slices.Equal(w[5], []float64{0}) || !slices.Equal(w[3], p.Layers[1].Bias.Mean) == (p.Layers[1].Bias.SdHi[0] == 0) {
		t.Errorf("drawn: %v", w)
	}
	if q := p.AtMean(); !q.Layers[2].NoBias || q.Validate() != nil || q.ScaleList() != "sd" {
		t.Errorf("%+v", q)
	}
}
