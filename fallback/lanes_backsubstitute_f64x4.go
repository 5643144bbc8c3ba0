// Code generated from lanes_backsubstitute_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "math/bits"

// backSubstituteF64x4 is backSubstitute.row for n rows from r on. It returns false, and what
// it wrote is to be written again, if a sum is not finite.
func backSubstituteF64x4(t *backSubstitute[numF64x4], p, r, n int, s *sparseRow[numF64x4]) bool {
	in, out := t.a.In, t.a.Out
	box, at := p/t.a.PerBox, p*in*t.a.R+r
	wLo, wHi := t.wLo[box*in*out:(box+1)*in*out], t.wHi[box*in*out:(box+1)*in*out]
	switch {
	case t.weights != nil && n >= widthF64x4:
		if !endSumsF64x4(t, s, at, box, n) {
			return false
		}
	case !rowSumsF64x4(s, t.sLo[at:], wLo, wHi, in, out, t.a.R, n),
		t.sHi != nil && !rowSumsF64x4(s, t.sHi[at:], wHi, wLo, in, out, t.a.R, n):
		return false
	}
	var c [2][rowTile]numF64x4
	finite := dotsF64x4(s, t.bLo[box*out:(box+1)*out], t.bHi[box*out:(box+1)*out], out, 0, n, c[0][:], c[1][:])
	for i := range n {
		t.c[p*t.a.R+r+i] = t.d.down(t.cIn[p*t.a.R+r+i] + c[0][i])
	}
	return finite
}

// rowSumsF64x4 is backSubstitute.sums for n rows. The last two inputs may overlap those
// before them.
func rowSumsF64x4(s *sparseRow[numF64x4], dst, lo, hi []numF64x4, in, out, rows, n int) bool {
	if &lo[0] == &hi[0] && n >= widthF64x4 && in >= 4 {
		pointSumsF64x4(s, dst, lo, in, out, rows, n)
		return true
	}
	var sum [2][rowTile]numF64x4
	for j := 0; j < in; j += 2 {
		j := min(j, in-2)
		to0, to1 := dst[j*rows:], dst[(j+1)*rows:]
		if n >= widthF64x4 {
			if !dotsF64x4(s, lo[j*out:(j+2)*out], hi[j*out:(j+2)*out], out, out, n, to0, to1) {
				return false
			}
			continue
		}
		if !dotsF64x4(s, lo[j*out:(j+2)*out], hi[j*out:(j+2)*out], out, out, n, sum[0][:], sum[1][:]) {
			return false
		}
		copy(to0[:n], sum[0][:])
		copy(to1[:n], sum[1][:])
	}
	return true
}

// pointSumsF64x4 is rowSums for weights that are numbers, at least a vector of rows and four inputs,
// which are summed four at a time. It takes no minimum, so whatever the numbers they have the plain bits.
func pointSumsF64x4(s *sparseRow[numF64x4], dst, w []numF64x4, in, out, rows, n int) {
	for j := 0; j < in; j += 4 {
		j := min(j, in-4)
		w0, w1, w2, w3 := w[j*out:][:out], w[(j+1)*out:][:out], w[(j+2)*out:][:out], w[(j+3)*out:][:out]
		for first := 0; first < n; first += 2 * widthF64x4 {
			at0, at1 := min(first, n-widthF64x4), min(first+widthF64x4, n-widthF64x4)
			var t00, t01, t10, t11, t20, t21, t30, t31 vecF64x4
			k := 0
			for _, end := range s.ends {
				var s00, s01, s10, s11, s20, s21, s30, s31 vecF64x4
				for ; k < end; k++ {
					i := s.at[k]
					a0, a1 := atF64x4(s.a, k*rowTile+at0), atF64x4(s.a, k*rowTile+at1)
					x0, x1, x2, x3 := fillF64x4(w0[i]), fillF64x4(w1[i]), fillF64x4(w2[i]), fillF64x4(w3[i])
					s00, s01 = s00.Add(a0.Mul(x0)), s01.Add(a1.Mul(x0))
					s10, s11 = s10.Add(a0.Mul(x1)), s11.Add(a1.Mul(x1))
					s20, s21 = s20.Add(a0.Mul(x2)), s21.Add(a1.Mul(x2))
					s30, s31 = s30.Add(a0.Mul(x3)), s31.Add(a1.Mul(x3))
				}
				t00, t01, t10, t11 = t00.Add(s00), t01.Add(s01), t10.Add(s10), t11.Add(s11)
				t20, t21, t30, t31 = t20.Add(s20), t21.Add(s21), t30.Add(s30), t31.Add(s31)
			}
			to := dst[j*rows:]
			t00.StoreSlice(to[at0:])
			t01.StoreSlice(to[at1:])
			t10.StoreSlice(to[rows+at0:])
			t11.StoreSlice(to[rows+at1:])
			t20.StoreSlice(to[2*rows+at0:])
			t21.StoreSlice(to[2*rows+at1:])
			t30.StoreSlice(to[3*rows+at0:])
			t31.StoreSlice(to[3*rows+at1:])
		}
	}
}

