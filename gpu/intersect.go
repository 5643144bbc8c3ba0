package gpu

import "psafe/host/bound"

var _ = wraps("intersect")

// Intersect is defined in bound.Intersect.
func (d *Device) Intersect(a bound.Intersect) error {
	lo, hi := d.interval(a.Pre, a.P*a.N, "Intersect.Pre")
	bnd := d.array(a.Bound, a.P*2*a.N, "Intersect.Bound")
	return d.launch("intersect", a.P*d.runs(a.N), work{d.moved(6 * a.P * a.N), 0}, lo, hi, bnd, a.N)
}
