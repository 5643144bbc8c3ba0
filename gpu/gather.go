package gpu

import "psafe/host/bound"

var _ = wraps("gather")

// Gather is defined in bound.Gather.
func (d *Device) Gather(a bound.Gather) error {
	numbers := a.T * a.R
	return d.launch("gather", a.P*d.runs(numbers), work{d.moved(2 * a.P * numbers), 0}, d.arrays(a),
		a.N, a.At, a.Total, a.R, numbers)
}
