package gpu

import "psafe/host/bound"

var _ = wraps("concretize")

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
	return d.launch("concretize", a.P*up(a.R, d.shape.Lanes), w, bnd, sLo, sHi, c, xLo, xHi,
		a.Round.Rel, a.Round.Under, a.Round.Abs, a.NonNeg, a.R, a.In, a.Inputs)
}
