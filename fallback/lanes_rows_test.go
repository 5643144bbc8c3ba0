package fallback

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
)

func TestLanesConcretize(t *testing.T) {
	overVectors(t, testLanesConcretize[float32], testLanesConcretize[float64])
}

func testLanesConcretize[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(400) {
		c := newCorners(seed)
		in, rows := laneSizes[c.IntN(len(laneSizes)-4)], laneSizes[c.IntN(len(laneSizes)-4)]
		a := bound.Concretize{
			S: drawInterval[T](c, 3*in*rows), C: drawArray[T](c, 3*rows), X: drawInterval[T](c, 2*in), NonNeg: seed%5 == 0,
			P: 3, R: rows, In: in, Inputs: 2, Round: lanes.precision.ConcretizeRounding(in, 10),
		}
		if a.NonNeg {
			lo, hi := a.X.Lo.(*array[T]).v, a.X.Hi.(*array[T]).v
			for i := range lo {
				lo[i], hi[i] = abs(lo[i]), abs(lo[i])+abs(hi[i])
			}
			a.S.Hi = nil
		}
		want := a
		a.Bound, want.Bound = &array[T]{v: make([]T, 3*rows)}, &array[T]{v: make([]T, 3*rows)}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		sameBits[T](t, fmt.Sprintf("seed %d, %d inputs, %d rows: Bound", seed, in, rows), a.Bound, want.Bound)
	}
}

func TestLanesRelaxRows(t *testing.T) {
	overVectors(t, testLanesRelaxRows[float32], testLanesRelaxRows[float64])
}

func testLanesRelaxRows[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(400) {
		c := newCorners(seed)
		n, cols := laneSizes[c.IntN(len(laneSizes)-4)], laneSizes[c.IntN(len(laneSizes)-4)]
		a := bound.RelaxRows{
			S: drawInterval[T](c, 2*n*cols), CIn: drawInterval[T](c, 2*cols), PerBox: 2, Cols: cols, Mirrored: seed%2 == 0, NonNeg: seed%7 != 0,
			Z: drawInterval[T](c, 3*n), Lo: bound.Line{A: drawArray[T](c, 3*n), B: drawArray[T](c, 3*n)}, Hi: bound.Line{A: drawArray[T](c, 3*n), B: drawArray[T](c, 3*n)},
			Err: drawArray[T](c, 3*n), Mag: drawArray[T](c, 3*n), P: 3, N: n, Round: lanes.precision.RowsRounding(n, 10),
		}
		want := a
		for _, b := range []*bound.RelaxRows{&a, &want} {
			b.A, b.C = &array[T]{v: make([]T, 3*n*b.Rows())}, &array[T]{v: make([]T, 3*b.Rows())}
		}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		what := fmt.Sprintf("seed %d, %d neurons, %d columns: ", seed, n, cols)
		sameBits[T](t, what+"A", a.A, want.A)
		sameBits[T](t, what+"C", a.C, want.C)
	}
}

func TestLanesNoiseRows(t *testing.T) {
	overVectors(t, testLanesNoiseRows[float32], testLanesNoiseRows[float64])
}

func testLanesNoiseRows[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	const items, inputs = 3, 2
	for seed := range uint64(400) {
		c := newCorners(seed)
		in, rows := laneSizes[c.IntN(len(laneSizes)-4)], laneSizes[c.IntN(len(laneSizes)-4)]
		cols := 1 + c.IntN(rows)
		a := bound.NoiseRows{
			S: positiveArray[T](c, items*in*rows), C: positiveArray[T](c, items*rows), Radius: positiveArray[T](c, inputs*in), MaxSq: positiveArray[T](c, inputs*in),
			P: items, R: rows, Cols: cols, In: in, Inputs: inputs, Round: lanes.precision.NoiseRounding(in, 10),
		}
		for j := range inputs * in { // inputs that are 0, or do not vary
			if seed%3 == 0 && c.IntN(2) == 0 {
				a.MaxSq.(*array[T]).v[j] = 0
			}
			if seed%6 == 0 && c.IntN(2) == 0 {
				a.Radius.(*array[T]).v[j] = 0
			}
		}
		if seed%2 == 0 {
			a.MeanIn, a.VarIn = positiveArray[T](c, items*cols), positiveArray[T](c, items*cols)
		}
		want := a
		for _, b := range []*bound.NoiseRows{&a, &want} {
			b.Mean, b.Var = &array[T]{v: make([]T, items*rows)}, &array[T]{v: make([]T, items*rows)}
		}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		what := fmt.Sprintf("seed %d, %d inputs, %d rows: ", seed, in, rows)
		sameBits[T](t, what+"Mean", a.Mean, want.Mean)
		sameBits[T](t, what+"Var", a.Var, want.Var)
	}
}

