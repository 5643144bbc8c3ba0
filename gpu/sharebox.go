package gpu

import "psafe/host/bound"

var _ = wraps("sharebox", "boxtaps", "boxchannels", "boxsums")

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
	if d.shareStages(a.P*a.R, a.Channels, a.Positions, a.K) {
		return d.shareParts(rows, a.P, a.Positions, a.Channels, a.R, maxSq, a.Inputs, a.In, func(s shareParts) error {
			return d.shareBox(a, s, w, weight, c, cIn, gLo, gHi, weightLo, weightHi, biasLo, biasHi)
		})
	}
	return d.launch("sharebox", a.P*up(a.R, d.shape.Lanes), w, weight, c, cIn, gLo, gHi, rows, weightLo, weightHi, biasLo, biasHi, maxSq,
		a.Round.Slack, a.Round.Under, a.Round.Rel, a.Round.Abs, a.PerBox, a.R, a.In, a.Inputs, a.Positions, a.K, a.Channels)
}

// shareBox adds up blocks of taps, channels and rows.
func (d *Device) shareBox(a bound.ShareBox, s shareParts, w work, weight, c, cIn, gLo, gHi, weightLo, weightHi, biasLo, biasHi *array) error {
	b, channels := blocks(a.K), a.P*a.Channels*a.R
	return d.parts([]int{b * channels, channels, channels}, func(parts []*array) error {
		taps, costs, biases := parts[0], parts[1], parts[2]
		err := d.launch("boxtaps", taps.n, w, weight, taps, gLo, gHi, s.sums, s.magnitudes, weightLo, weightHi, s.greatest,
			a.Round.Slack, a.Round.Under, a.PerBox, a.R, s.places, a.Inputs, a.K, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		err = d.launch("boxchannels", channels, work{d.moved(taps.n + 2*s.sums.n + 2*channels), int64(taps.n + 2*s.sums.n)}, costs, biases, taps,
			s.sums, s.magnitudes, biasLo, biasHi, a.Round.Slack, a.PerBox, a.R, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		return d.launch("boxsums", a.P*a.R, work{d.moved(2*channels + 2*a.P*a.R), 2 * int64(channels)}, c, cIn, costs, biases,
			a.Round.Rel, a.Round.Abs, a.R, a.Channels)
	})
}
