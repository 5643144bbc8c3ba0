// Code generated from lanes_sharedvar_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// sharedVarF64x4 is sharedVar.sums for rows r, ..., r+n-1 of item p, lanes being rows, at least a
// vector of them. It returns false, and its sums mean nothing, if a factor is not finite.
func sharedVarF64x4(t *sharedVar[numF64x4], p, r, n int, total *[rowTile]numF64x4) bool {
	var finite vecF64x4
	for first := 0; first < n; first += 2 * widthF64x4 {
		at0, at1 := min(first, n-widthF64x4), min(first+widthF64x4, n-widthF64x4)
		var sum0, sum1 vecF64x4
		for o0 := 0; o0 < t.a.Channels; o0 += bound.Block {
			var block0, block1 vecF64x4
			for o := o0; o < min(o0+bound.Block, t.a.Channels); o++ {
				c0, c1, f := sharedChannelF64x4(t, p, o, r+at0, r+at1)
				block0, block1, finite = block0.Add(c0), block1.Add(c1), finite.Add(f)
			}
			sum0, sum1 = sum0.Add(block0), sum1.Add(block1)
		}
		sum0.StoreSlice(total[at0:])
		sum1.StoreSlice(total[at1:])
	}
	return finiteF64x4(finite)
}

// sharedChannelF64x4 is what the weights and the bias of channel o add to two vectors of rows, and
// a number that is finite only if all factors are.
func sharedChannelF64x4(t *sharedVar[numF64x4], p, o, at0, at1 int) (sum0, sum1, finite vecF64x4) {
	d, step := t.d, t.a.Channels*t.a.R
	signed0, signed1, share0, share1 := overSumsF64x4(&t.over, p, o, at0, at1)
	most, under := fillF64x4(t.most[p%t.a.Inputs]), fillF64x4(numF64x4(t.a.Round.Under))
	width0 := upF64x4(d, upF64x4(d, share0.Mul(most)).Add(under))
	width1 := upF64x4(d, upF64x4(d, share1.Mul(most)).Add(under))
	phi, eta, signs := fillF64x4(d.phi), fillF64x4(d.eta), signsF64x4()
	from := (p*t.a.K*t.a.Channels + o) * t.a.R
	for k0 := 0; k0 < t.a.K; k0 += bound.Block {
		var block0, block1 vecF64x4
		for k := k0; k < min(k0+bound.Block, t.a.K); k++ {
			gLo, gHi, v := t.gLo[from+k*step:], t.gHi[from+k*step:], fillF64x4(t.v[k*t.a.Channels+o])
			lo, hi := atF64x4(gLo, at0), atF64x4(gHi, at0)
			g := flipF64x4(lo, signs).Max(hi).Add(width0)
			finite = lo.MulAdd(hi, finite)
			g = g.Mul(g)
			block0 = block0.Add(v.Mul(g.Add(absF64x4(g, signs).Mul(phi).Add(eta))))
			lo, hi = atF64x4(gLo, at1), atF64x4(gHi, at1)
			g = flipF64x4(lo, signs).Max(hi).Add(width1)
			finite = lo.MulAdd(hi, finite)
			g = g.Mul(g)
			block1 = block1.Add(v.Mul(g.Add(absF64x4(g, signs).Mul(phi).Add(eta))))
		}
		sum0, sum1 = sum0.Add(block0), sum1.Add(block1)
	}
	vb := fillF64x4(t.vb[o])
	a0, a1 := absF64x4(signed0, signs).Add(share0), absF64x4(signed1, signs).Add(share1)
	return sum0.Add(vb.Mul(upF64x4(d, a0.Mul(a0)))), sum1.Add(vb.Mul(upF64x4(d, a1.Mul(a1)))), finite
}

// overSumsF64x4 is over.sums of two vectors of rows.
func overSumsF64x4(v *over[numF64x4], p, o, at0, at1 int) (signed0, signed1, share0, share1 vecF64x4) {
	signs, step := signsF64x4(), v.channels*v.rows
	for q0 := 0; q0 < v.positions; q0 += bound.Block {
		var block0, block1, mags0, mags1 vecF64x4
		from := ((p*v.positions+q0)*v.channels + o) * v.rows
		for range min(bound.Block, v.positions-q0) {
			x0, x1 := atF64x4(v.a, from+at0), atF64x4(v.a, from+at1)
			block0, block1 = block0.Add(x0), block1.Add(x1)
			mags0, mags1 = mags0.Add(absF64x4(x0, signs)), mags1.Add(absF64x4(x1, signs))
			from += step
		}
		signed0, signed1, share0, share1 = signed0.Add(block0), signed1.Add(block1), share0.Add(mags0), share1.Add(mags1)
	}
	slack := fillF64x4(numF64x4(v.round.Slack))
	return signed0, signed1, upF64x4(v.d, slack.Mul(share0)), upF64x4(v.d, slack.Mul(share1))
}
