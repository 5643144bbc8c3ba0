package psafe_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/format"
	"psafe/host/read/npy"
	"psafe/host/read/property"
)

// TestWorkedExample holds the numbers of the network that docs/theory.md works by
// hand to what psafe proves of it.
func TestWorkedExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "theory.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## A network worked by hand")
	text, _, _ = strings.Cut(text, "\n## ")
	text = strings.Join(strings.Fields(text), " ")

	net, properties := filepath.Join(t.TempDir(), "net.npz"), filepath.Join(t.TempDir(), "properties.json")
	writeExample(t, net, properties)
	post, err := format.Read(net, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := property.ReadFile(properties, 1)
	if err != nil {
		t.Fatal(err)
	}
	says := func(format string, values ...any) {
		t.Helper()
		if want := fmt.Sprintf(format, values...); !strings.Contains(text, want) {
			t.Errorf("docs/theory.md does not say %q", want)
		}
	}
	// margins are those of the box of two standard deviations around the mean: of "safe", and the bounds
	// of y from below, and of -y.
	margins := func(by bound.Propagation, p bound.Precision) (list []float64, box bound.Explicit) {
		t.Helper()
		e, err := engine.New(fallback.New(p), nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if box, err = bound.HostBox(e.Normal, p, bound.BoxSpec{Gamma: [][]float64{{2}, {2}}}, 0); err != nil {
			t.Fatal(err)
		}
		for i := range tasks {
			margin, err := e.Verify(t.Context(), by, &tasks[i], []bound.Explicit{box})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, margin...)
		}
		return list, box
	}

	// The margins of y >= 0 and -y >= 0 are the bounds of y.
	ibp, _ := margins(bound.IBP, bound.Float64)
	says("= [%.2f, %.2f]", ibp[1], -ibp[2])
	if ibp[0] >= 0 {
		t.Errorf("IBP proves the box safe: %v", ibp[0])
	}
	lbp, box := margins(bound.LBP, bound.Float64)
	if !(lbp[0] >= 0) {
		t.Errorf("LBP does not prove the box safe: %v", lbp[0])
	}
	says(">= %.2f at x = 0", lbp[1])
	says("<= %.2f at x = 2", -lbp[2])
	flat := post.Flat()
	logP, _ := probability.UnionLogDown([][]float64{slices.Concat(box.Lo...)}, [][]float64{slices.Concat(box.Hi...)}, flat.Mean, flat.SdLo, flat.SdHi)
	says("0.9545^7 = %.4f of the posterior, and P_safe >= %.4f", math.Exp(logP), math.Exp(logP))
	single, _ := margins(bound.LBP, bound.Float32)
	says("gives -1.24, psafe gives %v in float64 and %v in float32", lbp[1], single[1])
	if lbp[1] > -1.24 || single[1] > -1.24 {
		t.Errorf("bounds of y above -1.24: %v and %v", lbp[1], single[1])
	}

	e, err := engine.New(fallback.New(bound.Float64), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	err = prove.Run(t.Context(), []*engine.Engine{e}, prove.Config{Method: prove.CLBP, NoUpper: true}, tasks[:1], nil, func(r *claim.Result) error {
		says("The method clbp needs no box, and proves %.6s here.", fmt.Sprint(r.Lower()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
