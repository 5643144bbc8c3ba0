package gpu

import "psafe/host/bound"

var _ = wraps("relax")

// Relax is defined in bound.Relax.
func (d *Device) Relax(a bound.Relax) error {
	aLo, bLo := d.array(a.Lo.A, a.N, "Relax.Lo.A"), d.array(a.Lo.B, a.N, "Relax.Lo.B")
	aHi, bHi := d.array(a.Hi.A, a.N, "Relax.Hi.A"), d.array(a.Hi.B, a.N, "Relax.Hi.B")
	e := d.array(a.Err, a.N, "Relax.Err")
	lo, hi := d.interval(a.Pre, a.N, "Relax.Pre")
	upLo, upHi := lo, hi
	if a.Upper.Lo != nil {
		upLo, upHi = d.interval(a.Upper, a.N, "Relax.Upper")
	}
	mag := d.array(a.Mag, a.N, "Relax.Mag")
	return d.launch("relax", d.runs(a.N), work{d.moved(8 * a.N), 0}, aLo, bLo, aHi, bHi, e, lo, hi, upLo, upHi, mag,
		int(a.Kind), a.SlopeLo, a.SlopeHi, a.Charge.G1, a.Charge.G2, a.N)
}
