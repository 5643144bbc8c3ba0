package fallback

import "psafe/host/bound"

// NoiseRows is defined in bound.NoiseRows.
func (d *Device[T]) NoiseRows(a bound.NoiseRows) error {
	t := noiseRows[T]{a: a, d: d}
	t.mean, t.variance = d.data(a.Mean), d.data(a.Var)
	t.meanIn, t.varIn = d.data(a.MeanIn), d.data(a.VarIn)
	t.s, t.c = d.data(a.S), d.data(a.C)
	t.radius, t.maxSq = d.data(a.Radius), d.data(a.MaxSq)
	return d.overRows(a.P, a.R, a.In, t.rows)
}

type noiseRows[T bound.Real] struct {
	a              bound.NoiseRows
	d              *Device[T]
	mean, variance []T
	meanIn, varIn  []T
	s, c           []T
	radius, maxSq  []T
}

// rows computes rows r, ..., r+n-1 of item p.
func (t *noiseRows[T]) rows(p, r, n int) {
	s := newRowSums[T](n) // means and variances
	if !noiseRowsLanes(t, p, r, &s) {
		t.sums(p, r, &s)
	}
	d, round := t.d, t.a.Round
	for i := range n {
		var m, v T
		if t.meanIn != nil {
			in := p*t.a.Cols + (r+i)%t.a.Cols
			m, v = t.meanIn[in], t.varIn[in]
		}
		at := p*t.a.R + r + i
		t.mean[at] = d.upper(d.up(m + d.up(d.up(T(s.a[i]*T(round.MeanRel)))+T(round.Abs))))
		t.variance[at] = d.upper(d.up(v + d.up(d.up(T((s.b[i]+t.c[at])*T(round.VarRel)))+T(round.Abs))))
	}
}

// sums sums what the inputs add to the mean and the variance of rows from r on.
func (t *noiseRows[T]) sums(p, r int, s *rowSums[T]) {
	n, x, rows := t.a.In, p%t.a.Inputs*t.a.In, len(s.a)
	delta := T(t.a.Round.Delta)
	for j0 := 0; j0 < n; j0 += bound.Block {
		clear(s.blockA)
		clear(s.blockB)
		for j := j0; j < min(j0+bound.Block, n); j++ {
			radius, maxSq, at := t.radius[x+j], t.maxSq[x+j], (p*n+j)*t.a.R+r
			for i, square := range t.s[at : at+rows] {
				square += delta
				s.blockA[i] += T(t.d.rootUp(square) * radius)
				s.blockB[i] += T(square * maxSq)
			}
		}
		s.close()
	}
}
