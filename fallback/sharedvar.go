package fallback

import "psafe/host/bound"

// SharedVar is defined in bound.SharedVar.
func (d *Device[T]) SharedVar(a bound.SharedVar) error {
	t := sharedVar[T]{a: a, d: d}
	t.variance, t.varIn = d.data(a.Var), d.data(a.VarIn)
	t.gLo, t.gHi = d.interval(a.G)
	t.v, t.vb, t.maxSq = d.data(a.V), d.data(a.VB), d.data(a.MaxSq)
	t.over = over[T]{d, d.data(a.A), a.Positions, a.Channels, a.R, a.Round}
	t.most = make([]T, a.Inputs)
	err := d.parallel(a.Inputs, max(1, pieceWork/a.In), func(from, to int) {
		for x := from; x < to; x++ {
			t.most[x] = d.greatestRoot(t.maxSq, x*a.In, a.In)
		}
	})
	if err != nil {
		return err
	}
	tiles := (a.R + rowTile - 1) / rowTile
	return d.parallel(a.P*tiles, 1, func(from, to int) {
		for i := from; i < to; i++ {
			r := i % tiles * rowTile
			t.tile(i/tiles, r, min(rowTile, a.R-r))
		}
	})
}

type sharedVar[T bound.Real] struct {
	a                      bound.SharedVar
	d                      *Device[T]
	variance, varIn        []T
	gLo, gHi, v, vb, maxSq []T
	over                   over[T]
	most                   []T // of each input
}

// tile computes rows r, ..., r+n-1 of item p.
func (t *sharedVar[T]) tile(p, r, n int) {
	d, round := t.d, t.a.Round
	var total [rowTile]T
	if !sharedVarLanes(t, p, r, n, &total) {
		total = t.sums(p, r, n)
	}
	for i := range n {
		var in T
		if t.varIn != nil {
			in = t.varIn[p*t.a.Cols+(r+i)%t.a.Cols]
		}
		t.variance[p*t.a.R+r+i] = d.upper(d.up(in + d.up(d.up(T(total[i]*T(round.Rel)))+T(round.Abs))))
	}
}

// sums sums what all channels add to the rows of a tile.
func (t *sharedVar[T]) sums(p, r, n int) (total [rowTile]T) {
	var block [rowTile]T
	for o0 := 0; o0 < t.a.Channels; o0 += bound.Block {
		clear(block[:])
		for o := o0; o < min(o0+bound.Block, t.a.Channels); o++ {
			channel := t.channel(p, o, r, n, t.most[p%t.a.Inputs])
			for i := range n {
				block[i] += channel[i]
			}
		}
		for i := range n {
			total[i] += block[i]
		}
	}
	return total
}

// channel returns what the weights and the bias of channel o add to the rows of a tile.
func (t *sharedVar[T]) channel(p, o, r, n int, most T) (sum [rowTile]T) {
	d, channels, rows := t.d, t.a.Channels, t.a.R
	signed, share := t.over.sums(p, o, r, n)
	var width, block [rowTile]T
	for i := range n {
		width[i] = t.over.width(share[i], most)
	}
	for k0 := 0; k0 < t.a.K; k0 += bound.Block {
		clear(block[:])
		for k := k0; k < min(k0+bound.Block, t.a.K); k++ {
			at, v := ((p*t.a.K+k)*channels+o)*rows+r, t.v[k*channels+o]
			for i := range n {
				g := max(-t.gLo[at+i], t.gHi[at+i]) + width[i]
				block[i] += T(v * d.up(T(g*g)))
			}
		}
		for i := range n {
			sum[i] += block[i]
		}
	}
	for i := range n {
		a0 := abs(signed[i]) + share[i]
		sum[i] += T(t.vb[o] * d.up(T(a0*a0)))
	}
	return sum
}

// over are rows over the pre-activations of a layer with shared weights.
type over[T bound.Real] struct {
	d                         *Device[T]
	a                         []T
	positions, channels, rows int
	round                     bound.SharedRounding
}

// sums are, for rows r, ..., r+n-1 of item p, the sum of the coefficients of channel o over all
// positions, and Slack times the sum of their magnitudes, rounded up.
func (v *over[T]) sums(p, o, r, n int) (signed, share [rowTile]T) {
	var block, mags [rowTile]T
	for q0 := 0; q0 < v.positions; q0 += bound.Block {
		clear(block[:])
		clear(mags[:])
		for q := q0; q < min(q0+bound.Block, v.positions); q++ {
			at := ((p*v.positions+q)*v.channels+o)*v.rows + r
			for i, a := range v.a[at : at+n] {
				block[i] += a
				mags[i] += abs(a)
			}
		}
		for i := range n {
			signed[i] += block[i]
			share[i] += mags[i]
		}
	}
	for i := range n {
		share[i] = v.d.up(T(T(v.round.Slack) * share[i]))
	}
	return signed, share
}

// width returns what a factor may be wrong by: share times most, and Under.
func (v *over[T]) width(share, most T) T {
	return v.d.up(v.d.up(T(share*most)) + T(v.round.Under))
}

// greatestRoot is at least the root of the greatest of n squares.
func (d *Device[T]) greatestRoot(squares []T, from, n int) T {
	squares = squares[from : from+n]
	var greatest [4]T // which do not wait for each other
	for ; len(squares) >= len(greatest); squares = squares[len(greatest):] {
		for i := range greatest {
			greatest[i] = max(greatest[i], squares[i])
		}
	}
	for _, s := range squares {
		greatest[0] = max(greatest[0], s)
	}
	return d.rootUp(max(greatest[0], greatest[1], greatest[2], greatest[3]))
}
