package gpu

import "psafe/host/bound"

var _ = wraps("noiserows")

// NoiseRows is defined in bound.NoiseRows.
func (d *Device) NoiseRows(a bound.NoiseRows) error {
	mean, variance := d.array(a.Mean, a.P*a.R, "NoiseRows.Mean"), d.array(a.Var, a.P*a.R, "NoiseRows.Var")
	meanIn := d.optional(a.MeanIn, a.P*a.Cols, "NoiseRows.MeanIn")
	varIn := d.optional(a.VarIn, a.P*a.Cols, "NoiseRows.VarIn")
	s, c := d.array(a.S, a.P*a.In*a.R, "NoiseRows.S"), d.array(a.C, a.P*a.R, "NoiseRows.C")
	radius, maxSq := d.array(a.Radius, a.Inputs*a.In, "NoiseRows.Radius"), d.array(a.MaxSq, a.Inputs*a.In, "NoiseRows.MaxSq")
	// A root is counted as one operation.
	w := work{d.moved(a.P*a.In*a.R + 5*a.P*a.R), 5 * int64(a.P) * int64(a.In) * int64(a.R)}
	return d.launch("noiserows", a.P*up(a.R, d.shape.Lanes), w, mean, variance, meanIn, varIn, s, c, radius, maxSq, meanIn != nil,
		a.Round.Delta, a.Round.MeanRel, a.Round.VarRel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs)
}
