package gpu

import "psafe/host/bound"

var _ = wraps("sharedvar", "sharemost", "shareparts", "sharedtaps", "sharedchannels", "sharedsums")

// SharedVar is defined in bound.SharedVar.
func (d *Device) SharedVar(a bound.SharedVar) error {
	on, places, of := d.arrays(a), a.P*a.K*a.Channels*a.R, a.P*a.Positions*a.Channels*a.R
	w := work{d.moved(2*places + of + a.P*a.R), 7*int64(places) + 2*int64(of)}
	if d.shareStages(a.P*a.R, a.Channels, a.Positions, a.K) {
		return d.shareParts(on, a.P, a.Positions, a.Channels, a.R, a.Inputs, a.In, func(s shareParts) error { return d.sharedVar(a, s, w) })
	}
	return d.launch("sharedvar", a.P*up(a.R, d.shape.Lanes), w, on, a.VarIn != nil,
		a.Round.Slack, a.Round.Under, a.Round.Rel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs, a.Positions, a.K, a.Channels)
}

// sharedVar adds up blocks of taps, channels and rows.
func (d *Device) sharedVar(a bound.SharedVar, s shareParts, w work) error {
	b, channels := blocks(a.K), a.P*a.Channels*a.R
	n := b * channels
	return d.parts(s.on, []part{{"taps", n}, {"sums", channels}}, func(on arrays) error {
		err := d.launch("sharedtaps", n, w, on, a.Round.Slack, a.Round.Under, a.R, s.places, a.Inputs, a.K, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		err = d.launch("sharedchannels", channels, work{d.moved(n + 2*s.n + channels), int64(n + 2*s.n)}, on,
			a.Round.Slack, a.R, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		return d.launch("sharedsums", a.P*a.R, work{d.moved(channels + 2*a.P*a.R), int64(channels)}, on, a.VarIn != nil,
			a.Round.Rel, a.Round.Abs, a.R, a.Cols, a.Channels)
	})
}
