package bound_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestOwnNoise: each unit of a layer is bounded with the noise of its own weights, over whole maps and by
// windows.
func TestOwnNoise(t *testing.T) {
	relu := network.Activation{Kind: network.ReLU}
	layer := func(m network.Map, a network.Activation, sd ...float64) posterior.Layer {
		mean, none := make([]float64, len(sd)), make([]float64, m.Outputs())
		if c, is := m.(network.Conv); is {
			none = none[:c.Filters]
		}
		for i := range mean {
			mean[i] = 1
		}
		return posterior.Layer{
			Layer:  network.Layer{Map: m, Activation: a},
			Weight: posterior.NewParams(mean, sd, posterior.ScaleSD), Bias: posterior.NewParams(none, none, posterior.ScaleSD),
		}
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		layer(kernel(2, 1), relu, 0), layer(kernel(2, 3), relu, 0, 1, 0.5), layer(network.Dense{In: 6, Out: 1}, network.Activation{}, 0, 0, 0, 0, 0, 0),
	}}
	check(t, post.Validate())
	for _, windows := range []float64{0, math.Inf(1)} {
		dev := fallback.New(bound.Float64)
		m, err := bound.NewModelCut(dev, post, 1, 0, 1<<20, windows)
		check(t, err)
		defer m.Release()
		c, err := m.NewDeviations(post, momentsOf(post))
		check(t, err)
		defer c.Release()
		in, err := m.UploadNoisy([]property.Box{{Lo: []float64{1, 2}, Hi: []float64{1, 2}}})
		check(t, err)
		rows, err := m.UploadRows([][]property.Row{{{CLo: []float64{1}, CHi: []float64{1}}}})
		check(t, err)
		pre := map[string][]float64{}
		_, err = c.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: bound.Quantiles{Single: 3, Radius: 3, Loose: 3, Many: []float64{3, 3, 3}},
			Observe: func(what string, k int, x bound.Array) error {
				v, err := bound.ReadAll(dev, x)
				if k == 1 {
					pre[what] = v
				}
				return err
			}})
		check(t, err)
		for i, sd := range []float64{0, 1, 0.5, 0, 1, 0.5} {
			x := float64(1 + i/3)
			lo, hi := x-3*sd*x, x+3*sd*x
			if l, h := pre["pre.lo"][i], pre["pre.hi"][i]; !(l <= lo && hi <= h && l >= lo-1e-9 && h <= hi+1e-9) {
				t.Errorf("windows %v: unit %d is in [%v, %v], by three deviations in [%v, %v]", windows, i, l, h, lo, hi)
			}
		}
	}
}

// TestPaddedNoise: biases whose variances underflow in rows count at a convolution's one position in the padding,
// where no weight meets an input.
func TestPaddedNoise(t *testing.T) {
	const filters, a, variance = 3000, 0.25, 0x1p-149
	one := [2]int{1, 1}
	conv := network.Conv{In: network.Image{Height: 1, Width: 1, Channels: 1}, Filters: filters, Groups: 1,
		Window: network.Window{Size: one, Stride: [2]int{2, 2}, Dilation: one, Before: one}}
	params := func(mean, sd float64, n int) posterior.Params {
		return posterior.NewParams(slices.Repeat([]float64{mean}, n), slices.Repeat([]float64{sd}, n), posterior.ScaleSD)
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.Layer{Map: conv}, Weight: params(1, 1, filters), Bias: params(0, math.Sqrt(variance), filters)},
		{Layer: network.Layer{Map: network.Dense{In: filters, Out: 1}}, Weight: params(a, 0, filters), Bias: params(0, 0, 1)},
	}}
	check(t, post.Validate())
	m, err := bound.NewModel(fallback.New(bound.Float32), post, 1)
	check(t, err)
	defer m.Release()
	c, err := m.NewDeviations(post, momentsOf(post))
	check(t, err)
	defer c.Release()
	in, err := m.UploadNoisy([]property.Box{{Lo: []float64{1}, Hi: []float64{2}}})
	check(t, err)
	rows, err := m.UploadRows([][]property.Row{{{CLo: []float64{1}, CHi: []float64{1}}}})
	check(t, err)
	got, err := c.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: bound.Quantiles{Single: 3, Radius: 3, Loose: 3, Many: []float64{3}}})
	check(t, err)
	if _, _, v := got.ByIntervals.At(0); len(v) != 1 || v[0] < filters*a*a*variance {
		t.Errorf("variance %v, want %v at least", v, filters*a*a*variance)
	}
}

