package gpu

import "psafe/host/bound"

var _ = wraps("splitrows", "splitblocks")

// SplitRows is defined in bound.SplitRows.
func (d *Device) SplitRows(a bound.SplitRows) error {
	on, n, all := d.arrays(a), a.P*a.N, a.P*a.N*a.R
	w := work{d.moved(5*all + 5*n), 6 * int64(all)}
	if b := blocks(a.N); d.inStages(a.P*a.R, b) {
		n := a.P * b * a.R
		return d.parts(on, []part{{"sumC", n}, {"sumCharge", n}, {"size", a.P * b}}, func(on arrays) error {
			if err := d.launch("splitblocks", n, w, on, a.Charge.G1, a.Charge.G2, a.N, a.R, b); err != nil {
				return err
			}
			return d.launch("relaxsums", a.P*a.R, work{d.moved(2*n + 2*a.P*a.R), 2 * int64(n)}, on.with("cLo", on.get("cIn")).with("cHi", nil),
				a.Round.Rel, a.Round.Under, a.Round.Abs, false, 1, a.R, b)
		})
	}
	return d.launch("splitrows", a.P*up(a.R, d.shape.Lanes), w, on,
		a.Charge.G1, a.Charge.G2, a.Round.Rel, a.Round.Under, a.Round.Abs, a.N, a.R)
}
