package gpu

import "psafe/host/bound"

var _ = wraps("splitrows", "splitblocks")

// SplitRows is defined in bound.SplitRows.
func (d *Device) SplitRows(a bound.SplitRows) error {
	n, all := a.P*a.N, a.P*a.N*a.R
	outA, outC := d.array(a.A, all, "SplitRows.A"), d.array(a.C, a.P*a.R, "SplitRows.C")
	s, cIn := d.array(a.S, all, "SplitRows.S"), d.array(a.CIn, a.P*a.R, "SplitRows.CIn")
	slope, phase := d.array(a.Slope, all, "SplitRows.Slope"), d.array(a.Phase, all, "SplitRows.Phase")
	beta := d.array(a.Beta, all, "SplitRows.Beta")
	zLo, zHi := d.interval(a.Z, n, "SplitRows.Z")
	aHi, bHi := d.array(a.Hi.A, n, "SplitRows.Hi.A"), d.array(a.Hi.B, n, "SplitRows.Hi.B")
	mag := d.array(a.Mag, n, "SplitRows.Mag")
	w := work{d.moved(5*all + 5*n), 6 * int64(all)}
	if b := blocks(a.N); d.inStages(a.P*a.R, b) {
		return d.parts([]int{a.P * b * a.R, a.P * b * a.R, a.P * b}, func(parts []*array) error {
			c, charge, size := parts[0], parts[1], parts[2]
			err := d.launch("splitblocks", c.n, w, outA, c, charge, size, s, slope, phase, beta, zLo, zHi, aHi, bHi, mag,
				a.Charge.G1, a.Charge.G2, a.N, a.R, b)
			if err != nil {
				return err
			}
			return d.launch("relaxsums", a.P*a.R, work{d.moved(2*c.n + 2*a.P*a.R), 2 * int64(c.n)}, outC, c, charge, size, cIn, (*array)(nil),
				a.Round.Rel, a.Round.Under, a.Round.Abs, false, 1, a.R, b)
		})
	}
	return d.launch("splitrows", a.P*up(a.R, d.shape.Lanes), w, outA, outC, s, cIn, slope, phase, beta, zLo, zHi, aHi, bHi, mag,
		a.Charge.G1, a.Charge.G2, a.Round.Rel, a.Round.Under, a.Round.Abs, a.N, a.R)
}
