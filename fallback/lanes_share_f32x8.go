// Code generated from lanes_share_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// shareRowsF32x8 is shareRows.tile of the channels used, lanes being rows, at least a vector of them. It takes
// no minimum, so whatever the numbers they have the plain bits.
func shareRowsF32x8(t *shareRows[numF32x8], q, r, n int, used []int) {
	for first := 0; first < n; first += 2 * widthF32x8 {
		at0, at1 := r+min(first, n-widthF32x8), r+min(first+widthF32x8, n-widthF32x8)
		for k := 0; k < t.a.K; k += 2 {
			shareTapsF32x8(t, q, k, min(k+1, t.a.K-1), at0, at1, used)
		}
	}
}

// shareTapsF32x8 writes two vectors of rows, at0 and at1, of taps k and next at position q.
func shareTapsF32x8(t *shareRows[numF32x8], q, k, next, at0, at1 int, used []int) {
	rows, step := t.a.R, t.a.Channels*t.a.R
	a, w := t.rows[q*step:(q+1)*step], t.w[q/t.a.Positions*t.a.K*step:]
	w0, w1 := w[k*step:(k+1)*step], w[next*step:(next+1)*step]
	var t00, t01, t10, t11 vecF32x8
	for u := 0; u < len(used); {
		var s00, s01, s10, s11 vecF32x8
		for end := (used[u]/bound.Block + 1) * bound.Block; u < len(used) && used[u] < end; u++ {
			at := used[u] * rows
			x0, x1 := atF32x8(a, at+at0), atF32x8(a, at+at1)
			s00, s01 = s00.Add(x0.Mul(atF32x8(w0, at+at0))), s01.Add(x1.Mul(atF32x8(w0, at+at1)))
			s10, s11 = s10.Add(x0.Mul(atF32x8(w1, at+at0))), s11.Add(x1.Mul(atF32x8(w1, at+at1)))
		}
		t00, t01, t10, t11 = t00.Add(s00), t01.Add(s01), t10.Add(s10), t11.Add(s11)
	}
	s0, s1 := t.s[(q*t.a.K+k)*rows:], t.s[(q*t.a.K+next)*rows:]
	t00.StoreSlice(s0[at0:])
	t01.StoreSlice(s0[at1:])
	t10.StoreSlice(s1[at0:])
	t11.StoreSlice(s1[at1:])
}

// shareChannelF32x8 is over.sums and shareBox.channel for rows r, ..., r+n-1 of item p, lanes being
// rows, at least a vector of them. It returns false, and what it wrote is to be written again, if a
// cost is not finite.
func shareChannelF32x8(t *shareBox[numF32x8], p, o, r, n int, most numF32x8, signed, share, sum *[rowTile]numF32x8) bool {
	var finite vecF32x8
	for first := 0; first < n; first += 2 * widthF32x8 {
		at0, at1 := min(first, n-widthF32x8), min(first+widthF32x8, n-widthF32x8)
		signed0, signed1, share0, share1 := overSumsF32x8(&t.over, p, o, r+at0, r+at1)
		signed0.StoreSlice(signed[at0:])
		signed1.StoreSlice(signed[at1:])
		share0.StoreSlice(share[at0:])
		share1.StoreSlice(share[at1:])
		most, under := fillF32x8(most), fillF32x8(numF32x8(t.a.Round.Under))
		sum0 := shareCostsF32x8(t, p, o, r+at0, upF32x8(t.d, upF32x8(t.d, share0.Mul(most)).Add(under)))
		sum1 := shareCostsF32x8(t, p, o, r+at1, upF32x8(t.d, upF32x8(t.d, share1.Mul(most)).Add(under)))
		finite = finite.Add(sum0).Add(sum1)
		sum0.StoreSlice(sum[at0:])
		sum1.StoreSlice(sum[at1:])
	}
	return finiteF32x8(finite)
}

// shareCostsF32x8 writes the weights of channel o for a vector of rows and returns their costs, not
// finite if one of the numbers that a cost is the greater of is not.
func shareCostsF32x8(t *shareBox[numF32x8], p, o, at int, width vecF32x8) (sum vecF32x8) {
	signs, two, zero := signsF32x8(), fillF32x8(2), vecF32x8{}
	phi, eta, steps := fillF32x8(t.d.phi), fillF32x8(t.d.eta), t.d.newtonSteps()
	step, b := t.a.Channels*t.a.R, p/t.a.PerBox*t.a.K*t.a.Channels+o
	at += (p*t.a.K*t.a.Channels + o) * t.a.R
	var lost vecF32x8 // 0 or NaN
	for k0 := 0; k0 < t.a.K; k0 += bound.Block {
		var block vecF32x8
		for range min(bound.Block, t.a.K-k0) {
			l, h := fillF32x8(t.weightLo[b]), fillF32x8(t.weightHi[b])
			gLo, gHi := atF32x8(t.gLo, at).Sub(width), atF32x8(t.gHi, at).Add(width)
			gLo = gLo.Sub(absF32x8(gLo, signs).Mul(phi).Add(eta))
			gHi = gHi.Add(absF32x8(gHi, signs).Mul(phi).Add(eta))
			under := flipF32x8(gLo, signs)
			x := gHi.Sub(gLo)
			y := seedF32x8(x)
			for range steps {
				y = y.Mul(two.Sub(x.Mul(y)))
			}
			w := l.Add(h.Sub(l).Mul(under.Mul(y)))
			w = w.Merge(l.Merge(h, gHi.Greater(under)), w.GreaterEqual(l).And(w.LessEqual(h)))
			w.StoreSlice(t.w[at:])
			above, below := w.Sub(l).Mul(gHi), h.Sub(w).Mul(under)
			lost = lost.Add(above.Mul(zero)).Add(below.Mul(zero))
			block = block.Add(above.Max(below))
			at, b = at+step, b+t.a.Channels
		}
		sum = sum.Add(block)
	}
	return sum.Add(lost)
}
