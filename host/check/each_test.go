package check

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// eachJob is about the worst point of boxes around (1, -1) and (0.5, 0.2).
func eachJob(t *testing.T, posterior, eps string, p bound.Precision) *certify.Job {
	path := filepath.Join(t.TempDir(), "at.csv")
	if err := os.WriteFile(path, []byte("1,-1\n0.5,0.2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m := certify.Method{By: new(prove.CLBP), NoUpper: true, Cells: new(8), Each: true}
	if posterior == "samples-2-8-3.npz" {
		m.By = new(prove.Finite)
	}
	return &certify.Job{Posterior: certify.Posterior{Path: testFile(posterior)}, Method: m, Precision: &p, Version: "test",
		Tasks: certify.Tasks{Points: certify.Points{Inputs: path, Eps: eps, Property: property.KeepsClass}}}
}

// TestCheckEach: what is proved of the worst point is proved again, and no more: not of all points at once, not by other
// cells or budgets, and not without being asked for.
func TestCheckEach(t *testing.T) {
	above := 0
	for name, eps := range map[string]string{"tiny-2-3-2-tanh.npz": "1", "samples-2-8-3.npz": "0.9", "dropout-2-8-3.npz": "0.3", "swag-2-8-3.npz": "0.5", "correlated-2-8-3.npz": "0.9"} {
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for i, line := range written(t, eachJob(t, name, eps, p)) {
				var c Checker
				passes := func(re, to string) (there, ok bool) {
					t.Helper()
					forged := regexp.MustCompile(re).ReplaceAll(line, []byte(to))
					v, err := c.Check(t.Context(), resealed(forged), false)
					return !bytes.Equal(forged, line), err == nil && v.Refused == nil
				}
				if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
					t.Errorf("%s: line %d: %v %v\n%s", name, i, err, v.Refused, line)
					continue
				}
				number := func(field string) float64 {
					x, err := strconv.ParseFloat(string(regexp.MustCompile(`"` + field + `":([^,]*)`).FindSubmatch(line)[1]), 64)
					if err != nil {
						t.Fatal(err)
					}
					return x
				}
				each, lower := number("each_lower"), number("p_lower")
				forgeries := map[string]string{`("each_lower":)[^,]*`: "${1}" + property.DecimalDown(each+0.1*(1-each)), ` --target each`: "", `"each_lower":[^,]*,`: "", `--target each`: "--target decision"}
				if each > lower {
					above++
					forgeries[`"p_lower":[^,]*,"log10_p_lower":[^,]*`] = `"p_lower":` + property.DecimalDown(each) + `,"log10_p_lower":` + property.DecimalDown(arith.Down(math.Log10(each)))
					forgeries[`"each":\{.*?\},?`] = ""
					forgeries[`("each":\{)"cells":[^\]]*\],?`] = "${1}"
					forgeries[`("each":\{.*?"tau":\[)[^\]]*[1-9][^\]]*`] = "${1}0.3" // of which bounds depend
				}
				for re, to := range forgeries {
					if there, ok := passes(re, to); there && ok {
						t.Errorf("%s: line %d: passes with %q for %s\n%s", name, i, to, re, line)
					}
				}
				line = regexp.MustCompile(`,"each":\{.*?\}`).ReplaceAll(line, nil) // which proves nothing of p_lower
				if there, ok := passes(`("each_lower":)[^,]*`, "${1}"+property.DecimalDown(lower/2)); there && lower > 0 && ok {
					t.Errorf("%s: line %d: each_lower passes below p_lower", name, i)
				}
			}
		}
	}
	if t.Logf("%d above p_lower", above); above < 5 {
		t.Error("nothing was claimed beyond p_lower")
	}
}
