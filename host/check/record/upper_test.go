package record

import (
	"encoding/json"
	"strings"
	"testing"

	"psafe/host/check/cases"
)

// TestUpperParts: plans are those of sums of neurons, rows, rates and statements those of exact moments,
// and of no other method.
func TestUpperParts(t *testing.T) {
	for part, of := range map[string]string{
		`"plans":[{"rows":[0]}]`: "neuronsum", `"rows":[{"rate":1}]`: "chernoff", `"rates":"AAAAAAAA8D8="`: "chernoff", `"statements":[{"rate":1}]`: "chernoff",
	} {
		for _, method := range []string{"neuronsum", "clbp", "chernoff"} {
			p := proof{Upper: json.RawMessage(`{"method":"` + method + `","witness":{"box":0,"at":""},` + part + `}`)}
			if u, err := p.ReadUpper(); (err == nil) != (method == of) {
				t.Errorf("%s, %s: %+v, %v", method, part, u, err)
			}
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

// TestClassUpperClaims: an upper bound of a single class is a claim, where nothing is proved of another.
func TestClassUpperClaims(t *testing.T) {
	for text, claims := range map[string]bool{`[1,1,1]`: false, `[1,0.25,1]`: true, `[]`: false} {
		var d decision
		if err := json.Unmarshal([]byte(`{"lower":0,"rival_upper":1,"gap":-1,"vote":0,"class_upper":`+text+`}`), &d); err != nil {
			t.Fatal(err)
		}
		if d.Claims() != claims {
			t.Errorf("%s: %v", text, !claims)
		}
	}
}
