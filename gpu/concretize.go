package gpu

import "psafe/host/bound"

var _ = wraps("concretize", "concretizeblocks", "concretizesums")

// Concretize is defined in bound.Concretize.
func (d *Device) Concretize(a bound.Concretize) error {
	bnd := d.array(a.Bound, a.P*a.R, "Concretize.Bound")
	sLo := d.array(a.S.Lo, a.P*a.In*a.R, "Concretize.S.Lo")
	var sHi *array
	if !a.NonNeg {
		sHi = d.array(a.S.Hi, a.P*a.In*a.R, "Concretize.S.Hi")
	}
	c := d.array(a.C, a.P*a.R, "Concretize.C")
	xLo, xHi := d.interval(a.X, a.Inputs*a.In, "Concretize.X")
	both := 2
	if a.NonNeg {
		both = 1
	}
	w := work{d.moved(both*a.P*a.In*a.R + 2*a.P*a.R), 4 * int64(a.P) * int64(a.In) * int64(a.R)}
	if b := blocks(a.In); d.inStages(a.P*a.R, b) {
		return d.parts([]int{a.P * b * a.R, a.P * b * a.R, a.P * b}, func(parts []*array) error {
			sums, magnitudes, size := parts[0], parts[1], parts[2]
			if err := d.launch("concretizeblocks", sums.n, w, sums, magnitudes, size, sLo, sHi, xLo, xHi, a.NonNeg, a.R, a.In, a.Inputs, b); err != nil {
				return err
			}
			return d.launch("concretizesums", a.P*a.R, work{d.moved(2*sums.n + 2*a.P*a.R), 2 * int64(sums.n)}, bnd, sums, magnitudes, size, c,
				a.Round.Rel, a.Round.Under, a.Round.Abs, a.R, b)
		})
	}
	return d.launch("concretize", a.P*up(a.R, d.shape.Lanes), w, bnd, sLo, sHi, c, xLo, xHi,
		a.Round.Rel, a.Round.Under, a.Round.Abs, a.NonNeg, a.R, a.In, a.Inputs)
}
