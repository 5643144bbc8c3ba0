package probability

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// sharedTail is (65) for leaves with noise of one layer below the last, by a sum over a fine grid.
func sharedTail(last float64, leaves []LeafTail) float64 {
	q := func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
	at := func(g float64) float64 {
		sum := 0.0
		for _, l := range leaves {
			switch t := l.T + g; {
			case t < 0:
				sum++
			case l.Below[0] > 0:
				sum += q(t / math.Sqrt(l.Below[0]))
			}
		}
		return min(1, sum)
	}
	const steps = 20000
	mean := at(0) / 2
	for k := range steps {
		z := 9 * (float64(k) + 0.5) / steps
		mean += at(-z*math.Sqrt(last)) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 9 / steps
	}
	return mean
}

// TestLeafTails: the bound is at least the sum that it bounds, at most a few per cent above, never above
// the sum of tails, and that of one leaf is its tail.
func TestLeafTails(t *testing.T) {
	gained, cases := 0, testscale.Cases(t, 200)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 261))
		var leaves []LeafTail
		last, sum := 0.1+r.Float64(), 0.0
		for range 1 + r.IntN(12) {
			l := LeafTail{T: 0.2 + 5*r.Float64(), Below: []float64{r.Float64() * float64(r.IntN(4))}}
			leaves, sum = append(leaves, l), sum+NoiseTailUp(l.T, []float64{last, l.Below[0]}, 1)
		}
		exact, up := sharedTail(last, leaves), LeafTailsUp(last, true, leaves)
		if !(up >= exact*(1-1e-4)) || up > exact*1.08+1e-5 {
			t.Errorf("case %d: %v leaves of %v: %v, the sum is %v", n, len(leaves), last, up, exact)
		}
		plain := LeafTailsUp(last, false, leaves)
		if math.Abs(plain-min(1, sum)) > 1e-12 || up > plain {
			t.Errorf("case %d: not shared %v, tails add up to %v, shared %v", n, plain, sum, up)
		}
		if one := LeafTailsUp(last, true, leaves[:1]); math.Abs(one/NoiseTailUp(leaves[0].T, []float64{last, leaves[0].Below[0]}, 1)-1) > 1e-12 {
			t.Errorf("case %d: one leaf: %v", n, one)
		}
		if up < 0.8*plain {
			gained++
		}
	}
	if cases >= 20 && gained == 0 {
		t.Error("no case has gained anything by what leaves share")
	}
	for _, bad := range []float64{math.NaN(), 0, -1} {
		if p := LeafTailsUp(1, true, []LeafTail{{3, []float64{1}}, {bad, []float64{1}}}); p != 1 {
			t.Errorf("T %v: %v", bad, p)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1} {
		if p := LeafTailsUp(1, true, []LeafTail{{9, []float64{1}}, {9, []float64{bad}}}); p != 1 {
			t.Errorf("a variance %v: %v", bad, p)
		}
	}
	if p := LeafTailsUp(math.NaN(), true, []LeafTail{{3, []float64{1}}, {3, []float64{1}}}); p != 1 {
		t.Errorf("a variance that is none: %v", p)
	}
}
