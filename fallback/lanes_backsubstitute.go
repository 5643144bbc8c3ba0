//go:build goexperiment.simd && amd64

package fallback

import (
	"simd/archsimd"

	"psafe/host/bound"
)

// backSubstituteLanes is backSubstitute.row for rows r, ..., r+n-1 of item p, lanes
// being rows. It returns false, and what it wrote is to be written again, if a sum is
// not finite: the plain loop leaves out zeros of A, which times infinity are NaN.
func backSubstituteLanes[T bound.Real](t *backSubstitute[T], p, r, n int, s *sparseRow[T]) bool {
	if !t.d.lanes || t.a.In < 2 {
		return false
	}
	s.gatherRows(t.rows[p*t.a.Out*t.a.R+r:], t.a.Out, t.a.R, n)
	switch t := any(t).(type) {
	case *backSubstitute[float32]:
		return backSubstitute32(t, p, r, n, any(s).(*sparseRow[float32]))
	case *backSubstitute[float64]:
		return backSubstitute64(t, p, r, n, any(s).(*sparseRow[float64]))
	}
	return false
}

// gatherRows is gather for n rows at once: s.a holds rowTile entries for each output
// at which one of the rows is not zero, zeros where there is no row.
func (s *sparseRow[T]) gatherRows(rows []T, outputs, stride, n int) {
	s.at, s.a, s.ends = s.at[:0], s.a[:0], s.ends[:0]
	for i := range outputs {
		var a [rowTile]T
		if copy(a[:n], rows[i*stride:]); a != [rowTile]T{} {
			s.at, s.a = append(s.at, i), append(s.a, a[:]...)
		}
		if i%bound.Block == bound.Block-1 || i == outputs-1 {
			s.ends = append(s.ends, len(s.at))
		}
	}
}

func backSubstitute32(t *backSubstitute[float32], p, r, n int, s *sparseRow[float32]) bool {
	in, out := t.a.In, t.a.Out
	box, at := p/t.a.PerBox, p*in*t.a.R+r
	wLo, wHi := t.wLo[box*in*out:(box+1)*in*out], t.wHi[box*in*out:(box+1)*in*out]
	if !sums32(s, t.sLo[at:], wLo, wHi, in, out, t.a.R, n) || t.sHi != nil && !sums32(s, t.sHi[at:], wHi, wLo, in, out, t.a.R, n) {
		return false
	}
	var c [2][rowTile]float32
	finite := dots32(s, t.bLo[box*out:(box+1)*out], t.bHi[box*out:(box+1)*out], out, 0, n, &c)
	for i := range n {
		t.c[p*t.a.R+r+i] = t.d.down(t.cIn[p*t.a.R+r+i] + c[0][i])
	}
	return finite
}

// sums32 is backSubstitute.sums for n rows. The last two inputs may overlap
// those before them.
func sums32(s *sparseRow[float32], dst, lo, hi []float32, in, out, rows, n int) bool {
	var sum [2][rowTile]float32
	for j := 0; j < in; j += 2 {
		j := min(j, in-2)
		if !dots32(s, lo[j*out:(j+2)*out], hi[j*out:(j+2)*out], out, out, n, &sum) {
			return false
		}
		for k := range sum {
			copy(dst[(j+k)*rows:(j+k)*rows+n], sum[k][:])
		}
	}
	return true
}

// dots32 is dot for n rows and two inputs, whose weights start stride apart, and says
// whether all results are finite.
func dots32(s *sparseRow[float32], lo, hi []float32, out, stride, n int, total *[2][rowTile]float32) bool {
	*total = [2][rowTile]float32{}
	lo0, lo1 := lo[:out], lo[stride:][:out]
	hi0, hi1 := hi[:out], hi[stride:][:out]
	var notFinite archsimd.Float32x16 // 0 or NaN
	for first := 0; first < n; first += 32 {
		k := 0
		for _, end := range s.ends {
			var s00, s01, s10, s11 archsimd.Float32x16
			for ; k < end; k++ {
				i, a := s.at[k], (*[32]float32)(s.a[k*rowTile+first:])
				a0, a1 := archsimd.LoadFloat32x16((*[16]float32)(a[:16])), archsimd.LoadFloat32x16((*[16]float32)(a[16:]))
				m0, m1 := a0.GreaterEqual(archsimd.Float32x16{}), a1.GreaterEqual(archsimd.Float32x16{})
				l, h := archsimd.BroadcastFloat32x16(lo0[i]), archsimd.BroadcastFloat32x16(hi0[i])
				s00, s01 = s00.Add(a0.Mul(l.Merge(h, m0))), s01.Add(a1.Mul(l.Merge(h, m1)))
				l, h = archsimd.BroadcastFloat32x16(lo1[i]), archsimd.BroadcastFloat32x16(hi1[i])
				s10, s11 = s10.Add(a0.Mul(l.Merge(h, m0))), s11.Add(a1.Mul(l.Merge(h, m1)))
			}
			add32(&total[0], first, s00, s01)
			add32(&total[1], first, s10, s11)
		}
		for j := range total {
			t := (*[32]float32)(total[j][first:])
			a, b := archsimd.LoadFloat32x16((*[16]float32)(t[:16])), archsimd.LoadFloat32x16((*[16]float32)(t[16:]))
			notFinite = notFinite.Add(a.Sub(a)).Add(b.Sub(b))
		}
	}
	return notFinite.IsNaN().ToBits() == 0
}

