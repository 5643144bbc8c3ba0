package gpu

import "psafe/host/bound"

var _ = wraps("sharedvar", "sharedchannels", "sharedsums")

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
	if d.inStages(a.P*a.R, a.Channels) {
		return d.parts([]int{a.P * a.Channels * a.R}, func(parts []*array) error {
			sums := parts[0]
			err := d.launch("sharedchannels", sums.n, w, sums, gLo, gHi, rows, v, vb, maxSq, a.Round.Slack, a.Round.Under,
				a.R, a.In, a.Inputs, a.Positions, a.K, a.Channels)
			if err != nil {
				return err
			}
			return d.launch("sharedsums", a.P*a.R, work{d.moved(sums.n + 2*a.P*a.R), int64(sums.n)}, variance, varIn, sums, varIn != nil,
				a.Round.Rel, a.Round.Abs, a.R, a.Cols, a.Channels)
		})
	}
	return d.launch("sharedvar", a.P*up(a.R, d.shape.Lanes), w, variance, varIn, gLo, gHi, rows, v, vb, maxSq, varIn != nil,
		a.Round.Slack, a.Round.Under, a.Round.Rel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs, a.Positions, a.K, a.Channels)
}
