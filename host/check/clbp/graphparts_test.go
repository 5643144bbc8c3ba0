package clbp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/law"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestLevels: layers that do not feed each other are of one level, and noise of the same weights
// is in one group.
func TestLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 5))
	n, err := New(checktest.Sketched(rng, "shortcut and pool of a sum", checktest.Activations[1], 1.0/16), false)
	if err != nil {
		t.Fatal(err)
	}
	// copy, conv, two convolutions, their sum, pool, dense
	if want := []int{1, 1, 2, 2, 3, 3, 3}; !slices.Equal(n.Levels.Of, want) {
		t.Errorf("levels %v, want %v", n.Levels.Of, want)
	}
	if want := []bool{false, true, true, true, true, false, true}; !slices.Equal(n.Levels.open, want) {
		t.Errorf("open %v, want %v", n.Levels.open, want)
	}
	if want := []bool{true, true, false, false, true, true, true}; !slices.Equal(n.Levels.needed, want) {
		t.Errorf("needed %v, want %v", n.Levels.needed, want)
	}
	if g := n.Levels.groups[4]; g[0] == g[1] || g[0] < 0 || g[1] < 0 {
		t.Errorf("groups %v of two convolutions, want two", g)
	}
	for _, c := range []struct {
		sets [][]int
		want []int
	}{
		{[][]int{{1}, {2}, nil, {1}}, []int{3, 1, -1, 3}},
		{[][]int{{1}, {2}, {1, 2}}, []int{2, 2, 2}},
	} {
		var sets []map[int]bool
		for _, list := range c.sets {
			set := map[int]bool{}
			for _, w := range list {
				set[w] = true
			}
			sets = append(sets, set)
		}
		if got := grouped(sets); !slices.Equal(got, c.want) {
			t.Errorf("groups of %v: %v, want %v", c.sets, got, c.want)
		}
	}
	var met Noises
	met.Add(3, law.Noise{Mean: 1, Variance: 4})
	met.Add(1, law.Noise{Mean: 2, Variance: 1})
	met.Add(3, law.Noise{Mean: 1, Variance: 5})
	if got, want := met.list(), []law.Noise{{Mean: 2, Variance: 9}, {Mean: 2, Variance: 1}}; !slices.Equal(got, want) {
		t.Errorf("noise %v, want %v", got, want)
	}
	if total, levels := met.total(); total != (law.Noise{Mean: 4, Variance: 10}) || levels != 2 {
		t.Errorf("total %v of %d levels", total, levels)
	}
}

// TestFixedVariation: how far sums vary whose terms have noise of other weights, and of the same.
func TestFixedVariation(t *testing.T) {
	image := net.Image{Height: 1, Width: 1, Channels: 1}
	conv := func(sd float64, from ...int) posterior.Layer {
		return posterior.Layer{Layer: net.Layer{Map: net.Conv{In: image, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}, Sources: from},
			Weight: checktest.WeightsOf(0, sd, 1), Bias: checktest.WeightsOf(0, 0, 1)}
	}
	none := checktest.WeightsOf(0, 0, 0)
	add := posterior.Layer{Layer: net.Layer{Map: net.Add{N: 1, Terms: 2}, Sources: []int{0, 1}}, Weight: none, Bias: none}
	last := posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: checktest.WeightsOf(1, 1, 1), Bias: checktest.WeightsOf(0, 0, 1)}
	twice := conv(0, 0)
	twice.Weight = checktest.WeightsOf(-2, 0, 1)
	cell := property.Box{Lo: []float64{-1}, Hi: []float64{1}} // radius 1
	for _, c := range []struct {
		what     string
		second   posterior.Layer
		mean, sd float64
	}{
		{"other weights", conv(4, -1), 3 + 4, 5},
		{"the same weights", twice, 3 + 2*3, 3 + 2*3},
	} {
		n, err := New(checktest.OfLayers(conv(3, -1), c.second, add, last), false)
		if err != nil {
			t.Fatal(err)
		}
		v := n.NewCellPass(cell, 1e-3, 0).vary[2][0]
		if mean := math.Sqrt(2/math.Pi) * c.mean; math.Abs(v.Mean-mean) > 1e-12 || math.Abs(v.Variance-c.sd*c.sd) > 1e-9 {
			t.Errorf("%s: mean %v, variance %v; want %v, %v", c.what, v.Mean, v.Variance, mean, c.sd*c.sd)
		}
	}
}

