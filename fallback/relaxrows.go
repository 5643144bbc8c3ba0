package fallback

import "psafe/host/bound"

// RelaxRows is defined in bound.RelaxRows.
func (d *Device[T]) RelaxRows(a bound.RelaxRows) error {
	rows, blocks := a.Rows(), (a.P+a.PerBox-1)/a.PerBox
	t := relaxRows[T]{a: a, d: d, rows: rows}
	t.outA = d.data(a.A, a.P*a.N*rows, "RelaxRows.A")
	t.outC = d.data(a.C, a.P*rows, "RelaxRows.C")
	t.sLo = d.data(a.S.Lo, blocks*a.N*a.Cols, "RelaxRows.S.Lo")
	if !a.NonNeg || a.Mirrored {
		t.sHi = d.data(a.S.Hi, blocks*a.N*a.Cols, "RelaxRows.S.Hi")
	}
	t.cLo = d.data(a.CIn.Lo, blocks*a.Cols, "RelaxRows.CIn.Lo")
	if a.Mirrored {
		t.cHi = d.data(a.CIn.Hi, blocks*a.Cols, "RelaxRows.CIn.Hi")
	}
	n := a.P * a.N
	t.zLo, t.zHi = d.interval(a.Z, n, "RelaxRows.Z")
	t.aLo, t.bLo = d.data(a.Lo.A, n, "RelaxRows.Lo.A"), d.data(a.Lo.B, n, "RelaxRows.Lo.B")
	t.aHi, t.bHi = d.data(a.Hi.A, n, "RelaxRows.Hi.A"), d.data(a.Hi.B, n, "RelaxRows.Hi.B")
	t.err, t.mag = d.data(a.Err, n, "RelaxRows.Err"), d.data(a.Mag, n, "RelaxRows.Mag")
	return d.parallel(a.P, 1, func(from, to int) {
		for p := from; p < to; p++ {
			t.item(p)
		}
	})
}

type relaxRows[T bound.Real] struct {
	a                  bound.RelaxRows
	d                  *Device[T]
	rows               int
	outA, outC         []T
	sLo, sHi, cLo, cHi []T
	zLo, zHi           []T
	aLo, bLo, aHi, bHi []T
	err, mag           []T
}

// item computes all rows of item p.
func (t *relaxRows[T]) item(p int) {
	n, rows := t.a.N, t.rows
	s := newRowSums[T](rows) // constants and charges
	if !relaxRowsLanes(t, p, &s) {
		t.sums(p, &s)
	}
	var size T // sum of max|z| and Mag, for products that underflow
	for j := range n {
		i := p*n + j
		size += max(-t.zLo[i], t.zHi[i]) + t.mag[i]
	}
	d, round := t.d, t.a.Round
	under := d.up(T(size * T(round.Under)))
	for r := range rows {
		charged := d.up(d.up(d.up(T(s.b[r]*T(round.Rel)))+under) + T(round.Abs))
		t.outC[p*rows+r] = d.down(d.down(t.constant(p, r)+s.a[r]) - charged)
	}
}

// sums relaxes all rows of item p and sums what that adds to their constants and charges.
func (t *relaxRows[T]) sums(p int, s *rowSums[T]) {
	for j0 := 0; j0 < t.a.N; j0 += bound.Block {
		clear(s.blockA)
		clear(s.blockB)
		for j := j0; j < min(j0+bound.Block, t.a.N); j++ {
			t.neuron(p, j, s.blockA, s.blockB)
		}
		s.close()
	}
}

// neuron relaxes the coefficients of z_j in every row.
func (t *relaxRows[T]) neuron(p, j int, c, charge []T) {
	i := p*t.a.N + j
	zLo, zHi := t.zLo[i], t.zHi[i]
	aLo, bLo, aHi, bHi, err := t.aLo[i], t.bLo[i], t.aHi[i], t.bHi[i], t.err[i]
	out := t.outA[i*t.rows : (i+1)*t.rows]
	mixed := !t.a.NonNeg && !(zLo >= 0)
	recip := t.d.recipApprox(zHi - zLo)
	for r := range out {
		coefficient, icpt := t.coefficient(p, j, r), T(0)
		if mixed {
			sHi := t.coefficientHi(p, j, r)
			coefficient, icpt = t.d.chord(coefficient, sHi, zLo, zHi, recip)
		}
		slope, b := aLo, bLo
		if !(coefficient >= 0) {
			slope, b = aHi, bHi
		}
		out[r] = T(coefficient * slope)
		if mixed {
			c[r] += T(coefficient*b) + icpt
			charge[r] += T(abs(coefficient)*err) + T(abs(icpt)*T(t.a.Round.Chord))
		} else {
			c[r] += T(coefficient * b)
			charge[r] += T(abs(coefficient) * err)
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
