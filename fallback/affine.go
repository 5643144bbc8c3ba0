package fallback

import "psafe/host/bound"

// affineTile is how many outputs are summed side by side: their sums fit the
// first-level cache.
const affineTile = 128

// Affine is defined in bound.Affine.
func (d *Device[T]) Affine(a bound.Affine) error {
	t := affine[T]{a: a, d: d}
	t.lo, t.hi = d.interval(a.Pre, a.Items*a.Out, "Affine.Pre")
	t.mag = d.data(a.Mag, a.Items*a.Out, "Affine.Mag")
	t.wLo, t.wHi = d.interval(a.W, a.Boxes()*a.In*a.Out, "Affine.W")
	t.bLo, t.bHi = d.interval(a.B, a.Boxes()*a.Out, "Affine.B")
	t.zLo, t.zHi = d.interval(a.Z, a.Inputs*a.In, "Affine.Z")
	tiles := (a.Out + affineTile - 1) / affineTile
	d.parallel(a.Items*tiles, 1, func(from, to int) {
		for i := from; i < to; i++ {
			from := i % tiles * affineTile
			t.tile(i/tiles, from, min(from+affineTile, a.Out))
		}
	})
	return nil
}

type affine[T bound.Real] struct {
	a                                         bound.Affine
	d                                         *Device[T]
	lo, hi, mag, wLo, wHi, bLo, bHi, zLo, zHi []T
}

// tile computes outputs [from, to) of item p.
func (t *affine[T]) tile(p, from, to int) {
	n := to - from
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var sums, block [3][affineTile]T
	for j0 := 0; j0 < in; j0 += bound.Block {
		block = [3][affineTile]T{}
		var zMax T
		for j := j0; j < min(j0+bound.Block, in); j++ {
			zLo, zHi := t.zLo[x*in+j], t.zHi[x*in+j]
			zMax = max(zMax, -zLo, zHi)
			at := (box*in+j)*out + from
			wLo, wHi := t.wLo[at:at+n], t.wHi[at:at+n]
			if t.a.NonNeg {
				affineRowNonNeg(block[0][:n], block[1][:n], block[2][:n], wLo, wHi, zLo, zHi)
			} else {
				affineRow(block[0][:n], block[1][:n], block[2][:n], wLo, wHi, zLo, zHi)
			}
		}
		for i := range n {
			sums[0][i] += block[0][i]
			sums[1][i] += block[1][i]
			sums[2][i] += T(block[2][i] * zMax)
		}
	}
	for i := range n {
		t.finish(p*out+from+i, box*out+from+i, sums[0][i], sums[1][i], sums[2][i])
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
func affineRow[T bound.Real](lo, hi, norm, wLo, wHi []T, zLo, zHi T) {
	lo, hi, norm, wHi = lo[:len(wLo)], hi[:len(wLo)], norm[:len(wLo)], wHi[:len(wLo)]
	for i, l := range wLo {
		h := wHi[i]
		lo[i] += min4(l, h, zLo, zHi)
		hi[i] += max4(l, h, zLo, zHi)
		norm[i] += max(-l, h)
	}
}

// affineRowNonNeg is affineRow for zLo >= 0, where the other two products never
// are the extreme ones.
func affineRowNonNeg[T bound.Real](lo, hi, norm, wLo, wHi []T, zLo, zHi T) {
	lo, hi, norm, wHi = lo[:len(wLo)], hi[:len(wLo)], norm[:len(wLo)], wHi[:len(wLo)]
	for i, l := range wLo {
		h := wHi[i]
		lo[i] += min(T(l*zLo), T(l*zHi))
		hi[i] += max(T(h*zLo), T(h*zHi))
		norm[i] += max(-l, h)
	}
}
