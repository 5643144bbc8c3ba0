package fallback

import "psafe/host/bound"

// SquareRows is defined in bound.SquareRows.
func (d *Device[T]) SquareRows(a bound.SquareRows) error {
	square, v := d.data(a.Square), d.data(a.A)
	return d.parallel(a.N, 4096, func(from, to int) {
		for i, x := range v[from:to] {
			s := T(0)
			if x != 0 {
				s = d.up(T(x * x))
			}
			square[from+i] = s
		}
	})
}
