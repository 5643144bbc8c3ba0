package gpu

import "psafe/host/bound"

var _ = wraps("relaxrows", "relaxblocks", "relaxsums")

// RelaxRows is defined in bound.RelaxRows.
func (d *Device) RelaxRows(a bound.RelaxRows) error {
	on, rows, n := d.arrays(a), a.Rows(), a.P*a.N
	tasks := a.P * up(a.Cols, d.shape.Lanes) * (rows / a.Cols)
	w := work{d.moved(n*rows + 2*up(a.P, a.PerBox)*a.N*a.Cols + 8*n), 5 * int64(n) * int64(rows)}
	if b := blocks(a.N); d.inStages(a.P*rows, b) {
		n := a.P * b * rows
		return d.parts(on, []part{{"sumC", n}, {"sumCharge", n}, {"size", a.P * b}}, func(on arrays) error {
			if err := d.launch("relaxblocks", n, w, on, a.Round.Chord, a.Mirrored, a.Sure(), a.PerBox, a.Cols, a.N, b); err != nil {
				return err
			}
			return d.launch("relaxsums", a.P*rows, work{d.moved(2*n + 2*a.P*rows), 2 * int64(n)}, on,
				a.Round.Rel, a.Round.Under, a.Round.Abs, a.Mirrored, a.PerBox, a.Cols, b)
		})
	}
	return d.launch("relaxrows", tasks, w, on,
		a.Round.Rel, a.Round.Chord, a.Round.Under, a.Round.Abs, a.Mirrored, a.Sure(), a.PerBox, a.Cols, a.N)
}
