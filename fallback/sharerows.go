package fallback

import "psafe/host/bound"

// ShareRows is defined in bound.ShareRows.
func (d *Device[T]) ShareRows(a bound.ShareRows) error {
	s, rows, w := d.data(a.S), d.data(a.A), d.data(a.W)
	return d.parallel(a.P*a.Positions, 1, func(from, to int) {
		block := make([]T, a.R)
		for q := from; q < to; q++ {
			for k := range a.K {
				at, with := q*a.Channels*a.R, (q/a.Positions*a.K+k)*a.Channels*a.R
				shareRow(s[(q*a.K+k)*a.R:(q*a.K+k+1)*a.R], rows[at:at+a.Channels*a.R], w[with:with+a.Channels*a.R], block)
			}
		}
	})
}

// shareRow writes the sums over channels of a and w, [Channels x R] both, in blocks.
func shareRow[T bound.Real](sum, a, w, block []T) {
	clear(sum)
	rows := len(sum)
	for from := 0; from < len(a); from += bound.Block * rows {
		clear(block)
		for at := from; at < min(from+bound.Block*rows, len(a)); at += rows {
			for r, x := range a[at : at+rows] {
				block[r] += T(x * w[at+r])
			}
		}
		for r := range sum {
			sum[r] += block[r]
		}
	}
}
