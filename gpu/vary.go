package gpu

import "psafe/host/bound"

var _ = wraps("vary")

// Vary is defined in bound.Vary.
func (d *Device) Vary(a bound.Vary) error {
	radius, radiusSq := d.array(a.Radius, a.N, "Vary.Radius"), d.array(a.RadiusSq, a.N, "Vary.RadiusSq")
	maxSq := d.array(a.MaxSq, a.N, "Vary.MaxSq")
	zLo, zHi := d.interval(a.Z, a.N, "Vary.Z")
	mean, variance := d.array(a.Mean, a.N, "Vary.Mean"), d.array(a.Var, a.N, "Vary.Var")
	return d.launch("vary", d.runs(a.N), work{d.moved(7 * a.N), 0}, radius, radiusSq, maxSq, zLo, zHi, mean, variance,
		a.Quantile, a.Lipschitz, a.N)
}
