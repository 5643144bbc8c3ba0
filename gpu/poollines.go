package gpu

import "psafe/host/bound"

var _ = wraps("poollines")

// PoolLines is defined in bound.PoolLines.
func (d *Device) PoolLines(a bound.PoolLines) error {
	n := a.P * a.U
	aLo, bLo := d.array(a.Lower.A, n, "PoolLines.Lower.A"), d.array(a.Lower.B, n, "PoolLines.Lower.B")
	aHi, bHi := d.array(a.Upper.A, n, "PoolLines.Upper.A"), d.array(a.Upper.B, n, "PoolLines.Upper.B")
	e, magOut := d.array(a.Err, n, "PoolLines.Err"), d.array(a.MagOut, n, "PoolLines.MagOut")
	vLo, vHi := d.interval(a.V, n, "PoolLines.V")
	aboveLo, aboveHi := d.interval(a.Above, n, "PoolLines.Above")
	starLo, starHi := d.interval(a.Star, n, "PoolLines.Star")
	lo, hi := d.interval(a.Pre, a.P*a.N, "PoolLines.Pre")
	mag, radius := d.array(a.Mag, a.P*a.N, "PoolLines.Mag"), d.optional(a.Radius, a.P*a.N, "PoolLines.Radius")
	var radiusOut *array
	if radius != nil {
		radiusOut = d.array(a.RadiusOut, n, "PoolLines.RadiusOut")
	}
	members, slot := d.array(a.Members, a.U*a.Window, "PoolLines.Members"), d.array(a.Slot, n, "PoolLines.Slot")
	lead := d.optional(a.Lead, n*a.Window, "PoolLines.Lead")
	moved := 14*n + 3*a.P*a.N + a.U*a.Window
	if lead != nil {
		moved += n * a.Window
	}
	return d.launch("poollines", a.P*up(a.U, d.shape.Lanes), work{d.moved(moved), 0},
		aLo, bLo, aHi, bHi, e, vLo, vHi, aboveLo, aboveHi, starLo, starHi, magOut, radiusOut, lo, hi, mag, radius, members, slot, lead,
		a.Greatest, radius != nil, lead != nil, a.Charge.G1, a.Charge.G2, a.N, a.U, a.Window)
}
