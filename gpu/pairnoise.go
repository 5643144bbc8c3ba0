package gpu

import "psafe/host/bound"

var _ = wraps("pairnoise", "pairblocks", "pairsums")

// PairNoise is defined in bound.PairNoise.
func (d *Device) PairNoise(a bound.PairNoise) error {
	on, more := d.arrays(a), a.SumIn != nil
	w := work{d.moved(a.P * a.R * (4*a.K + 2)), 6 * int64(a.P) * int64(a.R) * int64(a.K)}
	if b := blocks(a.K); d.inStages(a.P*a.R, b) {
		n := a.P * b * a.R
		return d.parts(on, []part{{"sums", n}}, func(on arrays) error {
			if err := d.launch("pairblocks", n, w, on, a.Squared, a.PerBox, a.Inputs, a.R, a.In, a.K, a.Channels, b); err != nil {
				return err
			}
			return d.launch("pairsums", a.P*a.R, work{d.moved(n + 2*a.P*a.R), int64(n)}, on, more, a.Round.Rel, a.Round.Abs, a.R, b)
		})
	}
	return d.launch("pairnoise", a.P*a.R, w, on, more, a.Squared, a.Round.Rel, a.Round.Abs, a.PerBox, a.Inputs, a.R, a.In, a.K, a.Channels)
}
