package fallback

import "psafe/host/bound"

// ShareRows is defined in bound.ShareRows.
func (d *Device[T]) ShareRows(a bound.ShareRows) error {
	t := shareRows[T]{a: a, d: d, s: d.data(a.S), rows: d.data(a.A), w: d.data(a.W)}
	tiles := (a.R + rowTile - 1) / rowTile
	return d.parallel(a.P*tiles*a.Positions, 1, func(from, to int) {
		for i := from; i < to; i++ {
			tile := i / a.Positions // the weights of its rows stay in a cache
			r := tile % tiles * rowTile
			t.tile(tile/tiles*a.Positions+i%a.Positions, r, min(rowTile, a.R-r))
		}
	})
}

type shareRows[T bound.Real] struct {
	a          bound.ShareRows
	d          *Device[T]
	s, rows, w []T
}

// tile computes rows r, ..., r+n-1 at position q of all items.
func (t *shareRows[T]) tile(q, r, n int) {
	if shareRowsLanes(t, q, r, n) {
		return
	}
	step := t.a.Channels * t.a.R
	for k := range t.a.K {
		sum := t.s[(q*t.a.K+k)*t.a.R+r:][:n]
		clear(sum)
		at, with := q*step+r, (q/t.a.Positions*t.a.K+k)*step+r
		for o0 := 0; o0 < t.a.Channels; o0 += bound.Block {
			var block [rowTile]T
			for range min(bound.Block, t.a.Channels-o0) {
				for i, x := range t.rows[at : at+n] {
					block[i] += T(x * t.w[with+i])
				}
				at, with = at+t.a.R, with+t.a.R
			}
			for i := range sum {
				sum[i] += block[i]
			}
		}
	}
}
