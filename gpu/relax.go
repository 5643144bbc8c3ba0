package gpu

import "psafe/host/bound"

var _ = wraps("relax")

// Relax is defined in bound.Relax.
func (d *Device) Relax(a bound.Relax) error {
	if a.Upper.Lo == nil {
		a.Upper = a.Pre
	}
	return d.launch("relax", d.runs(a.N), work{d.moved(8 * a.N), 0}, d.arrays(a),
		int(a.Kind), a.SlopeLo, a.SlopeHi, a.Charge.G1, a.Charge.G2, a.N)
}
