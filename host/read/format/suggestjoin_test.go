package format

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// residualState is a state_dict of a residual network of images of 1 x 8 x 8, in the order of its
// modules, and the map that it was made for. Without projection there is one block, an identity, and
// no weight is random.
func residualState(r *rand.Rand, projection bool) (list []raw, text string) {
	type array struct {
		name  string
		shape []int
	}
	conv := func(name string, out, in, kernel int) []array {
		return []array{{name + ".weight", []int{out, in, kernel, kernel}}}
	}
	norm := func(name string, n int) (list []array) {
		for _, of := range []string{".weight", ".bias", ".running_mean", ".running_var"} {
			list = append(list, array{name + of, []int{n}})
		}
		return list
	}
	arrays := slices.Concat([]array{{"conv1.weight_mu", []int{3, 1, 3, 3}}, {"conv1.weight_rho", []int{3, 1, 3, 3}}}, norm("bn1", 3),
		conv("layer1.0.conv1", 3, 3, 3), norm("layer1.0.bn1", 3), conv("layer1.0.conv2", 3, 3, 3), norm("layer1.0.bn2", 3))
	mapped := func(kind, name string) string {
		switch kind {
		case "norm":
			return `{"kind": "batch_norm", "activation": "ACT", "weight": {"mean": "` + name + `.weight", "scale": "none"}, "bias": {"mean": "` + name +
				`.bias", "scale": "none"}, "running_mean": "` + name + `.running_mean", "running_variance": "` + name + `.running_var", "eps": 1e-5}`
		default:
			return `{"kind": "conv2d", "activation": "identity", ` + kind + `"weight": {"mean": "` + name + `.weight", "scale": "none"}}`
		}
	}
	const same = `"padding": [[1, 1], [1, 1]], `
	as := func(layer, name, act string) string {
		return strings.Replace(strings.Replace(layer, `{`, `{"name": "`+name+`", `, 1), "ACT", act, 1)
	}
	relu := func(layer string) string { return strings.Replace(layer, "ACT", "relu", 1) }
	layers := []string{`{"kind": "conv2d", "activation": "identity", ` + same + `"weight": {"mean": "conv1.weight_mu", "spread": "conv1.weight_rho"}}`,
		as(mapped("norm", "bn1"), "stem", "relu"),
		mapped(same, "layer1.0.conv1"), relu(mapped("norm", "layer1.0.bn1")),
		mapped(same, "layer1.0.conv2"), as(mapped("norm", "layer1.0.bn2"), "b", "identity"),
		`{"kind": "add", "name": "x", "from": ["b", "stem"], "activation": "relu"}`}
	last := 3
	if projection {
		arrays = slices.Concat(arrays, conv("layer2.0.conv1", 6, 3, 3), norm("layer2.0.bn1", 6), conv("layer2.0.conv2", 6, 6, 3), norm("layer2.0.bn2", 6),
			conv("layer2.0.downsample.0", 6, 3, 1), norm("layer2.0.downsample.1", 6))
		layers = append(layers, mapped(`"strides": [2, 2], `+same, "layer2.0.conv1"), relu(mapped("norm", "layer2.0.bn1")),
			mapped(same, "layer2.0.conv2"), as(mapped("norm", "layer2.0.bn2"), "c", "identity"),
			strings.Replace(mapped(`"strides": [2, 2], `, "layer2.0.downsample.0"), `{`, `{"from": ["x"], `, 1),
			as(mapped("norm", "layer2.0.downsample.1"), "d", "identity"),
			`{"kind": "add", "from": ["c", "d"], "activation": "relu"}`)
		last = 6
	}
	arrays = append(arrays, array{"fc.weight", []int{5, last}})
	layers = append(layers, `{"kind": "global_avg_pool"}`, `{"kind": "flatten"}`, `{"activation": "identity", "weight": {"mean": "fc.weight", "scale": "none"}}`)
	for _, a := range arrays {
		n := 1
		for _, d := range a.shape {
			n *= d
		}
		data := make([]float64, n)
		for i := range data {
			if data[i] = float64(float32(r.NormFloat64() / 2)); strings.Contains(a.name, "var") {
				data[i] = float64(float32(1 + r.Float64()))
			}
		}
		list = append(list, raw{a.name, a.shape, data})
	}
	if !projection {
		list = slices.Delete(list, 1, 2)
		return list, `{"layout": "out,in", "order": "channels_first", "input_shape": [1, 8, 8], "layers": [` +
			strings.Replace(strings.Join(layers, ", "), `"spread": "conv1.weight_rho"`, `"scale": "none"`, 1) + `]}`
	}
	return list, `{"scale": "softplus", "layout": "out,in", "order": "channels_first", "input_shape": [1, 8, 8], "layers": [` + strings.Join(layers, ", ") + `]}`
}

