package fallback

import "psafe/host/bound"

// SquareRows is defined in bound.SquareRows.
func (d *Device[T]) SquareRows(a bound.SquareRows) error {
	square, v := d.data(a.Square), d.data(a.A)
	return d.parallel(a.N, 4096, func(from, to int) {
		for i := from + squareRowsLanes(d, square[from:to], v[from:to]); i < to; i++ {
			s := T(0)
			if x := v[i]; x != 0 {
				s = d.up(T(x * x))
			}
			square[i] = s
		}
	})
}
