package fallback

import "psafe/host/bound"

// affineTile is the number of outputs summed side by side: their sums fit the first-level cache.
const affineTile = 128

// Affine is defined in bound.Affine.
func (d *Device[T]) Affine(a bound.Affine) error {
	t := affine[T]{a: a, d: d}
	t.lo, t.hi = d.interval(a.Pre)
	t.mag = d.data(a.Mag)
	t.wLo, t.wHi = d.interval(a.W)
	t.bLo, t.bHi = d.interval(a.B)
	t.zLo, t.zHi = d.interval(a.Z)
	tiles := (a.Out + affineTile - 1) / affineTile
	// Items of a box are computed together, as many as leave enough to do for every worker.
	group := max(1, min(affineGroup, a.PerBox, a.Items*tiles/(4*d.workers)))
	groups := (a.PerBox + group - 1) / group // of each box
	return d.parallel(a.Boxes()*groups*tiles, 1, func(from, to int) {
		s := affineScratch[T]{make([]affineSums[T], group), make([]affineSums[T], group)}
		for i := from; i < to; i++ {
			box, first, from := i/tiles/groups, i/tiles%groups*group, i%tiles*affineTile
			p := box*a.PerBox + first
			if n := min(group, a.PerBox-first, a.Items-p); n > 0 {
				t.tile(p, n, from, min(from+affineTile, a.Out), &s)
			}
		}
	})
}

// affineGroup is the greatest number of items of a weight box computed side by side: a block of
// weights stays in the first-level cache for all of them.
const affineGroup = 8

// affineSums are the sums of lower ends, upper ends and magnitudes of a tile.
type affineSums[T bound.Real] [3][affineTile]T

// affineScratch has the sums of each item of a group, and room for vector loops.
type affineScratch[T bound.Real] struct{ sums, slots []affineSums[T] }

type affine[T bound.Real] struct {
	a                                         bound.Affine
	d                                         *Device[T]
	lo, hi, mag, wLo, wHi, bLo, bHi, zLo, zHi []T
}

// tile computes outputs [from, to) of items p, ..., p+n-1, which have the same weight box.
func (t *affine[T]) tile(p, n, from, to int, s *affineScratch[T]) {
	box, out := p/t.a.PerBox, t.a.Out
	vectors := affineLanes(t, p, n, from, to-from, s)
	for k := range n {
		sums := &s.sums[k]
		if !vectors {
			t.sums(p+k, from, to, sums)
		}
		for i := range to - from {
			t.finish((p+k)*out+from+i, box*out+from+i, sums[0][i], sums[1][i], sums[2][i])
		}
	}
}

// sums computes the sums of the lower ends, upper ends and magnitudes of a tile.
func (t *affine[T]) sums(p, from, to int, sums *affineSums[T]) {
	n := to - from
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	lo, hi, mag := sums[0][:n], sums[1][:n], sums[2][:n]
	clear(lo)
	clear(hi)
	clear(mag)
	for j0 := 0; j0 < in; j0 += bound.Block {
		var block [3][affineTile]T
		blockLo, blockHi, norm := block[0][:n], block[1][:n], block[2][:n]
		var zMin T // -max|z|
		for j := j0; j < min(j0+bound.Block, in); j++ {
			zLo, zHi := t.zLo[x*in+j], t.zHi[x*in+j]
			zMin = min(zMin, min(zLo, -zHi))
			at := (box*in+j)*out + from
			wLo, wHi := t.wLo[at:at+n], t.wHi[at:at+n]
			if t.a.NonNeg {
				affineRowNonNeg(blockLo, blockHi, norm, wLo, wHi, zLo, zHi)
			} else {
				affineRow(blockLo, blockHi, norm, wLo, wHi, zLo, zHi)
			}
		}
		for i := range lo {
			lo[i] += blockLo[i]
			hi[i] += blockHi[i]
			mag[i] += T(norm[i] * -zMin)
		}
	}
}

// finish adds the bias and rounds outward.
func (t *affine[T]) finish(at, bias int, lo, hi, mag T) {
	bLo, bHi := t.bLo[bias], t.bHi[bias]
	lo, hi, mag = lo+bLo, hi+bHi, mag+max(-bLo, bHi)
	push := T(mag*T(t.a.Push.Rel)) + T(t.a.Push.Abs)
	t.lo[at] = t.d.lower(t.d.down(lo - push))
	t.hi[at] = t.d.upper(t.d.up(hi + push))
	t.mag[at] = T(mag*T(t.a.MagRound.Rel)) + T(t.a.MagRound.Abs)
}

// affineRow adds one input's products to the sums of all outputs of a tile.
// Here and below max(x, y) is -min(-x, -y), with the minus signs moved where they
// cost nothing: a max is compiled to three instructions more than a min.
func affineRow[T bound.Real](lo, hi, norm, wLo, wHi []T, zLo, zHi T) {
	lo, hi, norm, wHi = lo[:len(wLo)], hi[:len(wLo)], norm[:len(wLo)], wHi[:len(wLo)]
	for i, l := range wLo {
		h := wHi[i]
		lo[i] += min4(l, h, zLo, zHi)
		hi[i] -= min4(l, h, -zLo, -zHi)
		norm[i] -= min(l, -h)
	}
}

// affineRowNonNeg is affineRow for zLo >= 0, where the other two products never
// are the extreme ones.
func affineRowNonNeg[T bound.Real](lo, hi, norm, wLo, wHi []T, zLo, zHi T) {
	lo, hi, norm, wHi = lo[:len(wLo)], hi[:len(wLo)], norm[:len(wLo)], wHi[:len(wLo)]
	minusLo, minusHi := -zLo, -zHi
	for i, l := range wLo {
		h := wHi[i]
		lo[i] += min(T(l*zLo), T(l*zHi))
		hi[i] -= min(T(h*minusLo), T(h*minusHi))
		norm[i] -= min(l, -h)
	}
}
