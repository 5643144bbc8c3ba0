package fallback

import "psafe/host/bound"

// SplitRows is defined in bound.SplitRows.
func (d *Device[T]) SplitRows(a bound.SplitRows) error {
	t := splitRows[T]{a: a, d: d}
	t.outA, t.outC = d.data(a.A), d.data(a.C)
	t.s, t.cIn = d.data(a.S), d.data(a.CIn)
	t.slope, t.phase, t.beta = d.data(a.Slope), d.data(a.Phase), d.data(a.Beta)
	t.zLo, t.zHi = d.interval(a.Z)
	t.aHi, t.bHi, t.mag = d.data(a.Hi.A), d.data(a.Hi.B), d.data(a.Mag)
	tiles := (a.R + rowTile - 1) / rowTile
	return d.parallel(a.P*tiles, 1, func(from, to int) {
		for i := from; i < to; i++ {
			r := i % tiles * rowTile
			t.tile(i/tiles, r, min(rowTile, a.R-r))
		}
	})
}

type splitRows[T bound.Real] struct {
	a                  bound.SplitRows
	d                  *Device[T]
	outA, outC, s, cIn []T
	slope, phase, beta []T
	zLo, zHi           []T
	aHi, bHi, mag      []T
}

// tile computes rows r, ..., r+n-1 of item p.
func (t *splitRows[T]) tile(p, r, n int) {
	d, round := t.d, t.a.Round
	sums := newRowSums[T](n) // constants and charges
	var size T               // sum of max|z| and Mag, for products that underflow
	for j0 := 0; j0 < t.a.N; j0 += bound.Block {
		clear(sums.blockA)
		clear(sums.blockB)
		var block T
		for j := j0; j < min(j0+bound.Block, t.a.N); j++ {
			i := p*t.a.N + j
			block += max(-t.zLo[i], t.zHi[i]) + t.mag[i]
			t.neuron(i, i*t.a.R+r, sums.blockA, sums.blockB)
		}
		sums.close()
		size += block
	}
	under := d.up(T(size * T(round.Under)))
	for k := range n {
		charged := d.up(d.up(d.up(T(sums.b[k]*T(round.Rel)))+under) + T(round.Abs))
		t.outC[p*t.a.R+r+k] = d.down(d.down(t.cIn[p*t.a.R+r+k]+sums.a[k]) - charged)
	}
}

// neuron takes the coefficients at one neuron, which is number i, of the rows from place at on.
func (t *splitRows[T]) neuron(i, at int, c, charge []T) {
	aHi, bHi := t.aHi[i], t.bHi[i]
	icptErr := t.d.up(T(T(t.a.Charge.G1) * abs(bHi)))
	coefErr := t.d.up(T(T(t.a.Charge.G2) * t.mag[i]))
	out, s := t.outA[at:at+len(c)], t.s[at:at+len(c)]
	slope, phase, beta := t.slope[at:at+len(c)], t.phase[at:at+len(c)], t.beta[at:at+len(c)]
	for k, s := range s {
		var x, b, e T
		term, by := beta[k], beta[k]
		if !(by >= 0) {
			by = 0
		}
		switch f := phase[k]; {
		case f > 0:
			x, term = s, -by
		case f < 0:
			term = by
		case s >= 0:
			if l := slope[k]; l >= 0 && l <= 1 {
				x = T(s * l)
			}
		default:
			x, b, e = T(s*aHi), bHi, icptErr
		}
		out[k] = x + term
		c[k] += T(s * b)
		charge[k] += T((abs(x)+abs(term))*coefErr) + T(abs(s)*e)
	}
}
