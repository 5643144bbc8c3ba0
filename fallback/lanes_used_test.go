//go:build goexperiment.simd && amd64

package fallback

import (
	"math"
	"math/rand/v2"
	"testing"

	"simd/archsimd"

	"psafe/host/bound"
)

// TestLanesUsed: the comparisons of lanes_test.go would hold if nothing used lanes.
func TestLanesUsed(t *testing.T) {
	t.Run("float32", testLanesUsed[float32])
	t.Run("float64", testLanesUsed[float64])
}

func testLanesUsed[T bound.Real](t *testing.T) {
	d, _ := lanesAndPlain[T](t)
	r := rand.New(rand.NewPCG(1, 2))
	a := newBenchAffine[T](r, false)
	af := affine[T]{a: a, d: d}
	af.wLo, af.wHi = a.W.Lo.(*array[T]).v, a.W.Hi.(*array[T]).v
	af.zLo, af.zHi = a.Z.Lo.(*array[T]).v, a.Z.Hi.(*array[T]).v
	var sums [3][affineTile]T
	if done := affineLanes(&af, 0, 0, 127, &sums); done < 112 {
		t.Errorf("affineLanes did %d outputs of 127", done)
	}
	af.zLo[3] = T(math.Inf(-1))
	if done := affineLanes(&af, 0, 0, 127, &sums); done != 0 {
		t.Errorf("affineLanes did %d outputs with an infinite input", done)
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
}

// TestLanesNormal compares normal numbers: the ends of every binade, both signs, and
// a million others.
func TestLanesNormal(t *testing.T) {
	if !hasLanes() {
		t.Skip("no AVX-512")
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
		normalApprox16(&got, archsimd.LoadUint32x16((*[16]uint32)(bits)))
		for i, n := range got {
			if want := bound.NormalApprox(bits[i]); math.Float32bits(n) != math.Float32bits(want) {
				t.Fatalf("normal of bits %#x is %x by lanes, %x by bound.NormalApprox", bits[i], n, want)
			}
		}
	}
}
