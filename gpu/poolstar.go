package gpu

import "psafe/host/bound"

var _ = wraps("poolstar")

// PoolStar is defined in bound.PoolStar.
func (d *Device) PoolStar(a bound.PoolStar) error {
	slot, unit := d.array(a.Slot, a.P*a.U, "PoolStar.Slot"), d.array(a.Unit, a.P*a.U, "PoolStar.Unit")
	lo, hi := d.interval(a.Pre, a.P*a.N, "PoolStar.Pre")
	members := d.array(a.Members, a.U*a.Window, "PoolStar.Members")
	w := work{d.moved(2*a.P*a.U + 2*a.P*a.N + a.U*a.Window), int64(a.P) * int64(a.U) * int64(a.Window)}
	return d.launch("poolstar", a.P*up(a.U, d.shape.Lanes), w, slot, unit, lo, hi, members, a.N, a.U, a.Window)
}
