package format

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// suggestFor gives the suggestion for arrays of the given names and shapes, in one line
// for each layer.
func suggestFor(t *testing.T, list []raw, dtype string) (m *tensorMap, lines string, notes []string) {
	t.Helper()
	for i := range list {
		n := 1
		for _, d := range list[i].shape {
			n *= d
		}
		list[i].data = make([]float64, n)
	}
	path := filepath.Join(t.TempDir(), "weights.npz")
	if err := os.WriteFile(path, rawNPZ(list, dtype), 0o666); err != nil {
		t.Fatal(err)
	}
	text, notes, err := Suggest(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if m, err = parseMap(text); err != nil {
		t.Fatal(err)
	}
	lines = m.Scale + " " + m.Layout
	array := func(a *mapArray) string {
		if a == nil {
			return "-"
		}
		return strings.TrimSuffix(strings.Join([]string{a.Mean, a.Spread, a.Scale}, "|"), "|")
	}
	for _, l := range m.Layers {
		lines += "\n" + strings.TrimSpace(l.Kind+" "+l.Activation) + " " + array(l.Weight) + " " + array(l.Bias)
	}
	if m.Ignore != nil {
		lines += "\nignore " + strings.Join(m.Ignore, " ")
	}
	return m, lines, notes
}

// TestSuggest: the names that libraries give, as their sources have them.
func TestSuggest(t *testing.T) {
	for _, c := range []struct {
		name, dtype string
		list        []raw
		want, notes string
	}{
		{"bayesian-torch", "<f4", []raw{
			{"fc1.mu_weight", []int{5, 2}, nil}, {"fc1.rho_weight", []int{5, 2}, nil}, {"fc1.mu_bias", []int{5}, nil}, {"fc1.rho_bias", []int{5}, nil},
			{"fc2.mu_weight", []int{3, 5}, nil}, {"fc2.rho_weight", []int{3, 5}, nil}, {"fc2.mu_bias", []int{3}, nil}, {"fc2.rho_bias", []int{3}, nil},
			{"fc1.eps_weight", []int{5, 2}, nil}, {"fc1.prior_weight_mu", []int{5, 2}, nil},
		}, "softplus out,in\n? fc1.mu_weight|fc1.rho_weight fc1.mu_bias|fc1.rho_bias\nidentity fc2.mu_weight|fc2.rho_weight fc2.mu_bias|fc2.rho_bias\nignore fc1.eps_weight fc1.prior_weight_mu", "left out under ignore"},
		{"blitz", "<f4", []raw{
			{"a.weight_mu", []int{5, 2}, nil}, {"a.weight_rho", []int{5, 2}, nil}, {"a.bias_mu", []int{5}, nil}, {"a.bias_rho", []int{5}, nil},
			{"a.weight_sampler.mu", []int{5, 2}, nil}, {"a.weight_sampler.rho", []int{5, 2}, nil},
		}, "softplus out,in\nidentity a.weight_sampler.mu|a.weight_sampler.rho a.bias_mu|a.bias_rho\nignore a.weight_mu a.weight_rho", "softplus"},
		{"own layers", "<f4", []raw{
			{"w.mu", []int{5, 2}, nil}, {"w.rho", []int{5, 2}, nil}, {"l.mu", []int{3, 5}, nil}, {"l.rho", []int{3, 5}, nil},
		}, "softplus in,out\n? l.mu|l.rho -\nidentity w.mu|w.rho -", "the layers also chain in another order with the other layout"},
		{"names out of order", "<f4", []raw{{"out.weight", []int{3, 5}, nil}, {"out.bias", []int{3}, nil}, {"hidden.weight", []int{5, 4}, nil}, {"input.weight", []int{4, 2}, nil}},
			" out,in\n? input.weight||none -\n? hidden.weight||none -\nidentity out.weight||none out.bias||none", "not that of their names"},
		{"no chain", "<f4", []raw{{"out.weight", []int{3, 5}, nil}, {"hidden.weight", []int{7, 4}, nil}},
			" ?\n? hidden.weight||none -\nidentity out.weight||none -", "do not chain in any order"},
		{"torchbnn", "<f4", []raw{
			{"0.weight_mu", []int{4, 2}, nil}, {"0.weight_log_sigma", []int{4, 2}, nil}, {"0.bias_mu", []int{4}, nil}, {"0.bias_log_sigma", []int{4}, nil},
			{"2.weight_mu", []int{4, 4}, nil}, {"2.weight_log_sigma", []int{4, 4}, nil}, {"10.weight", []int{3, 4}, nil}, {"10.bias", []int{3}, nil},
		}, "log_sd out,in\n? 0.weight_mu|0.weight_log_sigma 0.bias_mu|0.bias_log_sigma\n? 2.weight_mu|2.weight_log_sigma -\nidentity 10.weight||none 10.bias||none", "log_sd"},
		{"TensorFlow Probability", "<f8", []raw{
			{"dense_flipout/kernel_posterior_loc:0", []int{2, 4}, nil}, {"dense_flipout/kernel_posterior_untransformed_scale:0", []int{2, 4}, nil}, {"dense_flipout/bias_posterior_loc:0", []int{4}, nil},
		}, "softplus:2.220446049250313080847263336181640625e-16 in,out\nidentity dense_flipout/kernel_posterior_loc:0|dense_flipout/kernel_posterior_untransformed_scale:0 dense_flipout/bias_posterior_loc:0||none", "softplus:2.22"},
		{"TensorFlow Probability in float32", "<f4", []raw{{"d/kernel_posterior_loc", []int{2, 4}, nil}, {"d/kernel_posterior_untransformed_scale", []int{2, 4}, nil}},
			"softplus:1.1920928955078125e-07 ?\nidentity d/kernel_posterior_loc|d/kernel_posterior_untransformed_scale -", "both layouts fit"},
		{"Pyro", "<f4", []raw{{"locs.fc1.weight", []int{4, 2}, nil}, {"scales.fc1.weight_unconstrained", []int{4, 2}, nil}, {"locs.fc1.bias", []int{4}, nil}, {"scales.fc1.bias_unconstrained", []int{4}, nil}},
			"softplus out,in\nidentity locs.fc1.weight|scales.fc1.weight_unconstrained locs.fc1.bias|scales.fc1.bias_unconstrained", "softplus"},
		{"numpyro", "<f4", []raw{{"d1.kernel_auto_loc", []int{2, 4}, nil}, {"d1.kernel_auto_scale", []int{2, 4}, nil}, {"d1.bias_auto_loc", []int{4}, nil}, {"d1.bias_auto_scale", []int{4}, nil}},
			"sd in,out\nidentity d1.kernel_auto_loc|d1.kernel_auto_scale d1.bias_auto_loc|d1.bias_auto_scale", "sd"},
		{"scales that differ", "<f4", []raw{{"l.weight_mean", []int{4, 2}, nil}, {"l.weight_logvar", []int{4, 2}, nil}, {"l.bias_mean", []int{4}, nil}, {"l.bias_std", []int{4}, nil}},
			"log_variance out,in\nidentity l.weight_mean|l.weight_logvar l.bias_mean|l.bias_std|sd", "log_variance"},
		{"squares", "<f4", []raw{{"a.weight", []int{4, 4}, nil}, {"a.bias", []int{4}, nil}, {"b.weight", []int{4, 4}, nil}, {"b.bias", []int{4}, nil}},
			"sd ?\n? a.weight||none a.bias||none\nidentity b.weight||none b.bias||none", "no weight is random"},
		{"convolution, spread of another shape", "<f4", []raw{{"c.weight", []int{8, 1, 3, 3}, nil}, {"c.bias", []int{8}, nil}, {"f.weight", []int{4, 2}, nil}, {"f.bias", []int{4}, nil}, {"g.weight_mu", []int{4, 2}, nil}, {"g.weight_rho", []int{2, 4}, nil}},
			" out,in\nconv2d ? c.weight||none c.bias||none\nflatten - -\nidentity f.weight||none f.bias||none\nignore g.weight_mu g.weight_rho", "do not chain in any order"},
		{"convolutions, stored by name", "<f4", []raw{
			{"bn1.bias", []int{6}, nil}, {"bn1.num_batches_tracked", []int{1}, nil}, {"bn1.running_mean", []int{6}, nil}, {"bn1.running_var", []int{6}, nil}, {"bn1.weight", []int{6}, nil},
			{"conv1.mu_bias", []int{6}, nil}, {"conv1.mu_kernel", []int{6, 1, 5, 5}, nil}, {"conv1.rho_bias", []int{6}, nil}, {"conv1.rho_kernel", []int{6, 1, 5, 5}, nil},
			{"conv2.bias", []int{8}, nil}, {"conv2.weight", []int{8, 3, 3, 3}, nil}, {"fc.bias", []int{4}, nil}, {"fc.weight", []int{4, 72}, nil},
		}, "softplus out,in\nconv2d identity conv1.mu_kernel|conv1.rho_kernel conv1.mu_bias|conv1.rho_bias\nbatch_norm ? bn1.weight||none bn1.bias||none\nconv2d ? conv2.weight||none conv2.bias||none\nflatten - -\nidentity fc.weight||none fc.bias||none\nignore bn1.num_batches_tracked", "put pools where they are"},
		{"nested modules, stored by name", "<f4", []raw{
			{"classifier.1.weight", []int{4, 72}, nil}, {"features.0.weight", []int{6, 1, 5, 5}, nil}, {"features.1.running_mean", []int{6}, nil}, {"features.1.running_var", []int{6}, nil},
			{"features.10.weight", []int{8, 6, 3, 3}, nil}, {"features.2.weight", []int{6, 6, 3, 3}, nil},
		}, " out,in\nconv2d identity features.0.weight||none -\nbatch_norm ? - -\nconv2d ? features.2.weight||none -\nconv2d ? features.10.weight||none -\nflatten - -\nidentity classifier.1.weight||none -", "no weight is random"},
		{"Keras, convolutions of one axis", "<f4", []raw{
			{"conv1d/kernel:0", []int{3, 2, 6}, nil}, {"conv1d/bias:0", []int{6}, nil}, {"bn/gamma:0", []int{6}, nil}, {"bn/beta:0", []int{6}, nil},
			{"bn/moving_mean:0", []int{6}, nil}, {"bn/moving_variance:0", []int{6}, nil}, {"dense/kernel:0", []int{30, 4}, nil},
		}, " in,out\nconv1d identity conv1d/kernel:0||none conv1d/bias:0||none\nbatch_norm ? bn/gamma:0||none bn/beta:0||none\nflatten - -\nidentity dense/kernel:0||none -", "eps of each batch norm"},
	} {
		if c.name == "squares" {
			c.want = strings.TrimPrefix(c.want, "sd")
		}
		_, got, notes := suggestFor(t, c.list, c.dtype)
		if got != c.want || !strings.Contains(strings.Join(notes, "; "), c.notes) {
			t.Errorf("%s:\n%s\nwant\n%s\nnotes %q", c.name, got, c.want, notes)
		}
	}
}

// What is suggested imports once the activation is filled in.
func TestSuggestImports(t *testing.T) {
	m, _, _ := suggestFor(t, stateDict(), "<f4")
	m.Layers[0].Activation = "tanh"
	from, err := openTensors(held(rawSafetensors(stateDict(), "")))
	if err != nil {
		t.Fatal(err)
	}
	n, err := m.contents(from)
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.assemble(Options{})
	want, _, _, err2 := importBytes(t, rawSafetensors(stateDict(), ""), stateMap)
	if err != nil || err2 != nil || fmt.Sprint(got.Layers) != fmt.Sprint(want.Layers) {
		t.Errorf("%v, %v: %+v, want %+v", err, err2, got, want)
	}
}

func TestSuggestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, rawNPZ([]raw{{"loc", []int{3}, make([]float64, 3)}, {"scale", []int{3}, make([]float64, 3)}}, "<f4"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := Suggest(path, "")
	wantError(t, "flat", err, path, `the file has "loc", "scale": write the map by hand`)
}

func TestCompareNatural(t *testing.T) {
	list := []string{"b", "fc10.w", "fc2.w", "fc2.b", "fc02.c", "fc", "a1b20", "a1b3", "7", "10"}
	slices.SortFunc(list, compareNatural)
	if got := strings.Join(list, " "); got != "7 10 a1b3 a1b20 b fc fc2.b fc02.c fc2.w fc10.w" {
		t.Error(got)
	}
}

// TestNumPyNames imports what NumPy itself saves, with the names of Keras.
func TestNumPyNames(t *testing.T) {
	python := cmp.Or(os.Getenv("PSAFE_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skipf("no NumPy: PSAFE_PYTHON may name a Python that has it (%v)", err)
	}
	dir := t.TempDir()
	run := exec.Command(python, "-c", `
import numpy as np
np.savez_compressed("w.npz", **{"d/kernel_posterior_loc:0": np.array([[1, 2, 3], [4, 5, 6]], "f4"), "d/bias_posterior_loc:0": np.array([7, 8, 9], "f4"), "iterations:0": np.int64(5)})`)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path, mapPath := filepath.Join(dir, "w.npz"), filepath.Join(dir, "map.json")
	text, _, err := Suggest(path, "")
	if err == nil {
		err = os.WriteFile(mapPath, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := Import(path, mapPath, "")
	if err != nil || fmt.Sprint(p.Layers[0].Weight.Mean, p.Layers[0].Bias.Mean) != "[1 2 3 4 5 6] [7 8 9]" {
		t.Errorf("%+v, %v", p, err)
	}
}
