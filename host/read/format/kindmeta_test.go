package format

import (
	"bytes"
	"encoding/binary"
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

func TestRoundTripKinds(t *testing.T) {
	list := others(t)
	list[99] = someSWAG(t, posterior.ScaleSoftplus)
	for _, p := range list {
		p.Source.Note, p.Input.FeaturesOf = "a note", "a backbone"
		for ext, write := range writers {
			var one, two bytes.Buffer
			for _, b := range []*bytes.Buffer{&one, &two} {
				if err := write(b, p); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(one.Bytes(), two.Bytes()) {
				t.Errorf("%v %s: the same posterior gave different bytes", p.Kind, ext)
			}
			got, _, err := readBytes(t, one.Bytes(), Options{Activations: []network.Activation{{Kind: network.Tanh}}})
			if err != nil {
				t.Errorf("%v %s: %v", p.Kind, ext, err)
				continue
			}
			if got.Source.Note != "a note" {
				t.Errorf("%v %s: source %+v", p.Kind, ext, got.Source)
			}
			got.Source = p.Source
			if !reflect.DeepEqual(got, p) {
				t.Errorf("%v %s: got %+v, want %+v", p.Kind, ext, got, p)
			}
		}
	}
}

// A gaussian may say so.
func TestReadKindGaussian(t *testing.T) {
	p, _, err := readBytes(t, npz(t, strings.Replace(goodMeta, `"scale"`, `"kind":"gaussian","scale"`, 1), goodArrays()), Options{})
	if err != nil || p.Kind != posterior.KindGaussian || !p.Independent() {
		t.Errorf("%+v, %v", p, err)
	}
}

// kindFile is a psafe .npz of a 2-1 network in parts, to be spoilt.
type kindFile struct {
	meta   string
	arrays map[string]*npy.Array
}

func single(shape []int, data ...float64) *npy.Array {
	return &npy.Array{Shape: shape, Data: data, DType: "<f4"}
}

// kindFiles gives a good file of each kind.
func kindFiles() map[posterior.Kind]*kindFile {
	head := func(fields, layer string) string {
		return `{"format":"psafe-posterior","version":1,` + fields + `,"layout":"in,out","layers":[{"kind":"dense","activation":"identity","in":2,"out":1` + layer + `}]}`
	}
	return map[posterior.Kind]*kindFile{
		posterior.KindFinite: {head(`"kind":"samples","counts":[2,1,4]`, ""), map[string]*npy.Array{
			"layers.0.weight.samples": single([]int{3, 2, 1}, 1, 2, 3, 4, 5, 6),
			"layers.0.bias.samples":   single([]int{3, 1}, 7, 8, 9),
		}},
		posterior.KindSWAG: {head(`"kind":"swag","scale":"variance","rank":2`, ""), map[string]*npy.Array{
			"layers.0.weight.mean": single([]int{2, 1}, 1, 2), "layers.0.weight.scale": single([]int{2, 1}, 4, 0),
			"layers.0.weight.deviations": single([]int{2, 2, 1}, 1, 2, 3, 4),
			"layers.0.bias.mean":         single([]int{1}, 3), "layers.0.bias.scale": single([]int{1}, 9),
			"layers.0.bias.deviations": single([]int{2, 1}, 5, 6),
		}},
		posterior.KindDropout: {head(`"kind":"dropout"`, `,"rate":0.5`), map[string]*npy.Array{
			"layers.0.weight.mean": single([]int{2, 1}, 1, 2), "layers.0.bias.mean": single([]int{1}, 3),
		}},
	}
}

func TestReadKinds(t *testing.T) {
	got := ""
	for _, kind := range []posterior.Kind{posterior.KindFinite, posterior.KindSWAG, posterior.KindDropout} {
		f := kindFiles()[kind]
		p, _, err := readBytes(t, npz(t, f.meta, f.arrays), Options{})
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case posterior.KindFinite:
			got += fmt.Sprint(p.Finite().Counts, p.Finite().Weights(1), p.Scale)
		case posterior.KindSWAG:
			got += fmt.Sprint(p.SWAG().Rank, p.SWAG().Sd, p.SWAG().Deviation, p.Layers[0].Bias.Mean, p.Scale)
		case posterior.KindDropout:
			got += fmt.Sprint(p.Dropout(), p.Layers[0].Weight.Mean, p.Layers[0].Bias.Mean, p.Scale)
		}
	}
	if want := "[2 1 4] [[3 4] [8]] unknown" + "2 [[2 0] [3]] [[1 2 3 4] [5 6]] [3] variance" + "[0.5] [1 2] [3] unknown"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every matrix of a stack is turned, from torch's layout.
func TestReadTorchStack(t *testing.T) {
	f := kindFiles()[posterior.KindFinite]
	meta := strings.NewReplacer("in,out", "out,in", `"out":1`, `"out":3`, "[2,1,4]", "[1,1]").Replace(f.meta)
	arrays := map[string]*npy.Array{
		"layers.0.weight.samples": single([]int{2, 3, 2}, 11, 12, 21, 22, 31, 32, -11, -12, -21, -22, -31, -32),
		"layers.0.bias.samples":   single([]int{2, 3}, 1, 2, 3, 4, 5, 6),
	}
	p, _, err := readBytes(t, npz(t, meta, arrays), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Finite().Weights(0), p.Finite().Weights(1)); got != "[[11 21 31 12 22 32] [1 2 3]] [[-11 -21 -31 -12 -22 -32] [4 5 6]]" {
		t.Errorf("got %s", got)
	}
}

func TestReadKindErrors(t *testing.T) {
	tests := []struct {
		kind           posterior.Kind
		old, new, want string
	}{
		{posterior.KindFinite, `"samples"`, `"hmc"`, `kind "hmc" is none of gaussian, samples, swag, dropout`},
		{posterior.KindFinite, `"samples"`, `"Samples"`, `kind "Samples"`},
		{posterior.KindFinite, `"kind":"samples",`, ``, `field "counts" does not belong to a posterior of kind gaussian`},
		{posterior.KindFinite, `"counts":[2,1,4],`, `"scale":"sd","counts":[2,1,4],`, `field "scale" does not belong`},
		{posterior.KindFinite, `,"counts":[2,1,4]`, ``, `field "counts" is missing`},
		{posterior.KindFinite, `[2,1,4]`, `null`, `field "counts" is missing`},
		{posterior.KindFinite, `[2,1,4]`, `[]`, `has shape [3 2 1], the header says [0 2 1]`},
		{posterior.KindFinite, `[2,1,4]`, `[2,1]`, `has shape [3 2 1], the header says [2 2 1]`},
		{posterior.KindFinite, `[2,1,4]`, `[2,0,4]`, "sample 1 has count 0: counts are whole numbers from 1"},
		{posterior.KindFinite, `[2,1,4]`, `[2,-1,4]`, "sample 1 has count -1"},
		{posterior.KindFinite, `[2,1,4]`, `[2,1.5,4]`, "holds a number 1.5, where it takes a whole number"},
		{posterior.KindFinite, `[2,1,4]`, `[2,9223372036854775808,4]`, "where it takes"},
		{posterior.KindFinite, `[2,1,4]`, `[2,9007199254740992,4]`, "up to sample 1 add up to more than 2^53"},
		{posterior.KindFinite, `[2,1,4]`, `[9223372036854775807,9223372036854775807,9223372036854775807]`, "up to sample 0 add up"},
		{posterior.KindFinite, `[2,1,4]`, `"2,1,4"`, "where it takes"},
		{posterior.KindFinite, `"out":1`, `"out":1,"rate":0.5`, `layer 0: field "rate" does not belong`},
		{posterior.KindDropout, `"dropout"`, `"dropout","draws_of":"gaussian"`, `field "draws_of" does not belong`},
		{posterior.KindSWAG, `,"rank":2`, ``, `field "rank" is missing`},
		{posterior.KindSWAG, `"rank":2`, `"rank":2,"counts":[1]`, `field "counts" does not belong`},
		{posterior.KindSWAG, `"rank":2`, `"rank":3`, "the header says [3 2 1]"},
		{posterior.KindSWAG, `"rank":2`, `"rank":-1`, "the header says [-1 2 1]"},
		{posterior.KindSWAG, `"rank":2`, `"rank":99999999999999999`, "the header says [99999999999999999 2 1]"},
		{posterior.KindSWAG, `"scale":"variance",`, ``, `scale "" is none of`},
		{posterior.KindDropout, `,"rate":0.5`, ``, `layer 0: field "rate" is missing`},
		{posterior.KindDropout, `"rate":0.5`, `"rate":1`, "layer 0: dropout rate 1 is not in [0, 1)"},
		{posterior.KindDropout, `"rate":0.5`, `"rate":-0.5`, "layer 0: dropout rate -0.5 is not in [0, 1)"},
		{posterior.KindDropout, `"rate":0.5`, `"rate":"0.5"`, "where it takes"},
		{posterior.KindDropout, `"rate":0.5`, `"rate":1e999`, "where it takes"},
		{posterior.KindDropout, `"dropout"`, `"dropout","rate":0.5`, `unknown field "rate"`},
		{posterior.KindDropout, `"dropout"`, `"dropout","rank":3`, `field "rank" does not belong`},
		{posterior.KindDropout, `"dropout"`, `"samples","counts":[1]`, `field "rate" does not belong`},
	}
	for _, test := range tests {
		f := kindFiles()[test.kind]
		if !strings.Contains(f.meta, test.old) {
			t.Fatalf("no %q in the header of %v", test.old, test.kind)
		}
		_, path, err := readBytes(t, npz(t, strings.Replace(f.meta, test.old, test.new, 1), f.arrays), Options{})
		wantError(t, test.new, err, path, test.want)
	}
}

func TestReadKindArrayErrors(t *testing.T) {
	tests := []struct {
		kind   posterior.Kind
		name   string
		change *npy.Array // nil takes the array out
		want   string
	}{
		{posterior.KindFinite, "layers.0.bias.samples", nil, `array "layers.0.bias.samples" is missing`},
		{posterior.KindFinite, "layers.0.bias.mean", single([]int{1}, 0), `array "layers.0.bias.mean" belongs to none`},
		{posterior.KindFinite, "layers.0.bias.samples", single([]int{1, 3}, 1, 2, 3), "has shape [1 3], the header says [3 1]"},
		{posterior.KindFinite, "layers.0.weight.samples", single([]int{3, 2, 1}, 1, 2, 3, math.NaN(), 5, 6), "layer 0 weight: sample 1: entry 1 is NaN"},
		{posterior.KindFinite, "layers.0.weight.samples", single([]int{3, 1, 2}, 1, 2, 3, 4, 5, 6), "has shape [3 1 2]"},
		{posterior.KindSWAG, "layers.0.bias.deviations", single([]int{2, 1}, 1, math.Inf(1)), "layer 0 bias: deviation 1: entry 0 is +Inf"},
		{posterior.KindSWAG, "layers.0.weight.scale", single([]int{2, 1}, 1, -1), "layer 0 weight: standard deviation[1] is NaN (stored -1)"},
		{posterior.KindSWAG, "layers.0.weight.mean", single([]int{2, 1}, math.NaN(), 1), "layer 0 weight: mean[0] is NaN"},
		{posterior.KindDropout, "layers.0.weight.scale", single([]int{2, 1}, 1, 1), `array "layers.0.weight.scale" belongs to none`},
		{posterior.KindDropout, "layers.0.bias.mean", single([]int{1}, math.Inf(-1)), "layer 0 bias: mean[0] is -Inf"},
	}
	for _, test := range tests {
		f := kindFiles()[test.kind]
		f.arrays[test.name] = test.change
		if test.change == nil {
			delete(f.arrays, test.name)
		}
		_, path, err := readBytes(t, npz(t, f.meta, f.arrays), Options{})
		wantError(t, test.name, err, path, test.want)
	}
	for kind, f := range kindFiles() {
		_, path, err := readBytes(t, npz(t, f.meta, f.arrays), Options{Scale: posterior.ScaleSD})
		want := fmt.Sprintf("kind %v, which has no spread: drop --scale sd", kind)
		if kind == posterior.KindSWAG {
			want = "the file says its spread is variance"
		}
		wantError(t, "option", err, path, want)
	}
}

// A small file can neither claim a large stack nor make a large header.
func TestReadKindHostile(t *testing.T) {
	f := kindFiles()[posterior.KindFinite]
	meta := strings.Replace(f.meta, "[2,1,4]", "[1"+strings.Repeat(",1", maxMeta/2)+"]", 1)
	_, path, err := readBytes(t, npz(t, meta, f.arrays), Options{})
	wantError(t, "million counts", err, path, "at most 4194304 are allowed")

	claim := strings.Replace(goodTensors, `"shape":[2,1]`, `"shape":[4611686018427387904,2,1]`, 1)
	_, path, err = readBytes(t, tensors(safetensorsHeaderText(claim), goodData()), Options{})
	wantError(t, "stack of 2^62", err, path, "needs more than")

	// Samples without weights: 2^60 of them need no bytes.
	empty := &npy.Array{Shape: []int{1 << 60, 0, 1}, DType: "<f4"}
	zero := strings.NewReplacer("[2,1,4]", "[1]", `"in":2`, `"in":0`).Replace(f.meta)
	file, err := npy.Encode(empty)
	if err != nil {
		t.Fatal(err)
	}
	text, err := npy.Encode(&npy.Array{Shape: []int{len(zero)}, Data: bytesAsFloats(zero), DType: "|u1"})
	if err != nil {
		t.Fatal(err)
	}
	_, path, err = readBytes(t, zipOf(t, "__meta__.npy", text, "layers.0.weight.samples.npy", file), Options{})
	wantError(t, "2^60 empty samples", err, path, "the header says [1 0 1]")
}

func bytesAsFloats(text string) []float64 {
	list := make([]float64, len(text))
	for i := range list {
		list[i] = float64(text[i])
	}
	return list
}

// No prefix of a file of any kind is a posterior.
func TestReadKindsCutOff(t *testing.T) {
	for kind, p := range others(t) {
		for ext, write := range writers {
			var b bytes.Buffer
			if err := write(&b, p); err != nil {
				t.Fatal(err)
			}
			for n := range b.Len() {
				if _, err := parse(held(b.Bytes()[:n])); err == nil || strings.Contains(err.Error(), "\n") {
					t.Fatalf("%v %s, first %d of %d bytes: error %v", kind, ext, n, b.Len(), err)
				}
			}
		}
	}
}

// A header of any length is read as far as there are bytes.
func FuzzKinds(f *testing.F) {
	for kind, file := range kindFiles() {
		var data []byte
		for _, name := range sortedKeys(file.arrays) {
			for _, v := range file.arrays[name].Data {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
			}
		}
		f.Add(int(kind), file.meta, data)
		// From 10 on there are a mean and a standard deviation of inputs too, and references;
		// in the order of the names those two come first.
		two := slices.Concat(make([]byte, 4), []byte("\x00\x00\x80\x3f\x00\x00\x80\x3f"), data)
		f.Add(10+int(kind), file.meta, two)
	}
	f.Fuzz(func(t *testing.T, kind int, meta string, data []byte) {
		file, ok := kindFiles()[posterior.Kind(kind%10)]
		if !ok {
			return
		}
		if kind >= 10 {
			for name, shape := range map[string][]int{"input.mean": {1}, "input.std": {2}, "reference.inputs": {2, 2}, "reference.logits": {2, 1}, "reference.spread": {1, 2}} {
				if name == "reference.spread" && kind%20 < 10 {
					continue
				}
				file.arrays[name] = single(shape, make([]float64, shape[0]*append(shape, 1)[1])...)
			}
		}
		for _, name := range sortedKeys(file.arrays) {
			for i := range file.arrays[name].Data {
				if len(data) >= 4 {
					file.arrays[name].Data[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
					data = data[4:]
				}
			}
		}
		n, err := parse(held(npz(t, meta, file.arrays)))
		var p *posterior.Posterior
		if err == nil {
			p, err = n.assemble(Options{Scale: n.scale})
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		p.Draw(1, 2, p.NewWeights())
		var b bytes.Buffer
		if err := WriteNPZ(&b, p); err != nil {
			t.Fatal(err)
		}
	})
}
