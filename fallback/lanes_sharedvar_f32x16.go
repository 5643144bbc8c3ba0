//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// sharedVarF32x16 is sharedVar.sums for rows r, ..., r+n-1 of item p, lanes being rows, at least a
// vector of them. It returns false, and its sums mean nothing, if a factor is not finite.
func sharedVarF32x16(t *sharedVar[numF32x16], p, r, n int, total *[rowTile]numF32x16) bool {
	var finite vecF32x16
	for first := 0; first < n; first += 2 * widthF32x16 {
		at0, at1 := min(first, n-widthF32x16), min(first+widthF32x16, n-widthF32x16)
		var sum0, sum1 vecF32x16
		for o0 := 0; o0 < t.a.Channels; o0 += bound.Block {
			var block0, block1 vecF32x16
			for o := o0; o < min(o0+bound.Block, t.a.Channels); o++ {
				c0, c1, f := sharedChannelF32x16(t, p, o, r+at0, r+at1)
				block0, block1, finite = block0.Add(c0), block1.Add(c1), finite.Add(f)
			}
			sum0, sum1 = sum0.Add(block0), sum1.Add(block1)
		}
		sum0.StoreSlice(total[at0:])
		sum1.StoreSlice(total[at1:])
	}
	return finiteF32x16(finite)
}

// sharedChannelF32x16 is what the weights and the bias of channel o add to two vectors of rows, and
// a number that is finite only if all factors are.
func sharedChannelF32x16(t *sharedVar[numF32x16], p, o, at0, at1 int) (sum0, sum1, finite vecF32x16) {
	d, step := t.d, t.a.Channels*t.a.R
	signed0, signed1, share0, share1 := overSumsF32x16(&t.over, p, o, at0, at1)
	most, under := fillF32x16(t.most[p%t.a.Inputs]), fillF32x16(numF32x16(t.a.Round.Under))
	width0 := upF32x16(d, upF32x16(d, share0.Mul(most)).Add(under))
	width1 := upF32x16(d, upF32x16(d, share1.Mul(most)).Add(under))
	phi, eta, signs := fillF32x16(d.phi), fillF32x16(d.eta), signsF32x16()
	from := (p*t.a.K*t.a.Channels + o) * t.a.R
	for k0 := 0; k0 < t.a.K; k0 += bound.Block {
		var block0, block1 vecF32x16
		for k := k0; k < min(k0+bound.Block, t.a.K); k++ {
			gLo, gHi, v := t.gLo[from+k*step:], t.gHi[from+k*step:], fillF32x16(t.v[k*t.a.Channels+o])
			lo, hi := atF32x16(gLo, at0), atF32x16(gHi, at0)
			g := flipF32x16(lo, signs).Max(hi).Add(width0)
			finite = lo.MulAdd(hi, finite)
			g = g.Mul(g)
			block0 = block0.Add(v.Mul(g.Add(absF32x16(g, signs).Mul(phi).Add(eta))))
			lo, hi = atF32x16(gLo, at1), atF32x16(gHi, at1)
			g = flipF32x16(lo, signs).Max(hi).Add(width1)
			finite = lo.MulAdd(hi, finite)
			g = g.Mul(g)
			block1 = block1.Add(v.Mul(g.Add(absF32x16(g, signs).Mul(phi).Add(eta))))
		}
		sum0, sum1 = sum0.Add(block0), sum1.Add(block1)
	}
	vb := fillF32x16(t.vb[o])
	a0, a1 := absF32x16(signed0, signs).Add(share0), absF32x16(signed1, signs).Add(share1)
	return sum0.Add(vb.Mul(upF32x16(d, a0.Mul(a0)))), sum1.Add(vb.Mul(upF32x16(d, a1.Mul(a1)))), finite
}

// overSumsF32x16 is over.sums of two vectors of rows.
func overSumsF32x16(v *over[numF32x16], p, o, at0, at1 int) (signed0, signed1, share0, share1 vecF32x16) {
	signs, step := signsF32x16(), v.channels*v.rows
	for q0 := 0; q0 < v.positions; q0 += bound.Block {
		var block0, block1, mags0, mags1 vecF32x16
		from := ((p*v.positions+q0)*v.channels + o) * v.rows
		for range min(bound.Block, v.positions-q0) {
			x0, x1 := atF32x16(v.a, from+at0), atF32x16(v.a, from+at1)
			block0, block1 = block0.Add(x0), block1.Add(x1)
			mags0, mags1 = mags0.Add(absF32x16(x0, signs)), mags1.Add(absF32x16(x1, signs))
			from += step
		}
		signed0, signed1, share0, share1 = signed0.Add(block0), signed1.Add(block1), share0.Add(mags0), share1.Add(mags1)
	}
	slack := fillF32x16(numF32x16(v.round.Slack))
	return signed0, signed1, upF32x16(v.d, slack.Mul(share0)), upF32x16(v.d, slack.Mul(share1))
}
