package check

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/clbp"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/internal/testscale"
)

// TestSlopesRecord: an image of which nothing is shown but with other lower slopes is proved again,
// and a record that claims a little more, or has other budgets or another radius, is not.
func TestSlopesRecord(t *testing.T) {
	for _, precision := range testscale.Few(t, []bound.Precision{bound.Float32, bound.Float64}, 1) {
		for _, of := range testscale.Few(t, [][2]string{{"glyphs-64-24-24-10.npz", "30"}, {"glyphs-64-32-10.npz", "37"}}, 1) {
			posterior, index := of[0], of[1]
			j := images(posterior, 1, "0.03", certify.Method{By: new(prove.CLBP), NoUpper: true}, precision)
			j.Tasks.Points.Index = new(index)
			line := written(t, j)[0]
			r, err := record.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			var f files
			q, err := f.question(r, Files{})
			if err != nil {
				t.Fatal(err)
			}
			if r.PLower.Is(0) {
				t.Fatalf("%s: nothing is claimed", posterior)
			}
			n, err := clbp.New(q.post, false)
			if err != nil {
				t.Fatal(err)
			}
			pass := n.NewCellPass(q.task.T[0], r.Tau, 1)
			if pass.Bent = false; pass.CellFailUp(&q.task.S) < 1.05-r.PLower.Lo {
				t.Fatalf("%s: it does without other slopes", posterior)
			}
			proved, err := byNoise(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var c Checker
			for what, forged := range map[string][]byte{
				"genuine": line,
				"more":    claiming(t, line, more(rand.New(rand.NewPCG(1, 2)), proved.Float(), 1)),
				"eps":     changed(t, line, `"eps":"0.03"`, `"eps":"0.04"`),
				"tau":     changed(t, changed(t, line, `"tau":\[[^]]*\]`, `"tau":[0.001]`), `"tau":[0-9.e-]*,`, `"tau":0.001,`),
			} {
				v, err := c.Check(t.Context(), forged, false)
				if err != nil || (v.Refused == nil) != (what == "genuine") {
					t.Errorf("%s %s: %v %v", posterior, what, err, v.Refused)
				}
			}
		}
	}
}
