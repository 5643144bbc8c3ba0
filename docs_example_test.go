package psafe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/read/npy"
)

// TestWorkedExample holds the numbers of the network that docs/theory.md works by
// hand to what psafe certify gives for it.
func TestWorkedExample(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not with -short")
	}
	page, err := os.ReadFile(filepath.Join("docs", "theory.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## A network worked by hand")
	text, _, _ = strings.Cut(text, "\n## ")
	text = strings.Join(strings.Fields(text), " ")

	dir := t.TempDir()
	program := filepath.Join(dir, "psafe.exe")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./cmd/psafe").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	net, properties := filepath.Join(dir, "net.npz"), filepath.Join(dir, "properties.json")
	writeExample(t, net, properties)
	type result struct {
		PLower float64 `json:"p_lower"`
		Margin *float64
	}
	certify := func(flags ...string) map[string]result {
		t.Helper()
		command := exec.Command(program, append([]string{"certify", "--posterior", net, "--property", properties,
			"--device", "cpu", "--options", "no-upper", "--quiet"}, flags...)...)
		command.Stderr = os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		list := map[string]result{}
		for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
			var r struct {
				Name string
				result
			}
			if err := dec.Decode(&r); err != nil {
				t.Fatal(err)
			}
			list[r.Name] = r.result
		}
		return list
	}
	says := func(format string, values ...any) {
		t.Helper()
		if want := fmt.Sprintf(format, values...); !strings.Contains(text, want) {
			t.Errorf("docs/theory.md does not say %q", want)
		}
	}

	// The margins of y >= 0 and -y >= 0 are the bounds of y.
	ibp := certify("--method", "ibp", "--gamma", "2", "--precision", "float64")
	says("= [%.2f, %.2f]", *ibp["y"].Margin, -*ibp["minus y"].Margin)
	if ibp["safe"].PLower != 0 {
		t.Errorf("IBP proves the box safe: %+v", ibp["safe"])
	}
	lbp := certify("--method", "lbp", "--gamma", "2", "--precision", "float64")
	says(">= %.2f at x = 0", *lbp["y"].Margin)
	says("<= %.2f at x = 2", -*lbp["minus y"].Margin)
	says("0.9545^7 = %.4f of the posterior, and P_safe >= %.4f", lbp["safe"].PLower, lbp["safe"].PLower)
	single := certify("--method", "lbp", "--gamma", "2", "--precision", "float32")
	says("gives -1.24, psafe gives %v in float64 and %v in float32", *lbp["y"].Margin, *single["y"].Margin)
	if *lbp["y"].Margin > -1.24 || *single["y"].Margin > -1.24 {
		t.Errorf("bounds of y above -1.24: %v and %v", *lbp["y"].Margin, *single["y"].Margin)
	}

	widest := certify("--method", "lbp", "--precision", "float64")["safe"].PLower
	clbp := certify("--method", "clbp", "--precision", "float64")["safe"].PLower
	says("This box proves %.6s here. The method clbp needs no box, and proves %.6s here.", fmt.Sprint(widest), fmt.Sprint(clbp))
}

// writeExample writes the posterior, and properties of it on T = [0, 2].
func writeExample(t *testing.T, net, properties string) {
	t.Helper()
	header := `{"format": "psafe-posterior", "version": 1, "scale": "sd", "layout": "in,out", "layers": [
		{"kind": "dense", "activation": "relu", "in": 1, "out": 2},
		{"kind": "dense", "activation": "identity", "in": 2, "out": 1}]}`
	meta := make([]float64, len(header))
	for i := range meta {
		meta[i] = float64(header[i])
	}
	arrays := []npy.Named{{Name: "__meta__", Array: &npy.Array{Shape: []int{len(meta)}, DType: "|u1", Data: meta}}}
	for _, a := range []struct {
		name  string
		shape []int
		mean  []float64
	}{
		{"layers.0.weight", []int{1, 2}, []float64{1, 0.8}}, // w1, w2
		{"layers.0.bias", []int{2}, []float64{-0.8, 0.4}},   // b1, b2
		{"layers.1.weight", []int{2, 1}, []float64{1.2, -0.6}},
		{"layers.1.bias", []int{1}, []float64{0.2}},
	} {
		sd := []float64{0.05, 0.05}[:len(a.mean)]
		arrays = append(arrays,
			npy.Named{Name: a.name + ".mean", Array: &npy.Array{Shape: a.shape, DType: "<f8", Data: a.mean}},
			npy.Named{Name: a.name + ".scale", Array: &npy.Array{Shape: a.shape, DType: "<f8", Data: sd}})
	}
	var file bytes.Buffer
	if err := npy.WriteZip(&file, arrays); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{net: file.String(), properties: `{"properties": [
		{"name": "safe", "kind": "output_box", "output": [[-1.4, 1.5]], "boxes": [[[0, 2]]]},
		{"name": "y", "kind": "rows", "safe": {"row": [1]}, "boxes": [[[0, 2]]]},
		{"name": "minus y", "kind": "rows", "safe": {"row": [-1]}, "boxes": [[[0, 2]]]}]}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
