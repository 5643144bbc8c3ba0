package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/internal/testscale"
	"psafe/kernels"
)

// cornerCase draws operations of numbers that are mostly tame, with zeros of both signs, subnormal
// numbers, the largest ones and, where bounds may be unknown, infinities among them.
type cornerCase struct {
	t testing.TB
	tileCase
	seed          uint64
	rate          float64
	huge, special bool
	sizes         []int // nil for cornerSizes
}

func newCornerCase(t testing.TB, dev bound.Device, seed uint64) *cornerCase {
	c := &cornerCase{t: t, tileCase: tileCase{dev: dev, rnd: rand.New(rand.NewPCG(seed, 8))}, seed: seed, rate: 0.1, huge: seed%3 == 1, special: seed%3 == 2}
	if seed%2 == 0 {
		c.rate = 0.003 // most sums meet none
	}
	return c
}

// numbers draws n; special ones only if they may be.
func (c *cornerCase) numbers(n int, special bool) []float64 {
	p := c.dev.Precision()
	list := []float64{0, math.Copysign(0, -1), p.Eta(), -p.Eta(), 3 * p.Eta(), 1, -1}
	if c.huge {
		list = append(list, p.Max(), -p.Max(), p.Max()/2)
	}
	if special && c.special {
		list = append(list, math.Inf(1), math.Inf(-1))
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(c.rnd.NormFloat64()))
		if c.rnd.Float64() < c.rate {
			v[i] = list[c.rnd.IntN(len(list))]
		}
	}
	return v
}

func (c *cornerCase) upload(v []float64) bound.Array {
	a, err := c.dev.NewArray(len(v))
	if err == nil {
		err = c.dev.Write(a, v)
	}
	if c.err == nil {
		c.err = err
	}
	return a
}

func (c *cornerCase) any(n int, special bool) bound.Array { return c.upload(c.numbers(n, special)) }

// pairs draws intervals, of numbers >= 0 if nonNeg, with ends in order where they have one.
func (c *cornerCase) pairs(n int, special, nonNeg bool) bound.Interval {
	lo, hi := c.numbers(n, special), c.numbers(n, special)
	for i := range lo {
		if nonNeg {
			lo[i], hi[i] = math.Abs(lo[i]), math.Abs(hi[i])
		}
		if lo[i] > hi[i] {
			lo[i], hi[i] = hi[i], lo[i]
		}
		switch c.rnd.IntN(8) {
		case 0:
			hi[i] = lo[i]
		case 1:
			lo[i], hi[i] = 0, 0
		}
	}
	return bound.Interval{Lo: c.upload(lo), Hi: c.upload(hi)}
}

func (c *cornerCase) out(n int) bound.Array { return c.upload(make([]float64, n)) }

func (c *cornerCase) outs(n int) bound.Interval {
	return bound.Interval{Lo: c.out(n), Hi: c.out(n)}
}

var cornerSizes = []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 64, 65}

func (c *cornerCase) size() int {
	sizes := cornerSizes
	if c.sizes != nil {
		sizes = c.sizes
	} else if !testscale.Deep(c.t) {
		sizes = sizes[:len(sizes)-3] // a block and one more, which is what loops can get wrong
	}
	return sizes[c.rnd.IntN(len(sizes))]
}

