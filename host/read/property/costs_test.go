package property

import (
	"math/big"
	"slices"
	"strings"
	"testing"
)

// TestCosts: differences are exact, or rounded down; the best action for a class and the cheapest one are
// found; what is no table of costs is refused in a line.
func TestCosts(t *testing.T) {
	c, err := ParseCosts("0, 1,1/3; 10,0,0.1 ;2,2,2", 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Over(1, 0); got[0].Cmp(big.NewRat(1, 1)) != 0 || got[1].Cmp(big.NewRat(-1, 10)) != 0 || got[2].Cmp(big.NewRat(-7, 300)) != 0 {
		t.Errorf("over %v", got)
	}
	for a := range 3 {
		for b := range 3 {
			for k, f := range c.OverDown(b, a) {
				exact := c.Over(b, a)[k]
				if d := new(big.Rat).Sub(exact, new(big.Rat).SetFloat64(f)); d.Sign() < 0 || d.Cmp(big.NewRat(1, 1<<52)) > 0 {
					t.Errorf("%d over %d, class %d: %v, it is %v", b, a, k, f, exact)
				}
			}
		}
	}
	if got := []int{c.BestFor(0), c.BestFor(1), c.BestFor(2)}; !slices.Equal(got, []int{0, 1, 1}) {
		t.Errorf("best are %v", got)
	}
	if a := c.CheapestApprox([]float64{0.5, 0.5, 0}); a != 0 {
		t.Errorf("the cheapest is %d", a)
	}
	reject, err := RejectBelow("0.9", 2)
	if err != nil || reject.Actions() != 3 || reject.BestFor(1) != 1 {
		t.Fatal(reject, err)
	}
	// Taken with more than 0.9, else the last.
	for _, of := range []struct {
		pi     float64
		action int
	}{{0.91, 0}, {0.89, 2}, {0.09, 1}, {0.11, 2}} {
		if a := reject.CheapestApprox([]float64{of.pi, 1 - of.pi}); a != of.action {
			t.Errorf("at %v it is action %d", of.pi, a)
		}
	}
	if tie, err := ParseCosts("0,1;0,2;3,3", 2); err != nil || tie.BestFor(0) != -1 || tie.BestFor(1) != 0 {
		t.Error(tie, err)
	}
	for text, words := range map[string]string{
		"0,1": "one action", "0,1;1": "action 1 has 1 costs", "0,1;1,x": "action 1, class 1", "1,2;1,2": "all actions cost the same", "": "action 0 has 1 costs",
		strings.Repeat("0,1;", 2048) + "0,1": "more than 4096",
	} {
		if _, err := ParseCosts(text, 2); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	for _, text := range []string{"0", "1", "1.5", "-0.1", "x"} {
		if _, err := RejectBelow(text, 2); err == nil {
			t.Errorf("threshold %s passes", text)
		}
	}
	if _, err := RejectBelow("0.5", 64); err == nil {
		t.Error("4160 costs pass")
	}
}
