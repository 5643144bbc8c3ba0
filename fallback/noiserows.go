package fallback

import "psafe/host/bound"

// NoiseRows is defined in bound.NoiseRows.
func (d *Device[T]) NoiseRows(a bound.NoiseRows) error {
	t := noiseRows[T]{a: a, d: d}
	t.mean, t.variance = d.data(a.Mean), d.data(a.Var)
	t.meanIn, t.varIn = d.data(a.MeanIn), d.data(a.VarIn)
	t.s, t.c = d.data(a.S), d.data(a.C)
	t.radius, t.maxSq = d.data(a.Radius), d.data(a.MaxSq)
	if err := t.findUsed(); err != nil {
		return err
	}
	return d.overRows(a.P, a.R, a.In, t.rows)
}

type noiseRows[T bound.Real] struct {
	a              bound.NoiseRows
	d              *Device[T]
	mean, variance []T
	meanIn, varIn  []T
	s, c           []T
	radius, maxSq  []T
	// used lists, for each input box, the inputs whose radius and square are not both 0; ends is where
	// those of each block end.
	used, ends []int32
}

// findUsed fills in used and ends.
func (t *noiseRows[T]) findUsed() error {
	n, blocks := t.a.In, words(t.a.In)
	t.used, t.ends = make([]int32, t.a.Inputs*n), make([]int32, t.a.Inputs*blocks)
	return t.d.parallel(t.a.Inputs, 1+pieceWork/n, func(from, to int) {
		for x := from; x < to; x++ {
			at := x * n
			for j := range n {
				if t.radius[x*n+j] != 0 || t.maxSq[x*n+j] != 0 {
					t.used[at] = int32(j)
					at++
				}
				t.ends[x*blocks+j/bound.Block] = int32(at)
			}
		}
	})
}

// usedOf lists the inputs used of a block of an input box.
func (t *noiseRows[T]) usedOf(x, block int) []int32 {
	blocks, from := words(t.a.In), x*t.a.In
	if block > 0 {
		from = int(t.ends[x*blocks+block-1])
	}
	return t.used[from:t.ends[x*blocks+block]]
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
	for b := range words(n) {
		clear(s.blockA)
		clear(s.blockB)
		for _, j := range t.usedOf(p%t.a.Inputs, b) {
			j := int(j)
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
