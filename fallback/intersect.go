package fallback

import (
	"math"

	"psafe/host/bound"
)

// Intersect is defined in bound.Intersect.
func (d *Device[T]) Intersect(a bound.Intersect) error {
	lo, hi := d.interval(a.Pre)
	bnd := d.data(a.Bound)
	inf := T(math.Inf(1))
	return d.parallel(a.P*a.N, 4096, func(from, to int) {
		for i := from; i < to; i++ {
			p, n := i/a.N, i%a.N
			lo[i] = max(lo[i], bnd[p*2*a.N+n])
			hi[i] = min(hi[i], -bnd[p*2*a.N+a.N+n])
			if !(lo[i] <= hi[i]) {
				lo[i], hi[i] = -inf, inf
			}
		}
	})
}
