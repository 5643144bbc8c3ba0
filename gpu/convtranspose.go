package gpu

import "psafe/host/bound"

var _ = wraps("convtranspose", "convlive", "convplaces")

// runOf is how many of n results a task owns that walks over them: as many as leave some hundred tasks.
func runOf(n int) int { return min(max(4, n/128), 64) }

// ConvTranspose is defined in bound.ConvTranspose.
func (d *Device) ConvTranspose(a bound.ConvTranspose) error {
	on, tiles := d.arrays(a), up(a.R, d.shape.Lanes)
	w := work{
		d.moved(a.P*a.R*(a.Positions*a.Channels+a.J) + 2*up(a.P, a.PerBox)*a.K*a.Channels),
		2 * int64(a.P) * int64(a.R) * int64(a.E) * int64(a.Channels),
	}
	// Vectors of rows list the channels that are not 0 in any; on GPUs work-items are rows.
	if d.shape.Lanes == 1 || a.W.Lo != a.W.Hi {
		return d.launch("convtranspose", a.P*a.J*tiles, w, on,
			a.Needed != nil, a.Add, a.PerBox, a.R, a.J, a.Positions, a.K, a.Channels)
	}
	vectors := a.P * tiles * a.Positions
	n := blocks(a.Channels) * vectors
	return d.parts(on, []part{{"live", n}}, func(on arrays) error {
		read := work{d.moved(a.P*a.R*a.Positions*a.Channels + n), 0}
		if err := d.launch("convlive", vectors, read, on, a.R, a.Positions, a.Channels); err != nil {
			return err
		}
		run := runOf(a.P * tiles * a.J)
		return d.launch("convplaces", a.P*tiles*up(a.J, run), w, on,
			a.Needed != nil, a.Add, a.PerBox, run, a.R, a.J, a.Positions, a.K, a.Channels)
	})
}
