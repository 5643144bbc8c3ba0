package plot

import (
	"testing"

	"psafe/host/record"
)

// TestQuantities: of decisions, bounds of the share of inputs whose class the predictive or the vote keeps.
func TestQuantities(t *testing.T) {
	each := record.Down(0.35)
	of := func(verdict string, vote float64) record.Placed {
		return record.Placed{Record: &record.Record{PLower: 0.3, PUpper: 0.4, EachLower: &each, Decision: &record.Decision{Verdict: verdict, Vote: record.Down(vote)}}}
	}
	records := []record.Placed{of(record.DecisionSafe, 0.9), of(record.DecisionUnsafe, 0.5), of(record.DecisionUnknown, 0.51)}
	for word, want := range map[string][][2]float64{"p_safe": {{0.3, 0.4}, {0.3, 0.4}, {0.3, 0.4}}, "each": {{0.35, 1}, {0.35, 1}, {0.35, 1}}, "decision": {{1, 1}, {0, 0}, {0, 1}}, "vote": {{1, 1}, {0, 1}, {1, 1}}} {
		q, err := QuantityOf(word)
		if err != nil {
			t.Fatal(err)
		}
		list, err := q.Of(records)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range list {
			if got := [2]float64{float64(r.PLower), float64(r.PUpper)}; got != want[i] {
				t.Errorf("%s: record %d: %v, want %v", word, i, got, want[i])
			}
		}
		if _, err := q.Of([]record.Placed{{Record: &record.Record{}}}); (err == nil) != (word == "p_safe") {
			t.Errorf("%s of a record without a decision: %v", word, err)
		}
	}
	records[0].Eps, records[1].Eps, records[2].Eps, records[2].Index = "0.1", "0.2", "0.1", 1
	if q, _ := QuantityOf("decision"); q != nil {
		if _, err := q.Of(records); err == nil {
			t.Error("a curve over radii with different inputs")
		}
		if _, err := q.Of(records[:2]); err != nil {
			t.Error(err)
		}
	}
	if _, err := QuantityOf("pi"); err == nil {
		t.Error("pi is a quantity")
	}
}
