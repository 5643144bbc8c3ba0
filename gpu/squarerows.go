package gpu

import "psafe/host/bound"

var _ = wraps("squarerows")

// SquareRows is defined in bound.SquareRows.
func (d *Device) SquareRows(a bound.SquareRows) error {
	return d.launch("squarerows", d.runs(a.N), work{d.moved(2 * a.N), int64(a.N)}, d.arrays(a), a.N)
}
