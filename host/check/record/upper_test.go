package record

import (
	"encoding/json"
	"strings"
	"testing"

	"psafe/host/check/cases"
)

// TestUpperPlans: plans are those of sums of neurons, and of no other method.
func TestUpperPlans(t *testing.T) {
	for method, fits := range map[string]bool{"neuronsum": true, "clbp": false, "chernoff": false} {
		p := proof{Upper: json.RawMessage(`{"method":"` + method + `","witness":{"box":0,"at":""},"plans":[{"rows":[0]}]}`)}
		if u, err := p.ReadUpper(); (err == nil) != fits || fits && (len(u.Plans) != 1 || u.Plans[0].Rows[0] != 0) {
			t.Errorf("%s: %+v, %v", method, u, err)
		}
	}
}

// TestPlansElsewhere: nothing but a lower bound by sums of neurons on cells rests on plans.
func TestPlansElsewhere(t *testing.T) {
	for _, c := range []struct {
		method, claimed string
		grids, fits     bool
	}{{"neuronsum", "0.5", false, true}, {"neuronsum", "0.5", true, false}, {"neuronsum", "0", false, false}, {"clbp", "0.5", false, false}} {
		r := &Record{Method: c.method, PLower: new(Decimal), PUpper: new(Decimal)}
		if err := r.PLower.UnmarshalJSON([]byte(c.claimed)); err != nil {
			t.Fatal(err)
		}
		if err := r.PUpper.UnmarshalJSON([]byte("1")); err != nil {
			t.Fatal(err)
		}
		if r.Proof.Plans = []*cases.Plan{{Rows: []int{0}}}; c.grids {
			r.Proof.Grids = [][][]float64{{{0}}}
		}
		if err := r.consistentProof(); (err == nil) != c.fits || err != nil && !strings.Contains(err.Error(), "plans: nothing claimed") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
