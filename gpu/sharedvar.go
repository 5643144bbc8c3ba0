package gpu

import "psafe/host/bound"

var _ = wraps("sharedvar", "sharemost", "shareparts", "sharedtaps", "sharedchannels", "sharedsums")

// SharedVar is defined in bound.SharedVar.
func (d *Device) SharedVar(a bound.SharedVar) error {
	places := a.P * a.K * a.Channels * a.R
	variance, varIn := d.array(a.Var, a.P*a.R, "SharedVar.Var"), d.optional(a.VarIn, a.P*a.Cols, "SharedVar.VarIn")
	gLo, gHi := d.interval(a.G, places, "SharedVar.G")
	rows := d.array(a.A, a.P*a.Positions*a.Channels*a.R, "SharedVar.A")
	v, vb := d.array(a.V, a.K*a.Channels, "SharedVar.V"), d.array(a.VB, a.Channels, "SharedVar.VB")
	maxSq := d.array(a.MaxSq, a.Inputs*a.In, "SharedVar.MaxSq")
	of := a.P * a.Positions * a.Channels * a.R
	w := work{d.moved(2*places + of + a.P*a.R), 7*int64(places) + 2*int64(of)}
	if d.shareStages(a.P*a.R, a.Channels, a.Positions, a.K) {
		return d.shareParts(rows, a.P, a.Positions, a.Channels, a.R, maxSq, a.Inputs, a.In, func(s shareParts) error {
			return d.sharedVar(a, s, w, variance, varIn, gLo, gHi, v, vb)
		})
	}
	return d.launch("sharedvar", a.P*up(a.R, d.shape.Lanes), w, variance, varIn, gLo, gHi, rows, v, vb, maxSq, varIn != nil,
		a.Round.Slack, a.Round.Under, a.Round.Rel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs, a.Positions, a.K, a.Channels)
}

// sharedVar adds up blocks of taps, channels and rows.
func (d *Device) sharedVar(a bound.SharedVar, s shareParts, w work, variance, varIn, gLo, gHi, v, vb *array) error {
	b, channels := blocks(a.K), a.P*a.Channels*a.R
	return d.parts([]int{b * channels, channels}, func(parts []*array) error {
		taps, sums := parts[0], parts[1]
		err := d.launch("sharedtaps", taps.n, w, taps, gLo, gHi, s.sums, s.magnitudes, v, s.greatest, a.Round.Slack, a.Round.Under,
			a.R, s.places, a.Inputs, a.K, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		err = d.launch("sharedchannels", channels, work{d.moved(taps.n + 2*s.sums.n + channels), int64(taps.n + 2*s.sums.n)}, sums, taps,
			s.sums, s.magnitudes, vb, a.Round.Slack, a.R, a.Channels, s.of, b)
		if err != nil {
			return err
		}
		return d.launch("sharedsums", a.P*a.R, work{d.moved(channels + 2*a.P*a.R), int64(channels)}, variance, varIn, sums, varIn != nil,
			a.Round.Rel, a.Round.Abs, a.R, a.Cols, a.Channels)
	})
}
