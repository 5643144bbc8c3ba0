package gpu

import "psafe/host/bound"

var _ = wraps("noiserows", "noiseblocks", "noisesums")

// NoiseRows is defined in bound.NoiseRows.
func (d *Device) NoiseRows(a bound.NoiseRows) error {
	mean, variance := d.array(a.Mean, a.P*a.R, "NoiseRows.Mean"), d.array(a.Var, a.P*a.R, "NoiseRows.Var")
	meanIn := d.optional(a.MeanIn, a.P*a.Cols, "NoiseRows.MeanIn")
	varIn := d.optional(a.VarIn, a.P*a.Cols, "NoiseRows.VarIn")
	s, c := d.array(a.S, a.P*a.In*a.R, "NoiseRows.S"), d.array(a.C, a.P*a.R, "NoiseRows.C")
	radius, maxSq := d.array(a.Radius, a.Inputs*a.In, "NoiseRows.Radius"), d.array(a.MaxSq, a.Inputs*a.In, "NoiseRows.MaxSq")
	// A root is counted as one operation.
	w := work{d.moved(a.P*a.In*a.R + 5*a.P*a.R), 5 * int64(a.P) * int64(a.In) * int64(a.R)}
	if b := blocks(a.In); d.inStages(a.P*a.R, b) {
		return d.parts([]int{a.P * b * a.R, a.P * b * a.R}, func(parts []*array) error {
			means, variances := parts[0], parts[1]
			if err := d.launch("noiseblocks", means.n, w, means, variances, s, radius, maxSq, a.Round.Delta, a.R, a.In, a.Inputs, b); err != nil {
				return err
			}
			return d.launch("noisesums", a.P*a.R, work{d.moved(2*means.n + 5*a.P*a.R), 2 * int64(means.n)}, mean, variance, means, variances, meanIn, varIn, c,
				meanIn != nil, a.Round.MeanRel, a.Round.VarRel, a.Round.Abs, a.R, a.Cols, b)
		})
	}
	return d.launch("noiserows", a.P*up(a.R, d.shape.Lanes), w, mean, variance, meanIn, varIn, s, c, radius, maxSq, meanIn != nil,
		a.Round.Delta, a.Round.MeanRel, a.Round.VarRel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs)
}
