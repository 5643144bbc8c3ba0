package gpu

import "psafe/host/bound"

var _ = wraps("sharebox", "boxtaps", "boxchannels", "boxsums")

// ShareBox is defined in bound.ShareBox.
func (d *Device) ShareBox(a bound.ShareBox) error {
	on, places, of := d.arrays(a), a.P*a.K*a.Channels*a.R, a.P*a.Positions*a.Channels*a.R
	// A reciprocal is counted as one operation.
	w := work{d.moved(3*places + of + 2*a.P*a.R), 20*int64(places) + 2*int64(of)}
	if d.shareStages(a.P*a.R, a.Channels, a.Positions, a.K) {
		return d.shareParts(on, a.P, a.Positions, a.Channels, a.R, a.Inputs, a.In, func(s shareParts) error { return d.shareBox(a, s, w) })
	}
	return d.launch("sharebox", a.P*up(a.R, d.shape.Lanes), w, on,
		a.Round.Slack, a.Round.Under, a.Round.Rel, a.Round.Abs, a.PerBox, a.R, a.In, a.Inputs, a.Positions, a.K, a.Channels)
}

// shareBox adds up blocks of taps, channels and rows.
func (d *Device) shareBox(a bound.ShareBox, s shareParts, w work) error {
	b, channels := blocks(a.K), a.P*a.Channels*a.R
	n := b * channels
	return d.parts(s.on, []part{{"costs", n}, {"channelCosts", channels}, {"biases", channels}}, func(on arrays) error {
		err := d.launch("boxtaps", n, w, on, a.Round.Slack, a.Round.Under, a.PerBox, a.R, s.places, a.Inputs, a.K, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		err = d.launch("boxchannels", channels, work{d.moved(n + 2*s.n + 2*channels), int64(n + 2*s.n)}, on,
			a.Round.Slack, a.PerBox, a.R, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		return d.launch("boxsums", a.P*a.R, work{d.moved(2*channels + 2*a.P*a.R), 2 * int64(channels)}, on,
			a.Round.Rel, a.Round.Abs, a.R, a.Channels)
	})
}
