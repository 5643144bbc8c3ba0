package gpu

import "psafe/host/bound"

var _ = wraps("noiserows", "noiseblocks", "noisesums")

// NoiseRows is defined in bound.NoiseRows.
func (d *Device) NoiseRows(a bound.NoiseRows) error {
	on, more := d.arrays(a), a.MeanIn != nil
	// A root is counted as one operation.
	w := work{d.moved(a.P*a.In*a.R + 5*a.P*a.R), 5 * int64(a.P) * int64(a.In) * int64(a.R)}
	if b := blocks(a.In); d.inStages(a.P*a.R, b) {
		n := a.P * b * a.R
		return d.parts(on, []part{{"means", n}, {"variances", n}}, func(on arrays) error {
			if err := d.launch("noiseblocks", n, w, on, a.Round.Delta, a.R, a.In, a.Inputs, b); err != nil {
				return err
			}
			return d.launch("noisesums", a.P*a.R, work{d.moved(2*n + 5*a.P*a.R), 2 * int64(n)}, on,
				more, a.Round.MeanRel, a.Round.VarRel, a.Round.Abs, a.R, a.Cols, b)
		})
	}
	return d.launch("noiserows", a.P*up(a.R, d.shape.Lanes), w, on, more,
		a.Round.Delta, a.Round.MeanRel, a.Round.VarRel, a.Round.Abs, a.R, a.Cols, a.In, a.Inputs)
}
