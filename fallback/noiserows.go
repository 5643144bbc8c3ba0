package fallback

import "psafe/host/bound"

// NoiseRows is defined in bound.NoiseRows.
func (d *Device[T]) NoiseRows(a bound.NoiseRows) error {
	t := noiseRows[T]{a: a, d: d}
	t.mean, t.variance = d.data(a.Mean, a.P*a.R, "NoiseRows.Mean"), d.data(a.Var, a.P*a.R, "NoiseRows.Var")
	t.meanIn = d.optional(a.MeanIn, a.P*a.Cols, "NoiseRows.MeanIn")
	t.varIn = d.optional(a.VarIn, a.P*a.Cols, "NoiseRows.VarIn")
	t.s, t.c = d.data(a.S, a.P*a.In*a.R, "NoiseRows.S"), d.data(a.C, a.P*a.R, "NoiseRows.C")
	t.radius, t.maxSq = d.data(a.Radius, a.Inputs*a.In, "NoiseRows.Radius"), d.data(a.MaxSq, a.Inputs*a.In, "NoiseRows.MaxSq")
	return d.parallel(a.P, 1, func(from, to int) {
		for p := from; p < to; p++ {
			t.item(p)
		}
	})
}

type noiseRows[T bound.Real] struct {
	a              bound.NoiseRows
	d              *Device[T]
	mean, variance []T
	meanIn, varIn  []T
	s, c           []T
	radius, maxSq  []T
}

// item computes all rows of item p.
func (t *noiseRows[T]) item(p int) {
	rows, n, x := t.a.R, t.a.In, p%t.a.Inputs*t.a.In
	sums := make([]T, 4*rows) // means and variances: totals, then this block's
	mean, variance, blockMean, blockVar := sums[:rows], sums[rows:2*rows], sums[2*rows:3*rows], sums[3*rows:]
	delta := T(t.a.Round.Delta)
	for j0 := 0; j0 < n; j0 += bound.Block {
		clear(blockMean)
		clear(blockVar)
		for j := j0; j < min(j0+bound.Block, n); j++ {
			radius, maxSq := t.radius[x+j], t.maxSq[x+j]
			for r, s := range t.s[(p*n+j)*rows : (p*n+j+1)*rows] {
				s += delta
				blockMean[r] += T(t.d.rootUp(s) * radius)
				blockVar[r] += T(s * maxSq)
			}
		}
		for r := range rows {
			mean[r] += blockMean[r]
			variance[r] += blockVar[r]
		}
	}
	d, round := t.d, t.a.Round
	for r := range rows {
		var m, v T
		if t.meanIn != nil {
			m, v = t.meanIn[p*t.a.Cols+r%t.a.Cols], t.varIn[p*t.a.Cols+r%t.a.Cols]
		}
		at := p*rows + r
		t.mean[at] = d.upper(d.up(m + d.up(d.up(T(mean[r]*T(round.MeanRel)))+T(round.Abs))))
		t.variance[at] = d.upper(d.up(v + d.up(d.up(T((variance[r]+t.c[at])*T(round.VarRel)))+T(round.Abs))))
	}
}
