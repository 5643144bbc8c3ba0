// Code generated from lanes_backsubstitute_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "math/bits"

// backSubstituteF32x8 is backSubstitute.row for n rows from r on. It returns false, and what
// it wrote is to be written again, if a sum is not finite.
func backSubstituteF32x8(t *backSubstitute[numF32x8], p, r, n int, s *sparseRow[numF32x8]) bool {
	in, out := t.a.In, t.a.Out
	box, at := p/t.a.PerBox, p*in*t.a.R+r
	wLo, wHi := t.wLo[box*in*out:(box+1)*in*out], t.wHi[box*in*out:(box+1)*in*out]
	switch {
	case t.weights != nil && n >= widthF32x8:
		if !endSumsF32x8(t, s, at, box, n) {
			return false
		}
	case !rowSumsF32x8(s, t.sLo[at:], wLo, wHi, in, out, t.a.R, n),
		t.sHi != nil && !rowSumsF32x8(s, t.sHi[at:], wHi, wLo, in, out, t.a.R, n):
		return false
	}
	var c [2][rowTile]numF32x8
	finite := dotsF32x8(s, t.bLo[box*out:(box+1)*out], t.bHi[box*out:(box+1)*out], out, 0, n, c[0][:], c[1][:])
	for i := range n {
		t.c[p*t.a.R+r+i] = t.d.down(t.cIn[p*t.a.R+r+i] + c[0][i])
	}
	return finite
}

// rowSumsF32x8 is backSubstitute.sums for n rows. The last two inputs may overlap those
// before them.
func rowSumsF32x8(s *sparseRow[numF32x8], dst, lo, hi []numF32x8, in, out, rows, n int) bool {
	if &lo[0] == &hi[0] && n >= widthF32x8 && in >= 4 {
		pointSumsF32x8(s, dst, lo, in, out, rows, n)
		return true
	}
	var sum [2][rowTile]numF32x8
	for j := 0; j < in; j += 2 {
		j := min(j, in-2)
		to0, to1 := dst[j*rows:], dst[(j+1)*rows:]
		if n >= widthF32x8 {
			if !dotsF32x8(s, lo[j*out:(j+2)*out], hi[j*out:(j+2)*out], out, out, n, to0, to1) {
				return false
			}
			continue
		}
		if !dotsF32x8(s, lo[j*out:(j+2)*out], hi[j*out:(j+2)*out], out, out, n, sum[0][:], sum[1][:]) {
			return false
		}
		copy(to0[:n], sum[0][:])
		copy(to1[:n], sum[1][:])
	}
	return true
}

// pointSumsF32x8 is rowSums for weights that are numbers, at least a vector of rows and four inputs,
// which are summed four at a time. It takes no minimum, so whatever the numbers they have the plain bits.
func pointSumsF32x8(s *sparseRow[numF32x8], dst, w []numF32x8, in, out, rows, n int) {
	for j := 0; j < in; j += 4 {
		j := min(j, in-4)
		w0, w1, w2, w3 := w[j*out:][:out], w[(j+1)*out:][:out], w[(j+2)*out:][:out], w[(j+3)*out:][:out]
		for first := 0; first < n; first += 2 * widthF32x8 {
			at0, at1 := min(first, n-widthF32x8), min(first+widthF32x8, n-widthF32x8)
			var t00, t01, t10, t11, t20, t21, t30, t31 vecF32x8
			k := 0
			for _, end := range s.ends {
				var s00, s01, s10, s11, s20, s21, s30, s31 vecF32x8
				for ; k < end; k++ {
					i := s.at[k]
					a0, a1 := atF32x8(s.a, k*rowTile+at0), atF32x8(s.a, k*rowTile+at1)
					x0, x1, x2, x3 := fillF32x8(w0[i]), fillF32x8(w1[i]), fillF32x8(w2[i]), fillF32x8(w3[i])
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

// endSumsF32x8 is backSubstitute.sums of both ends for n rows, at least a vector of them, from at on. It
// leaves out weights that are [0, 0], which add nothing to the sums of numbers: rows that are none show in
// those of the biases.
func endSumsF32x8(t *backSubstitute[numF32x8], s *sparseRow[numF32x8], at, box, n int) bool {
	in, out, rows, blocks := t.a.In, t.a.Out, t.a.R, len(s.met)
	var notFinite vecF32x8 // 0 or NaN
	for j := range in {
		w := box*in + j
		lo, hi, weights := t.wLo[w*out:][:out], t.wHi[w*out:][:out], t.weights[w*blocks:][:blocks]
		for first := 0; first < n; first += 2 * widthF32x8 {
			at0, at1 := min(first, n-widthF32x8), min(first+widthF32x8, n-widthF32x8)
			var lo0, lo1, hi0, hi1 vecF32x8
			for b, met := range s.met {
				var l0, l1, h0, h1 vecF32x8
				for met &= weights[b]; met != 0; met &= met - 1 {
					i := b*32 + bits.TrailingZeros32(met)
					a := s.place[i*rowTile:][:rowTile]
					a0, a1 := loadF32x8(a[at0:]), loadF32x8(a[at1:])
					m0, m1 := a0.GreaterEqual(vecF32x8{}), a1.GreaterEqual(vecF32x8{})
					l, h := fillF32x8(lo[i]), fillF32x8(hi[i])
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
	return finiteF32x8(notFinite)
}

// dotsF32x8 is dot for n rows and two inputs, whose weights start stride apart, and says
// whether all results are finite. Of fewer rows than a vector it writes a vector of them.
func dotsF32x8(s *sparseRow[numF32x8], lo, hi []numF32x8, out, stride, n int, to0, to1 []numF32x8) bool {
	lo0, lo1 := lo[:out], lo[stride:][:out]
	hi0, hi1 := hi[:out], hi[stride:][:out]
	var notFinite vecF32x8 // 0 or NaN
	for first := 0; first < n; first += 2 * widthF32x8 {
		at0, at1 := max(0, min(first, n-widthF32x8)), max(0, min(first+widthF32x8, n-widthF32x8))
		var t00, t01, t10, t11 vecF32x8
		k := 0
		for _, end := range s.ends {
			var s00, s01, s10, s11 vecF32x8
			for ; k < end; k++ {
				i, at := s.at[k], k*rowTile
				a0, a1 := atF32x8(s.a, at+at0), atF32x8(s.a, at+at1)
				m0, m1 := a0.GreaterEqual(vecF32x8{}), a1.GreaterEqual(vecF32x8{})
				l, h := fillF32x8(lo0[i]), fillF32x8(hi0[i])
				s00, s01 = s00.Add(a0.Mul(l.Merge(h, m0))), s01.Add(a1.Mul(l.Merge(h, m1)))
				l, h = fillF32x8(lo1[i]), fillF32x8(hi1[i])
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
	return finiteF32x8(notFinite)
}
