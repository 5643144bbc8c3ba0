package fallback

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
	"psafe/internal/vector"
)

// The tests of this file compare the vector loops with the plain ones, bit for bit, for every
// set of vector instructions that there is. In a build or on a processor without them they are
// skipped.

// overVectors runs a test in both precisions with every set: vectors is a device that uses it,
// plain one that has plain loops only.
func overVectors(t *testing.T, f32 func(t *testing.T, vectors, plain *Device[float32]), f64 func(t *testing.T, vectors, plain *Device[float64])) {
	if vector.Here() == vector.None {
		t.Skipf("no vector loops: %s", vector.There())
	}
	for v := vector.AVX2; v <= vector.Here(); v++ {
		t.Run(v.String()+"/float32", func(t *testing.T) { f32(t, withVectors[float32](v), withVectors[float32](vector.None)) })
		t.Run(v.String()+"/float64", func(t *testing.T) { f64(t, withVectors[float64](v), withVectors[float64](vector.None)) })
	}
}

func withVectors[T bound.Real](v vector.Set) *Device[T] {
	d := oneCore[T]()
	d.vectors = v
	return d
}

func TestLanesDevice(t *testing.T) {
	overVectors(t, testLanesDevice[float32], testLanesDevice[float64])
}

func testLanesDevice[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	factor := 1.0
	if !testscale.Deep(t) { // TestDevice has the others
		factor = 0.3
	}
	devicetest.RunAgainst(t, lanes, plain, devicetest.Factor(factor))
}

// corners draws numbers: small ones, or now and then a corner of the kind asked for.
type corners struct {
	*rand.Rand
	rate             float64
	overflow, nonNum bool
}

// newCorners gives every third seed tame numbers, every third some that overflow,
// every third infinities and NaNs; all have zeros of both signs and subnormals.
func newCorners(seed uint64) *corners {
	c := &corners{Rand: rand.New(rand.NewPCG(seed, 1)), rate: 0.1, overflow: seed%3 == 1, nonNum: seed%3 == 2}
	if seed%2 == 0 {
		c.rate = 0.002 // most sums meet none
	}
	return c
}

func draw[T bound.Real](c *corners, n int) []T {
	p := oneCore[T]().precision
	eta, most := T(p.Eta()), T(p.Max())
	list := []T{0, T(math.Copysign(0, -1)), eta, -eta, 1, -1}
	if c.overflow {
		list = append(list, most, -most, most/2)
	}
	if c.nonNum {
		list = append(list, T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)))
	}
	v := make([]T, n)
	for i := range v {
		v[i] = T(c.NormFloat64())
		if c.Float64() < c.rate {
			v[i] = list[c.IntN(len(list))]
		}
	}
	return v
}

func drawArray[T bound.Real](c *corners, n int) *array[T] { return &array[T]{v: draw[T](c, n)} }

// drawInterval orders the ends where they can be ordered; the sign of a zero and
// which end is a NaN stay as drawn. Now and then both ends are the same.
func drawInterval[T bound.Real](c *corners, n int) bound.Interval {
	lo, hi := draw[T](c, n), draw[T](c, n)
	for i := range lo {
		if lo[i] > hi[i] {
			lo[i], hi[i] = hi[i], lo[i]
		}
		if c.IntN(8) == 0 {
			hi[i] = lo[i]
		}
	}
	return bound.Interval{Lo: &array[T]{v: lo}, Hi: &array[T]{v: hi}}
}

func outInterval[T bound.Real](n int) bound.Interval {
	return bound.Interval{Lo: &array[T]{v: make([]T, n)}, Hi: &array[T]{v: make([]T, n)}}
}

// sameBits compares numbers; any NaN is equal to any other.
func sameBits[T bound.Real](t *testing.T, what string, got, want bound.Array) {
	t.Helper()
	g, w := got.(*array[T]).v, want.(*array[T]).v
	for i := range w {
		if math.Float64bits(float64(g[i])) != math.Float64bits(float64(w[i])) && (g[i] == g[i] || w[i] == w[i]) {
			t.Fatalf("%s[%d] of %d is %x by lanes, %x by the plain loop", what, i, len(w), g[i], w[i])
		}
	}
}

// laneSeeds is how many of n seeds are drawn: an eighth, and all in deep.
func laneSeeds(t *testing.T, n int) uint64 { return uint64(max(n/8, testscale.Cases(t, n))) }

var laneSizes = []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 100, 127, 128, 129, 144, 300}