// cornerOperations run one operation of numbers drawn from a seed. Weight boxes are finite.
var cornerOperations = map[string]func(c *cornerCase) ([]seen, error){
	"Affine": func(c *cornerCase) ([]seen, error) {
		perBox := c.size()
		items := max(1, 2*perBox-c.rnd.IntN(perBox+1))
		inputs := []int{1, perBox}[c.rnd.IntN(2)]
		a := bound.Affine{Batch: bound.Batch{Items: items, PerBox: perBox, Inputs: inputs}, In: c.size(), Out: c.size(), NonNeg: c.rnd.IntN(2) == 0}
		a.Push, a.MagRound = c.dev.Precision().AffineRounding(a.In)
		a.Pre, a.Mag = c.outs(items*a.Out), c.out(items*a.Out)
		// Weights may be merged ones, which need not be finite.
		a.W, a.B = c.pairs(a.Boxes()*a.In*a.Out, true, false), c.pairs(a.Boxes()*a.Out, true, false)
		a.Z = c.pairs(a.Inputs*a.In, true, a.NonNeg)
		tiled := c.rnd.IntN(2) == 0
		if d, ok := c.dev.(*Device); ok && tiled && d.shape.Lanes == 1 && c.err == nil {
			c.err = d.affine("affinetiles", a)
		} else if c.err == nil {
			c.err = c.dev.Do(a)
		}
		return c.outputs(a.Pre.Lo, a.Pre.Hi, a.Mag)
	},
	"BackSubstitute": func(c *cornerCase) ([]seen, error) {
		a := bound.BackSubstitute{PerBox: 1 + c.rnd.IntN(5), R: c.size(), In: c.size(), Out: c.size()}
		a.P = max(1, 2*a.PerBox-c.rnd.IntN(a.PerBox+1))
		boxes, n := up(a.P, a.PerBox), a.P*a.In*a.R
		a.S.Lo, a.C = c.out(n), c.out(a.P*a.R)
		outputs := []bound.Array{a.S.Lo, a.C}
		if c.rnd.IntN(2) == 0 {
			a.S.Hi = c.out(n)
			outputs = append(outputs, a.S.Hi)
		}
		a.A, a.CIn = c.any(a.P*a.Out*a.R, true), c.any(a.P*a.R, true)
		a.W, a.B = c.pairs(boxes*a.In*a.Out, false, false), c.pairs(boxes*a.Out, false, false)
		tiled := c.rnd.IntN(2) == 0
		if d, ok := c.dev.(*Device); ok && tiled && d.shape.Lanes == 1 && c.err == nil {
			c.err = d.backSubstitute("backtiles", a)
		} else if c.err == nil {
			c.err = c.dev.Do(a)
		}
		return c.outputs(outputs...)
	},
	"MergeRows": func(c *cornerCase) ([]seen, error) {
		perBox := 1 + c.rnd.IntN(4)
		items := max(1, 2*perBox-c.rnd.IntN(perBox+1))
		a := bound.MergeRows{Batch: bound.Batch{Items: items, PerBox: perBox, Inputs: []int{1, perBox}[c.rnd.IntN(2)]}, In: c.size(), Out: c.size(), Rows: 1 + c.rnd.IntN(40), Abs: c.dev.Precision().Eta()}
		a.W, a.B = c.outs(items*a.In*a.Rows), c.outs(items*a.Rows)
		a.Weight, a.Bias = c.pairs(a.Boxes()*a.In*a.Out, false, false), c.pairs(a.Boxes()*a.Out, false, false)
		n := a.Inputs * a.Rows * a.Out
		lo, hi := c.numbers(n, true), c.numbers(n, true)
		points, sparse := c.rnd.IntN(3) > 0, c.rnd.IntN(2) == 0
		for i := range lo {
			switch {
			case sparse && i%5 > 0:
				lo[i], hi[i] = 0, math.Copysign(0, float64(i%2)-0.5)
			case points || lo[i] != lo[i] || hi[i] != hi[i]:
				hi[i] = lo[i]
			case lo[i] > hi[i]:
				lo[i], hi[i] = hi[i], lo[i]
			}
		}
		a.C, a.D = bound.Interval{Lo: c.upload(lo), Hi: c.upload(hi)}, c.pairs(a.Inputs*a.Rows, true, false)
		round := make([]float64, a.Inputs*a.Rows)
		for i := range round {
			round[i] = c.dev.Precision().Unit() * 64
		}
		a.Round = c.upload(round)
		if c.err == nil {
			c.err = c.dev.Do(a)
		}
		return c.outputs(a.W.Lo, a.W.Hi, a.B.Lo, a.B.Hi)
	},
	"RelaxRows": func(c *cornerCase) ([]seen, error) {
		a := bound.RelaxRows{PerBox: 1 + c.rnd.IntN(3), Cols: c.size(), N: c.size(), Mirrored: c.rnd.IntN(2) == 0, NonNeg: c.rnd.IntN(3) > 0}
		a.P = max(1, 2*a.PerBox-c.rnd.IntN(a.PerBox+1))
		a.Round = c.dev.Precision().RowsRounding(a.N, 10)
		boxes, n := up(a.P, a.PerBox), a.P*a.N
		a.A, a.C = c.out(n*a.Rows()), c.out(a.P*a.Rows())
		a.S, a.CIn = c.pairs(boxes*a.N*a.Cols, true, false), c.pairs(boxes*a.Cols, true, false)
		a.Z = c.pairs(n, true, a.NonNeg)
		a.Lo, a.Hi = bound.Line{A: c.any(n, true), B: c.any(n, true)}, bound.Line{A: c.any(n, true), B: c.any(n, true)}
		a.Err, a.Mag = c.any(n, true), c.any(n, true)
		if c.err == nil {
			c.err = c.dev.Do(a)
		}
		return c.outputs(a.A, a.C)
	},
	"Concretize": func(c *cornerCase) ([]seen, error) {
		a := bound.Concretize{NonNeg: c.rnd.IntN(2) == 0, P: 1 + c.rnd.IntN(5), R: c.size(), In: c.size(), Inputs: 1 + c.rnd.IntN(3)}
		a.Round = c.dev.Precision().ConcretizeRounding(a.In, 10)
		a.Bound, a.C = c.out(a.P*a.R), c.any(a.P*a.R, true)
		a.S, a.X = c.pairs(a.P*a.In*a.R, true, false), c.pairs(a.Inputs*a.In, true, a.NonNeg)
		if c.err == nil {
			c.err = c.dev.Do(a)
		}
		return c.outputs(a.Bound)
	},
}

// TestCorners: the kernels have the bits of the fallback for numbers that are not finite, subnormal
// or zero, in every shape, tiles among them.
func TestCorners(t *testing.T) {
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		reference := fallback.New(p)
		for i, s := range []kernels.Shape{onGPUs, {Lanes: 16, Local: 1, Run: 32}, {Lanes: 8, Local: 1, Run: 2}} {
			d := keep(t, info, p, s, builds(t))
			seeds := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
			if !testscale.Deep(t) { // of every remainder by three, and all of them by one shape or another
				seeds = seeds[4*i : 4*i+4]
			}
			for name, run := range cornerOperations {
				for _, seed := range seeds {
					what := fmt.Sprintf("%s, lanes %d, seed %d", name, s.Lanes, seed)
					want, err := run(newCornerCase(t, reference, seed))
					check(t, err)
					d.allInStages = seed%2 == 1
					got, err := run(newCornerCase(t, d, seed))
					d.allInStages = false
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if diff := differs(got, want); diff != "" {
						t.Errorf("%s: %s", what, diff)
						break
					}
				}
			}
		}
	})
}
