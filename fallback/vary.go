package fallback

import "psafe/host/bound"

// Vary is defined in bound.Vary.
func (d *Device[T]) Vary(a bound.Vary) error {
	radius, radiusSq := d.data(a.Radius, a.N, "Vary.Radius"), d.data(a.RadiusSq, a.N, "Vary.RadiusSq")
	maxSq := d.data(a.MaxSq, a.N, "Vary.MaxSq")
	zLo, zHi := d.interval(a.Z, a.N, "Vary.Z")
	mean, variance := d.data(a.Mean, a.N, "Vary.Mean"), d.data(a.Var, a.N, "Vary.Var")
	q, lipschitz := T(a.Quantile), T(a.Lipschitz)
	return d.parallel(a.N, 2048, func(from, to int) {
		for i := from; i < to; i++ {
			by := d.up(mean[i] + d.up(T(q*d.rootUp(variance[i]))))
			r := d.upper(min(d.up(T(lipschitz*by)), d.up(zHi[i]-zLo[i])))
			m := max(-zLo[i], zHi[i])
			radius[i], radiusSq[i], maxSq[i] = r, d.upper(d.up(T(r*r))), d.upper(d.up(T(m*m)))
		}
	})
}