func TestLanesAffine(t *testing.T) {
	overVectors(t, testLanesAffine[float32], testLanesAffine[float64])
}

func testLanesAffine[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range laneSeeds(t, 600) {
		c := newCorners(seed)
		in, out := laneSizes[c.IntN(len(laneSizes))], laneSizes[c.IntN(len(laneSizes))]
		a := bound.Affine{
			W: drawInterval[T](c, 2*in*out), B: drawInterval[T](c, 2*out), Z: drawInterval[T](c, 3*in),
			NonNeg: seed%5 == 0, Batch: bound.Batch{Items: 6, PerBox: 3, Inputs: 3}, In: in, Out: out,
		}
		a.Push, a.MagRound = lanes.precision.AffineRounding(in)
		if a.NonNeg {
			lo, hi := a.Z.Lo.(*array[T]).v, a.Z.Hi.(*array[T]).v
			for i := range lo {
				lo[i], hi[i] = abs(lo[i]), abs(lo[i])+abs(hi[i])
			}
		}
		compareAffine(t, fmt.Sprintf("seed %d, %d inputs: ", seed, in), lanes, plain, a)
	}
}

func compareAffine[T bound.Real](t *testing.T, what string, lanes, plain *Device[T], a bound.Affine) {
	t.Helper()
	n := a.Items * a.Out
	want := a
	a.Pre, a.Mag = outInterval[T](n), &array[T]{v: make([]T, n)}
	want.Pre, want.Mag = outInterval[T](n), &array[T]{v: make([]T, n)}
	check(t, lanes.Do(a))
	check(t, plain.Do(want))
	sameBits[T](t, what+"Pre.Lo", a.Pre.Lo, want.Pre.Lo)
	sameBits[T](t, what+"Pre.Hi", a.Pre.Hi, want.Pre.Hi)
	sameBits[T](t, what+"Mag", a.Mag, want.Mag)
}

// TestLanesOneCorner puts one number that is not finite among tame ones, at every
// end-point and in both rows of a pair: nothing else gives it away.
func TestLanesOneCorner(t *testing.T) {
	overVectors(t, testLanesOneCorner[float32], testLanesOneCorner[float64])
}

func testLanesOneCorner[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	const in, out = 2, 16
	for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for place := range 8 * 2 * 2 * 2 {
			j, nonNeg, zero, from := place/8%in, place/16%2 == 0, place/32%2 == 0, -1.0
			if nonNeg {
				from = 0.5
			}
			r := rand.New(rand.NewPCG(uint64(place), 2))
			a := bound.Affine{
				W: around[T](r, in*out, -1, 1, 0.1), B: around[T](r, out, -1, 1, 0.1), Z: around[T](r, in, from, 1, 0.1),
				NonNeg: nonNeg, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}, In: in, Out: out,
			}
			a.Push, a.MagRound = lanes.precision.AffineRounding(in)
			ends := []bound.Array{a.W.Lo, a.W.Hi, a.Z.Lo, a.Z.Hi}
			at := j
			if place%4 < 2 {
				at = j*out + 5
			} else if zero { // the number meets only weights that are 0
				clear(a.W.Lo.(*array[T]).v[j*out : (j+1)*out])
				clear(a.W.Hi.(*array[T]).v[j*out : (j+1)*out])
			}
			ends[place%4].(*array[T]).v[at] = T(special)
			if place/4%2 == 0 && place%4 >= 2 { // an interval open on both sides
				ends[place%4^1].(*array[T]).v[at] = T(-special)
			}
			compareAffine(t, fmt.Sprintf("%v at place %d: ", special, place), lanes, plain, a)
		}
	}
}

func TestLanesBackSubstitute(t *testing.T) {
	overVectors(t, testLanesBackSubstitute[float32], testLanesBackSubstitute[float64])
}

