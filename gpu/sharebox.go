package gpu

import "psafe/host/bound"

var _ = wraps("sharebox")

// ShareBox is defined in bound.ShareBox.
func (d *Device) ShareBox(a bound.ShareBox) error {
	boxes, places, of := up(a.P, a.PerBox), a.P*a.K*a.Channels*a.R, a.P*a.Positions*a.Channels*a.R
	weight, c := d.array(a.W, places, "ShareBox.W"), d.array(a.C, a.P*a.R, "ShareBox.C")
	cIn := d.array(a.CIn, a.P*a.R, "ShareBox.CIn")
	gLo, gHi := d.interval(a.G, places, "ShareBox.G")
	rows := d.array(a.A, of, "ShareBox.A")
	weightLo, weightHi := d.interval(a.Weight, boxes*a.K*a.Channels, "ShareBox.Weight")
	biasLo, biasHi := d.interval(a.Bias, boxes*a.Channels, "ShareBox.Bias")
	maxSq := d.array(a.MaxSq, a.Inputs*a.In, "ShareBox.MaxSq")
	// A reciprocal is counted as one operation.
	w := work{d.moved(3*places + of + 2*a.P*a.R), 20*int64(places) + 2*int64(of)}
	return d.launch("sharebox", a.P*up(a.R, d.shape.Lanes), w, weight, c, cIn, gLo, gHi, rows, weightLo, weightHi, biasLo, biasHi, maxSq,
		a.Round.Slack, a.Round.Under, a.Round.Rel, a.Round.Abs, a.PerBox, a.R, a.In, a.Inputs, a.Positions, a.K, a.Channels)
}
