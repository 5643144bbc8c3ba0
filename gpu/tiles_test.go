package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/kernels"
)

// onGPUs is the shape of programs for GPUs, which alone have tiled kernels.
var onGPUs = kernels.OnGPU

// tileShape is a product for the tiled kernels: items of perBox items a weight box
// (pairs of item and row in back-substitution), a sum of length terms, and outputs
// (inputs in back-substitution).
type tileShape struct{ items, perBox, terms, outputs int }

// tileShapes are one tile and several, full ones and partial ones in each direction,
// boxes in several tiles, last boxes with fewer items, tiles of which the last box
// has none, and sums that end in each stage of a block (stages have 16 terms, or 8).
var tileShapes = []tileShape{
	{1, 1, 1, 1}, {32, 32, 32, 32}, {33, 33, 33, 33}, {31, 31, 31, 31}, {64, 32, 64, 64},
	{77, 40, 17, 37}, {70, 33, 48, 65}, {5, 2, 49, 3}, {97, 65, 15, 40}, {13, 5, 65, 70}, {41, 40, 16, 33}, {33, 5, 8, 9}, {7, 7, 24, 34}, {6, 3, 57, 2},
}

// tileCase is one operation on data of the test's own.
type tileCase struct {
	dev bound.Device
	rnd *rand.Rand
	err error
}

// array uploads n numbers, a fifth of them 0.
func (c *tileCase) array(n int, number func(i int) float64) bound.Array {
	a, err := c.dev.NewArray(n)
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(number(i)))
	}
	if err == nil {
		err = c.dev.Write(a, v)
	}
	if c.err == nil {
		c.err = err
	}
	return a
}

func (c *tileCase) number(int) float64 {
	if c.rnd.IntN(5) == 0 {
		return 0
	}
	return c.rnd.NormFloat64()
}

// interval uploads n intervals, from 0 up if positive; one in open is unbounded.
func (c *tileCase) interval(n int, positive bool, open int) bound.Interval {
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range lo {
		lo[i] = c.number(i)
		if positive {
			lo[i] = math.Abs(lo[i])
		}
		hi[i] = lo[i] + c.rnd.Float64()/8
		if open > 0 && c.rnd.IntN(open) == 0 {
			hi[i] = math.Inf(1)
		}
	}
	return bound.Interval{Lo: c.array(n, func(i int) float64 { return lo[i] }), Hi: c.array(n, func(i int) float64 { return hi[i] })}
}

// outputs reads arrays and releases nothing: the device is closed after the test.
func (c *tileCase) outputs(arrays ...bound.Array) (all []seen, err error) {
	for i, a := range arrays {
		v := make([]float64, a.Len())
		if c.err == nil {
			c.err = c.dev.Read(v, a)
		}
		for k, x := range v {
			if x != x {
				v[k] = math.NaN() // payloads are not compared
			}
		}
		all = append(all, seen{fmt.Sprint("output ", i), 0, v})
	}
	return all, c.err
}

// affineTiles runs Affine for a shape; open makes one input in so many unbounded. On
// OpenCL devices it runs as the tiled kernel, whatever would be chosen.
func affineTiles(dev bound.Device, s tileShape, nonNeg bool, open int) ([]seen, error) {
	c := &tileCase{dev: dev, rnd: rand.New(rand.NewPCG(5, uint64(s.items)))}
	a := bound.Affine{Batch: bound.Batch{Items: s.items, PerBox: s.perBox, Inputs: s.perBox}, In: s.terms, Out: s.outputs, NonNeg: nonNeg}
	a.Push, a.MagRound = dev.Precision().AffineRounding(a.In)
	n := a.Items * a.Out
	zero := func(int) float64 { return 0 }
	a.Pre, a.Mag = bound.Interval{Lo: c.array(n, zero), Hi: c.array(n, zero)}, c.array(n, zero)
	a.W, a.B = c.interval(a.Boxes()*a.In*a.Out, false, 0), c.interval(a.Boxes()*a.Out, false, 0)
	a.Z = c.interval(a.Inputs*a.In, nonNeg, open)
	if d, ok := dev.(*Device); !ok {
		c.err = dev.Do(a)
	} else if c.err == nil {
		c.err = d.affine("affinetiles", a)
	}
	return c.outputs(a.Pre.Lo, a.Pre.Hi, a.Mag)
}

