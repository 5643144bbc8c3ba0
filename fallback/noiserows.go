package fallback

import "psafe/host/bound"

// SquareRows is defined in bound.SquareRows.
func (d *Device[T]) SquareRows(a bound.SquareRows) error {
	square, v := d.data(a.Square, a.N, "SquareRows.Square"), d.data(a.A, a.N, "SquareRows.A")
	d.parallel(a.N, 4096, func(from, to int) {
		for i, x := range v[from:to] {
			s := T(0)
			if x != 0 {
				s = d.up(T(x * x))
			}
			square[from+i] = s
		}
	})
	return nil
}

// NoiseRows is defined in bound.NoiseRows.
func (d *Device[T]) NoiseRows(a bound.NoiseRows) error {
	t := noiseRows[T]{a: a, d: d}
	t.mean, t.variance = d.data(a.Mean, a.P*a.R, "NoiseRows.Mean"), d.data(a.Var, a.P*a.R, "NoiseRows.Var")
	t.meanIn = d.optional(a.MeanIn, a.P*a.Cols, "NoiseRows.MeanIn")
	t.varIn = d.optional(a.VarIn, a.P*a.Cols, "NoiseRows.VarIn")
	t.s, t.c = d.data(a.S, a.P*a.In*a.R, "NoiseRows.S"), d.data(a.C, a.P*a.R, "NoiseRows.C")
	t.radius, t.maxSq = d.data(a.Radius, a.Inputs*a.In, "NoiseRows.Radius"), d.data(a.MaxSq, a.Inputs*a.In, "NoiseRows.MaxSq")
	d.parallel(a.P, 1, func(from, to int) {
		for p := from; p < to; p++ {
			t.item(p)
		}
	})
	return nil
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

// Widen is defined in bound.Widen.
func (d *Device[T]) Widen(a bound.Widen) error {
	lo, hi := d.data(a.Lower, a.N, "Widen.Lower"), d.optional(a.Upper, a.N, "Widen.Upper")
	mag := d.optional(a.Mag, a.N, "Widen.Mag")
	mean, variance := d.data(a.Mean, a.N, "Widen.Mean"), d.data(a.Var, a.N, "Widen.Var")
	q := T(a.Quantile)
	d.parallel(a.N, 2048, func(from, to int) {
		for i := from; i < to; i++ {
			by := d.up(mean[i] + d.up(T(q*d.rootUp(variance[i]))))
			lo[i] = d.lower(d.down(lo[i] - by))
			if hi != nil {
				hi[i] = d.upper(d.up(hi[i] + by))
			}
			if mag != nil {
				mag[i] = d.upper(d.up(mag[i] + by))
			}
		}
	})
	return nil
}

// Vary is defined in bound.Vary.
func (d *Device[T]) Vary(a bound.Vary) error {
	radius, radiusSq := d.data(a.Radius, a.N, "Vary.Radius"), d.data(a.RadiusSq, a.N, "Vary.RadiusSq")
	maxSq := d.data(a.MaxSq, a.N, "Vary.MaxSq")
	zLo, zHi := d.interval(a.Z, a.N, "Vary.Z")
	mean, variance := d.data(a.Mean, a.N, "Vary.Mean"), d.data(a.Var, a.N, "Vary.Var")
	q, lipschitz := T(a.Quantile), T(a.Lipschitz)
	d.parallel(a.N, 2048, func(from, to int) {
		for i := from; i < to; i++ {
			by := d.up(mean[i] + d.up(T(q*d.rootUp(variance[i]))))
			r := d.upper(min(d.up(T(lipschitz*by)), d.up(zHi[i]-zLo[i])))
			m := max(-zLo[i], zHi[i])
			radius[i], radiusSq[i], maxSq[i] = r, d.upper(d.up(T(r*r))), d.upper(d.up(T(m*m)))
		}
	})
	return nil
}

// rootUp is at least sqrt(x) for x >= 0, and within 32u of it, but for x below
// d.tiny, which counts as that. Division and square roots are not the same on all
// devices; this is Newton's iteration for 1/sqrt(x) from a guess made of the bits
// of x, and then a proof of what came out: fl(c c) >= up(x) > x (1 + u) implies
// c^2 >= fl(c c) / (1 + u) > x. Where it fails, max(x, 1) is taken (c may be
// negative: the iteration goes astray for +Inf). NaN stays NaN.
func (d *Device[T]) rootUp(x T) T {
	if x < d.tiny {
		x = d.tiny
	}
	y, half := d.rootSeed(x), T(x*0.5)
	for range d.newtonSteps() {
		y = T(y * (1.5 - T(T(half*y)*y)))
	}
	c := T(T(x*y) * (1 + 16*d.u))
	if !(c > 0 && T(c*c) >= d.up(x)) {
		c = max(x, 1)
	}
	return c
}
