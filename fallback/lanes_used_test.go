//go:build goexperiment.simd && amd64

package fallback

import (
	"math"
	"math/rand/v2"
	"testing"

	"simd/archsimd"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/internal/vector"
)

// TestLanesUsed: the comparisons of lanes_test.go would hold if nothing used lanes.
func TestLanesUsed(t *testing.T) {
	overVectors(t, testLanesUsed[float32], testLanesUsed[float64])
}

func testLanesUsed[T bound.Real](t *testing.T, d, _ *Device[T]) {
	r := rand.New(rand.NewPCG(1, 2))
	a := newBenchAffine[T](r, false)
	af := affine[T]{a: a, d: d}
	af.wLo, af.wHi = a.W.Lo.(*array[T]).v, a.W.Hi.(*array[T]).v
	af.zLo, af.zHi = a.Z.Lo.(*array[T]).v, a.Z.Hi.(*array[T]).v
	s := affineScratch[T]{make([]affineSums[T], 1), make([]affineSums[T], 1)}
	for _, n := range []int{8, 9, 127} {
		if !affineLanes(&af, 0, 1, 0, n, &s) {
			t.Errorf("affineLanes did not do %d outputs", n)
		}
	}
	af.zLo[3] = T(math.Inf(-1))
	if affineLanes(&af, 0, 1, 0, 127, &s) {
		t.Error("affineLanes did outputs with an infinite input")
	}
	const in, out, rows = 5, 4, 33
	back := backSubstitute[T]{
		a: bound.BackSubstitute{PerBox: 1, P: 1, R: rows, In: in, Out: out}, d: d, sLo: make([]T, in*rows), c: make([]T, rows),
		rows: random[T](r, out*rows, -1, 1).v, cIn: make([]T, rows), wLo: make([]T, in*out), wHi: make([]T, in*out), bLo: make([]T, out), bHi: make([]T, out),
	}
	if !backSubstituteLanes(&back, 0, 32, 1, &sparseRow[T]{}) {
		t.Error("backSubstituteLanes refused finite numbers")
	}
	back.wHi[7] = T(math.Inf(1))
	if backSubstituteLanes(&back, 0, 0, 32, &sparseRow[T]{}) {
		t.Error("backSubstituteLanes accepted an infinite weight")
	}
	noise := noiseRows[T]{a: bound.NoiseRows{R: 9, In: 1, Inputs: 1}, d: d, s: make([]T, 9), radius: make([]T, 1), maxSq: make([]T, 1)}
	check(t, noise.findUsed())
	if s := newRowSums[T](8); !noiseRowsLanes(&noise, 0, 1, &s) {
		t.Error("noiseRowsLanes did not do 8 rows")
	}
	shared := sharedVar[T]{
		a: bound.SharedVar{R: 8, K: 1, Channels: 1, Inputs: 1}, d: d, gLo: make([]T, 8), gHi: make([]T, 8), v: make([]T, 1), vb: make([]T, 1), most: make([]T, 1),
		over: over[T]{d, make([]T, 8), 1, 1, 8, bound.SharedRounding{}},
	}
	if !sharedVarLanes(&shared, 0, 0, 8, new([rowTile]T)) {
		t.Error("sharedVarLanes refused finite numbers")
	}
	shared.gHi[7] = T(math.NaN())
	if sharedVarLanes(&shared, 0, 0, 8, new([rowTile]T)) {
		t.Error("sharedVarLanes accepted a NaN")
	}
	box := shareBox[T]{
		a: bound.ShareBox{R: 8, K: 1, Channels: 1, PerBox: 1}, d: d, w: make([]T, 8), gLo: make([]T, 8), gHi: make([]T, 8),
		weightLo: make([]T, 1), weightHi: make([]T, 1), over: shared.over,
	}
	var signed, share, cost [rowTile]T
	if !shareChannelLanes(&box, 0, 0, 0, 8, 1, &signed, &share, &cost) {
		t.Error("shareChannelLanes refused finite numbers")
	}
	box.gLo[7] = T(math.NaN())
	if shareChannelLanes(&box, 0, 0, 0, 8, 1, &signed, &share, &cost) {
		t.Error("shareChannelLanes accepted a NaN")
	}
	rowsOf := shareRows[T]{a: bound.ShareRows{R: 8, Positions: 1, K: 1, Channels: 1}, d: d, s: make([]T, 8), rows: make([]T, 8), w: make([]T, 8)}
	if !shareRowsLanes(&rowsOf, 0, 0, 8, nil) {
		t.Error("shareRowsLanes did not do 8 rows")
	}
	sums := gatherSum[T]{d: d, in: make([]T, 99)}
	if n := gatherSumLanes(&sums, make([]T, 99), &sumScratch[T]{at: []int{0}, ends: []int{1}}); n < 96 {
		t.Errorf("gatherSumLanes did %d rows of 99", n)
	}
}

// TestLanesNormal compares normal numbers: the ends of every binade, both signs, and
// a million others.
func TestLanesNormal(t *testing.T) {
	if vector.Here() == vector.None {
		t.Skipf("no vector loops: %s", vector.There())
	}
	r := rand.New(rand.NewPCG(5, 6))
	var bits []uint32
	for e := range 32 {
		for d := range uint32(8) {
			x := uint32(1)<<e + d - 4
			bits = append(bits, x, ^x, x|1<<31)
		}
	}
	for range 1 << 20 {
		bits = append(bits, r.Uint32()>>(r.IntN(4)*r.IntN(8)))
	}
	var got [16]float32
	for ; len(bits) >= 16; bits = bits[16:] {
		normalApproxF32x8(archsimd.LoadUint32x8Slice(bits)).StoreSlice(got[:])
		normalApproxF32x8(archsimd.LoadUint32x8Slice(bits[8:])).StoreSlice(got[8:])
		compareNormals(t, &got, bits)
		if vector.Here() == vector.AVX512 {
			normalApproxF32x16(archsimd.LoadUint32x16Slice(bits)).StoreSlice(got[:])
			compareNormals(t, &got, bits)
		}
	}
}

func compareNormals(t *testing.T, got *[16]float32, bits []uint32) {
	t.Helper()
	for i, n := range got {
		if want := arith.NormalApprox(bits[i]); math.Float32bits(n) != math.Float32bits(want) {
			t.Fatalf("normal of bits %#x is %x by lanes, %x by arith.NormalApprox", bits[i], n, want)
		}
	}
}
