package gpu

import "psafe/host/bound"

var _ = wraps("activate")

// Activate is defined in bound.Activate.
func (d *Device) Activate(a bound.Activate) error {
	zLo, zHi := d.interval(a.Z, a.N, "Activate.Z")
	lo, hi := d.interval(a.Pre, a.N, "Activate.Pre")
	return d.launch("activate", d.runs(a.N), work{d.moved(4 * a.N), 0}, zLo, zHi, lo, hi,
		int(a.Activation.Kind), a.Activation.SlopeLo, a.Activation.SlopeHi, a.N)
}
