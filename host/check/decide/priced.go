package decide

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/check/law"
	"psafe/host/read/property"
)

// Decisions by costs of actions (docs/theory.md, section 9.4), from differences of outputs to those of a
// class of reference.

// PricedTask is the task about an action, its rows being f_r - f_k for all other classes k, and then
// f_k - f_r.
func PricedTask(task *property.Task, costs *property.Costs, action int, reference *int) (*Asked, error) {
	n := costs.Classes()
	switch {
	case action < 0 || action >= costs.Actions():
		return nil, fmt.Errorf("decision: action %d is none of %d", action, costs.Actions())
	case reference == nil || *reference < 0 || *reference >= n:
		return nil, errors.New("decision: the proof names no class of reference")
	}
	p := &priced{r: *reference}
	for b := range costs.Actions() {
		if b != action {
			u := make([]float64, n)
			for k, x := range costs.Over(b, action) {
				u[k] = law.RatDown(x)
			}
			p.sums = append(p.sums, u)
		}
	}
	p.gaps = len(p.sums)
	own := make([]float64, n)
	own[task.Label] = 1
	p.sums = append(p.sums, own)
	for k := range n {
		if k != task.Label {
			other := make([]float64, n)
			other[k] = -1
			p.sums = append(p.sums, other)
		}
	}
	of := *task
	var err error
	if of.S, _, err = property.ParseSpec(property.WithClass(property.KeepsClass, p.r), n); err != nil {
		return nil, err
	}
	for _, row := range slices.Clone(of.S.Rows) {
		of.S.Any[0] = append(of.S.Any[0], len(of.S.Rows))
		of.S.Rows = append(of.S.Rows, row.Negated())
	}
	return &Asked{Task: &of, priced: p}, nil
}

// predictive returns what follows from lower bounds of the means of all sums.
func (p *priced) predictive(low []float64) *Predictive {
	is := &Predictive{Gaps: low[:p.gaps:p.gaps], Lower: max(0, low[p.gaps])}
	for _, x := range low[p.gaps+1:] {
		is.Rivals = append(is.Rivals, min(1, -x))
	}
	return is
}

// byLaws returns what the laws of all rows prove, where hidden bounds fail with at most budget.
func (p *priced) byLaws(laws []*law.MarginLaw, budget float64) *Predictive {
	shares := make([]float64, len(laws)/2)
	for k := range shares {
		shares[k] = laws[k].ShareUp()
	}
	low := make([]float64, len(p.sums))
	for i, u := range p.sums {
		least := slices.Min(u)
		var sum arith.Sum // row by row: least where hidden bounds fail
		sum.Plus(least)
		sum.Add(arith.SumDown(u[p.r], -least), max(0, arith.SumDown(1, -budget)))
		for row, share := range shares {
			if k := p.class(row); u[k] < u[p.r] {
				sum.Add(-arith.SumUp(u[p.r], -u[k]), share)
			}
		}
		low[i] = max(least, sum.Lo())
		tried := map[string]bool{} // which classes are below the threshold
		about := p.aboutApprox(u, laws)
		for _, threshold := range []float64{about, about - 0x1p-30, about + 0x1p-30, 0, u[p.r]} {
			below := make([]bool, len(u))
			for k := range u {
				below[k] = u[k] < threshold
			}
			if which := fmt.Sprint(below); !tried[which] {
				tried[which] = true
				low[i] = max(low[i], p.byLevels(u, laws, budget, below))
			}
		}
	}
	return p.predictive(low)
}

// aboutApprox is about the sum where there is no noise.
func (p *priced) aboutApprox(u []float64, laws []*law.MarginLaw) float64 {
	n := len(laws) / 2
	sum, weight := u[p.r], 1.0
	for row := range n {
		if below, above := laws[row], laws[n+row]; len(below.At) > 0 && len(above.At) > 0 {
			e := math.Exp((above.At[0] - below.At[0]) / 2)
			sum, weight = sum+u[p.class(row)]*e, weight+e
		}
	}
	return sum / weight
}

func (p *priced) class(row int) int {
	if row >= p.r {
		return row + 1
	}
	return row
}

// share encloses e_k = softmax_k/softmax_r.
type share struct{ lo, hi float64 }

// shareOf is e^x for x from lo to hi.
func shareOf(lo, hi float64) share {
	s := share{0, math.Inf(1)}
	if lo > -farthest {
		s.lo, _ = ofExp(min(lo, farthest))
	}
	if hi < farthest {
		_, s.hi = ofExp(max(hi, -farthest))
	}
	return s
}

