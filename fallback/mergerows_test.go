package fallback

import (
	"fmt"
	"math"
	"testing"

	"psafe/host/bound"
)

// TestMergeRowsAsDefined compares MergeRows, which leaves out zeros and products that cannot be
// the extreme ones, with its definition, bit for bit.
func TestMergeRowsAsDefined(t *testing.T) {
	t.Run("float32", testMergeRowsAsDefined[float32])
	t.Run("float64", testMergeRowsAsDefined[float64])
}

func testMergeRowsAsDefined[T bound.Real](t *testing.T) {
	d := oneCore[T]()
	for seed := range uint64(300) {
		c := newCorners(seed)
		a := drawMergeRows[T](c, seed)
		check(t, d.Do(a))
		wLo, wHi := a.W.Lo.(*array[T]).v, a.W.Hi.(*array[T]).v
		bLo, bHi := a.B.Lo.(*array[T]).v, a.B.Hi.(*array[T]).v
		for i := range a.Items * a.Rows * (a.In + 1) {
			p, j, r := i/a.Rows/(a.In+1), i/a.Rows%(a.In+1), i%a.Rows
			lo, hi := mergedAsDefined(d, a, p, j, r)
			got := &array[T]{v: []T{0, 0}}
			if j < a.In {
				at := (p*a.In+j)*a.Rows + r
				got.v[0], got.v[1] = wLo[at], wHi[at]
			} else {
				got.v[0], got.v[1] = bLo[p*a.Rows+r], bHi[p*a.Rows+r]
			}
			sameBits[T](t, fmt.Sprintf("seed %d, item %d, input %d of %d, row %d", seed, p, j, a.In, r), got, &array[T]{v: []T{lo, hi}})
		}
	}
}

// drawMergeRows has rows of one-point coefficients, of which most are zero in every other case,
// or of intervals.
func drawMergeRows[T bound.Real](c *corners, seed uint64) bound.MergeRows {
	in, out, rows := 1+c.IntN(20), laneSizes[c.IntN(12)], 1+c.IntN(20)
	a := bound.MergeRows{
		W: outInterval[T](6 * in * rows), B: outInterval[T](6 * rows),
		Weight: drawInterval[T](c, 2*in*out), Bias: drawInterval[T](c, 2*out), C: drawInterval[T](c, 3*rows*out), D: drawInterval[T](c, 3*rows),
		Abs: 1e-40, Batch: bound.Batch{Items: 6, PerBox: 3, Inputs: 3}, In: in, Out: out, Rows: rows,
	}
	round := &array[T]{v: make([]T, 3*rows)}
	for i := range round.v {
		round.v[i] = 1e-6
	}
	a.Round = round
	if seed%3 == 0 { // one NaN, of which no other number tells
		end := []bound.Array{a.Weight.Lo, a.Weight.Hi}[c.IntN(2)].(*array[T]).v
		end[c.IntN(len(end))] = T(math.NaN())
	}
	lo, hi := a.C.Lo.(*array[T]).v, a.C.Hi.(*array[T]).v
	for i := range lo {
		if seed%4 < 3 {
			hi[i] = lo[i]
		}
		if seed%2 == 0 && i%5 != 0 {
			lo[i], hi[i] = 0, 0
		}
	}
	return a
}

// mergedAsDefined is one output of MergeRows by bound.MergeRows.
func mergedAsDefined[T bound.Real](d *Device[T], a bound.MergeRows, p, j, r int) (T, T) {
	box, row := p/a.PerBox, p%a.Inputs*a.Rows+r
	v, at, dLo, dHi := a.Weight, (box*a.In+j)*a.Out, T(0), T(0)
	if j == a.In {
		v, at, dLo, dHi = a.Bias, box*a.Out, a.D.Lo.(*array[T]).v[row], a.D.Hi.(*array[T]).v[row]
	}
	vLo, vHi := v.Lo.(*array[T]).v[at:], v.Hi.(*array[T]).v[at:]
	cLo, cHi := a.C.Lo.(*array[T]).v[row*a.Out:], a.C.Hi.(*array[T]).v[row*a.Out:]
	var lo, hi, mag T
	for i0 := 0; i0 < a.Out; i0 += bound.Block {
		var sLo, sHi, sMag T
		for i := i0; i < min(i0+bound.Block, a.Out); i++ {
			if cLo[i] == 0 && cHi[i] == 0 {
				continue
			}
			sLo += min4(cLo[i], cHi[i], vLo[i], vHi[i])
			sHi += max4(cLo[i], cHi[i], vLo[i], vHi[i])
			sMag += T(max(-cLo[i], cHi[i]) * max(-vLo[i], vHi[i]))
		}
		lo, hi, mag = lo+sLo, hi+sHi, mag+sMag
	}
	lo, hi, mag = lo+dLo, hi+dHi, mag+max(-dLo, dHi)
	push := T(mag*a.Round.(*array[T]).v[row]) + T(a.Abs)
	return d.lower(d.down(lo - push)), d.upper(d.up(hi + push))
}
