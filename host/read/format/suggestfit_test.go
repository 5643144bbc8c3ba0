package format

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// convState is a state_dict of two convolutions, a batch norm and a dense layer, of images of
// 1 x 8 x 8, and the map that it was made for, with as many pools as it has "POOL".
func convState(r *rand.Rand) (list []raw, text string) {
	for _, a := range []struct {
		name  string
		shape []int
	}{
		{"conv1.weight_mu", []int{3, 1, 3, 3}}, {"conv1.weight_rho", []int{3, 1, 3, 3}}, {"conv1.bias_mu", []int{3}}, {"conv1.bias_rho", []int{3}},
		{"bn1.weight", []int{3}}, {"bn1.bias", []int{3}}, {"bn1.running_mean", []int{3}}, {"bn1.running_var", []int{3}},
		{"conv2.weight", []int{4, 3, 3, 3}}, {"fc.weight", []int{5, 64}}, {"fc.bias", []int{5}},
	} {
		n := 1
		for _, d := range a.shape {
			n *= d
		}
		data := make([]float64, n)
		for i := range data {
			data[i] = float64(float32(r.NormFloat64() / 2))
			if strings.Contains(a.name, "var") {
				data[i] = float64(float32(1 + r.Float64()))
			}
		}
		list = append(list, raw{a.name, a.shape, data})
	}
	return list, `{"scale": "softplus", "layout": "out,in", "order": "channels_first", "input_shape": [1, 8, 8], "layers": [
		{"kind": "conv2d", "activation": "identity", "padding": [[1, 1], [1, 1]], "weight": {"mean": "conv1.weight_mu", "spread": "conv1.weight_rho"}, "bias": {"mean": "conv1.bias_mu", "spread": "conv1.bias_rho"}},
		{"kind": "batch_norm", "activation": "leaky_relu:0.1", "weight": {"mean": "bn1.weight", "scale": "none"}, "bias": {"mean": "bn1.bias", "scale": "none"}, "running_mean": "bn1.running_mean", "running_variance": "bn1.running_var", "eps": 1e-5},
		{"kind": "POOL", "kernel": [2, 2]},
		{"kind": "conv2d", "activation": "leaky_relu:0.1", "padding": [[1, 1], [1, 1]], "weight": {"mean": "conv2.weight", "scale": "none"}},
		{"kind": "flatten"},
		{"activation": "identity", "weight": {"mean": "fc.weight", "scale": "none"}, "bias": {"mean": "fc.bias", "scale": "none"}}]}`
}

// TestImportReferences: a map is held to logits in a file of their own, --suggest finds what they
// tell, and a wrong pool is refused by name.
func TestImportReferences(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	list, text := convState(r)
	weights := write("w.npz", rawNPZ(list, "<f4"))
	for _, pool := range []string{"max_pool", "avg_pool"} {
		good := write("map.json", []byte(strings.Replace(text, "POOL", pool, 1)))
		p, err := Import(weights, good, "")
		if err != nil {
			t.Fatal(err)
		}
		const n = 6
		inputs, logits := raw{"inputs", []int{n, 1, 8, 8}, nil}, raw{"logits", []int{n, 5}, nil}
		for range n {
			x := make([]float64, 64)
			for j := range x {
				x[j] = float64(float32(r.Float64()))
			}
			z := make([]float64, 64)
			for j := range z { // the framework normalises
				z[j] = (x[j] - 0.25) / 0.5
			}
			inputs.data = append(inputs.data, x...)
			logits.data = append(logits.data, p.Network().OutputsApprox(p.Mean(), z)...)
		}
		all := []raw{inputs, logits, {"mean", []int{1}, []float64{0.25}}, {"std", []int{1}, []float64{0.5}}}
		points := write("points.npz", rawNPZ(all, "<f8"))
		if p, err = Import(weights, good, points); err != nil || p.References() != n || p.Input.Std[0] != 0.5 || len(p.Input.Shape) != 3 {
			t.Fatalf("%v: %+v", err, p)
		}
		other := map[string]string{"max_pool": "avg_pool", "avg_pool": "max_pool"}[pool]
		bad := write("bad.json", []byte(strings.Replace(text, "POOL", other, 1)))
		_, err = Import(weights, bad, points)
		wantError(t, other, err, bad+": it does not give what "+points+" says: reference.logits", "write kind "+pool)
		_, err = Import(weights, good, write("raw.npz", rawNPZ(all[:2], "<f8")))
		wantError(t, "no normalisation", err, good, "reference.logits")

		suggested, notes, err := Suggest(weights, points)
		if err != nil || !strings.Contains(strings.Join(notes, "; "), "were found by trying") {
			t.Fatalf("%v, notes %q:\n%s", err, notes, suggested)
		}
		if p, err = Import(weights, write("found.json", suggested), points); err != nil || !strings.Contains(string(suggested), pool) {
			t.Fatalf("%v: %+v\n%s", err, p, suggested)
		}
		for i := range logits.data { // of nothing
			logits.data[i] += float64(i % 7)
		}
		suggested, notes, err = Suggest(weights, write("nothing.npz", rawNPZ(all, "<f8")))
		if err != nil || !strings.Contains(strings.Join(notes, "; "), "usual combinations of activations, paddings, pools and sums gives the logits") || !strings.Contains(string(suggested), toFill) {
			t.Fatalf("%v, notes %q:\n%s", err, notes, suggested)
		}
		for name, list := range map[string][]raw{
			`there is no array "logits"`:                           {inputs},
			`array "labels" is none of inputs, logits, mean`:       {inputs, logits, {"labels", []int{1}, []float64{1}}},
			`"logits" has shape [6 4]: the network of the map has`: {inputs, {"logits", []int{n, 4}, logits.data[:4*n]}},
			`array "reference.logits" is there twice`:              {inputs, logits, {"reference.logits", []int{n, 5}, logits.data}},
		} {
			path := write("wrong.npz", rawNPZ(list, "<f8"))
			_, err := Import(weights, good, path)
			wantError(t, name, err, path, name)
		}
	}
}
