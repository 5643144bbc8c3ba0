package fallback

import "psafe/host/bound"

// Widen is defined in bound.Widen.
func (d *Device[T]) Widen(a bound.Widen) error {
	lo, hi, mag := d.data(a.Lower), d.data(a.Upper), d.data(a.Mag)
	mean, variance := d.data(a.Mean), d.data(a.Var)
	q := T(a.Quantile)
	return d.parallel(a.N, 2048, func(from, to int) {
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
