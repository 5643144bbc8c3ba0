// Code generated from lanes_gathersum_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// gatherSumF32x8 is gatherSum.rows for whole vectors of rows, the first ones, and returns how
// many rows they are. Four vectors are summed at a time: a list is then walked over less often.
func gatherSumF32x8(t *gatherSum[numF32x8], out []numF32x8, s *sumScratch[numF32x8]) (r int) {
	const w = widthF32x8
	for ; r+4*w <= len(out); r += 4 * w {
		var sum0, sum1, sum2, sum3 vecF32x8
		k := 0
		for _, end := range s.ends {
			var b0, b1, b2, b3 vecF32x8
			for _, at := range s.at[k:end] {
				in := t.in[at+r : at+r+4*w]
				b0, b1 = b0.Add(loadF32x8(in)), b1.Add(loadF32x8(in[w:]))
				b2, b3 = b2.Add(loadF32x8(in[2*w:])), b3.Add(loadF32x8(in[3*w:]))
			}
			k = end
			sum0, sum1, sum2, sum3 = sum0.Add(b0), sum1.Add(b1), sum2.Add(b2), sum3.Add(b3)
		}
		to := out[r : r+4*w]
		putSumF32x8(to, sum0, t.a.Add)
		putSumF32x8(to[w:], sum1, t.a.Add)
		putSumF32x8(to[2*w:], sum2, t.a.Add)
		putSumF32x8(to[3*w:], sum3, t.a.Add)
	}
	for ; r+w <= len(out); r += w {
		var sum vecF32x8
		k := 0
		for _, end := range s.ends {
			var b vecF32x8
			for _, at := range s.at[k:end] {
				b = b.Add(loadF32x8(t.in[at+r:]))
			}
			k = end
			sum = sum.Add(b)
		}
		putSumF32x8(out[r:], sum, t.a.Add)
	}
	return r
}

// putSumF32x8 writes a sum, or adds it to what there is.
func putSumF32x8(out []numF32x8, sum vecF32x8, add bool) {
	if add {
		sum = loadF32x8(out).Add(sum)
	}
	sum.StoreSlice(out)
}
