package probability

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/arith"
)

// SoftmaxLaw bounds means of sums of a softmax from the laws of differences of outputs on a cell
// (docs/theory.md, section 9.4). r is a class of reference. Below[k] is the law of f_r - f_k, and
// Above[k] that of f_k - f_r; both are of no use for r itself. Budget is at least the probability that
// a hidden bound fails.
type SoftmaxLaw struct {
	R            int
	Below, Above []*MarginLaw
	Budget       float64
	shares       []float64
}

// ContrastDown returns a lower bound of E sum_k u_k softmax_k(f(x)) for all x of the cell, at least the
// least u_k: the better of three. The first is row by row, with I_k of (82),
//
//	u_min + (u_r - u_min)(1 - budget) - sum over u_k < u_r of (u_r - u_k) I_k                    (86)
//
// The others are by levels, with the classes of which e_k = softmax_k/softmax_r is taken at its most (u_k
// below a threshold, which is about the mean, or 0) and those of which at its least. On event A_i, of probability at least p_i, e_k is
// within bounds by the laws at level i. A_i only grows as levels fall, so that
//
//	u_min + sum_i (z_i - z_(i+1)) p_i                                                            (87)
//
// where z_i <= sum_k u_k softmax_k on A_i (FractionDown), and no z falls.
func (s *SoftmaxLaw) ContrastDown(u []float64) float64 {
	least := slices.Min(u)
	best := least
	about := s.aboutApprox(u)
	if best = max(best, s.levelsDown(u, least, about)); slices.ContainsFunc(u, func(x float64) bool { return (x < 0) != (x < about) }) {
		best = max(best, s.levelsDown(u, least, 0))
	}
	if s.shares == nil {
		for k, l := range s.Below {
			share := 1.0
			if k != s.R {
				share = l.SigmoidMeanUp()
			}
			s.shares = append(s.shares, share)
		}
	}
	sum := down(least + down(down(u[s.R]-least)*max(0, down(1-s.Budget))))
	for k, share := range s.shares {
		if u[k] < u[s.R] {
			sum = down(sum - up(up(u[s.R]-u[k])*share))
		}
	}
	return max(best, sum)
}

// aboutApprox is about the sum without noise.
func (s *SoftmaxLaw) aboutApprox(u []float64) float64 {
	x, most := make([]float64, len(u)), 0.0
	for k := range u {
		if k != s.R {
			x[k] = min(max((s.Above[k].Top-s.Below[k].Top)/2, -arith.MostMargin), arith.MostMargin)
			most = max(most, x[k])
		}
	}
	sum, weight := 0.0, 0.0
	for k := range u {
		e := math.Exp(x[k] - most)
		sum, weight = sum+u[k]*e, weight+e
	}
	return sum / weight
}

// levelsDown is (87), where e_k is bounded from above for u_k below the threshold and from below for
// others.
func (s *SoftmaxLaw) levelsDown(u []float64, least, threshold float64) float64 {
	n := len(u)
	lo, hi := make([]float64, n), make([]float64, n) // bounds of log e_k
	sum, reached := least, least
	for i := lawSteps; i >= 0; i-- {
		fails := s.Budget
		for k := range u {
			lo[k], hi[k] = math.Inf(-1), math.Inf(1)
			switch {
			case k == s.R:
				lo[k], hi[k] = 0, 0
			case u[k] < threshold:
				l := s.Below[k]
				at := l.level(i)
				hi[k], fails = -l.at(at), up(fails+l.Above[at])
			case s.Above[k].Top > -farMargin:
				l := s.Above[k]
				at := l.level(i)
				lo[k], fails = l.at(at), up(fails+l.Above[at])
			}
		}
		p := down(1 - fails)
		if !(p > 0) {
			break // nor is it above 0 at higher levels
		}
		if z := FractionDown(u, lo, hi); z > reached {
			sum, reached = down(sum+down(down(z-reached)*p)), z
		}
	}
	return sum
}

// FractionDown returns a lower bound of sum_k u_k e_k / sum_k e_k for all log e_k between lo_k and
// hi_k, at least the least u_k. The fraction is linear in each e_k over a positive denominator, so it
// is least at ends: at hi_k where u_k is below some value, at lo_k elsewhere. Where hi_k is infinite it is
// no less than that u_k, or than with e_k at its lower end.
func FractionDown(u, lo, hi []float64) float64 {
	least := slices.Min(u)
	most := math.Inf(-1)
	for k := range u {
		if math.IsNaN(lo[k]) || math.IsNaN(hi[k]) || lo[k] == math.Inf(1) {
			return least
		}
		most = max(most, lo[k])
		if hi[k] < math.Inf(1) {
			most = max(most, hi[k])
		}
	}
	if !(math.Abs(most) <= math.MaxFloat64) {
		return least
	}
	ends := make([]ofEnds, len(u))
	var order []int
	z := math.Inf(1)
	for k := range u {
		ends[k].at(lo[k], most)
		if hi[k] == math.Inf(1) {
			z = min(z, u[k])
		} else {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(u[a], u[b]) })
	z = min(z, fractionDown(u, ends))
	for _, k := range order {
		ends[k].at(hi[k], most)
		z = min(z, fractionDown(u, ends))
	}
	return max(least, z)
}

// ofEnds are bounds of e^(x-most) at an end x of log e_k.
type ofEnds struct{ down, up float64 }

// at takes the end x, at most most: both sides of the fraction are multiplied by e^-most, so that
// nothing overflows.
func (e *ofEnds) at(x, most float64) {
	if *e = (ofEnds{}); !math.IsInf(x, -1) {
		e.down, e.up = arith.ExpDown(down(x-most)), arith.ExpUp(up(x-most))
	}
}

// fractionDown is sum_k u_k e_k / sum_k e_k, rounded down.
func fractionDown(u []float64, ends []ofEnds) float64 {
	sum, weightUp, weightDown := 0.0, 0.0, 0.0
	for k, e := range ends {
		if u[k] < 0 {
			sum = down(sum + down(u[k]*e.up))
		} else {
			sum = down(sum + down(u[k]*e.down))
		}
		weightUp, weightDown = up(weightUp+e.up), max(0, down(weightDown+e.down))
	}
	switch {
	case sum >= 0 && weightUp > 0:
		return down(sum / weightUp)
	case weightDown > 0:
		return down(sum / weightDown)
	}
	return math.Inf(-1) // nothing is left of the weights
}
