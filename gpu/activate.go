package gpu

import "psafe/host/bound"

var _ = wraps("activate")

// Activate is defined in bound.Activate.
func (d *Device) Activate(a bound.Activate) error {
	return d.launch("activate", d.runs(a.N), work{d.moved(4 * a.N), 0}, d.arrays(a),
		int(a.Activation.Kind), a.Activation.SlopeLo, a.Activation.SlopeHi, a.N)
}
