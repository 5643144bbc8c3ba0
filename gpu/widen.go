package gpu

import "psafe/host/bound"

var _ = wraps("widen")

// Widen is defined in bound.Widen.
func (d *Device) Widen(a bound.Widen) error {
	lo, hi := d.array(a.Lower, a.N, "Widen.Lower"), d.optional(a.Upper, a.N, "Widen.Upper")
	mag := d.optional(a.Mag, a.N, "Widen.Mag")
	mean, variance := d.array(a.Mean, a.N, "Widen.Mean"), d.array(a.Var, a.N, "Widen.Var")
	return d.launch("widen", d.runs(a.N), work{d.moved(8 * a.N), 0}, lo, hi, mag, mean, variance, a.Quantile, hi != nil, mag != nil, a.N)
}
