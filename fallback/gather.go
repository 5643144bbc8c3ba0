package fallback

import (
	"fmt"

	"psafe/host/bound"
)

// Gather is defined in bound.Gather.
func (d *Device[T]) Gather(a bound.Gather) error {
	out, in := d.data(a.Out), d.data(a.In)
	index := d.places(a.Index, -1, a.N, "Gather.Index")
	return d.parallel(a.P*a.T, 1+4096/max(a.R, 1), func(from, to int) {
		for from < to {
			p, t := from/a.T, from%a.T
			n := min(a.T-t, to-from)
			gather(out[(p*a.Total+a.At+t)*a.R:][:n*a.R], in[p*a.N*a.R:][:a.N*a.R], index[t:t+n], a.R)
			from += n
		}
	})
}

// gather copies rows of one item.
func gather[T bound.Real](out, in []T, index []int32, rows int) {
	if rows == 1 {
		for i, at := range index {
			if at < 0 {
				out[i] = 0
			} else {
				out[i] = in[at]
			}
		}
		return
	}
	for i, at := range index {
		if dst := out[i*rows:][:rows]; at < 0 {
			clear(dst)
		} else {
			copy(dst, in[int(at)*rows:])
		}
	}
}

// places returns the whole numbers of an array, of [least, end).
func (d *Device[T]) places(a bound.Array, least, end int, what string) []int32 {
	list := make([]int32, a.Len())
	for i, x := range d.data(a) {
		at := int32(x)
		if T(at) != x || int(at) < least || int(at) >= end {
			panic(fmt.Sprintf("fallback: %s: entry %d is %v, no whole number from %d to %d", what, i, x, least, end-1))
		}
		list[i] = at
	}
	return list
}
