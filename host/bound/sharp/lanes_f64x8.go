//go:build goexperiment.simd && amd64

package sharp

import "simd/archsimd"

// weighRowsF64x8 is weighRows: four lists of weights meet two vectors of lanes once they are loaded. The
// last list is taken again where there are fewer.
func weighRowsF64x8(to, weights []float64, pick []int, x []float64, lanes int) {
	const width = 8
	last := len(to)/lanes - 1
	n := len(weights) / (last + 1)
	for k := 0; k <= last; k += 4 {
		k1, k2, k3 := min(k+1, last), min(k+2, last), min(k+3, last)
		w0, w1, w2, w3 := weights[k*n:][:n], weights[k1*n:][:n], weights[k2*n:][:n], weights[k3*n:][:n]
		for r := 0; r < lanes; r += 2 * width {
			var a0, a1, b0, b1, c0, c1, d0, d1 archsimd.Float64x8
			for _, p := range pick {
				q := x[p*lanes+r:][:2*width]
				x0, x1 := archsimd.LoadFloat64x8Slice(q[:width]), archsimd.LoadFloat64x8Slice(q[width:])
				w := archsimd.BroadcastFloat64x8(w0[p])
				a0, a1 = a0.Add(w.Mul(x0)), a1.Add(w.Mul(x1))
				w = archsimd.BroadcastFloat64x8(w1[p])
				b0, b1 = b0.Add(w.Mul(x0)), b1.Add(w.Mul(x1))
				w = archsimd.BroadcastFloat64x8(w2[p])
				c0, c1 = c0.Add(w.Mul(x0)), c1.Add(w.Mul(x1))
				w = archsimd.BroadcastFloat64x8(w3[p])
				d0, d1 = d0.Add(w.Mul(x0)), d1.Add(w.Mul(x1))
			}
			a0.StoreSlice(to[k*lanes+r:])
			a1.StoreSlice(to[k*lanes+r+width:])
			b0.StoreSlice(to[k1*lanes+r:])
			b1.StoreSlice(to[k1*lanes+r+width:])
			c0.StoreSlice(to[k2*lanes+r:])
			c1.StoreSlice(to[k2*lanes+r+width:])
			d0.StoreSlice(to[k3*lanes+r:])
			d1.StoreSlice(to[k3*lanes+r+width:])
		}
	}
}

// weighTwiceF64x8 is weighTwice.
func weighTwiceF64x8(n *linear, means, deviations []float64, pick []int, x []float64) {
	const width = 8
	deviations = deviations[:len(means)]
	for r := 0; r < n.rows; r += 2 * width {
		var m0, m1, d0, d1, most0, most1 archsimd.Float64x8
		for _, p := range pick {
			q := x[p*n.rows+r:][:2*width]
			x0, x1 := archsimd.LoadFloat64x8Slice(q[:width]), archsimd.LoadFloat64x8Slice(q[width:])
			w, d := archsimd.BroadcastFloat64x8(means[p]), archsimd.BroadcastFloat64x8(deviations[p])
			m0, m1 = m0.Add(w.Mul(x0)), m1.Add(w.Mul(x1))
			x0, x1 = d.Mul(x0), d.Mul(x1)
			d0, d1, most0, most1 = d0.Add(x0), d1.Add(x1), most0.Max(x0), most1.Max(x1)
		}
		m0.StoreSlice(n.means[r:])
		m1.StoreSlice(n.means[r+width:])
		d0.StoreSlice(n.deviations[r:])
		d1.StoreSlice(n.deviations[r+width:])
		most0.StoreSlice(n.largest[r:])
		most1.StoreSlice(n.largest[r+width:])
	}
}

// addRangesF64x8 is part.addRanges.
func addRangesF64x8(mean, a, own []float64, n *linear, radius, grow float64) {
	const width = 8
	two, rest, wide, one := archsimd.BroadcastFloat64x8(twoOverPi), archsimd.BroadcastFloat64x8(restOverPi), archsimd.BroadcastFloat64x8(radius), archsimd.BroadcastUint64x8(1)
	growing, tiny, more := archsimd.BroadcastFloat64x8(grow), archsimd.BroadcastFloat64x8(Tiny), archsimd.BroadcastFloat64x8(1+0x1p-50)
	for i := 0; i+width <= len(mean); i += width {
		u := i % n.rows
		a, own, p := archsimd.LoadFloat64x8Slice(a[i:]), archsimd.LoadFloat64x8Slice(own[i:]), archsimd.LoadFloat64x8Slice(n.means[u:])
		x := a.Mul(a).Add(two.Mul(own.Add(p).Add(archsimd.LoadFloat64x8Slice(n.deviations[u:])))).Add(rest.Mul(own.Min(p)))
		x = x.Mul(growing).Add(tiny).Sqrt().Mul(more).Sub(a)
		x = x.AsUint64x8().Add(one).AsFloat64x8()
		archsimd.LoadFloat64x8Slice(mean[i:]).Add(x.Mul(wide)).StoreSlice(mean[i:])
	}
}
