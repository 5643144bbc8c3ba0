package gpu

import "psafe/host/bound"

var _ = wraps("widen")

// Widen is defined in bound.Widen.
func (d *Device) Widen(a bound.Widen) error {
	return d.launch("widen", d.runs(a.N), work{d.moved(8 * a.N), 0}, d.arrays(a), a.Quantile, a.Quantiles != nil, max(a.Each, 1), a.Upper != nil, a.Mag != nil, a.N)
}
