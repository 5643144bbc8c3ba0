package fallback

import "psafe/host/bound"

// Concretize is defined in bound.Concretize.
func (d *Device[T]) Concretize(a bound.Concretize) error {
	t := concretize[T]{a: a, d: d}
	t.bound, t.sLo, t.c = d.data(a.Bound), d.data(a.S.Lo), d.data(a.C)
	t.sHi = t.sLo
	if !a.NonNeg {
		t.sHi = d.data(a.S.Hi)
	}
	t.xLo, t.xHi = d.interval(a.X)
	var err error
	if t.under, err = d.unders(a.Inputs, t.xLo, t.xHi, nil, a.Round.Under); err != nil {
		return err
	}
	return d.overRows(a.P, a.R, a.In, t.rows)
}

type concretize[T bound.Real] struct {
	a                            bound.Concretize
	d                            *Device[T]
	bound, sLo, sHi, c, xLo, xHi []T
	under                        []T // of each input
}

// rows computes rows r, ..., r+n-1 of item p.
func (t *concretize[T]) rows(p, r, n int) {
	s := newRowSums[T](n) // the least products and their magnitudes
	if !concretizeLanes(t, p, r, &s) {
		t.sums(p, r, &s)
	}
	d, round := t.d, t.a.Round
	for i := range n {
		charged := d.up(d.up(d.up(T(s.b[i]*T(round.Rel)))+t.under[p%t.a.Inputs]) + T(round.Abs))
		at := p*t.a.R + r + i
		t.bound[at] = d.lower(d.down(d.down(t.c[at]+s.a[i]) - charged))
	}
}

// sums sums the least products of rows from r on, and their magnitudes.
func (t *concretize[T]) sums(p, r int, s *rowSums[T]) {
	in, x, rows := t.a.In, p%t.a.Inputs*t.a.In, len(s.a)
	clear(s.a)
	clear(s.b)
	for j0 := 0; j0 < in; j0 += bound.Block {
		clear(s.blockA)
		clear(s.blockB)
		for j := j0; j < min(j0+bound.Block, in); j++ {
			xLo, xHi, at := t.xLo[x+j], t.xHi[x+j], (p*in+j)*t.a.R+r
			lo, hi := t.sLo[at:at+rows], t.sHi[at:at+rows]
			for i, l := range lo {
				var least T
				if t.a.NonNeg {
					least = min(T(l*xLo), T(l*xHi))
				} else {
					least = min4(l, hi[i], xLo, xHi)
				}
				s.blockA[i] += least
				s.blockB[i] += abs(least)
			}
		}
		s.close()
	}
}

// rowSums are two sums of each row, and those of a block.
type rowSums[T bound.Real] struct{ a, b, blockA, blockB []T }

func newRowSums[T bound.Real](rows int) rowSums[T] {
	v := make([]T, 4*rows)
	return rowSums[T]{v[:rows], v[rows : 2*rows], v[2*rows : 3*rows], v[3*rows:]}
}

// close adds the sums of a block to the others.
func (s *rowSums[T]) close() {
	for r := range s.a {
		s.a[r] += s.blockA[r]
		s.b[r] += s.blockB[r]
	}
}
