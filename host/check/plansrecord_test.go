package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
)

// plansJob is a job of sums of neurons about whether w2 relu(w1 x) is in safe, for x from 0.2 to
// 0.4.
func plansJob(t *testing.T, safe string) *certify.Job {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plans.json")
	text := `{"properties": [{"name": "plans", "kind": "rows", "boxes": [[[0.2, 0.4]]], "safe": ` + safe + `}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j := file("two-weights-product.npz", "", certify.Method{By: new(prove.NeuronSum), Cells: new(2)}, bound.Float64)
	j.Tasks = certify.Tasks{File: path}
	return j
}

var plansOfRecord = regexp.MustCompile(`"plans":\[\{.*\}\]`)

// TestCheckPlans: records of sums of neurons rest on the rows, or sums of them, that their plans
// name, and on no others: none from which the property does not follow, none that fails more, none
// that is no number of a row.
func TestCheckPlans(t *testing.T) {
	const row, other = `{"row": [1], "offset": 0.1}`, `{"row": [-1], "offset": 0.2}`
	for name, c := range map[string]struct {
		safe, has string
		forged    []string
	}{
		"sum": {`{"or": [` + row + `,` + other + `]}`, `{"plans":[{"rows":[0,1],"factors":[`,
			[]string{`[{"rows":[0]}]`, `[{"rows":[0,1]}]`, `[{"rows":[0,1],"factors":[1,-1]}]`, `[{"rows":[0,1],"factors":[1]}]`, `[{"rows":[0,1],"factors":[0,0]}]`,
				`[{"rows":[0,1],"factors":[1e999,1]}]`, `[{"rows":[0,1],"factors":[1,0]}]`, `[{"rows":[0,2],"factors":[1,1]}]`,
				`[{"rows":[0,1],"factors":[1,1]},{"rows":[0,1],"factors":[1,1]}]`, `[]`, `[null]`, `null`, `[{}]`, `[{"rows":[],"factors":[]}]`, `[{"rows":[0,1],"factors":[NaN,1]}]`}},
		"rows": {`{"or": [{"and": [{"row": [1], "offset": 9}, {"row": [-1], "offset": 9}]}, {"row": [-1], "offset": -9}]}`, `{"plans":[{"rows":[0,1]}]`,
			[]string{`[{"rows":[0]}]`, `[{"rows":[2]}]`, `[{"rows":[1,0]}]`, `[{"rows":[0,1],"factors":[1,1]}]`, `[{"rows":[0,1,3]}]`, `[{"rows":[-1,1]}]`, `[{"rows":[0.5,1]}]`}},
		"upper": {`{"or": [{"row": [1], "offset": -0.1}, {"row": [-1], "offset": -0.2}]}`, `"plans":[{"rows":[0]},{"rows":[1]}]`,
			[]string{`[{"rows":[0]}]`, `[{"rows":[0]},{"rows":[0]}]`, `[{"rows":[1]},{"rows":[0]}]`, `[{"rows":[0,1],"factors":[1,1]}]`, `[{"rows":[0]},{"rows":[1]},{"rows":[1]}]`,
				`[{"rows":[0],"factors":[-1]},{"rows":[1]}]`, `[{"rows":[0],"factors":[0]},{"rows":[1]}]`, `[{"rows":[]},{"rows":[1]}]`, `[null,{"rows":[1]}]`, `[{"rows":[0]},{"rows":[2]}]`, `null`}},
	} {
		line := written(t, plansJob(t, c.safe))[0]
		var check Checker
		if v, err := check.Check(t.Context(), line, false); err != nil || v.Refused != nil || !strings.Contains(string(line), c.has) {
			t.Errorf("%s: %v %v\n%s", name, err, v.Refused, line)
			continue
		}
		for _, plans := range c.forged {
			bad := resealed(plansOfRecord.ReplaceAll(line, []byte(`"plans":`+plans)))
			if v, err := check.Check(t.Context(), bad, false); err != nil || v.Refused == nil {
				t.Errorf("%s: %s passes: %v\n%s", name, plans, err, bad)
			}
		}
	}
}
