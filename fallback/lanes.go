//go:build goexperiment.simd && amd64

package fallback

import (
	"slices"

	"psafe/host/bound"
	"psafe/internal/vector"
)

// This file chooses among the vector loops, which are in the files lanes_*_*.go.
//
// Their results are the bits of the plain loops. A lane is one output or one row, so
// that each sum has its terms in the plain order, and nothing is fused. Min and Max
// may return another zero, which no sum notices that starts at +0, and may lose a NaN
// (the instructions return their second operand, and the compiler exchanges operands),
// but finite numbers have no NaN among their products: where a number is not finite,
// the plain loop does the work again.

// affineLanes is affine.sums for items p, ..., p+items-1 and n outputs from from on, or false if the plain loop has to do it. Fewer outputs than a
// vector of AVX-512 are a vector of AVX2.
func affineLanes[T bound.Real](t *affine[T], p, items, from, n int, s *affineScratch[T]) bool {
	switch t := any(t).(type) {
	case *affine[float32]:
		s := any(s).(*affineScratch[float32])
		if t.d.vectors == vector.AVX512 && n >= widthF32x16 {
			return affineF32x16(t, p, items, from, n, s)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF32x8 && affineF32x8(t, p, items, from, n, s)
	case *affine[float64]:
		s := any(s).(*affineScratch[float64])
		if t.d.vectors == vector.AVX512 && n >= widthF64x8 {
			return affineF64x8(t, p, items, from, n, s)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF64x4 && affineF64x4(t, p, items, from, n, s)
	}
	return false
}

// unslot copies sums to n places: vectors beside each other in from, of which the last may
// overlap the one before in to, and so has the same numbers there.
func unslot[T bound.Real](to, from []T, width int) {
	for at := 0; at < len(to); at += width {
		copy(to[min(at, len(to)-width):], from[at:at+width])
	}
}

// backSubstituteLanes is backSubstitute.row for rows r, ..., r+n-1 of item p, lanes
// being rows. It returns false, and what it wrote is to be written again, if a sum is
// not finite: the plain loop leaves out zeros of A, which times infinity are NaN.
func backSubstituteLanes[T bound.Real](t *backSubstitute[T], p, r, n int, s *sparseRow[T]) bool {
	if t.d.vectors == vector.None || t.a.In < 2 {
		return false
	}
	s.gatherRows(t.rows[p*t.a.Out*t.a.R+r:], t.a.Out, t.a.R, n)
	wide := t.d.vectors == vector.AVX512
	switch t := any(t).(type) {
	case *backSubstitute[float32]:
		s := any(s).(*sparseRow[float32])
		if wide && n > widthF32x8 {
			return backSubstituteF32x16(t, p, r, n, s)
		}
		return backSubstituteF32x8(t, p, r, n, s)
	case *backSubstitute[float64]:
		s := any(s).(*sparseRow[float64])
		if wide && n > widthF64x4 {
			return backSubstituteF64x8(t, p, r, n, s)
		}
		return backSubstituteF64x4(t, p, r, n, s)
	}
	return false
}

// gatherRows is gather for n rows at once: s.a holds rowTile entries for each output
// at which one of the rows is not zero, zeros where there is no row.
func (s *sparseRow[T]) gatherRows(rows []T, outputs, stride, n int) {
	s.at, s.a, s.ends = s.at[:0], s.a[:0], s.ends[:0]
	s.met, s.place = append(s.met[:0], make([]uint32, words(outputs))...), slices.Grow(s.place[:0], outputs*rowTile)[:outputs*rowTile]
	for i := range outputs {
		row := rows[i*stride : i*stride+n]
		if slices.ContainsFunc(row, func(a T) bool { return a != 0 }) {
			var a [rowTile]T
			copy(a[:], row)
			s.at, s.a = append(s.at, i), append(s.a, a[:]...)
			s.met[i/bound.Block] |= 1 << (i % bound.Block)
			copy(s.place[i*rowTile:], a[:])
		}
		if i%bound.Block == bound.Block-1 || i == outputs-1 {
			s.ends = append(s.ends, len(s.at))
		}
	}
}

// drawBoxLanes draws the weights of groups g, ..., g+n-1 of box b, eight or four groups at a
// time, and returns of how many groups. Every operation is the one of arith.Philox,
// arith.NormalApprox and bound.BoxEnds, so the bits are the same whatever the numbers.
func drawBoxLanes[T bound.Real](t *drawBox[T], b, g, n int) (done int) {
	if t.vectors == vector.None || !t.a.Sampled {
		return 0
	}
	n = min(n, t.a.N/4-g) // full groups
	first := t.a.First + uint64(b)
	if t.vectors == vector.AVX512 {
		for ; done+8 <= n; done += 8 {
			var normal [32]float32
			normalsF32x16(&normal, t.a.Seed, first, t.a.Stream, uint32(g+done))
			w := 4 * (g + done)
			i := b*t.a.N + w
			switch t := any(t).(type) {
			case *drawBox[float32]:
				boxEndsF32x16(t.lo[i:], t.hi[i:], t.cLo[w:], t.cHi[w:], t.unit[w:], t.gamma[b], normal[:])
			case *drawBox[float64]:
				boxEndsF64x8(t.lo[i:], t.hi[i:], t.cLo[w:], t.cHi[w:], t.unit[w:], t.gamma[b], normal[:])
			}
		}
	}
	for ; done+4 <= n; done += 4 {
		var normal [16]float32
		normalsF32x8(&normal, t.a.Seed, first, t.a.Stream, uint32(g+done))
		w := 4 * (g + done)
		i := b*t.a.N + w
		switch t := any(t).(type) {
		case *drawBox[float32]:
			boxEndsF32x8(t.lo[i:], t.hi[i:], t.cLo[w:], t.cHi[w:], t.unit[w:], t.gamma[b], normal[:])
		case *drawBox[float64]:
			boxEndsF64x4(t.lo[i:], t.hi[i:], t.cLo[w:], t.cHi[w:], t.unit[w:], t.gamma[b], normal[:])
		}
	}
	return done
}

// transpose puts the coefficients of n rows, from row on, into columns.
func (m *mergeRows[T]) transpose(row, n int) {
	out := m.a.Out
	for k := range n {
		for i, c := range m.cLo[(row+k)*out : (row+k+1)*out] {
			m.columns[i*n+k] = c
		}
	}
}

// mergeRowsLanes is mergeRows.item, or false if the plain loop has to do it.
func mergeRowsLanes[T bound.Real](m *mergeRows[T], p int) bool {
	if !m.points {
		return false
	}
	switch m := any(m).(type) {
	case *mergeRows[float32]:
		if m.d.vectors == vector.AVX512 && m.a.Rows >= widthF32x16 {
			return mergeRowsF32x16(m, p)
		}
		return m.d.vectors >= vector.AVX2 && m.a.Rows >= widthF32x8 && mergeRowsF32x8(m, p)
	case *mergeRows[float64]:
		if m.d.vectors == vector.AVX512 && m.a.Rows >= widthF64x8 {
			return mergeRowsF64x8(m, p)
		}
		return m.d.vectors >= vector.AVX2 && m.a.Rows >= widthF64x4 && mergeRowsF64x4(m, p)
	}
	return false
}

// concretizeLanes is concretize.sums, or false if the plain loop has to do it.
func concretizeLanes[T bound.Real](t *concretize[T], p, r int, s *rowSums[T]) bool {
	n := len(s.a)
	switch t := any(t).(type) {
	case *concretize[float32]:
		s := any(s).(*rowSums[float32])
		if t.d.vectors == vector.AVX512 && n >= widthF32x16 {
			return concretizeF32x16(t, p, r, s)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF32x8 && concretizeF32x8(t, p, r, s)
	case *concretize[float64]:
		s := any(s).(*rowSums[float64])
		if t.d.vectors == vector.AVX512 && n >= widthF64x8 {
			return concretizeF64x8(t, p, r, s)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF64x4 && concretizeF64x4(t, p, r, s)
	}
	return false
}

// relaxRowsLanes is relaxRows.sums, or false if the plain loop has to do it: it does the
// chords.
func relaxRowsLanes[T bound.Real](t *relaxRows[T], p, c, r int, s *rowSums[T]) bool {
	if !t.sure {
		return false
	}
	n := len(s.a)
	switch t := any(t).(type) {
	case *relaxRows[float32]:
		s := any(s).(*rowSums[float32])
		switch {
		case t.d.vectors == vector.AVX512 && n >= widthF32x16:
			relaxRowsF32x16(t, p, c, r, s)
			return true
		case t.d.vectors >= vector.AVX2 && n >= widthF32x8:
			relaxRowsF32x8(t, p, c, r, s)
			return true
		}
	case *relaxRows[float64]:
		s := any(s).(*rowSums[float64])
		switch {
		case t.d.vectors == vector.AVX512 && n >= widthF64x8:
			relaxRowsF64x8(t, p, c, r, s)
			return true
		case t.d.vectors >= vector.AVX2 && n >= widthF64x4:
			relaxRowsF64x4(t, p, c, r, s)
			return true
		}
	}
	return false
}

// noiseRowsLanes is noiseRows.sums, or false if the plain loop has to do it: where there are fewer
// rows than lanes.
func noiseRowsLanes[T bound.Real](t *noiseRows[T], p, r int, s *rowSums[T]) bool {
	n := len(s.a)
	switch t := any(t).(type) {
	case *noiseRows[float32]:
		s := any(s).(*rowSums[float32])
		switch {
		case t.d.vectors == vector.AVX512 && n >= widthF32x16:
			noiseRowsF32x16(t, p, r, s)
			return true
		case t.d.vectors >= vector.AVX2 && n >= widthF32x8:
			noiseRowsF32x8(t, p, r, s)
			return true
		}
	case *noiseRows[float64]:
		s := any(s).(*rowSums[float64])
		switch {
		case t.d.vectors == vector.AVX512 && n >= widthF64x8:
			noiseRowsF64x8(t, p, r, s)
			return true
		case t.d.vectors >= vector.AVX2 && n >= widthF64x4:
			noiseRowsF64x4(t, p, r, s)
			return true
		}
	}
	return false
}

// sharedVarLanes is sharedVar.sums, or false if the plain loop has to do it.
func sharedVarLanes[T bound.Real](t *sharedVar[T], p, r, n int, total *[rowTile]T) bool {
	switch t := any(t).(type) {
	case *sharedVar[float32]:
		total := any(total).(*[rowTile]float32)
		if t.d.vectors == vector.AVX512 && n >= widthF32x16 {
			return sharedVarF32x16(t, p, r, n, total)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF32x8 && sharedVarF32x8(t, p, r, n, total)
	case *sharedVar[float64]:
		total := any(total).(*[rowTile]float64)
		if t.d.vectors == vector.AVX512 && n >= widthF64x8 {
			return sharedVarF64x8(t, p, r, n, total)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF64x4 && sharedVarF64x4(t, p, r, n, total)
	}
	return false
}

// shareChannelLanes is over.sums and shareBox.channel, or false if the plain loop has to do it.
func shareChannelLanes[T bound.Real](t *shareBox[T], p, o, r, n int, most T, signed, share, sum *[rowTile]T) bool {
	switch t := any(t).(type) {
	case *shareBox[float32]:
		most, signed, share, sum := float32(most), any(signed).(*[rowTile]float32), any(share).(*[rowTile]float32), any(sum).(*[rowTile]float32)
		if t.d.vectors == vector.AVX512 && n >= widthF32x16 {
			return shareChannelF32x16(t, p, o, r, n, most, signed, share, sum)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF32x8 && shareChannelF32x8(t, p, o, r, n, most, signed, share, sum)
	case *shareBox[float64]:
		most, signed, share, sum := float64(most), any(signed).(*[rowTile]float64), any(share).(*[rowTile]float64), any(sum).(*[rowTile]float64)
		if t.d.vectors == vector.AVX512 && n >= widthF64x8 {
			return shareChannelF64x8(t, p, o, r, n, most, signed, share, sum)
		}
		return t.d.vectors >= vector.AVX2 && n >= widthF64x4 && shareChannelF64x4(t, p, o, r, n, most, signed, share, sum)
	}
	return false
}

// shareRowsLanes is shareRows.tile of the channels used, or false if the plain loop has to do it: where there are fewer
// rows than lanes.
func shareRowsLanes[T bound.Real](t *shareRows[T], q, r, n int, used []int) bool {
	switch t := any(t).(type) {
	case *shareRows[float32]:
		switch {
		case t.d.vectors == vector.AVX512 && n >= widthF32x16:
			shareRowsF32x16(t, q, r, n, used)
			return true
		case t.d.vectors >= vector.AVX2 && n >= widthF32x8:
			shareRowsF32x8(t, q, r, n, used)
			return true
		}
	case *shareRows[float64]:
		switch {
		case t.d.vectors == vector.AVX512 && n >= widthF64x8:
			shareRowsF64x8(t, q, r, n, used)
			return true
		case t.d.vectors >= vector.AVX2 && n >= widthF64x4:
			shareRowsF64x4(t, q, r, n, used)
			return true
		}
	}
	return false
}

// gatherSumLanes sums rows 0, 1, ... of a list into out and returns of how many rows: of whole
// vectors. It takes no minimum, so whatever the numbers they have the plain bits.
func gatherSumLanes[T bound.Real](t *gatherSum[T], out []T, s *sumScratch[T]) int {
	if t.d.vectors == vector.None {
		return 0
	}
	wide := t.d.vectors == vector.AVX512
	switch t := any(t).(type) {
	case *gatherSum[float32]:
		out, s := any(out).([]float32), any(s).(*sumScratch[float32])
		if wide && len(out) >= widthF32x16 {
			return gatherSumF32x16(t, out, s)
		}
		return gatherSumF32x8(t, out, s)
	case *gatherSum[float64]:
		out, s := any(out).([]float64), any(s).(*sumScratch[float64])
		if wide && len(out) >= widthF64x8 {
			return gatherSumF64x8(t, out, s)
		}
		return gatherSumF64x4(t, out, s)
	}
	return 0
}

// convTransposeLanes is convTranspose.sums and put of some places that are alike, or false if the plain loop
// has to do it. It takes no minimum, so whatever the numbers they have the plain bits.
func convTransposeLanes[T bound.Real](t *convTranspose[T], item int, places []int, r, n int) bool {
	wide := t.d.vectors == vector.AVX512
	switch t := any(t).(type) {
	case *convTranspose[float32]:
		if wide && n >= widthF32x16 {
			convTransposeF32x16(t, item, places, r, n)
			return true
		}
		if t.d.vectors >= vector.AVX2 && n >= widthF32x8 {
			convTransposeF32x8(t, item, places, r, n)
			return true
		}
	case *convTranspose[float64]:
		if wide && n >= widthF64x8 {
			convTransposeF64x8(t, item, places, r, n)
			return true
		}
		if t.d.vectors >= vector.AVX2 && n >= widthF64x4 {
			convTransposeF64x4(t, item, places, r, n)
			return true
		}
	}
	return false
}

// The coefficients of bound/draw.go; TestLanesNormal compares every result.
var (
	logCoefficients = [10]float32{
		0.048774821246014934, -0.11628150544757432, 0.15015401752562585, -0.16908588501665717, 0.19981705356829352,
		-0.24987882879613785, 0.3333323992021914, -0.500001855984106, 1.000000029553957, 4.531166518048095e-09,
	}
	normalCentral = [10]float32{
		0, 3.1969680394459927e-08, 4.839788249499785e-07, -4.885796045069582e-06, -6.194745732231644e-06,
		0.0003087411769368272, -0.0017730828188758966, -0.005907660099483536, 0.34880271668923374, 2.1233134670146705,
	}
	normalTail = [10]float32{
		0, 8.750900004482134e-11, -1.8159588811786368e-09, -1.5755344565347781e-09, 4.070577985279083e-07,
		-8.19604413916867e-06, 0.0001643856313106071, -0.004174051849238484, 0.20557779348871563, 4.66594357491947,
	}
)
