package fallback

import "psafe/host/bound"

// RelaxRows is defined in bound.RelaxRows.
func (d *Device[T]) RelaxRows(a bound.RelaxRows) error {
	rows := a.Rows()
	t := relaxRows[T]{a: a, d: d, rows: rows, sure: a.Sure()}
	t.outA, t.outC = d.data(a.A), d.data(a.C)
	t.sLo, t.cLo = d.data(a.S.Lo), d.data(a.CIn.Lo)
	if !a.NonNeg || a.Mirrored {
		t.sHi = d.data(a.S.Hi)
	}
	if a.Mirrored {
		t.cHi = d.data(a.CIn.Hi)
	}
	t.zLo, t.zHi = d.interval(a.Z)
	t.aLo, t.bLo = d.data(a.Lo.A), d.data(a.Lo.B)
	t.aHi, t.bHi = d.data(a.Hi.A), d.data(a.Hi.B)
	t.err, t.mag = d.data(a.Err), d.data(a.Mag)
	var err error
	if t.under, err = d.unders(a.P, t.zLo, t.zHi, t.mag, a.Round.Under); err != nil {
		return err
	}
	return d.overRows(a.P, a.Cols, a.N, t.cols)
}

// unders is, for each item, Under times the sum, in blocks, of max|z| and of mag, which may be nil:
// for products that underflow.
func (d *Device[T]) unders(items int, zLo, zHi, mag []T, under float64) ([]T, error) {
	all, n := make([]T, items), len(zLo)/items
	err := d.parallel(items, max(1, pieceWork/max(1, n)), func(from, to int) {
		for p := from; p < to; p++ {
			var size T
			for i0 := p * n; i0 < (p+1)*n; i0 += bound.Block {
				var block T
				for i := i0; i < min(i0+bound.Block, (p+1)*n); i++ {
					most := max(-zLo[i], zHi[i])
					if mag != nil {
						most += mag[i]
					}
					block += most
				}
				size += block
			}
			all[p] = d.up(T(size * T(under)))
		}
	})
	return all, err
}

type relaxRows[T bound.Real] struct {
	a                  bound.RelaxRows
	d                  *Device[T]
	rows               int
	sure               bool
	outA, outC         []T
	sLo, sHi, cLo, cHi []T
	zLo, zHi           []T
	aLo, bLo, aHi, bHi []T
	err, mag           []T
	under              []T // of each item
}

// cols computes the rows of columns c, ..., c+n-1 of item p, and those mirrored.
func (t *relaxRows[T]) cols(p, c, n int) {
	t.some(p, c, n, c)
	if t.a.Mirrored {
		t.some(p, c, n, t.a.Cols+c)
	}
}

// some computes rows r, ..., r+n-1 of item p, whose coefficients are in columns from c on.
func (t *relaxRows[T]) some(p, c, n, r int) {
	s := newRowSums[T](n) // constants and charges
	if !relaxRowsLanes(t, p, c, r, &s) {
		t.sums(p, r, &s)
	}
	d, round := t.d, t.a.Round
	for i := range n {
		charged := d.up(d.up(d.up(T(s.b[i]*T(round.Rel)))+t.under[p]) + T(round.Abs))
		t.outC[p*t.rows+r+i] = d.down(d.down(t.constant(p, r+i)+s.a[i]) - charged)
	}
}

// sums relaxes rows from r on of item p and sums what that adds to their constants and charges.
func (t *relaxRows[T]) sums(p, r int, s *rowSums[T]) {
	for j0 := 0; j0 < t.a.N; j0 += bound.Block {
		clear(s.blockA)
		clear(s.blockB)
		for j := j0; j < min(j0+bound.Block, t.a.N); j++ {
			t.neuron(p, j, r, s.blockA, s.blockB)
		}
		s.close()
	}
}

// neuron relaxes the coefficients of z_j in rows from first on.
func (t *relaxRows[T]) neuron(p, j, first int, c, charge []T) {
	at := p*t.a.N + j
	zLo, zHi := t.zLo[at], t.zHi[at]
	aLo, bLo, aHi, bHi, err := t.aLo[at], t.bLo[at], t.aHi[at], t.bHi[at], t.err[at]
	out := t.outA[at*t.rows+first:][:len(c)]
	mixed := !t.sure && !(zLo >= 0)
	recip := t.d.recipApprox(zHi - zLo)
	for i := range out {
		coefficient, icpt := t.coefficient(p, j, first+i), T(0)
		if mixed {
			sHi := t.coefficientHi(p, j, first+i)
			coefficient, icpt = t.d.chord(coefficient, sHi, zLo, zHi, recip)
		}
		slope, b := aLo, bLo
		if !(coefficient >= 0) {
			slope, b = aHi, bHi
		}
		out[i] = T(coefficient * slope)
		if mixed {
			c[i] += T(coefficient*b) + icpt
			charge[i] += T(abs(coefficient)*err) + T(abs(icpt)*T(t.a.Round.Chord))
		} else {
			c[i] += T(coefficient * b)
			charge[i] += T(abs(coefficient) * err)
		}
	}
}

// chord returns the line a z + b below min(sLo z, sHi z) for z in [zLo, zHi],
// zLo < 0. The minimum is concave in z (sLo <= sHi: both are sums in the same
// order of terms ordered one by one), so the line is below it where it is below
// at both ends: b = min((sHi - a) zLo, (sLo - a) zHi), rounded down, for any a.
func (d *Device[T]) chord(sLo, sHi, zLo, zHi, recip T) (a, b T) {
	if zHi <= 0 {
		return sHi, 0
	}
	a = T((T(sLo*zHi) - T(sHi*zLo)) * recip)
	if a > sHi {
		a = sHi
	} else if !(a >= sLo) {
		a = sLo
	}
	atLo := d.down(T(d.up(sHi-a) * zLo))
	atHi := d.down(T(d.down(sLo-a) * zHi))
	return a, min(atLo, atHi)
}

func (t *relaxRows[T]) coefficient(p, j, r int) T {
	at := (p/t.a.PerBox*t.a.N + j) * t.a.Cols
	if r < t.a.Cols {
		return t.sLo[at+r]
	}
	return -t.sHi[at+r-t.a.Cols]
}

func (t *relaxRows[T]) coefficientHi(p, j, r int) T {
	at := (p/t.a.PerBox*t.a.N + j) * t.a.Cols
	if r < t.a.Cols {
		return t.sHi[at+r]
	}
	return -t.sLo[at+r-t.a.Cols]
}

func (t *relaxRows[T]) constant(p, r int) T {
	at := p / t.a.PerBox * t.a.Cols
	if r < t.a.Cols {
		return t.cLo[at+r]
	}
	return -t.cHi[at+r-t.a.Cols]
}