// TestReachOfMaxima: a maximum varies as the members may at most, of which no interval tells whose
// lower end is not paid for.
func TestReachOfMaxima(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	conv := net.Conv{In: image, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}
	none := checktest.WeightsOf(0, 0, 0)
	pool := net.MaxPool{In: image, Window: net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	post := checktest.OfLayers(
		posterior.Layer{Layer: net.Layer{Map: conv}, Weight: checktest.WeightsOf(1, 1.0/1024, 1), Bias: checktest.WeightsOf(0, 0, 1)},
		posterior.Layer{Layer: net.Layer{Map: pool}, Weight: none, Bias: none},
		posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: checktest.WeightsOf(1, 1, 1), Bias: checktest.WeightsOf(0, 0, 1)})
	n, err := New(post, false)
	if err != nil {
		t.Fatal(err)
	}
	p := n.NewCellPass(property.Box{Lo: []float64{-1, -1}, Hi: []float64{-1, 1}}, 1e-3, 0)
	if y, v := p.reach[0].Radius, p.reach[1].Radius[0]; y[0] > 1e-100 || !(y[1] > 1) || v < y[1] || v > y[1]*(1+1e-12) {
		t.Errorf("radii %v of the members, %v of the maximum", y, v)
	}
	// A radius that is larger than the interval: weights that deviate much, in a cell that hardly
	// moves them.
	post.Layers[0].Weight = checktest.WeightsOf(1, 1000, 1)
	if n, err = New(post, false); err != nil {
		t.Fatal(err)
	}
	p = n.NewCellPass(property.Box{Lo: []float64{-1, -0x1p-40}, Hi: []float64{-1, 0x1p-40}}, 0.9, 0)
	if by := p.vary[0][1].ByUp(p.Quantile(p.tau*RadiusShare, 1)); p.reach[0].Radius[1] != arith.Up(by) {
		t.Errorf("radius %v of a member, want %v", p.reach[0].Radius[1], by)
	}
}

// TestQuiet: layers without noise below are bounded by lines for nothing; one without noise of its
// own above noise is bounded by what was paid for alone.
func TestQuiet(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 6))
	n, err := New(checktest.Sketched(rng, "certain below", checktest.Activations[1], 1.0/16), false)
	if err != nil {
		t.Fatal(err)
	}
	p := n.NewCellPass(checktest.BallOf(rng, 16, 0.25), 1e-3, 0)
	if p.Events != 0 {
		t.Errorf("%v events without noise", p.Events)
	}
	if got := len(p.ways(3)); got != 1 { // the dense layer above copy, convolution and pool
		t.Errorf("%d ways, want one", got)
	}
	// A certain dense layer above a noisy one with an activation.
	image := net.Image{Height: 1, Width: 1, Channels: 1}
	conv := net.Conv{In: image, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}
	relu := net.Activation{Kind: net.ReLU}
	certain := func(act net.Activation) posterior.Layer {
		return posterior.Layer{Layer: net.DenseLayer(1, 1, act), Weight: checktest.WeightsOf(1, 0, 1), Bias: checktest.WeightsOf(0, 0, 1)}
	}
	if n, err = New(checktest.OfLayers(
		posterior.Layer{Layer: net.Layer{Map: conv, Activation: relu}, Weight: checktest.WeightsOf(1, 1, 1), Bias: checktest.WeightsOf(0, 0, 1)}, certain(relu), certain(net.Activation{})), false); err != nil {
		t.Fatal(err)
	}
	p = n.NewCellPass(property.Box{Lo: []float64{1}, Hi: []float64{1}}, 1e-3, 0)
	if p.Events != 2 || len(p.ways(1)) != 0 {
		t.Errorf("%v events, %d ways of a layer that has none of its own", p.Events, len(p.ways(1)))
	}
}

// TestDifference: of two uses of one weight N(1, 1/16) and one bias, at 3 and at 1, the difference is
// -2 N(1, 1/16): the bias cancels.
func TestDifference(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	conv := net.Conv{In: image, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}
	pool := net.MaxPool{In: image, Window: net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	none := checktest.WeightsOf(0, 0, 0)
	n, err := New(checktest.OfLayers(
		posterior.Layer{Layer: net.Layer{Map: conv}, Weight: checktest.WeightsOf(1, 0.25, 1), Bias: checktest.WeightsOf(5, 9, 1)},
		posterior.Layer{Layer: net.Layer{Map: pool}, Weight: none, Bias: none},
		posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: checktest.WeightsOf(1, 1, 1), Bias: checktest.WeightsOf(0, 0, 1)}), false)
	if err != nil {
		t.Fatal(err)
	}
	p := n.NewCellPass(property.Box{Lo: []float64{3, 1}, Hi: []float64{3, 1}}, 1e-3, 0)
	if got, want := p.difference(0, 0, []int32{0, 1}), -2+2*0.25*p.Quantile(1e-3, 1); math.Abs(got-want) > 1e-12 {
		t.Errorf("the difference is at most %v, want %v", got, want)
	}
}
