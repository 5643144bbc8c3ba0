// Code generated from lanes_f64x8.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package sharp

import "simd/archsimd"

// weighRowsF64x4 is weighRows for rows of at least a vector.
func weighRowsF64x4(to, weights []float64, at []int, x []float64) {
	const width = 4
	last := len(to) - width
	for i := 0; i <= last; i += 4 * width {
		at0, at1, at2, at3 := i, min(i+width, last), min(i+2*width, last), min(i+3*width, last)
		var s0, s1, s2, s3 archsimd.Float64x4
		for n, w := range weights {
			w, q := archsimd.BroadcastFloat64x4(w), x[at[n]:][:len(to)]
			s0 = s0.Add(w.Mul(archsimd.LoadFloat64x4Slice(q[at0:])))
			s1 = s1.Add(w.Mul(archsimd.LoadFloat64x4Slice(q[at1:])))
			s2 = s2.Add(w.Mul(archsimd.LoadFloat64x4Slice(q[at2:])))
			s3 = s3.Add(w.Mul(archsimd.LoadFloat64x4Slice(q[at3:])))
		}
		s0.StoreSlice(to[at0:])
		s1.StoreSlice(to[at1:])
		s2.StoreSlice(to[at2:])
		s3.StoreSlice(to[at3:])
	}
}

// weighRowsMostF64x4 is weighRowsMost for rows of at least a vector.
func weighRowsMostF64x4(to, most, weights []float64, at []int, x []float64) {
	const width = 4
	last := len(to) - width
	for i := 0; i <= last; i += 2 * width {
		at0, at1 := i, min(i+width, last)
		var s0, s1, m0, m1 archsimd.Float64x4
		for n, w := range weights {
			w, q := archsimd.BroadcastFloat64x4(w), x[at[n]:][:len(to)]
			v0, v1 := w.Mul(archsimd.LoadFloat64x4Slice(q[at0:])), w.Mul(archsimd.LoadFloat64x4Slice(q[at1:]))
			s0, s1, m0, m1 = s0.Add(v0), s1.Add(v1), m0.Max(v0), m1.Max(v1)
		}
		s0.StoreSlice(to[at0:])
		s1.StoreSlice(to[at1:])
		m0.StoreSlice(most[at0:])
		m1.StoreSlice(most[at1:])
	}
}

// addRangesF64x4 is part.addRanges.
func addRangesF64x4(mean, a, own []float64, n *linear, radius, grow float64) {
	const width = 4
	two, rest, wide, one := archsimd.BroadcastFloat64x4(twoOverPi), archsimd.BroadcastFloat64x4(restOverPi), archsimd.BroadcastFloat64x4(radius), archsimd.BroadcastUint64x4(1)
	growing, tiny, more := archsimd.BroadcastFloat64x4(grow), archsimd.BroadcastFloat64x4(Tiny), archsimd.BroadcastFloat64x4(1+0x1p-50)
	for i := 0; i+width <= len(mean); i += width {
		u := i % n.rows
		a, own, p := archsimd.LoadFloat64x4Slice(a[i:]), archsimd.LoadFloat64x4Slice(own[i:]), archsimd.LoadFloat64x4Slice(n.means[u:])
		x := a.Mul(a).Add(two.Mul(own.Add(p).Add(archsimd.LoadFloat64x4Slice(n.deviations[u:])))).Add(rest.Mul(own.Min(p)))
		x = x.Mul(growing).Add(tiny).Sqrt().Mul(more).Sub(a)
		x = x.AsUint64x4().Add(one).AsFloat64x4()
		archsimd.LoadFloat64x4Slice(mean[i:]).Add(x.Mul(wide)).StoreSlice(mean[i:])
	}
}
