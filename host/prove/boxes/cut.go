package boxes

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// hopelessPenalty puts pieces that look unsafe through and through behind all
// others.
const hopelessPenalty = 1000

// hopelessApprox reports whether, to first order in the weights, the property is broken at some x
// of T for all weights of the piece: cutting it would gain nothing. Like all of the search it can
// be wrong without harm.
func hopelessApprox(post *posterior.Posterior, t *property.Task, box *bound.Explicit) bool {
	for _, b := range t.T {
		for _, x := range [][]float64{b.Lo, b.Hi, b.CentreApprox()} {
			s := sensitivityApprox(post, t, box, x)
			if s.margin+s.total/2 < 0 {
				return true
			}
		}
	}
	return false
}

// mostSensitive returns the weight whose interval, to first order, moves the
// least margin most, at the centre of the piece and of T: array and index as in
// bound.Explicit, array -1 if none moves it.
func mostSensitive(post *posterior.Posterior, t *property.Task, box *bound.Explicit) (array, weight int) {
	s := sensitivityApprox(post, t, box, t.T[0].CentreApprox())
	return s.array, s.weight
}

// sensitivity holds what the weights of a piece do to the least margin at one x, to first order:
// |dm/dw| times the width of its interval.
type sensitivity struct {
	margin, total, most float64
	array, weight       int
}

// add takes in one weight that moves the margin by s.
func (m *sensitivity) add(s float64, array, weight int, sd float64) {
	m.total += s
	if s > m.most && sd > 0 {
		m.most, m.array, m.weight = s, array, weight
	}
}

// sensitivityApprox is the sensitivity of the networks of a piece at x.
func sensitivityApprox(post *posterior.Posterior, t *property.Task, box *bound.Explicit, x []float64) sensitivity {
	pass := post.Network().NewPass(centreApprox(box))
	m := sensitivity{array: -1}
	var row []float64
	row, m.margin = rowGradient(&t.S, pass.Forward(x))
	pass.BackBy(row, slopeApprox)
	for k := len(post.Layers) - 1; k >= 0; k-- {
		l := &post.Layers[k]
		weight, bias := interval(box, 2*k), interval(box, 2*k+1)
		dw, db := make([]float64, l.Weights()), make([]float64, l.Biases())
		pass.AddParameterGradient(k, dw, db)
		for w, d := range dw {
			m.add(math.Abs(d)*weight(w), 2*k, w, l.Weight.SdLo[w])
		}
		for b, d := range db {
			m.add(math.Abs(d)*bias(b), 2*k+1, b, l.Bias.SdLo[b])
		}
	}
	return m
}

// interval gives the widths of the intervals of an array of a weight box.
func interval(box *bound.Explicit, array int) func(w int) float64 {
	return func(w int) float64 { return box.Hi[array][w] - box.Lo[array][w] }
}

// centreApprox is the network at the centre of a weight box.
func centreApprox(box *bound.Explicit) [][]float64 {
	var weights [][]float64
	for a, lo := range box.Lo {
		mid := make([]float64, len(lo))
		floats.AddTo(mid, lo, box.Hi[a])
		floats.Scale(0.5, mid)
		weights = append(weights, mid)
	}
	return weights
}

// rowGradient is the row of the best alternative that is least at logits y, and
// its value.
func rowGradient(s *property.Safe, y []float64) ([]float64, float64) {
	value := make([]float64, len(s.Rows))
	for r, row := range s.Rows {
		value[r] = row.D
		for i, c := range row.CLo {
			value[r] += c * y[i]
		}
	}
	if len(s.Rows) == 0 {
		return make([]float64, len(y)), 0
	}
	_, row := s.Decides(value)
	row = max(row, 0)
	return s.Rows[row].CLo, value[row]
}

// slopeApprox is the derivative of an activation at t, where its value is z, with a
// little for dead ReLUs, which a wide box may wake.
func slopeApprox(a network.Activation, t, z float64) float64 {
	if below, kinked := a.Kinked(); kinked && t <= 0 {
		return max(below, 0.1)
	}
	return a.DerivativeApprox(t, z)
}
