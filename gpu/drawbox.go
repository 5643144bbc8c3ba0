package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("drawbox")

// DrawBox is defined in bound.DrawBox.
func (d *Device) DrawBox(a bound.DrawBox) error {
	lo, hi := d.interval(a.Box, a.Boxes*a.N, "DrawBox.Box")
	cLo, cHi := d.interval(a.Centre, a.N, "DrawBox.Centre")
	unit := d.array(a.Unit, a.N, "DrawBox.Unit")
	gamma := d.array(a.Gamma, a.Boxes, "DrawBox.Gamma")
	tasks := a.Boxes * up(a.N, kernels.DrawRun(d.shape.Lanes))
	w := work{d.moved(2*a.Boxes*a.N + 3*a.N + a.Boxes), 6 * int64(a.Boxes) * int64(a.N)}
	return d.launch("drawbox", tasks, w, lo, hi, cLo, cHi, unit, gamma, a.N, a.Sampled, a.Seed, a.First, a.Stream)
}