// TestSettled: leaving out the rows of units that are never positive changes no bit of any other bound, nor
// of margins and their noise, by weight boxes and by concentration LBP, over whole maps and by windows,
// however rows are cut.
func TestSettled(t *testing.T) {
	left := 0
	for i := range testscale.Cases(t, 200/testscale.By(t, 2)) {
		r := rand.New(rand.NewPCG(31, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(4), Spread: 0.05, Outputs: 2, Side: 3 + r.IntN(4)})
		a, numbers, windows := askOf(r, post), 1<<(8+r.IntN(8)), []float64{0, math.Inf(1)}[r.IntN(2)]
		findings := func(prepare func(m *bound.Model)) (all []finding) {
			dev := fallback.New(bound.Float64)
			m, err := bound.NewModelCut(dev, post, 3, 0, numbers, windows)
			check(t, err)
			defer m.Release()
			prepare(m)
			observe := func(what string, layer int, x bound.Array) error {
				v, err := bound.ReadAll(dev, x)
				for _, v := range v {
					if what == "pre.lo" || what == "pre.hi" || what == "radius" || what == "margin.lbp" || what == "margin.ibp" {
						all = append(all, finding{what, layer, v})
					}
				}
				return err
			}
			a.boxesCut(t, m, observe)
			a.noiseCut(t, m, observe, func(what string, level int, v []float64) {
				for _, v := range v {
					all = append(all, finding{what, level, v})
				}
			})
			return all
		}
		got, want := findings(func(*bound.Model) {}), findings((*bound.Model).KeepSettled)
		if len(got) != len(want) {
			t.Fatalf("network %d: %d numbers, not %d", i, len(got), len(want))
		}
		for j, x := range want {
			switch relu := x.what == "pre.lo" || x.what == "pre.hi"; {
			case got[j].v == x.v:
			case relu && got[j].v <= 0 && x.v <= 0 && (x.what == "pre.lo") == (got[j].v <= x.v):
				left++ // max(t, 0) of it is the same; a looser end
			default:
				t.Fatalf("network %d: %s %d is %v, not %v", i, x.what, x.layer, got[j].v, x.v)
			}
		}
	}
	if left == 0 {
		t.Error("nothing was left out")
	}
}

// TestSettledOff: of units that may be off what a pass says of them, and so above 0, nothing is left out.
func TestSettledOff(t *testing.T) {
	off := 0
	for i := range testscale.Cases(t, 200) {
		r := rand.New(rand.NewPCG(37, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: 2 + r.IntN(3), Outputs: 2, Side: 3, Kinds: []network.Activation{{Kind: network.ReLU}}})
		if !bound.CanSplit(post.Network()) || post.Network().Chain() {
			continue
		}
		x, by := convtest.Picture(uint64(i), network.Image{Height: 1, Width: post.Inputs(), Channels: 1}), r.Float64()/4
		ranges := func(prepare func(m *bound.Model)) (all [][2][]float64) {
			m, err := bound.NewModel(fallback.New(bound.Float64), post, 1)
			check(t, err)
			defer m.Release()
			prepare(m)
			boxes, err := m.Upload([]bound.Explicit{bound.Enclose(post.Mean(), bound.Float64)})
			check(t, err)
			in, err := m.UploadInputs([]property.Box{convtest.Around(x, 0.02)})
			check(t, err)
			rows, err := m.UploadRows([][]property.Row{property.ArgmaxIs(0, 2).Rows})
			check(t, err)
			s := m.NewSplits(boxes, in, rows)
			defer s.Release()
			for _, l := range post.Layers[:len(post.Layers)-1] {
				if bound.HasPhases(l.Layer) {
					allowed := make([]float64, l.Outputs())
					for j := range allowed {
						allowed[j] = by
					}
					check(t, s.Allow(allowed))
				}
				lo, hi, err := s.Next()
				check(t, err)
				all = append(all, [2][]float64{lo, hi})
			}
			return all
		}
		got, want := ranges(func(*bound.Model) {}), ranges((*bound.Model).KeepSettled)
		for k := range want {
			for j, hi := range want[k][1] {
				if max(got[k][1][j], 0) != max(hi, 0) || hi > 0 && got[k][0][j] != want[k][0][j] {
					t.Fatalf("network %d, layer %d, unit %d: in [%v, %v], with all rows in [%v, %v]",
						i, k, j, got[k][0][j], got[k][1][j], want[k][0][j], hi)
				}
				if hi > 0 && hi <= by {
					off++
				}
			}
		}
	}
	if off == 0 {
		t.Error("no unit is above 0 by what it may be off")
	}
}
