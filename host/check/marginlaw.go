package check

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// marginLaw bounds how likely a margin M is small on a cell while all hidden bounds are right: Prob(M
// < at[i]) <= below[i], for values at that fall.
type marginLaw struct{ at, below []float64 }

// lawReach is the number of standard deviations of noise that a law reaches down.
const lawReach = 8

// lawOf is the law of a margin that is at least lo less the noise of these layers.
func lawOf(lo float64, layers []noise) *marginLaw {
	var t arith.Sum
	t.Plus(lo)
	var v []float64
	total := 0.0
	for _, n := range layers {
		t.Plus(-n.mean)
		if !(n.variance >= 0 && n.variance <= math.MaxFloat64) {
			return &marginLaw{}
		}
		if n.variance > 0 {
			v, total = append(v, n.variance), total+n.variance
		}
	}
	top, reach := t.Lo(), lawReach*math.Sqrt(total)
	switch {
	case !(math.Abs(top) <= math.MaxFloat64 && reach <= math.MaxFloat64):
		return &marginLaw{}
	case len(v) == 0:
		return &marginLaw{[]float64{top}, []float64{0}}
	}
	l := &marginLaw{}
	for i, p := range stepsUp(reach, v) {
		x := float64(i) / steps // exact
		if i > 0 && len(v) > 1 {
			z := ratio(reach, v...).Times(arith.DDOf(x))
			p = min(p, l.below[i-1], arith.ExpNegUp(z.Times(z).Scaled(-1)), subsetsUp(arith.ProductDown(reach, x), v))
		}
		l.at, l.below = append(l.at, arith.SumDown(top, -arith.ProductUp(reach, x))), append(l.below, p)
	}
	return l
}

// shareUp is at least the mean of 1/(1 + e^M) while all hidden bounds are right: it rises by
// steps as M falls, at each value of the law, and the probabilities of these steps are bounded.
func (l *marginLaw) shareUp() float64 {
	if len(l.at) == 0 {
		return 1
	}
	var sum arith.Sum
	share := curves.SigmoidUp(-l.at[0])
	sum.Plus(share)
	for i := range l.at {
		next := 1.0
		if i+1 < len(l.at) {
			next = max(share, curves.SigmoidUp(-l.at[i+1]))
		}
		sum.Add(arith.SumUp(next, -share), l.below[i])
		share = next
	}
	return min(1, sum.Hi())
}

// formLaw is the law of a form of a row, by what share of the class the form is, and about where it is a standard
// deviation below its bound.
type formLaw struct {
	*marginLaw
	share, height float64
}

// lawsOf are the laws of the forms of a row, the highest first; tail bounds the probability that it is negative, or
// 0.
func (p *cellPass) lawsOf(row *property.Row) (laws []formLaw, tail float64) {
	tail = 1
	p.eachForm(row, func(lo float64, list []noise) bool {
		tail = min(tail, formTailUp(lo, list))
		law, v, height := lawOf(lo, list), 0.0, lo
		for _, n := range list {
			v, height = v+n.variance, height-n.mean
		}
		laws = append(laws, formLaw{law, law.shareUp(), height - math.Sqrt(v)})
		return true
	})
	slices.SortStableFunc(laws, func(a, b formLaw) int { return cmp.Compare(b.height, a.height) })
	return laws, tail
}

// worthLaws is from how many of the highest laws certify takes the one with the least share.
const worthLaws = 2
