package check

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"

	"psafe/host/bound"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestCheckQuantile: a quantile of the worst margin is proved again, and no greater one, of no other level, by no other
// cells or budgets, and not without being asked for.
func TestCheckQuantile(t *testing.T) {
	claimed := 0
	for name, eps := range map[string]string{"tiny-2-3-2-tanh.npz": "0.2", "dropout-2-8-3.npz": "0.1", "swag-2-8-3.npz": "0.1", "correlated-2-8-3.npz": "0.1"} {
		for _, p := range testscale.Few(t, []bound.Precision{bound.Float32, bound.Float64}, 1) {
			job := eachJob(t, name, eps, p)
			job.Method.Each, job.Method.Quantile = false, ".1"
			for i, line := range written(t, job) {
				var c Checker
				if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
					t.Errorf("%s: line %d: %v %v\n%s", name, i, err, v.Refused, line)
					continue
				}
				found := regexp.MustCompile(`"quantile":\{"level":0.1,"lower":([^}]*)\}`).FindSubmatch(line)
				lower, err := strconv.ParseFloat(string(found[1]), 64)
				if err != nil {
					continue // null
				}
				claimed++
				for re, to := range map[string]string{
					`("lower":)[^}]*`:                          "${1}" + property.DecimalDown(lower+0.1),
					`("level":)0.1`:                            "${1}0.05",
					`("level":)0.1,`:                           "${1}1,",
					`"lower":[^}]*`:                            `"lower":1e300`,
					` --quantile .1`:                           "",
					`--quantile .1`:                            "--quantile .05",
					`"quantile":\{"level[^}]*\},`:              "",
					`,?"quantile":\{("cells[^}]*|"tau[^}]*)\}`: "",
					`("quantile":\{)"cells":[^\]]*\],?`:        "${1}",
				} {
					forged := regexp.MustCompile(re).ReplaceAll(line, []byte(to))
					v, err := c.Check(t.Context(), resealed(forged), false)
					if !bytes.Equal(forged, line) && err == nil && v.Refused == nil {
						t.Errorf("%s: line %d: passes with %q for %s\n%s", name, i, to, re, line)
					}
				}
			}
		}
	}
	if claimed < 4 {
		t.Errorf("%d quantiles were claimed", claimed)
	}
}
