package fallback

import "psafe/host/bound"

// Widen is defined in bound.Widen.
func (d *Device[T]) Widen(a bound.Widen) error {
	lo, hi := d.data(a.Lower, a.N, "Widen.Lower"), d.optional(a.Upper, a.N, "Widen.Upper")
	mag := d.optional(a.Mag, a.N, "Widen.Mag")
	mean, variance := d.data(a.Mean, a.N, "Widen.Mean"), d.data(a.Var, a.N, "Widen.Var")
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
