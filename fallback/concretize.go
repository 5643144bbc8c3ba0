package fallback

import "psafe/host/bound"

// Concretize is defined in bound.Concretize.
func (d *Device[T]) Concretize(a bound.Concretize) error {
	bnd := d.data(a.Bound, a.P*a.R, "Concretize.Bound")
	sLo := d.data(a.S.Lo, a.P*a.In*a.R, "Concretize.S.Lo")
	sHi := sLo
	if !a.NonNeg {
		sHi = d.data(a.S.Hi, a.P*a.In*a.R, "Concretize.S.Hi")
	}
	c := d.data(a.C, a.P*a.R, "Concretize.C")
	xLo, xHi := d.interval(a.X, a.Inputs*a.In, "Concretize.X")
	return d.parallel(a.P, 1, func(from, to int) {
		for p := from; p < to; p++ {
			x, at := p%a.Inputs*a.In, p*a.In*a.R
			d.concretizeItem(a, bnd[p*a.R:(p+1)*a.R], sLo[at:at+a.In*a.R], sHi[at:at+a.In*a.R],
				c[p*a.R:(p+1)*a.R], xLo[x:x+a.In], xHi[x:x+a.In])
		}
	})
}

func (d *Device[T]) concretizeItem(a bound.Concretize, bnd, sLo, sHi, c, xLo, xHi []T) {
	s := newRowSums[T](a.R)
	if !concretizeLanes(d, a.NonNeg, sLo, sHi, xLo, xHi, &s) {
		concretizeSums(a.NonNeg, sLo, sHi, xLo, xHi, &s)
	}
	var size T
	for j := range xLo {
		size += max(-xLo[j], xHi[j])
	}
	under := d.up(T(size * T(a.Round.Under)))
	for r, sum := range s.a {
		charged := d.up(d.up(d.up(T(s.b[r]*T(a.Round.Rel)))+under) + T(a.Round.Abs))
		bnd[r] = d.lower(d.down(d.down(c[r]+sum) - charged))
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

// concretizeSums sums the least products of each row, and their magnitudes.
func concretizeSums[T bound.Real](nonNeg bool, sLo, sHi, xLo, xHi []T, s *rowSums[T]) {
	rows := len(s.a)
	blockSum, blockMag := s.blockA, s.blockB
	clear(s.a)
	clear(s.b)
	for j0 := 0; j0 < len(xLo); j0 += bound.Block {
		clear(blockSum)
		clear(blockMag)
		for j := j0; j < min(j0+bound.Block, len(xLo)); j++ {
			lo, hi := sLo[j*rows:(j+1)*rows], sHi[j*rows:(j+1)*rows]
			for r, l := range lo {
				var t T
				if nonNeg {
					t = min(T(l*xLo[j]), T(l*xHi[j]))
				} else {
					t = min4(l, hi[r], xLo[j], xHi[j])
				}
				blockSum[r] += t
				blockMag[r] += abs(t)
			}
		}
		s.close()
	}
}
