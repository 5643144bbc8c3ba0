package gpu

import "psafe/host/bound"

var _ = wraps("convtranspose")

// ConvTranspose is defined in bound.ConvTranspose.
func (d *Device) ConvTranspose(a bound.ConvTranspose) error {
	w := work{
		d.moved(a.P*a.R*(a.Positions*a.Channels+a.J) + 2*up(a.P, a.PerBox)*a.K*a.Channels),
		2 * int64(a.P) * int64(a.R) * int64(a.E) * int64(a.Channels),
	}
	return d.launch("convtranspose", a.P*a.J*up(a.R, d.shape.Lanes), w, d.arrays(a),
		a.Needed != nil, a.Add, a.PerBox, a.R, a.J, a.Positions, a.K, a.Channels)
}
