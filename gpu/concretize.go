package gpu

import "psafe/host/bound"

var _ = wraps("concretize", "concretizeblocks", "concretizesums")

// Concretize is defined in bound.Concretize.
func (d *Device) Concretize(a bound.Concretize) error {
	on, both := d.arrays(a), 2
	if a.NonNeg {
		both = 1
	}
	w := work{d.moved(both*a.P*a.In*a.R + 2*a.P*a.R), 4 * int64(a.P) * int64(a.In) * int64(a.R)}
	if b := blocks(a.In); d.inStages(a.P*a.R, b) {
		n := a.P * b * a.R
		return d.parts(on, []part{{"sums", n}, {"magnitudes", n}, {"size", a.P * b}}, func(on arrays) error {
			if err := d.launch("concretizeblocks", n, w, on, a.NonNeg, a.R, a.In, a.Inputs, b); err != nil {
				return err
			}
			return d.launch("concretizesums", a.P*a.R, work{d.moved(2*n + 2*a.P*a.R), 2 * int64(n)}, on,
				a.Round.Rel, a.Round.Under, a.Round.Abs, a.R, b)
		})
	}
	return d.launch("concretize", a.P*up(a.R, d.shape.Lanes), w, on,
		a.Round.Rel, a.Round.Under, a.Round.Abs, a.NonNeg, a.R, a.In, a.Inputs)
}
