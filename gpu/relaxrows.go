package gpu

import "psafe/host/bound"

var _ = wraps("relaxrows", "relaxblocks", "relaxsums")

// RelaxRows is defined in bound.RelaxRows.
func (d *Device) RelaxRows(a bound.RelaxRows) error {
	rows, boxes, n := a.Rows(), up(a.P, a.PerBox), a.P*a.N
	outA, outC := d.array(a.A, n*rows, "RelaxRows.A"), d.array(a.C, a.P*rows, "RelaxRows.C")
	sLo := d.array(a.S.Lo, boxes*a.N*a.Cols, "RelaxRows.S.Lo")
	var sHi, cHi *array
	if !a.NonNeg || a.Mirrored {
		sHi = d.array(a.S.Hi, boxes*a.N*a.Cols, "RelaxRows.S.Hi")
	}
	cLo := d.array(a.CIn.Lo, boxes*a.Cols, "RelaxRows.CIn.Lo")
	if a.Mirrored {
		cHi = d.array(a.CIn.Hi, boxes*a.Cols, "RelaxRows.CIn.Hi")
	}
	zLo, zHi := d.interval(a.Z, n, "RelaxRows.Z")
	aLo, bLo := d.array(a.Lo.A, n, "RelaxRows.Lo.A"), d.array(a.Lo.B, n, "RelaxRows.Lo.B")
	aHi, bHi := d.array(a.Hi.A, n, "RelaxRows.Hi.A"), d.array(a.Hi.B, n, "RelaxRows.Hi.B")
	e, mag := d.array(a.Err, n, "RelaxRows.Err"), d.array(a.Mag, n, "RelaxRows.Mag")
	tasks := a.P * up(a.Cols, d.shape.Lanes) * (rows / a.Cols)
	w := work{d.moved(n*rows + 2*boxes*a.N*a.Cols + 8*n), 5 * int64(n) * int64(rows)}
	if b := blocks(a.N); d.inStages(a.P*rows, b) {
		return d.parts([]int{a.P * b * rows, a.P * b * rows, a.P * b}, func(parts []*array) error {
			c, charge, size := parts[0], parts[1], parts[2]
			err := d.launch("relaxblocks", c.n, w, outA, c, charge, size, sLo, sHi, zLo, zHi, aLo, bLo, aHi, bHi, e, mag,
				a.Round.Chord, a.Mirrored, a.Sure(), a.PerBox, a.Cols, a.N, b)
			if err != nil {
				return err
			}
			return d.launch("relaxsums", a.P*rows, work{d.moved(2*c.n + 2*a.P*rows), 2 * int64(c.n)}, outC, c, charge, size, cLo, cHi,
				a.Round.Rel, a.Round.Under, a.Round.Abs, a.Mirrored, a.PerBox, a.Cols, b)
		})
	}
	return d.launch("relaxrows", tasks, w, outA, outC, sLo, sHi, cLo, cHi, zLo, zHi, aLo, bLo, aHi, bHi, e, mag,
		a.Round.Rel, a.Round.Chord, a.Round.Under, a.Round.Abs, a.Mirrored, a.Sure(), a.PerBox, a.Cols, a.N)
}
