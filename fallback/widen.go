package fallback

import (
	"math"

	"psafe/host/bound"
)

// Widen is defined in bound.Widen.
func (d *Device[T]) Widen(a bound.Widen) error {
	lo, hi, mag := d.data(a.Lower), d.data(a.Upper), d.data(a.Mag)
	mean, variance := d.data(a.Mean), d.data(a.Var)
	return d.ofItems(a.Quantile, a.Quantiles, a.N, a.Each, func(q T, from, to int) {
		for i := from; i < to; i++ {
			by := d.up(mean[i] + d.up(T(q*d.rootUp(variance[i]))))
			lo[i] = d.lower(d.down(lo[i] - by))
			if hi != nil {
				hi[i] = d.upper(d.up(hi[i] + by))
			}
			if mag != nil {
				mag[i] = d.upper(d.up(mag[i] + by))
			}
		}
	})
}

// ofItems cuts n numbers into parts of one quantile each: q, or if there are quantiles that of the
// item, of which each numbers are. One that is not at least 0, NaN among them, counts as infinite.
func (d *Device[T]) ofItems(q float64, quantiles bound.Array, n, each int, part func(q T, from, to int)) error {
	of := d.data(quantiles)
	if of == nil {
		of, each = []T{T(q)}, n
	}
	return d.parallel(n, 2048, func(from, to int) {
		for from < to {
			item := from / each
			end, q := min(to, (item+1)*each), of[item]
			if !(q >= 0) {
				q = T(math.Inf(1))
			}
			part(q, from, end)
			from = end
		}
	})
}