func positiveArray[T bound.Real](c *corners, n int) *array[T] {
	a := drawArray[T](c, n)
	for i, x := range a.v {
		a.v[i] = abs(x)
	}
	return a
}

func TestLanesSharedVar(t *testing.T) {
	overVectors(t, testLanesSharedVar[float32], testLanesSharedVar[float64])
}

func testLanesSharedVar[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	const items, inputs, in = 3, 2, 19
	for seed := range uint64(testscale.Costly(t, 1200)) { // 80, and 2,400 in deep
		c := newCorners(seed)
		positions, taps, channels, rows := 1+c.IntN(70), 1+c.IntN(40), 1+c.IntN(1+c.IntN(40)), laneSizes[c.IntN(len(laneSizes)-4)]
		cols := 1 + c.IntN(rows)
		a := bound.SharedVar{
			G: drawInterval[T](c, items*taps*channels*rows), A: drawArray[T](c, items*positions*channels*rows),
			V: positiveArray[T](c, taps*channels), VB: positiveArray[T](c, channels), MaxSq: positiveArray[T](c, inputs*in),
			P: items, R: rows, Cols: cols, In: in, Inputs: inputs, Positions: positions, K: taps, Channels: channels,
			Round: lanes.precision.SharedRounding(positions, taps, channels),
		}
		if seed%2 == 0 {
			a.VarIn = positiveArray[T](c, items*cols)
		}
		want := a
		a.Var, want.Var = &array[T]{v: make([]T, items*rows)}, &array[T]{v: make([]T, items*rows)}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		sameBits[T](t, fmt.Sprintf("seed %d, %d positions, %d taps, %d channels, %d rows: Var", seed, positions, taps, channels, rows), a.Var, want.Var)
	}
}

func TestLanesShare(t *testing.T) {
	overVectors(t, testLanesShare[float32], testLanesShare[float64])
}

func testLanesShare[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	const items, inputs, in = 3, 2, 19
	for seed := range uint64(testscale.Costly(t, 1200)) {
		c := newCorners(seed)
		positions, taps, channels, rows := 1+c.IntN(20), 1+c.IntN(1+c.IntN(40)), 1+c.IntN(1+c.IntN(40)), laneSizes[c.IntN(len(laneSizes)-4)]
		a := bound.ShareBox{
			CIn: drawArray[T](c, items*rows), G: drawInterval[T](c, items*taps*channels*rows), A: drawArray[T](c, items*positions*channels*rows),
			Weight: drawInterval[T](c, 2*taps*channels), Bias: drawInterval[T](c, 2*channels), MaxSq: positiveArray[T](c, inputs*in),
			P: items, PerBox: 2, R: rows, In: in, Inputs: inputs, Positions: positions, K: taps, Channels: channels,
			Round: lanes.precision.SharedRounding(positions, taps, channels),
		}
		b := bound.ShareRows{A: a.A, P: items, R: rows, Positions: positions, K: taps, Channels: channels}
		want, wantRows := a, b
		for _, op := range []*bound.ShareBox{&a, &want} {
			op.W, op.C = &array[T]{v: make([]T, items*taps*channels*rows)}, &array[T]{v: make([]T, items*rows)}
		}
		for _, op := range []*bound.ShareRows{&b, &wantRows} {
			op.W, op.S = want.W, &array[T]{v: make([]T, items*positions*taps*rows)}
		}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		check(t, lanes.Do(b))
		check(t, plain.Do(wantRows))
		what := fmt.Sprintf("seed %d, %d positions, %d taps, %d channels, %d rows: ", seed, positions, taps, channels, rows)
		sameBits[T](t, what+"W", a.W, want.W)
		sameBits[T](t, what+"C", a.C, want.C)
		sameBits[T](t, what+"S", b.S, wantRows.S)
	}
}

func TestLanesMergeRows(t *testing.T) {
	overVectors(t, testLanesMergeRows[float32], testLanesMergeRows[float64])
}

