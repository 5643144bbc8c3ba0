package decide

import (
	"math"
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/read/property"
)

// relaxedStarts proposes corners of a box where attacks may begin. A gradient sees the pattern
// of active neurons at one point only, and where the network is nearly constant it leads
// nowhere. So neurons that may be on either side of their kink somewhere in the box get a random
// slope between those of both sides, and the corner that is least for that linear network is
// the proposal. Ordinary float64: no bound of anything.
type relaxedStarts struct {
	*attack
	// lo and hi are about the ranges of pre-activations over the box, by layer.
	lo, hi [][]float64
	random *rand.Rand
}

func newRelaxedStarts(a *attack, random *rand.Rand) *relaxedStarts {
	s := &relaxedStarts{attack: a, random: random}
	mid, rad := make([]float64, len(a.Box.Lo)), make([]float64, len(a.Box.Lo))
	for j := range mid {
		mid[j], rad[j] = property.Middle(a.Box.Lo[j], a.Box.Hi[j]), (a.Box.Hi[j]-a.Box.Lo[j])/2
	}
	inMid, inRad := mid, rad
	mids, rads := make([][]float64, len(a.Net)), make([][]float64, len(a.Net))
	for k, l := range a.Net {
		mid, rad = network.Join(a.Net, k, inMid, mids), network.Join(a.Net, k, inRad, rads)
		lo, hi := make([]float64, l.Outputs()), make([]float64, l.Outputs())
		rangeApprox(l.Map, a.Weights[2*k], a.Weights[2*k+1], mid, rad, lo, hi)
		mids[k], rads[k] = make([]float64, len(lo)), make([]float64, len(lo))
		for i := range lo {
			down, up := l.Activation.Approx(lo[i]), l.Activation.Approx(hi[i])
			mids[k][i], rads[k][i] = (down+up)/2, (up-down)/2
		}
		s.lo, s.hi = append(s.lo, lo), append(s.hi, hi)
	}
	return s
}

// rangeApprox writes the ranges of pre-activations, by interval arithmetic.
func rangeApprox(m network.Map, weight, bias, mid, rad, lo, hi []float64) {
	if m, linear := m.(network.Linear); linear {
		for i := range lo {
			c, r := bias[m.BiasOf(i)], 0.0
			for j, at := range m.Into(i) {
				c += weight[at] * mid[j]
				r += math.Abs(weight[at]) * rad[j]
			}
			lo[i], hi[i] = c-r, c+r
		}
		return
	}
	_, pool := m.(network.MaxPool)
	into := network.Unweighted(m)
	for i := range lo {
		if pool {
			lo[i], hi[i] = math.Inf(-1), math.Inf(-1)
		}
		for j, c := range into(i) {
			if pool {
				lo[i], hi[i] = max(lo[i], mid[j]-rad[j]), max(hi[i], mid[j]+rad[j])
			} else {
				lo[i], hi[i] = lo[i]+c*(mid[j]-rad[j]), hi[i]+c*(mid[j]+rad[j])
			}
		}
	}
}

// corner is the next proposal for the row that was decisive where the attack last looked.
func (s *relaxedStarts) corner() []float64 {
	k, i := len(s.Net)-1, -1 // BackBy asks for layers from the last on, and neurons in order
	slope := func(a network.Activation, t, z float64) float64 {
		if i++; i == len(s.lo[k]) {
			k, i = k-1, 0
		}
		if lo, hi := s.lo[k][i], s.hi[k][i]; lo < 0 && hi > 0 {
			below := a.DerivativeApprox(lo, a.Approx(lo))
			share := hi / (hi - lo) // of the box where the neuron is active, about
			if s.random.IntN(2) == 0 {
				share = s.random.Float64()
			}
			return below + (a.DerivativeApprox(hi, a.Approx(hi))-below)*share
		}
		return a.DerivativeApprox(t, z)
	}
	x := s.Box.CentreApprox()
	for j, g := range s.pass.BackBy(s.row, slope) {
		if g > 0 {
			x[j] = s.Box.Lo[j]
		} else if g < 0 {
			x[j] = s.Box.Hi[j]
		}
	}
	return x
}
