package probability

import (
	"slices"

	"psafe/host/arith"
)

// Predictive bounds the probabilities pi_k(x) = E_w softmax_k(f^w(x)) of the posterior predictive for
// all x of a region at once, from margins of class c over the other classes k
// (docs/theory.md, sections 9.2 and 9.3).
type Predictive struct {
	// LowerDown is at most pi_c, and RivalsUp are at least the pi_k.
	LowerDown float64
	RivalsUp  []float64
	// GapsDown are at most pi_c - pi_k, from -1 on.
	GapsDown []float64
}

// LeastGap is the least of GapsDown: above 0 the class is the only argmax of the predictive.
func (p *Predictive) LeastGap() float64 {
	least := 1.0
	for _, g := range p.GapsDown {
		least = min(least, g)
	}
	return least
}

// MostRival is the greatest of RivalsUp.
func (p *Predictive) MostRival() float64 {
	most := 0.0
	for _, u := range p.RivalsUp {
		most = max(most, u)
	}
	return most
}

// WorseRivals returns the RivalsUp of two regions together; the first may be nil, of none.
func WorseRivals(a, b []float64) []float64 {
	worse := slices.Clone(b)
	for k, u := range a {
		worse[k] = max(worse[k], u)
	}
	return worse
}

// farMargin is from where on a margin is as good as a larger one: levels are put there by the tail.
const farMargin = 12

// PredictiveOf are the bounds from the laws of all margins of class c and the probability, at most
// budget, that a hidden bound fails. It takes the better of two ways, neither of which assumes anything
// of how margins depend on each other:
//
//	pi_k <= budget + I_k,   pi_c >= 1 - budget - sum_k I_k                                     (83)
//
// with I_k = SigmoidMeanUp, row by row; and by levels (84), where all margins are at least t_k at once
// with probability p >= 1 - budget - sum_k Above_k.
func PredictiveOf(laws []*MarginLaw, budget float64) *Predictive {
	p := &Predictive{}
	rest := budget
	for _, l := range laws {
		i := l.SigmoidMeanUp()
		rest = up(rest + i)
		p.RivalsUp = append(p.RivalsUp, min(1, up(budget+i)))
	}
	lower, gaps := levelsDown(laws, budget)
	p.LowerDown = max(0, down(1-rest), lower)
	for k, gap := range gaps {
		p.GapsDown = append(p.GapsDown, max(-1, gap, down(p.LowerDown-p.RivalsUp[k])))
	}
	return p
}

// AheadPredictive are the bounds from a lower bound p of the probability that all margins of class c over so many
// rivals are at least t > 0. With z the least softmax_c - softmax_k then,
//
//	pi_c - pi_k >= p z - (1 - p),   pi_k <= 1 - p + 1/(1 + e^t)                                 (101)
func AheadPredictive(p, t float64, rivals int) *Predictive {
	is := &Predictive{}
	margins := make([]float64, rivals)
	for k := range margins {
		margins[k] = t
	}
	s := arith.SoftmaxDown(margins)
	rest := up(1 - p)
	is.LowerDown = max(0, down(s*p))
	for range margins {
		is.RivalsUp = append(is.RivalsUp, min(1, up(rest+arith.SigmoidUp(t))))
		is.GapsDown = append(is.GapsDown, max(-1, down(down(arith.SoftmaxGapDown(s, t)*p)-rest)))
	}
	return is
}

// levelsDown are bounds of pi_c and of all pi_c - pi_k by levels, the lowest first. On event A_i all
// margins are at least t_k,i; it only grows as levels fall, and has probability p_i or more. With
// softmax_c >= s_i and softmax_c - softmax_k >= z_i there,
//
//	pi_c >= sum_i (s_i - s_(i-1)) p_i,   pi_c - pi_k >= -1 + sum_i (z_i - z_(i-1)) p_i         (84)
//
// for levels that do not fall, from s = 0 and z = -1 on.
func levelsDown(laws []*MarginLaw, budget float64) (lower float64, gaps []float64) {
	t, reached := make([]float64, len(laws)), make([]float64, len(laws))
	gaps = make([]float64, len(laws)) // each plus 1 until the end
	for k := range reached {
		reached[k] = -1
	}
	last := 0.0
	for i := lawSteps; i >= 0; i-- {
		fails := budget
		for k, l := range laws {
			n := l.level(i)
			t[k], fails = l.at(n), up(fails+l.Above[n])
		}
		p := down(1 - fails)
		if !(p > 0) {
			break // nor is it above 0 at higher levels
		}
		s := arith.SoftmaxDown(t)
		if s > last {
			lower, last = down(lower+down(down(s-last)*p)), s
		}
		for k := range gaps {
			if z := arith.SoftmaxGapDown(s, t[k]); z > reached[k] {
				gaps[k], reached[k] = down(gaps[k]+down(down(z-reached[k])*p)), z
			}
		}
	}
	for k := range gaps {
		gaps[k] = down(gaps[k] - 1)
	}
	return lower, gaps
}

// level is the step of a law for level i: i, or more where the margin is far above 0 even so.
func (l *MarginLaw) level(i int) int {
	if l.Step > 0 {
		if far := (l.Top - farMargin) / l.Step; far > float64(i) {
			return int(min(far, lawSteps))
		}
	}
	return i
}
