package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("sharerows")

// ShareRows is defined in bound.ShareRows.
func (d *Device) ShareRows(a bound.ShareRows) error {
	to, of, with := a.P*a.Positions*a.K*a.R, a.P*a.Positions*a.Channels*a.R, a.P*a.K*a.Channels*a.R
	tasks := a.P * up(a.Positions, kernels.SharePositions) * up(a.K, kernels.ShareTaps) * up(a.R, d.shape.Lanes)
	return d.launch("sharerows", tasks, work{d.moved(to + of + with), 2 * int64(to) * int64(a.Channels)}, d.arrays(a),
		a.R, a.Positions, a.K, a.Channels)
}
