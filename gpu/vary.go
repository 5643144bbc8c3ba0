package gpu

import "psafe/host/bound"

var _ = wraps("vary")

// Vary is defined in bound.Vary.
func (d *Device) Vary(a bound.Vary) error {
	return d.launch("vary", d.runs(a.N), work{d.moved(7 * a.N), 0}, d.arrays(a), a.Quantile, a.Quantiles != nil, max(a.Each, 1), a.Lipschitz, a.N)
}
