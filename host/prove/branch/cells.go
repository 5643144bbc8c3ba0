package branch

import (
	"math"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
)

// Few inputs in front of many neurons: the box is cut in halves, and those again. All neurons range less far in a
// part, and those whose phases are known on the whole are known there, so that few rows of hidden layers
// go down for it (bound.Splits.Within). Parts begin with the slopes of the whole.

// mostCutInputs is up to how many inputs the box is cut.
const mostCutInputs = 32

// CutsBox reports whether a Task without Noise cuts the box, not neurons: inputs are few, raising the bounds of
// hidden layers takes longer than a Task may, and rows may be left out, as of chains they are not.
func CutsBox(net network.Network) bool {
	return net.Inputs() <= mostCutInputs && !net.Chain() && bound.CanSplit(net) && Work(net) > mostRaising
}

// cells reports whether sub-problems are proved: at once, or on both halves of the box. It releases the memory on the
// device.
func (p *phased) cells(m *bound.Model, all []*knot) (bool, error) {
	defer p.release()
	left, err := p.raise(all, childRounds)
	if err != nil || len(left) == 0 || p.tried+2 > p.task.Most {
		return len(left) == 0 && err == nil, err
	}
	axis, err := p.axis(left)
	if err != nil || axis < 0 {
		return false, err
	}
	var halves [2]property.Box
	var parts [2]*phased
	halves[0], halves[1] = p.task.Box.Halves(axis)
	for i, box := range halves {
		in, err := m.UploadInputs([]property.Box{box})
		if err != nil {
			return false, err
		}
		defer m.ReleaseInputs(in)
		parts[i] = p.part(box, in)
		defer parts[i].release()
	}
	p.release()
	for _, q := range parts {
		if q.stopped() {
			return false, errStopped
		}
		if p.tried >= p.task.Most { // parts of the other half were some
			return false, nil
		}
		if q.tried, q.bounds = p.tried+1, p.bounds; p.task.Count != nil {
			p.task.Count(1)
		}
		proved, err := false, q.hidden()
		if err == nil {
			q.open = q.known.among(p.open) // all, unless a device was wrong
			proved, err = q.cells(m, q.taken(left, p))
		}
		if p.tried, p.bounds = q.tried, q.bounds; !proved || err != nil {
			return false, err
		}
	}
	return true, nil
}

// part is the task on a part of the box.
func (p *phased) part(box property.Box, in *bound.Inputs) *phased {
	task := *p.task
	task.Box = box
	q := newPhased(&task, p.net)
	q.s, q.lines = p.s.Within(in), true
	return q
}

// axis is the input at which cutting the box narrows the triangles of neurons most, by what their heights are worth
// to these sub-problems and how far pre-activations move along the input from the centre of the box; -1 if
// there is none to cut at. Ordinary numbers, which bound nothing.
func (p *phased) axis(knots []*knot) (int, error) {
	knots = knots[:min(len(knots), p.most)]
	box, r := p.task.Box, len(knots)
	a := p.columns(knots)
	if err := a.evaluate(true); err != nil {
		return -1, err
	}
	// A column for the upper end of each input, and one for the centre.
	n := len(box.Lo)
	x, columns, score := make([]float64, n*(n+1)), n+1, make([]float64, n)
	for j, v := range box.CentreApprox() {
		for c := range columns {
			x[j*columns+c] = p.s.Precision().Nearest(v)
		}
		x[j*columns+j] = p.s.Precision().Nearest(box.Hi[j])
	}
	moved := &ascent{s: p.s, net: p.net, known: &p.known, q: bound.SplitQuery{Layer: p.layer, Rows: make([]int, columns)}}
	_, err := moved.upwards(x, func(l int, zeta []float64) func(i, at int) float64 {
		for i := range p.known.lo[l] {
			if !p.known.open(l, i) {
				continue
			}
			worth, lo, hi := 0.0, p.known.lo[l][i], p.known.hi[l][i]
			for _, s := range a.coefficients[l+1][i*r : (i+1)*r] {
				worth += math.Abs(s)
			}
			for j := range score {
				by := math.Abs(zeta[i*columns+j] - zeta[i*columns+n])
				score[j] += worth * (2*height(lo, hi) - height(lo+by, hi) - height(lo, hi-by))
			}
		}
		return func(_, at int) float64 { return max(zeta[at], 0) }
	})
	best := -1
	for j, v := range score {
		mid := property.Middle(box.Lo[j], box.Hi[j])
		if box.Lo[j] < mid && mid < box.Hi[j] && (best < 0 || v > score[best]) {
			best = j
		}
	}
	return best, err
}

// height is the greatest distance of the upper line of a neuron from max(t, 0).
func height(lo, hi float64) float64 {
	if lo < 0 && hi > 0 {
		return hi * -lo / (hi - lo)
	}
	return 0
}
