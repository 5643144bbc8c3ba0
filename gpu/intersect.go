package gpu

import "psafe/host/bound"

var _ = wraps("intersect")

// Intersect is defined in bound.Intersect.
func (d *Device) Intersect(a bound.Intersect) error {
	return d.launch("intersect", a.P*d.runs(a.N), work{d.moved(6 * a.P * a.N), 0}, d.arrays(a), a.N)
}
