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
	var room [64]int
	used := t.used(room[:0], q, r, n)
	if shareRowsLanes(t, q, r, n, used) {
		return
	}
	step := t.a.Channels * t.a.R
	for k := range t.a.K {
		sum := t.s[(q*t.a.K+k)*t.a.R+r:][:n]
		clear(sum)
		at, with := q*step+r, (q/t.a.Positions*t.a.K+k)*step+r
		for u := 0; u < len(used); {
			var block [rowTile]T
			for end := (used[u]/bound.Block + 1) * bound.Block; u < len(used) && used[u] < end; u++ {
				o := used[u] * t.a.R
				for i, x := range t.rows[at+o:][:n] {
					block[i] += T(x * t.w[with+o+i])
				}
			}
			for i := range sum {
				sum[i] += block[i]
			}
		}
	}
}

// used appends to list the channels of position q that are not 0 in all of rows r, ..., r+n-1.
func (t *shareRows[T]) used(list []int, q, r, n int) []int {
	for o := range t.a.Channels {
		for _, a := range t.rows[(q*t.a.Channels+o)*t.a.R+r:][:n] {
			if a != 0 {
				list = append(list, o)
				break
			}
		}
	}
	return list
}
