package certify

import (
	"math"

	"psafe/host/bound"
	"psafe/host/posterior"
	"psafe/host/property"
)

// hopelessPenalty puts pieces that look unsafe through and through behind all
// others.
const hopelessPenalty = 1000

// hopelessApprox says whether, to first order in the weights, the property is
// broken at some x of T for all weights of the piece: cutting it would gain
// nothing. Like all of the search it can be wrong without harm.
func (e *Engine) hopelessApprox(t *property.Task, box *bound.Explicit) bool {
	for _, b := range t.T {
		for _, x := range [][]float64{b.Lo, b.Hi, middleOf(b)} {
			s := e.sensitivity(t, box, x)
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
func (e *Engine) mostSensitive(t *property.Task, box *bound.Explicit) (array, weight int) {
	s := e.sensitivity(t, box, middleOf(t.T[0]))
	return s.array, s.weight
}

func middleOf(b property.Box) []float64 {
	x := make([]float64, len(b.Lo))
	for j := range x {
		x[j] = (b.Lo[j] + b.Hi[j]) / 2
	}
	return x
}

// sensitivity is what the weights of a piece do to the least margin at one x, to
// first order: |dm/dW_ij| times the width of its interval.
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

func (e *Engine) sensitivity(t *property.Task, box *bound.Explicit, x []float64) sensitivity {
	z, pre := e.centreForward(x, box)
	m := sensitivity{array: -1}
	var delta []float64
	delta, m.margin = e.rowGradient(t, pre[len(pre)-1])
	for k := len(e.normal.Layers) - 1; k >= 0; k-- {
		l := &e.normal.Layers[k]
		below := make([]float64, l.In)
		for j := range l.In {
			for i, d := range delta {
				w := j*l.Out + i
				lo, hi := box.Lo[2*k][w], box.Hi[2*k][w]
				m.add(math.Abs(d*z[k][j])*(hi-lo), 2*k, w, l.Weight.SdLo[w])
				below[j] += d * (lo + hi) / 2
			}
		}
		for i, d := range delta {
			m.add(math.Abs(d)*(box.Hi[2*k+1][i]-box.Lo[2*k+1][i]), 2*k+1, i, l.Bias.SdLo[i])
		}
		if k > 0 {
			delta = below
			for j := range delta {
				delta[j] *= slopeApprox(e.normal.Layers[k-1].Activation, pre[k-1][j])
			}
		}
	}
	return m
}

// centreForward evaluates the network at the centre of a weight box: the inputs
// of each layer and its pre-activations.
func (e *Engine) centreForward(x []float64, box *bound.Explicit) (z, pre [][]float64) {
	for k, l := range e.normal.Layers {
		y := make([]float64, l.Out)
		for i := range y {
			y[i] = (box.Lo[2*k+1][i] + box.Hi[2*k+1][i]) / 2
		}
		for j, v := range x {
			for i := range y {
				w := j*l.Out + i
				y[i] += v * (box.Lo[2*k][w] + box.Hi[2*k][w]) / 2
			}
		}
		z, pre = append(z, x), append(pre, y)
		x = make([]float64, l.Out)
		for i := range x {
			x[i] = l.Activation.Approx(y[i])
		}
	}
	return z, pre
}

// rowGradient is the row of the best alternative that is least at logits y, and
// its value.
func (e *Engine) rowGradient(t *property.Task, y []float64) ([]float64, float64) {
	value := make([]float64, len(t.S.Rows))
	for r, row := range t.S.Rows {
		value[r] = row.D
		for i, c := range row.CLo {
			value[r] += c * y[i]
		}
	}
	best, bestRow := math.Inf(-1), 0
	for _, all := range t.S.Any {
		least, at := math.Inf(1), -1
		for _, r := range all {
			if value[r] < least {
				least, at = value[r], r
			}
		}
		if at >= 0 && least > best {
			best, bestRow = least, at
		}
	}
	if len(t.S.Rows) == 0 {
		return make([]float64, len(y)), 0
	}
	return t.S.Rows[bestRow].CLo, value[bestRow]
}

// slopeApprox is the derivative of an activation at t, with a little for dead
// ReLUs, which a wide box may wake.
func slopeApprox(a posterior.Activation, t float64) float64 {
	switch a.Kind {
	case posterior.ReLU, posterior.LeakyReLU:
		if t > 0 {
			return 1
		}
		return max(a.Slope, 0.1)
	case posterior.Tanh, posterior.Sigmoid:
		h := 1e-4
		return (a.Approx(t+h) - a.Approx(t-h)) / (2 * h)
	}
	return 1
}
