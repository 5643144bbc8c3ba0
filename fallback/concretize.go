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
	d.parallel(a.P, 1, func(from, to int) {
		for p := from; p < to; p++ {
			x, at := p%a.Inputs*a.In, p*a.In*a.R
			d.concretizeItem(a, bnd[p*a.R:(p+1)*a.R], sLo[at:at+a.In*a.R], sHi[at:at+a.In*a.R],
				c[p*a.R:(p+1)*a.R], xLo[x:x+a.In], xHi[x:x+a.In])
		}
	})
	return nil
}

func (d *Device[T]) concretizeItem(a bound.Concretize, bnd, sLo, sHi, c, xLo, xHi []T) {
	rows := a.R
	sums := make([]T, 4*rows) // sums and magnitudes: totals, then this block's
	sum, mag, blockSum, blockMag := sums[:rows], sums[rows:2*rows], sums[2*rows:3*rows], sums[3*rows:]
	var size T
	for j0 := 0; j0 < a.In; j0 += bound.Block {
		clear(blockSum)
		clear(blockMag)
		for j := j0; j < min(j0+bound.Block, a.In); j++ {
			size += max(-xLo[j], xHi[j])
			lo, hi := sLo[j*rows:(j+1)*rows], sHi[j*rows:(j+1)*rows]
			for r, l := range lo {
				var t T
				if a.NonNeg {
					t = min(T(l*xLo[j]), T(l*xHi[j]))
				} else {
					t = min4(l, hi[r], xLo[j], xHi[j])
				}
				blockSum[r] += t
				blockMag[r] += abs(t)
			}
		}
		for r := range rows {
			sum[r] += blockSum[r]
			mag[r] += blockMag[r]
		}
	}
	under := d.up(T(size * T(a.Round.Under)))
	for r := range rows {
		charged := d.up(d.up(d.up(T(mag[r]*T(a.Round.Rel)))+under) + T(a.Round.Abs))
		bnd[r] = d.lower(d.down(d.down(c[r]+sum[r]) - charged))
	}
}
