package gpu

import (
	"psafe/host/bound"
	"psafe/kernels"
)

var _ = wraps("drawbox")

// DrawBox is defined in bound.DrawBox.
func (d *Device) DrawBox(a bound.DrawBox) error {
	tasks := a.Boxes * up(a.N, kernels.DrawRun(d.shape.Lanes))
	w := work{d.moved(2*a.Boxes*a.N + 3*a.N + a.Boxes), 6 * int64(a.Boxes) * int64(a.N)}
	return d.launch("drawbox", tasks, w, d.arrays(a), a.N, a.Sampled, a.Seed, a.First, a.Stream)
}
