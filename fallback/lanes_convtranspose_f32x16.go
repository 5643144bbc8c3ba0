//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// convTransposeF32x16 is convTranspose.sums and put for one to four places that are alike, of rows r, ...,
// r+n-1, at least a vector of them: the last vector may overlap the one before.
func convTransposeF32x16(t *convTranspose[numF32x16], item int, places []int, r, n int) {
	p, points := item/t.tiles, &t.wLo[0] == &t.wHi[0]
	for first := 0; first < n; first += widthF32x16 {
		at := r + min(first, n-widthF32x16)
		var sum [4]vecF32x16
		if points {
			sum[0], sum[1], sum[2], sum[3] = convPointsF32x16(t, item, places, at)
		} else {
			for i, j := range places {
				sum[i] = convEndsF32x16(t, item, j, at)
			}
		}
		for i, j := range places {
			// Where vectors overlap nothing may be added twice.
			to, skip := t.out[(p*t.a.J+j)*t.a.R+at:], r+first-at
			if !t.a.Add {
				sum[i].StoreSlice(to)
				continue
			}
			var v [widthF32x16]numF32x16
			sum[i].StoreSlice(v[:])
			add(to[skip:widthF32x16], v[skip:])
		}
	}
}

// convPointsF32x16 are the sums of four places that are alike, one or more of which may be the first again,
// in one vector of rows, for weights that are numbers.
func convPointsF32x16(t *convTranspose[numF32x16], item int, places []int, at int) (t0, t1, t2, t3 vecF32x16) {
	p, size, channels := item/t.tiles, t.a.K, t.a.Channels
	last := len(places) - 1
	l0, l1 := t.lists.of(places[0]), t.lists.of(places[min(1, last)])
	l2, l3 := t.lists.of(places[min(2, last)]), t.lists.of(places[last])
	w, positions := t.wLo[p/t.a.PerBox*size*channels:][:size*channels], t.positionsOf(places[0])
	for e0 := 0; e0 < len(l0); e0 += bound.Block {
		var b0, b1, b2, b3 vecF32x16
		for e := e0; e < min(e0+bound.Block, len(l0)); e++ {
			q := int(positions[e])
			used := t.usedAt(item, q)
			if len(used) == 0 { // 0 is added
				continue
			}
			a := t.rows[(p*t.a.Positions+q)*channels*t.a.R+at:]
			k := q * size
			w0, w1 := w[(int(l0[e])-k)*channels:][:channels], w[(int(l1[e])-k)*channels:][:channels]
			w2, w3 := w[(int(l2[e])-k)*channels:][:channels], w[(int(l3[e])-k)*channels:][:channels]
			var c0, c1, c2, c3 vecF32x16
			for u := 0; u < len(used); {
				var s0, s1, s2, s3 vecF32x16
				for end := (used[u]/bound.Block + 1) * bound.Block; u < len(used) && used[u] < end; u++ {
					o := int(used[u])
					x := atF32x16(a, o*t.a.R)
					s0, s1 = s0.Add(x.Mul(fillF32x16(w0[o]))), s1.Add(x.Mul(fillF32x16(w1[o])))
					s2, s3 = s2.Add(x.Mul(fillF32x16(w2[o]))), s3.Add(x.Mul(fillF32x16(w3[o])))
				}
				c0, c1, c2, c3 = c0.Add(s0), c1.Add(s1), c2.Add(s2), c3.Add(s3)
			}
			b0, b1, b2, b3 = b0.Add(c0), b1.Add(c1), b2.Add(c2), b3.Add(c3)
		}
		t0, t1, t2, t3 = t0.Add(b0), t1.Add(b1), t2.Add(b2), t3.Add(b3)
	}
	return t0, t1, t2, t3
}

// convEndsF32x16 are the sums of place j in one vector of rows, for weights that are intervals.
func convEndsF32x16(t *convTranspose[numF32x16], item, j, at int) (total vecF32x16) {
	p, size, channels, list := item/t.tiles, t.a.K, t.a.Channels, t.lists.of(j)
	for e0 := 0; e0 < len(list); e0 += bound.Block {
		var block vecF32x16
		for _, entry := range list[e0:min(e0+bound.Block, len(list))] {
			q, k := int(entry)/size, int(entry)%size
			used, from := t.usedAt(item, q), (p/t.a.PerBox*size+k)*channels
			lo, hi := t.wLo[from:][:channels], t.wHi[from:][:channels]
			a := t.rows[(p*t.a.Positions+q)*channels*t.a.R+at:]
			var c vecF32x16
			for u := 0; u < len(used); {
				var s vecF32x16
				for end := (used[u]/bound.Block + 1) * bound.Block; u < len(used) && used[u] < end; u++ {
					o := int(used[u])
					x := atF32x16(a, o*t.a.R)
					s = s.Add(x.Mul(fillF32x16(lo[o]).Merge(fillF32x16(hi[o]), x.GreaterEqual(vecF32x16{}))))
				}
				c = c.Add(s)
			}
			block = block.Add(c)
		}
		total = total.Add(block)
	}
	return total
}
