package gpu

import "psafe/host/bound"

var _ = wraps("poolstar")

// PoolStar is defined in bound.PoolStar.
func (d *Device) PoolStar(a bound.PoolStar) error {
	w := work{d.moved(2*a.P*a.U + 2*a.P*a.N + a.U*a.Window), int64(a.P) * int64(a.U) * int64(a.Window)}
	return d.launch("poolstar", a.P*up(a.U, d.shape.Lanes), w, d.arrays(a), a.N, a.U, a.Window)
}
