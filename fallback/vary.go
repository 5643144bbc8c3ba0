package fallback

import "psafe/host/bound"

// Vary is defined in bound.Vary.
func (d *Device[T]) Vary(a bound.Vary) error {
	radius, radiusSq, maxSq := d.data(a.Radius), d.data(a.RadiusSq), d.data(a.MaxSq)
	zLo, zHi := d.interval(a.Z)
	mean, variance := d.data(a.Mean), d.data(a.Var)
	lipschitz := T(a.Lipschitz)
	return d.ofItems(a.Quantile, a.Quantiles, a.N, a.Each, func(q T, from, to int) {
		for i := from; i < to; i++ {
			by := d.up(mean[i] + d.up(T(q*d.rootUp(variance[i]))))
			r := d.upper(min(d.up(T(lipschitz*by)), d.up(zHi[i]-zLo[i])))
			if zHi[i]-zLo[i] == 0 { // which is exact: only of equal numbers
				r = 0
			}
			m := max(-zLo[i], zHi[i])
			radius[i], radiusSq[i], maxSq[i] = r, d.squareUp(r), d.squareUp(m)
		}
	})
}

// squareUp is at least the square of x, and 0 only of 0.
func (d *Device[T]) squareUp(x T) T {
	if x == 0 {
		return 0
	}
	return d.upper(d.up(T(x * x)))
}
