// Code generated from lanes_gathersum_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// gatherSumF64x4 is gatherSum.rows for whole vectors of rows, the first ones, and returns how
// many rows they are. Four vectors are summed at a time: a list is then walked over less often.
func gatherSumF64x4(t *gatherSum[numF64x4], out []numF64x4, s *sumScratch[numF64x4]) (r int) {
	const w = widthF64x4
	for ; r+4*w <= len(out); r += 4 * w {
		var sum0, sum1, sum2, sum3 vecF64x4
		k := 0
		for _, end := range s.ends {
			var b0, b1, b2, b3 vecF64x4
			for _, at := range s.at[k:end] {
				in := t.in[at+r : at+r+4*w]
				b0, b1 = b0.Add(loadF64x4(in)), b1.Add(loadF64x4(in[w:]))
				b2, b3 = b2.Add(loadF64x4(in[2*w:])), b3.Add(loadF64x4(in[3*w:]))
			}
			k = end
			sum0, sum1, sum2, sum3 = sum0.Add(b0), sum1.Add(b1), sum2.Add(b2), sum3.Add(b3)
		}
		to := out[r : r+4*w]
		putSumF64x4(to, sum0, t.a.Add)
		putSumF64x4(to[w:], sum1, t.a.Add)
		putSumF64x4(to[2*w:], sum2, t.a.Add)
		putSumF64x4(to[3*w:], sum3, t.a.Add)
	}
	for ; r+w <= len(out); r += w {
		var sum vecF64x4
		k := 0
		for _, end := range s.ends {
			var b vecF64x4
			for _, at := range s.at[k:end] {
				b = b.Add(loadF64x4(t.in[at+r:]))
			}
			k = end
			sum = sum.Add(b)
		}
		putSumF64x4(out[r:], sum, t.a.Add)
	}
	return r
}

// putSumF64x4 writes a sum, or adds it to what there is.
func putSumF64x4(out []numF64x4, sum vecF64x4, add bool) {
	if add {
		sum = loadF64x4(out).Add(sum)
	}
	sum.StoreSlice(out)
}