// ofExp holds e^x, the square of e^(x/2): sigmoids have absolute errors, so that far out they say little.
func ofExp(x float64) (lo, hi float64) {
	if math.Abs(x) > 16 {
		lo, hi = ofExp(x / 2)
		return max(0, arith.ProductDown(lo, lo)), arith.ProductUp(hi, hi)
	}
	return max(0, arith.Down(curves.SigmoidDown(x)/curves.SigmoidUp(-x))), arith.Up(curves.SigmoidUp(x) / curves.SigmoidDown(-x))
}

// farthest is the exponent from which on nothing is said: e^farthest is far from the largest number.
const farthest = 500

// byLevels is at most the mean of sum_k u_k softmax_k: the steps by which its least value on an event
// rises, as all rows that are used fall short of higher levels more often. These are f_r - f_k for the
// classes listed, and f_k - f_r for others that are not far below 0.
func (p *priced) byLevels(u []float64, laws []*law.MarginLaw, budget float64, listed []bool) float64 {
	n := len(laws) / 2
	reached := slices.Min(u)
	var sum arith.Sum
	sum.Plus(reached)
	e := make([]share, len(u))
	for i := levelsOfLaws(laws); i >= 0; i-- {
		var fails arith.Sum
		fails.Plus(budget)
		e[p.r] = share{1, 1}
		for row := range n {
			k := p.class(row)
			switch above := laws[n+row]; {
			case listed[k]:
				at, below := far(laws[row], i)
				e[k] = shareOf(math.Inf(-1), -at)
				fails.Plus(below)
			case len(above.At) > 0 && above.At[0] > -farAway:
				at, below := far(above, i)
				e[k] = shareOf(at, math.Inf(1))
				fails.Plus(below)
			default:
				e[k] = shareOf(math.Inf(-1), math.Inf(1))
			}
		}
		chance := arith.SumDown(1, -fails.Hi())
		if !(chance > 0) {
			break
		}
		if z := leastFraction(u, e); z > reached {
			sum.Add(arith.SumDown(z, -reached), chance)
			reached = z
		}
	}
	return sum.Lo()
}

// far is level i of a law, or a later one where the margin is far above 0 there too: what it is at least,
// and how likely it is less.
func far(l *law.MarginLaw, i int) (at, below float64) {
	if len(l.At) == 0 {
		return math.Inf(-1), 0
	}
	i = min(i, len(l.At)-1)
	for i+1 < len(l.At) && l.At[i+1] >= farAway {
		i++
	}
	return l.At[i], l.Below[i]
}

// leastFraction is at most sum_k u_k e_k / sum_k e_k. A value z is, if sum_k (u_k - z) e_k is not below
// 0 with each e_k at the end where its term is least. One is guessed, and lowered until this is shown.
func leastFraction(u []float64, e []share) float64 {
	least := slices.Min(u)
	z := math.Inf(1)
	for k, s := range e {
		if math.IsInf(s.hi, 1) {
			z = min(z, u[k])
		}
	}
	for range len(u) + 1 { // Dinkelbach's iteration, which falls to the least value
		num, den := 0.0, 0.0
		for k, s := range e {
			weight := s.lo
			if u[k] < z && !math.IsInf(s.hi, 1) {
				weight = s.hi
			}
			num, den = num+u[k]*weight, den+weight
		}
		next := num / den
		if !(next < z) {
			break
		}
		z = next
	}
	for step := 0x1p-50; step < 1; step *= 16 {
		if shownFraction(u, e, z) {
			return z
		}
		z -= step
	}
	return least
}

// shownFraction reports whether sum_k (u_k - z) e_k is not below 0 for all e_k.
func shownFraction(u []float64, e []share, z float64) bool {
	var sum arith.Sum
	for k, s := range e {
		switch d := arith.SumDown(u[k], -z); {
		case d >= 0:
			sum.Add(d, s.lo)
		case math.IsInf(s.hi, 1):
			return false
		default:
			sum.Add(d, s.hi)
		}
	}
	return sum.Lo() >= 0
}

// byNetworks returns what the margins of all networks prove together.
func (p *priced) byNetworks(margins [][]float64, counts []int64, total int64) *Predictive {
	sums := make([]big.Rat, len(p.sums))
	for i, t := range margins {
		e := make([]share, len(t)/2+1)
		e[p.r] = share{1, 1}
		for row := range len(t) / 2 {
			lo, hi := t[len(t)/2+row], -t[row]
			if lo != lo {
				lo = math.Inf(-1)
			}
			if hi != hi {
				hi = math.Inf(1)
			}
			e[p.class(row)] = shareOf(lo, hi)
		}
		for s, u := range p.sums {
			sums[s].Add(&sums[s], new(big.Rat).Mul(law.ExactRat(leastFraction(u, e)), big.NewRat(counts[i], total)))
		}
	}
	low := make([]float64, len(sums))
	for s := range sums {
		low[s] = law.RatDown(&sums[s])
	}
	return p.predictive(low)
}