// backTiles is affineTiles for BackSubstitute with rows rows of each item. Half of
// the neurons are dead.
func backTiles(dev bound.Device, s tileShape, rows int, wantHi bool) ([]seen, error) {
	c := &tileCase{dev: dev, rnd: rand.New(rand.NewPCG(6, uint64(s.items)))}
	a := bound.BackSubstitute{P: s.items, PerBox: s.perBox, R: rows, In: s.outputs, Out: s.terms}
	boxes, n := up(a.P, a.PerBox), a.P*a.In*a.R
	zero := func(int) float64 { return 0 }
	a.S.Lo, a.C = c.array(n, zero), c.array(a.P*a.R, zero)
	outputs := []bound.Array{a.S.Lo, a.C}
	if wantHi {
		a.S.Hi = c.array(n, zero)
		outputs = append(outputs, a.S.Hi)
	}
	a.A = c.array(a.P*a.Out*a.R, func(i int) float64 {
		if i/a.R%2 == 0 {
			return 0
		}
		return c.number(i)
	})
	a.CIn = c.array(a.P*a.R, c.number)
	a.W, a.B = c.interval(boxes*a.In*a.Out, false, 0), c.interval(boxes*a.Out, false, 0)
	if d, ok := dev.(*Device); !ok {
		c.err = dev.Do(a)
	} else if c.err == nil {
		c.err = d.backSubstitute("backtiles", a)
	}
	return c.outputs(outputs...)
}

// tileRuns are ways to run each shape.
func tileRuns(s tileShape) map[string]func(bound.Device) ([]seen, error) {
	return map[string]func(bound.Device) ([]seen, error){
		"affine":               func(d bound.Device) ([]seen, error) { return affineTiles(d, s, false, 0) },
		"affine, non-negative": func(d bound.Device) ([]seen, error) { return affineTiles(d, s, true, 0) },
		"affine, unbounded":    func(d bound.Device) ([]seen, error) { return affineTiles(d, s, true, 3*s.terms) },
		"back, 1 row":          func(d bound.Device) ([]seen, error) { return backTiles(d, s, 1, false) },
		"back, 3 rows":         func(d bound.Device) ([]seen, error) { return backTiles(d, s, 3, true) },
	}
}

// TestTiles: the tiled kernels have the bits of the fallback for every shape.
func TestTiles(t *testing.T) {
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		d := keep(t, info, p, onGPUs, builds(t))
		for _, s := range tileShapes {
			for what, run := range tileRuns(s) {
				want, err := run(fallback.New(p))
				check(t, err)
				got, err := run(d)
				check(t, err)
				if diff := differs(got, want); diff != "" {
					t.Errorf("%s %+v: %s", what, s, diff)
				}
			}
		}
	})
}

// TestTilesChosen: tiles in local memory are for GPUs, and for products that fill them.
func TestTilesChosen(t *testing.T) {
	for _, c := range []struct {
		lanes, shared, outputs int
		want                   bool
	}{
		{1, 100, 512, true}, {1, 256, 784, true}, {1, 32, 16, true}, {1, 32, 15, false}, {1, 33, 32, true},
		{1, 3, 512, false}, {1, 8, 4, false}, {1, 100, 10, false}, {8, 100, 512, false}, {16, 100, 512, false},
	} {
		d := Device{shape: kernels.Shape{Lanes: c.lanes}}
		if got := d.tiles(c.shared, c.outputs); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