func testLanesBackSubstitute[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range laneSeeds(t, 600) {
		c := newCorners(seed)
		pick := func() int { return laneSizes[c.IntN(len(laneSizes)-4)] }
		in, out, rows := pick(), pick(), pick()
		a := bound.BackSubstitute{
			A: drawArray[T](c, 3*out*rows), CIn: drawArray[T](c, 3*rows), W: drawInterval[T](c, 2*in*out), B: drawInterval[T](c, 2*out),
			PerBox: 2, P: 3, R: rows, In: in, Out: out,
		}
		if seed%3 == 0 { // numbers
			a.W.Hi = a.W.Lo
		}
		if seed%4 == 0 { // dead neurons
			clear(a.A.(*array[T]).v[:c.IntN(3*out)*rows])
		}
		if seed%5 < 2 { // weights that are left out
			leaveOut[T](a.W, func(int) bool { return c.IntN(2) == 0 })
		}
		want := a
		for _, b := range []*bound.BackSubstitute{&a, &want} {
			b.S, b.C = outInterval[T](3*in*rows), &array[T]{v: make([]T, 3*rows)}
			if seed%2 == 0 {
				b.S.Hi = nil
			}
		}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		what := fmt.Sprintf("seed %d, %d inputs, %d outputs, %d rows: ", seed, in, out, rows)
		sameBits[T](t, what+"S.Lo", a.S.Lo, want.S.Lo)
		if a.S.Hi != nil {
			sameBits[T](t, what+"S.Hi", a.S.Hi, want.S.Hi)
		}
		sameBits[T](t, what+"C", a.C, want.C)
	}
}

// leaveOut makes intervals [0, 0].
func leaveOut[T bound.Real](w bound.Interval, which func(i int) bool) {
	lo, hi := w.Lo.(*array[T]).v, w.Hi.(*array[T]).v
	for i := range lo {
		if which(i) {
			lo[i], hi[i] = 0, 0
		}
	}
}

// TestLanesInfiniteRow: one coefficient that is not finite meets only weights that are 0, which are
// left out.
func TestLanesInfiniteRow(t *testing.T) {
	overVectors(t, testLanesInfiniteRow[float32], testLanesInfiniteRow[float64])
}

func testLanesInfiniteRow[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	const in, out, rows, dead, row = 3, 40, 2 * rowTile, 35, 17
	for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r := rand.New(rand.NewPCG(7, 8))
		a := bound.BackSubstitute{
			A: random[T](r, out*rows, -1, 1), CIn: random[T](r, rows, -1, 1), W: around[T](r, in*out, -1, 1, 0.1), B: around[T](r, out, -1, 1, 0.1),
			PerBox: 1, P: 1, R: rows, In: in, Out: out,
		}
		leaveOut[T](a.W, func(i int) bool { return i%out == dead })
		a.A.(*array[T]).v[dead*rows+row] = T(special)
		want := a
		a.S, a.C = outInterval[T](in*rows), &array[T]{v: make([]T, rows)}
		want.S, want.C = outInterval[T](in*rows), &array[T]{v: make([]T, rows)}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		sameBits[T](t, "S.Lo", a.S.Lo, want.S.Lo)
		sameBits[T](t, "S.Hi", a.S.Hi, want.S.Hi)
	}
}

func TestLanesDrawBox(t *testing.T) {
	overVectors(t, testLanesDrawBox[float32], testLanesDrawBox[float64])
}

func testLanesDrawBox[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(300) {
		c := newCorners(seed)
		n, boxes := laneSizes[c.IntN(len(laneSizes))], 1+c.IntN(4)
		if seed == 0 {
			n = 100_000 // far tails
		}
		a := bound.DrawBox{
			Centre: drawInterval[T](c, n), Unit: drawArray[T](c, n), Gamma: drawArray[T](c, boxes), Boxes: boxes, N: n,
			Sampled: seed%7 != 1, Seed: c.Uint64(), First: math.MaxUint32 - c.Uint64()>>c.IntN(64), Stream: c.Uint32(),
		}
		want := a
		a.Box, want.Box = outInterval[T](boxes*n), outInterval[T](boxes*n)
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		what := fmt.Sprintf("seed %d: ", seed)
		sameBits[T](t, what+"Box.Lo", a.Box.Lo, want.Box.Lo)
		sameBits[T](t, what+"Box.Hi", a.Box.Hi, want.Box.Hi)
	}
}

// TestLanesPropagate compares whole propagations.
func TestLanesPropagate(t *testing.T) {
	overVectors(t, testLanesPropagate[float32], testLanesPropagate[float64])
}

func testLanesPropagate[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	var got [2][]float64
	for i, d := range []*Device[T]{lanes, plain} {
		m, job := newLBPJob(t, rand.New(rand.NewPCG(3, 4)), d, 3)
		margins, err := m.Propagate(job)
		check(t, err)
		got[i] = append(margins.IBP, margins.LBP...)
	}
	for i := range got[0] {
		if got[0][i] != got[1][i] {
			t.Errorf("margin %d is %x by lanes, %x by plain loops", i, got[0][i], got[1][i])
		}
	}
}
