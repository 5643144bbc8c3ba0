package gpu

import (
	"fmt"
	"math"

	"psafe/host/bound"
)

var _ = wraps("squarerows")

// SquareRows is defined in bound.SquareRows.
func (d *Device) SquareRows(a bound.SquareRows) error {
	square, v := d.array(a.Square, a.N, "SquareRows.Square"), d.array(a.A, a.N, "SquareRows.A")
	if a.N > math.MaxInt32 {
		return fmt.Errorf("squarerows: %d coefficients are more than a kernel counts: a network this wide needs fewer inputs at a time", a.N)
	}
	return d.launch("squarerows", d.runs(a.N), work{d.moved(2 * a.N), int64(a.N)}, square, v, a.N)
}
