package bound

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSlopeRules: whatever a rule says, slopes are lower slopes of ReLU that RelaxRows.Err pays for,
// of the format of the usual ones.
func TestSlopeRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 3))
	usual, upper := []float64{0, 0, 0, 1, 1, 1, 1}, []float64{0, 0.25, 1, 0.5625, 0.75, 1, 0.5 + 0x1p-50}
	for range 2000 {
		a := float64(float32(rng.Float64()))
		usual, upper = append(usual, math.Round(a)), append(upper, a)
	}
	rules := append([]slopeRule{
		func(_, _ float64) float64 { return 1 }, func(_, _ float64) float64 { return -0.5 }, func(_, _ float64) float64 { return math.NaN() },
		func(_, upper float64) float64 { return 2 * upper },
	}, slopeRules...)
	for i, rule := range rules {
		changed := 0
		for j, s := range rule.slopes(usual, upper) {
			if !(s >= 0 && s <= max(usual[j], upper[j])) || s != float64(float32(s)) {
				t.Fatalf("rule %d of %v, %v: %v", i, usual[j], upper[j], s)
			}
			if s > 0 && s < leastSlope {
				t.Errorf("rule %d of %v, %v: %v, less than what Relax makes", i, usual[j], upper[j], s)
			}
			if s != usual[j] {
				changed++
			}
			if upper[j] == 1 && usual[j] == 1 && s != 1 || upper[j] == 0 && s != 0 {
				t.Errorf("rule %d: a neuron that is always on one side of its kink has the slope %v", i, s)
			}
		}
		if changed == 0 && i >= len(rules)-len(slopeRules) {
			t.Errorf("rule %d changes nothing", i)
		}
	}
	// Of what is no slope nothing is made, by no rule: above 1 a line is not below t.
	for i, rule := range rules {
		for j, s := range rule.slopes([]float64{1, 0, 1, 0}, []float64{math.NaN(), math.Inf(1), 3, 1 + 0x1p-20}) {
			if !(s >= 0 && s <= 1) {
				t.Errorf("rule %d, number %d: slope %v", i, j, s)
			}
		}
	}
}