// TestSuggestJoins: blocks with shortcuts are drafted from the names of layers, or where none says
// so from references; and what is found gives the logits.
func TestSuggestJoins(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, projection := range []bool{true, false} {
		list, text := residualState(r, projection)
		weights := write("w.npz", rawNPZ(list, "<f4"))
		p, err := Import(weights, write("map.json", []byte(text)), "")
		if err != nil {
			t.Fatal(err)
		}
		const n = 4
		inputs, logits := raw{"inputs", []int{n, 1, 8, 8}, nil}, raw{"logits", []int{n, 5}, nil}
		for range n {
			x := make([]float64, 64)
			for j := range x {
				x[j] = float64(float32(r.Float64()))
			}
			inputs.data = append(inputs.data, x...)
			logits.data = append(logits.data, p.Network().OutputsApprox(p.Mean(), x)...)
		}
		points := write("points.npz", rawNPZ([]raw{inputs, logits}, "<f8"))
		alphabetical := slices.Clone(list)
		slices.SortFunc(alphabetical, func(a, b raw) int { return strings.Compare(a.name, b.name) })
		for kind, path := range map[string]string{"in the order of modules": weights, "by name": write("w.safetensors", rawSafetensors(alphabetical, ""))} {
			suggested, notes, err := Suggest(path, points)
			if err != nil || !strings.Contains(strings.Join(notes, "; "), "sums were found by trying") {
				t.Fatalf("%s: %v, notes %q:\n%s", kind, err, notes, suggested)
			}
			if _, err = Import(path, write("found.json", suggested), points); err != nil {
				t.Fatalf("%s: %v\n%s", kind, err, suggested)
			}
			suggested, notes, err = Suggest(path, "")
			sums := map[bool]int{true: 2, false: 0}[projection]
			if err != nil || strings.Count(string(suggested), `"kind": "add"`) != sums || strings.Contains(strings.Join(notes, "; "), "see that the sums") != projection {
				t.Errorf("%s: %v, notes %q:\n%s", kind, err, notes, suggested)
			}
		}
	}
}

// TestSuggestShortcut: a shortcut whose shapes do not fit is none.
func TestSuggestShortcut(t *testing.T) {
	block := func(side []int) []raw {
		return []raw{{"a.weight", []int{4, 2}, nil}, {"block.a.weight", []int{6, 4}, nil}, {"block.b.weight", []int{5, 6}, nil},
			{"block.skip.weight", side, nil}, {"out.weight", []int{3, 5}, nil}}
	}
	_, lines, _ := suggestFor(t, block([]int{5, 4}), "<f4")
	if want := " out,in\n? a.weight||none -\n? block.a.weight||none -\nidentity block.b.weight||none -\nidentity block.skip.weight||none -\nadd ? - -\nidentity out.weight||none -"; lines != want {
		t.Errorf("%s\nwant\n%s", lines, want)
	}
	m, lines, notes := suggestFor(t, block([]int{5, 6}), "<f4")
	if strings.Contains(lines, "add") || !strings.Contains(strings.Join(notes, "; "), "do not chain") {
		t.Errorf("%s\n%q %v", lines, notes, m)
	}
}
