package check

import (
	"os"
	"path/filepath"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
)

// TestCheckEverything: a safe set of no rows is everything, and what each method says of it is proved
// again; chernoff has no row to prove on a box, and claims nothing there.
func TestCheckEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "any.json")
	text := `{"properties": [{"name": "any", "kind": "output_box", "output": [[null, null]], "boxes": [[[0.2, 0.4]]]}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, by := range []prove.Method{prove.Auto, prove.CLBP, prove.NeuronSum, prove.Phases, prove.Chernoff, prove.IBP, prove.LBP} {
		j := file("two-weights-product.npz", "", certify.Method{By: &by}, bound.Float64)
		j.Tasks = certify.Tasks{File: path}
		if by.OfBoxes() {
			j.Method.Draws, j.Method.Gamma = new(3), new(1.)
		}
		line := written(t, j)[0]
		if v, err := new(Checker).Check(t.Context(), line, false); err != nil || v.Refused != nil || v.Claims == (by == prove.Chernoff) {
			t.Errorf("%v: %v %v\n%s", by, err, v.Refused, line)
		}
	}
}