func testLanesMergeRows[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(600) {
		a := drawMergeRows[T](newCorners(seed), seed)
		want := a
		want.W, want.B = outInterval[T](a.W.Lo.Len()), outInterval[T](a.B.Lo.Len())
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		what := fmt.Sprintf("seed %d, %d rows of %d: ", seed, a.Rows, a.Out)
		sameBits[T](t, what+"W.Lo", a.W.Lo, want.W.Lo)
		sameBits[T](t, what+"W.Hi", a.W.Hi, want.W.Hi)
		sameBits[T](t, what+"B.Lo", a.B.Lo, want.B.Lo)
		sameBits[T](t, what+"B.Hi", a.B.Hi, want.B.Hi)
	}
}

func TestLanesGatherSum(t *testing.T) {
	overVectors(t, testLanesGatherSum[float32], testLanesGatherSum[float64])
}

func testLanesGatherSum[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(400) {
		c := newCorners(seed)
		const items, places = 2, 5
		n, rows := 1+c.IntN(40), laneSizes[c.IntN(len(laneSizes))]
		start, entry := &array[T]{v: []T{0}}, &array[T]{}
		for range places {
			for range c.IntN(4) * c.IntN(4) * c.IntN(9) {
				entry.v = append(entry.v, T(c.IntN(n)))
			}
			start.v = append(start.v, T(len(entry.v)))
		}
		a := bound.GatherSum{
			In: drawArray[T](c, items*n*rows), Start: start, Entry: entry, Add: seed%2 == 0,
			P: items, N: n, J: places, E: len(entry.v), R: rows,
		}
		if seed%3 == 0 {
			slot, selected := make([]T, a.E), make([]T, items*n)
			for i := range selected {
				selected[i] = T(c.IntN(2))
			}
			a.Slot, a.Select = &array[T]{v: slot}, &array[T]{v: selected}
		}
		want := a
		old := draw[T](c, items*places*rows)
		a.Out, want.Out = &array[T]{v: slices.Clone(old)}, &array[T]{v: old}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		sameBits[T](t, fmt.Sprintf("seed %d, %d rows: Out", seed, rows), a.Out, want.Out)
	}
}

// TestLanesGroups compares Affine for items that are computed together, in groups of every size.
func TestLanesGroups(t *testing.T) {
	overVectors(t, testLanesGroups[float32], testLanesGroups[float64])
}

func testLanesGroups[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(60) {
		c := newCorners(seed)
		in, out, perBox := laneSizes[c.IntN(len(laneSizes)-4)], 8+c.IntN(140), 1+c.IntN(40)
		items := max(1, 2*perBox-c.IntN(perBox))
		a := bound.Affine{
			W: drawInterval[T](c, 2*in*out), B: drawInterval[T](c, 2*out), Z: drawInterval[T](c, perBox*in),
			Batch: bound.Batch{Items: items, PerBox: perBox, Inputs: perBox}, In: in, Out: out,
		}
		if a.Boxes() == 1 {
			a.W, a.B = drawInterval[T](c, in*out), drawInterval[T](c, out)
		}
		a.Push, a.MagRound = lanes.precision.AffineRounding(in)
		compareAffine(t, fmt.Sprintf("seed %d, %d items, %d of a box: ", seed, items, perBox), lanes, plain, a)
	}
}

func TestLanesSquareRows(t *testing.T) {
	overVectors(t, testLanesSquareRows[float32], testLanesSquareRows[float64])
}

func testLanesSquareRows[T bound.Real](t *testing.T, lanes, plain *Device[T]) {
	for seed := range uint64(40) {
		c := newCorners(seed)
		n := 1 + c.IntN(300)
		a := bound.SquareRows{Square: &array[T]{v: make([]T, n)}, A: drawArray[T](c, n), N: n}
		want := a
		want.Square = &array[T]{v: make([]T, n)}
		check(t, lanes.Do(a))
		check(t, plain.Do(want))
		sameBits[T](t, fmt.Sprintf("seed %d, %d numbers: Square", seed, n), a.Square, want.Square)
		row := make([]T, 8+n%30)
		if row[c.IntN(len(row))] = T(c.IntN(3) - 1); seed%5 == 0 {
			row[c.IntN(len(row))] = T(math.NaN())
		}
		if some, known := anyLanes(lanes.vectors, row); known && some != slices.ContainsFunc(row, func(x T) bool { return x != 0 }) {
			t.Errorf("seed %d: anyLanes of %v is %v", seed, row, some)
		}
	}
}
