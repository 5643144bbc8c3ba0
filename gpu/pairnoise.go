package gpu

import "psafe/host/bound"

var _ = wraps("pairnoise", "pairblocks", "pairsums")

// PairNoise is defined in bound.PairNoise.
func (d *Device) PairNoise(a bound.PairNoise) error {
	sum, sumIn := d.array(a.Sum, a.P*a.R, "PairNoise.Sum"), d.optional(a.SumIn, a.P*a.R, "PairNoise.SumIn")
	v := d.array(a.V, up(a.P, a.PerBox)*a.K*a.Channels, "PairNoise.V")
	zLo, zHi := d.interval(a.Z, a.Inputs*a.In, "PairNoise.Z")
	taps := d.array(a.Taps, a.Positions*a.K, "PairNoise.Taps")
	unit, other := d.array(a.Unit, a.R, "PairNoise.Unit"), d.array(a.Other, a.P*a.R, "PairNoise.Other")
	w := work{d.moved(a.P * a.R * (4*a.K + 2)), 6 * int64(a.P) * int64(a.R) * int64(a.K)}
	if b := blocks(a.K); d.inStages(a.P*a.R, b) {
		return d.parts([]int{a.P * b * a.R}, func(parts []*array) error {
			sums := parts[0]
			err := d.launch("pairblocks", sums.n, w, sums, v, zLo, zHi, taps, unit, other, a.Squared, a.PerBox, a.Inputs, a.R, a.In, a.K, a.Channels, b)
			if err != nil {
				return err
			}
			return d.launch("pairsums", a.P*a.R, work{d.moved(sums.n + 2*a.P*a.R), int64(sums.n)}, sum, sumIn, sums, sumIn != nil,
				a.Round.Rel, a.Round.Abs, a.R, b)
		})
	}
	return d.launch("pairnoise", a.P*a.R, w, sum, sumIn, v, zLo, zHi, taps, unit, other, sumIn != nil, a.Squared,
		a.Round.Rel, a.Round.Abs, a.PerBox, a.Inputs, a.R, a.In, a.K, a.Channels)
}
