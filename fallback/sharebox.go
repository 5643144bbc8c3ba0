package fallback

import "psafe/host/bound"

// ShareBox is defined in bound.ShareBox.
func (d *Device[T]) ShareBox(a bound.ShareBox) error {
	t := shareBox[T]{a: a, d: d}
	t.w, t.c, t.cIn, t.maxSq = d.data(a.W), d.data(a.C), d.data(a.CIn), d.data(a.MaxSq)
	t.gLo, t.gHi = d.interval(a.G)
	t.weightLo, t.weightHi = d.interval(a.Weight)
	t.biasLo, t.biasHi = d.interval(a.Bias)
	t.over = over[T]{d, d.data(a.A), a.Positions, a.Channels, a.R, a.Round}
	tiles := (a.R + rowTile - 1) / rowTile
	return d.parallel(a.P*tiles, 1, func(from, to int) {
		for i := from; i < to; i++ {
			r := i % tiles * rowTile
			t.tile(i/tiles, r, min(rowTile, a.R-r))
		}
	})
}

type shareBox[T bound.Real] struct {
	a                                  bound.ShareBox
	d                                  *Device[T]
	w, c, cIn, gLo, gHi, maxSq         []T
	weightLo, weightHi, biasLo, biasHi []T
	over                               over[T]
}

// tile computes rows r, ..., r+n-1 of item p.
func (t *shareBox[T]) tile(p, r, n int) {
	d, round := t.d, t.a.Round
	most := d.greatestRoot(t.maxSq, p%t.a.Inputs*t.a.In, t.a.In)
	var total, block, bias [rowTile]T
	for o0 := 0; o0 < t.a.Channels; o0 += bound.Block {
		clear(block[:])
		for o := o0; o < min(o0+bound.Block, t.a.Channels); o++ {
			var signed, share, cost [rowTile]T
			if !shareChannelLanes(t, p, o, r, n, most, &signed, &share, &cost) {
				signed, share = t.over.sums(p, o, r, n)
				cost = t.channel(p, o, r, n, most, &share)
			}
			b := p/t.a.PerBox*t.a.Channels + o
			for i := range n {
				block[i] += cost[i]
				aLo, aHi := d.down(signed[i]-share[i]), d.up(signed[i]+share[i])
				bias[i] = d.down(bias[i] + d.down(min4(t.biasLo[b], t.biasHi[b], aLo, aHi)))
			}
		}
		for i := range n {
			total[i] += block[i]
		}
	}
	for i := range n {
		at := p*t.a.R + r + i
		cost := d.up(d.up(T(total[i]*T(round.Rel))) + T(round.Abs))
		t.c[at] = d.lower(d.down(d.down(t.cIn[at]-cost) + bias[i]))
	}
}

// channel writes the weights of channel o for the rows of a tile and returns their costs.
func (t *shareBox[T]) channel(p, o, r, n int, most T, share *[rowTile]T) (sum [rowTile]T) {
	d, channels, rows := t.d, t.a.Channels, t.a.R
	var width, block [rowTile]T
	for i := range n {
		width[i] = t.over.width(share[i], most)
	}
	for k0 := 0; k0 < t.a.K; k0 += bound.Block {
		clear(block[:])
		for k := k0; k < min(k0+bound.Block, t.a.K); k++ {
			b, at := (p/t.a.PerBox*t.a.K+k)*channels+o, ((p*t.a.K+k)*channels+o)*rows+r
			for i := range n {
				gLo, gHi := d.down(t.gLo[at+i]-width[i]), d.up(t.gHi[at+i]+width[i])
				w, cost := d.shareWeight(t.weightLo[b], t.weightHi[b], gLo, gHi)
				t.w[at+i] = w
				block[i] += cost
			}
		}
		for i := range n {
			sum[i] += block[i]
		}
	}
	return sum
}

// shareWeight returns w in [l,h] and cost, up to two roundings and underflow, with t g >= w g - cost
// for all t of [l,h] and g of [gLo,gHi]. Any w will do; the best one is where the chord is, and the
// end l or h, at no cost, where g has one sign.
func (d *Device[T]) shareWeight(l, h, gLo, gHi T) (w, cost T) {
	w = l + T(T(h-l)*T(-gLo*d.recipApprox(gHi-gLo)))
	if !(w >= l && w <= h) {
		w = h
		if gHi > -gLo {
			w = l
		}
	}
	return w, max(T(T(w-l)*gHi), T(T(h-w)*-gLo))
}