// endSumsF64x4 is backSubstitute.sums of both ends for n rows, at least a vector of them, from at on. It
// leaves out weights that are [0, 0], which add nothing to the sums of numbers: rows that are none show in
// those of the biases.
func endSumsF64x4(t *backSubstitute[numF64x4], s *sparseRow[numF64x4], at, box, n int) bool {
	in, out, rows, blocks := t.a.In, t.a.Out, t.a.R, len(s.met)
	var notFinite vecF64x4 // 0 or NaN
	for j := range in {
		w := box*in + j
		lo, hi, weights := t.wLo[w*out:][:out], t.wHi[w*out:][:out], t.weights[w*blocks:][:blocks]
		for first := 0; first < n; first += 2 * widthF64x4 {
			at0, at1 := min(first, n-widthF64x4), min(first+widthF64x4, n-widthF64x4)
			var lo0, lo1, hi0, hi1 vecF64x4
			for b, met := range s.met {
				var l0, l1, h0, h1 vecF64x4
				for met &= weights[b]; met != 0; met &= met - 1 {
					i := b*32 + bits.TrailingZeros32(met)
					a := s.place[i*rowTile:][:rowTile]
					a0, a1 := loadF64x4(a[at0:]), loadF64x4(a[at1:])
					m0, m1 := a0.GreaterEqual(vecF64x4{}), a1.GreaterEqual(vecF64x4{})
					l, h := fillF64x4(lo[i]), fillF64x4(hi[i])
					l0, l1 = l0.Add(a0.Mul(l.Merge(h, m0))), l1.Add(a1.Mul(l.Merge(h, m1)))
					h0, h1 = h0.Add(a0.Mul(h.Merge(l, m0))), h1.Add(a1.Mul(h.Merge(l, m1)))
				}
				lo0, lo1, hi0, hi1 = lo0.Add(l0), lo1.Add(l1), hi0.Add(h0), hi1.Add(h1)
			}
			to := at + j*rows
			lo0.StoreSlice(t.sLo[to+at0:])
			lo1.StoreSlice(t.sLo[to+at1:])
			hi0.StoreSlice(t.sHi[to+at0:])
			hi1.StoreSlice(t.sHi[to+at1:])
			notFinite = notFinite.Add(lo0.Sub(lo0)).Add(lo1.Sub(lo1)).Add(hi0.Sub(hi0)).Add(hi1.Sub(hi1))
		}
	}
	return finiteF64x4(notFinite)
}

// dotsF64x4 is dot for n rows and two inputs, whose weights start stride apart, and says
// whether all results are finite. Of fewer rows than a vector it writes a vector of them.
func dotsF64x4(s *sparseRow[numF64x4], lo, hi []numF64x4, out, stride, n int, to0, to1 []numF64x4) bool {
	lo0, lo1 := lo[:out], lo[stride:][:out]
	hi0, hi1 := hi[:out], hi[stride:][:out]
	var notFinite vecF64x4 // 0 or NaN
	for first := 0; first < n; first += 2 * widthF64x4 {
		at0, at1 := max(0, min(first, n-widthF64x4)), max(0, min(first+widthF64x4, n-widthF64x4))
		var t00, t01, t10, t11 vecF64x4
		k := 0
		for _, end := range s.ends {
			var s00, s01, s10, s11 vecF64x4
			for ; k < end; k++ {
				i, at := s.at[k], k*rowTile
				a0, a1 := atF64x4(s.a, at+at0), atF64x4(s.a, at+at1)
				m0, m1 := a0.GreaterEqual(vecF64x4{}), a1.GreaterEqual(vecF64x4{})
				l, h := fillF64x4(lo0[i]), fillF64x4(hi0[i])
				s00, s01 = s00.Add(a0.Mul(l.Merge(h, m0))), s01.Add(a1.Mul(l.Merge(h, m1)))
				l, h = fillF64x4(lo1[i]), fillF64x4(hi1[i])
				s10, s11 = s10.Add(a0.Mul(l.Merge(h, m0))), s11.Add(a1.Mul(l.Merge(h, m1)))
			}
			t00, t01, t10, t11 = t00.Add(s00), t01.Add(s01), t10.Add(s10), t11.Add(s11)
		}
		t00.StoreSlice(to0[at0:])
		t01.StoreSlice(to0[at1:])
		t10.StoreSlice(to1[at0:])
		t11.StoreSlice(to1[at1:])
		notFinite = notFinite.Add(t00.Sub(t00)).Add(t01.Sub(t01)).Add(t10.Sub(t10)).Add(t11.Sub(t11))
	}
	return finiteF64x4(notFinite)
}
