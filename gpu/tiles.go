package gpu

import (
	"math"
	"slices"

	"psafe/kernels"
)

// tiles reports whether a product that shares a x b results among the items of one weight box goes
// to the kernels with tiles in local memory. Those are for GPUs, and a tile takes as long whether
// it is full or not: where less than half of the tiles' places are results, as with many boxes and
// few items or rows of each, or with the few outputs of a last layer, the register tiles do less in
// vain: they round up to 4 one way only, and coalesce there too. In each of widest, the numbers of
// an operand of one box, places are counted in 32 bits.
func (d *Device) tiles(a, b int, widest ...int) bool {
	const side = kernels.Side
	return d.shape.Lanes == 1 && slices.Max(append(widest, a)) <= math.MaxInt32 && 2*a*b >= up(a, side)*side*up(b, side)*side
}
