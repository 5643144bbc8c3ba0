package gpu

import "psafe/host/bound"

var _ = wraps("gather")

// Gather is defined in bound.Gather.
func (d *Device) Gather(a bound.Gather) error {
	out, in := d.array(a.Out, a.P*a.Total*a.R, "Gather.Out"), d.array(a.In, a.P*a.N*a.R, "Gather.In")
	index, numbers := d.array(a.Index, a.T, "Gather.Index"), a.T*a.R
	return d.launch("gather", a.P*d.runs(numbers), work{d.moved(2 * a.P * numbers), 0}, out, in, index,
		a.N, a.At, a.Total, a.R, numbers)
}