func add32(total *[rowTile]float32, first int, a, b archsimd.Float32x16) {
	t := (*[32]float32)(total[first:])
	t0, t1 := (*[16]float32)(t[:16]), (*[16]float32)(t[16:])
	archsimd.LoadFloat32x16(t0).Add(a).Store(t0)
	archsimd.LoadFloat32x16(t1).Add(b).Store(t1)
}

func backSubstitute64(t *backSubstitute[float64], p, r, n int, s *sparseRow[float64]) bool {
	in, out := t.a.In, t.a.Out
	box, at := p/t.a.PerBox, p*in*t.a.R+r
	wLo, wHi := t.wLo[box*in*out:(box+1)*in*out], t.wHi[box*in*out:(box+1)*in*out]
	if !sums64(s, t.sLo[at:], wLo, wHi, in, out, t.a.R, n) || t.sHi != nil && !sums64(s, t.sHi[at:], wHi, wLo, in, out, t.a.R, n) {
		return false
	}
	var c [2][rowTile]float64
	finite := dots64(s, t.bLo[box*out:(box+1)*out], t.bHi[box*out:(box+1)*out], out, 0, n, &c)
	for i := range n {
		t.c[p*t.a.R+r+i] = t.d.down(t.cIn[p*t.a.R+r+i] + c[0][i])
	}
	return finite
}

func sums64(s *sparseRow[float64], dst, lo, hi []float64, in, out, rows, n int) bool {
	var sum [2][rowTile]float64
	for j := 0; j < in; j += 2 {
		j := min(j, in-2)
		if !dots64(s, lo[j*out:(j+2)*out], hi[j*out:(j+2)*out], out, out, n, &sum) {
			return false
		}
		for k := range sum {
			copy(dst[(j+k)*rows:(j+k)*rows+n], sum[k][:])
		}
	}
	return true
}

func dots64(s *sparseRow[float64], lo, hi []float64, out, stride, n int, total *[2][rowTile]float64) bool {
	*total = [2][rowTile]float64{}
	lo0, lo1 := lo[:out], lo[stride:][:out]
	hi0, hi1 := hi[:out], hi[stride:][:out]
	var notFinite archsimd.Float64x8 // 0 or NaN
	for first := 0; first < n; first += 16 {
		k := 0
		for _, end := range s.ends {
			var s00, s01, s10, s11 archsimd.Float64x8
			for ; k < end; k++ {
				i, a := s.at[k], (*[16]float64)(s.a[k*rowTile+first:])
				a0, a1 := archsimd.LoadFloat64x8((*[8]float64)(a[:8])), archsimd.LoadFloat64x8((*[8]float64)(a[8:]))
				m0, m1 := a0.GreaterEqual(archsimd.Float64x8{}), a1.GreaterEqual(archsimd.Float64x8{})
				l, h := archsimd.BroadcastFloat64x8(lo0[i]), archsimd.BroadcastFloat64x8(hi0[i])
				s00, s01 = s00.Add(a0.Mul(l.Merge(h, m0))), s01.Add(a1.Mul(l.Merge(h, m1)))
				l, h = archsimd.BroadcastFloat64x8(lo1[i]), archsimd.BroadcastFloat64x8(hi1[i])
				s10, s11 = s10.Add(a0.Mul(l.Merge(h, m0))), s11.Add(a1.Mul(l.Merge(h, m1)))
			}
			add64(&total[0], first, s00, s01)
			add64(&total[1], first, s10, s11)
		}
		for j := range total {
			t := (*[16]float64)(total[j][first:])
			a, b := archsimd.LoadFloat64x8((*[8]float64)(t[:8])), archsimd.LoadFloat64x8((*[8]float64)(t[8:]))
			notFinite = notFinite.Add(a.Sub(a)).Add(b.Sub(b))
		}
	}
	return notFinite.IsNaN().ToBits() == 0
}

func add64(total *[rowTile]float64, first int, a, b archsimd.Float64x8) {
	t := (*[16]float64)(total[first:])
	t0, t1 := (*[8]float64)(t[:8]), (*[8]float64)(t[8:])
	archsimd.LoadFloat64x8(t0).Add(a).Store(t0)
	archsimd.LoadFloat64x8(t1).Add(b).Store(t1)
}
