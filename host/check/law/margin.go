package law

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
)

// MarginLaw bounds how likely a margin M is small on a cell while all hidden bounds are right: Prob(M
// < At[i]) <= Below[i], for values at that fall.
type MarginLaw struct{ At, Below []float64 }

// lawReach is the number of standard deviations of noise that a law reaches down.
const lawReach = 8

// LawOf is the law of a margin that is at least lo less the noise of these layers.
func LawOf(lo float64, layers []Noise) *MarginLaw {
	var t arith.Sum
	t.Plus(lo)
	var v []float64
	total := 0.0
	for _, n := range layers {
		t.Plus(-n.Mean)
		if !(n.Variance >= 0 && n.Variance <= math.MaxFloat64) {
			return &MarginLaw{}
		}
		if n.Variance > 0 {
			v, total = append(v, n.Variance), total+n.Variance
		}
	}
	top, reach := t.Lo(), lawReach*math.Sqrt(total)
	switch {
	case !(math.Abs(top) <= math.MaxFloat64 && reach <= math.MaxFloat64):
		return &MarginLaw{}
	case len(v) == 0:
		return &MarginLaw{[]float64{top}, []float64{0}}
	}
	l := &MarginLaw{}
	for i, p := range stepsUp(reach, v) {
		x := float64(i) / Steps // exact
		if i > 0 && len(v) > 1 {
			z := Ratio(reach, v...).Times(arith.DDOf(x))
			p = min(p, l.Below[i-1], curves.ExpNegUp(z.Times(z).Scaled(-1)), subsetsUp(arith.ProductDown(reach, x), v))
		}
		l.At, l.Below = append(l.At, arith.SumDown(top, -arith.ProductUp(reach, x))), append(l.Below, p)
	}
	return l
}

// ShareUp is at least the mean of 1/(1 + e^M) while all hidden bounds are right: it rises by
// steps as M falls, at each value of the law, and the probabilities of these steps are bounded.
func (l *MarginLaw) ShareUp() float64 {
	if len(l.At) == 0 {
		return 1
	}
	var sum arith.Sum
	share := curves.SigmoidUp(-l.At[0])
	sum.Plus(share)
	for i := range l.At {
		next := 1.0
		if i+1 < len(l.At) {
			next = max(share, curves.SigmoidUp(-l.At[i+1]))
		}
		sum.Add(arith.SumUp(next, -share), l.Below[i])
		share = next
	}
	return min(1, sum.Hi())
}
