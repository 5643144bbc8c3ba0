package gpu

import "psafe/host/bound"

var _ = wraps("poollines")

// PoolLines is defined in bound.PoolLines.
func (d *Device) PoolLines(a bound.PoolLines) error {
	n := a.P * a.U
	moved := 14*n + 3*a.P*a.N + a.U*a.Window
	if a.Lead != nil {
		moved += n * a.Window
	}
	return d.launch("poollines", a.P*up(a.U, d.shape.Lanes), work{d.moved(moved), 0}, d.arrays(a),
		a.Greatest, a.Radius != nil, a.Lead != nil, a.Charge.G1, a.Charge.G2, a.N, a.U, a.Window)
}
