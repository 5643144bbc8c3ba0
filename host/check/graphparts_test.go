package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestLevels: layers that do not feed each other are of one level, and noise of the same weights
// is in one group.
func TestLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 5))
	n, err := newNoisy(sketched(rng, "shortcut and pool of a sum", activations[1], 1.0/16), false)
	if err != nil {
		t.Fatal(err)
	}
	// copy, conv, two convolutions, their sum, pool, dense
	if want := []int{1, 1, 2, 2, 3, 3, 3}; !slices.Equal(n.levels.of, want) {
		t.Errorf("levels %v, want %v", n.levels.of, want)
	}
	if want := []bool{false, true, true, true, true, false, true}; !slices.Equal(n.levels.open, want) {
		t.Errorf("open %v, want %v", n.levels.open, want)
	}
	if want := []bool{true, true, false, false, true, true, true}; !slices.Equal(n.levels.needed, want) {
		t.Errorf("needed %v, want %v", n.levels.needed, want)
	}
	if g := n.levels.groups[4]; g[0] == g[1] || g[0] < 0 || g[1] < 0 {
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
	var met noises
	met.add(3, noise{1, 4})
	met.add(1, noise{2, 1})
	met.add(3, noise{1, 5})
	if got, want := met.list(), []noise{{2, 9}, {2, 1}}; !slices.Equal(got, want) {
		t.Errorf("noise %v, want %v", got, want)
	}
	if total, levels := met.total(); total != (noise{4, 10}) || levels != 2 {
		t.Errorf("total %v of %d levels", total, levels)
	}
}

// TestFixedVariation: how far sums vary whose terms have noise of other weights, and of the same.
func TestFixedVariation(t *testing.T) {
	image := net.Image{Height: 1, Width: 1, Channels: 1}
	conv := func(sd float64, from ...int) posterior.Layer {
		return posterior.Layer{Layer: net.Layer{Map: net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}, Sources: from},
			Weight: weightsOf(0, sd, 1), Bias: weightsOf(0, 0, 1)}
	}
	none := weightsOf(0, 0, 0)
	add := posterior.Layer{Layer: net.Layer{Map: net.Add{N: 1, Terms: 2}, Sources: []int{0, 1}}, Weight: none, Bias: none}
	last := posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: weightsOf(1, 1, 1), Bias: weightsOf(0, 0, 1)}
	twice := conv(0, 0)
	twice.Weight = weightsOf(-2, 0, 1)
	cell := property.Box{Lo: []float64{-1}, Hi: []float64{1}} // radius 1
	for _, c := range []struct {
		what     string
		second   posterior.Layer
		mean, sd float64
	}{
		{"other weights", conv(4, -1), 3 + 4, 5},
		{"the same weights", twice, 3 + 2*3, 3 + 2*3},
	} {
		n, err := newNoisy(ofLayers(conv(3, -1), c.second, add, last), false)
		if err != nil {
			t.Fatal(err)
		}
		v := n.newCellPass(cell, 1e-3, 0).vary[2][0]
		if mean := math.Sqrt(2/math.Pi) * c.mean; math.Abs(v.mean-mean) > 1e-12 || math.Abs(v.variance-c.sd*c.sd) > 1e-9 {
			t.Errorf("%s: mean %v, variance %v; want %v, %v", c.what, v.mean, v.variance, mean, c.sd*c.sd)
		}
	}
}

// TestReachOfMaxima: a maximum varies as the members may at most, of which no interval tells whose
// lower end is not paid for.
func TestReachOfMaxima(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	conv := net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}
	none := weightsOf(0, 0, 0)
	pool := net.MaxPool{In: image, Window: net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	post := ofLayers(
		posterior.Layer{Layer: net.Layer{Map: conv}, Weight: weightsOf(1, 1.0/1024, 1), Bias: weightsOf(0, 0, 1)},
		posterior.Layer{Layer: net.Layer{Map: pool}, Weight: none, Bias: none},
		posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: weightsOf(1, 1, 1), Bias: weightsOf(0, 0, 1)})
	n, err := newNoisy(post, false)
	if err != nil {
		t.Fatal(err)
	}
	p := n.newCellPass(property.Box{Lo: []float64{-1, -1}, Hi: []float64{-1, 1}}, 1e-3, 0)
	if y, v := p.reach[0].radius, p.reach[1].radius[0]; y[0] > 1e-100 || !(y[1] > 1) || v < y[1] || v > y[1]*(1+1e-12) {
		t.Errorf("radii %v of the members, %v of the maximum", y, v)
	}
	// A radius that is larger than the interval: weights that deviate much, in a cell that hardly
	// moves them.
	post.Layers[0].Weight = weightsOf(1, 1000, 1)
	if n, err = newNoisy(post, false); err != nil {
		t.Fatal(err)
	}
	p = n.newCellPass(property.Box{Lo: []float64{-1, -0x1p-40}, Hi: []float64{-1, 0x1p-40}}, 0.9, 0)
	if by := p.vary[0][1].byUp(p.quantile(p.tau*radiusShare, 1)); p.reach[0].radius[1] != arith.Up(by) {
		t.Errorf("radius %v of a member, want %v", p.reach[0].radius[1], by)
	}
}

// TestQuiet: layers without noise below are bounded by lines for nothing; one without noise of its
// own above noise is bounded by what was paid for alone.
func TestQuiet(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 6))
	n, err := newNoisy(sketched(rng, "certain below", activations[1], 1.0/16), false)
	if err != nil {
		t.Fatal(err)
	}
	p := n.newCellPass(ballOf(rng, 16, 0.25), 1e-3, 0)
	if p.events != 0 {
		t.Errorf("%v events without noise", p.events)
	}
	if got := len(p.ways(3)); got != 1 { // the dense layer above copy, convolution and pool
		t.Errorf("%d ways, want one", got)
	}
	// A certain dense layer above a noisy one with an activation.
	image := net.Image{Height: 1, Width: 1, Channels: 1}
	conv := net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}
	relu := net.Activation{Kind: net.ReLU}
	certain := func(act net.Activation) posterior.Layer {
		return posterior.Layer{Layer: net.DenseLayer(1, 1, act), Weight: weightsOf(1, 0, 1), Bias: weightsOf(0, 0, 1)}
	}
	if n, err = newNoisy(ofLayers(
		posterior.Layer{Layer: net.Layer{Map: conv, Activation: relu}, Weight: weightsOf(1, 1, 1), Bias: weightsOf(0, 0, 1)}, certain(relu), certain(net.Activation{})), false); err != nil {
		t.Fatal(err)
	}
	p = n.newCellPass(property.Box{Lo: []float64{1}, Hi: []float64{1}}, 1e-3, 0)
	if p.events != 2 || len(p.ways(1)) != 0 {
		t.Errorf("%v events, %d ways of a layer that has none of its own", p.events, len(p.ways(1)))
	}
}

// TestStars: for all values of the members in their intervals, no two of which differ by more than
// is said, the lines are below and above the activation of the maximum, exactly.
func TestStars(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 7))
	l := layer{in: 3, out: 1, windows: [][]int32{{0, 1, 2}}}
	for n := range testscale.Cases(t, 5000) {
		l.act = activations[rng.IntN(3)]
		y := newSpan(3)
		for j := range y.lo {
			y.lo[j] = math.Round(rng.NormFloat64()*16) / 3
			y.hi[j] = y.lo[j] + math.Abs(math.Round(rng.NormFloat64()*16)/7)
		}
		delta, by := math.Abs(rng.NormFloat64()), choice{try: uint64(n % 2)}
		var d differ
		if n%3 > 0 {
			d = func(int, int32) (most, plain float64) { return delta, delta * float64(1+n%5) / 2 }
		}
		greatest := n%4 == 0
		h := l.stars(y, greatest, &by, d)
		star := h.pool.star[0]
		if bottom := slices.Max(y.lo); greatest && h.pre.lo[0] != bottom || !greatest && h.pre.lo[0] != y.lo[star] {
			t.Fatalf("case %d: the maximum is from %v on, of members in %v", n, h.pre.lo[0], y)
		}
		for range 20 {
			v := drawnIn(rng, y.lo, y.hi)
			at := v[star]
			most := new(big.Rat).Add(at, exactly(delta))
			top := at
			for j := range v {
				if d != nil && v[j].Cmp(most) > 0 && exactly(y.lo[j]).Cmp(most) <= 0 {
					v[j] = most // as far as it may be
				}
				if v[j].Cmp(top) > 0 {
					top = v[j]
				}
			}
			if d != nil && top.Cmp(most) > 0 {
				continue
			}
			line := func(a, b float64, x *big.Rat) *big.Rat {
				r := new(big.Rat).Mul(exactly(a), x)
				return r.Add(r, exactly(b))
			}
			upper := line(h.pool.slope[0], h.pool.above[0], at)
			value := valueOf(l.act, top)
			if upper.Cmp(exactly(h.arg.lo[0])) < 0 || upper.Cmp(exactly(h.arg.hi[0])) > 0 {
				t.Fatalf("case %d: the line is %v, outside of %v", n, upper.FloatString(20), h.arg)
			}
			for _, a := range []float64{1.0 / 3, -1.0 / 3} { // a row over the maximum
				var c arith.Sum
				r := h.pool.substitute([]float64{a}, 3, &c)
				least := smallest(r.lo[star], r.hi[star], at)
				if least.Add(least, exactly(c.Lo())); least.Cmp(new(big.Rat).Mul(exactly(a), top)) > 0 {
					t.Fatalf("case %d: %v times maximum %v, star %v, is at least %v", n, a, top.FloatString(20), at.FloatString(20), least.FloatString(20))
				}
			}
			if top.Cmp(exactly(h.pre.hi[0])) > 0 || upper.Cmp(top) < 0 || line(h.upper[0].a, h.upper[0].b, upper).Cmp(value) < 0 || line(h.lower[0].a, h.lower[0].b, at).Cmp(value) > 0 {
				t.Fatalf("case %d: maximum %v, star %v of %v: %+v", n, top.FloatString(20), at.FloatString(20), y, h)
			}
		}
	}
}

// TestUsed: what any layer takes is used.
func TestUsed(t *testing.T) {
	one := []float64{1}
	take := func(j int32) layer {
		return layer{in: 2, out: 1, fixed: true, w: span{one, one}, sources: []int{0}, at: &places{positions: 1, taps: 1, channels: 1, tap: []int32{j}, kernels: [][]int32{{0}}}}
	}
	second := take(1)
	g, err := graphOf([]layer{{in: 1, out: 2}, take(0), second, {in: 2, out: 1, sources: []int{1, 2}}})
	if err != nil || !slices.Equal(g.used[0], []bool{true, true}) {
		t.Errorf("used are %v, %v", g, err)
	}
	g, err = graphOf([]layer{{in: 1, out: 2}, take(0), {in: 1, out: 1}})
	if err != nil || !slices.Equal(g.used[0], []bool{true, false}) {
		t.Errorf("used are %v, %v", g, err)
	}
}

// TestDifference: of two uses of one weight N(1, 1/16) and one bias, at 3 and at 1, the difference is
// -2 N(1, 1/16): the bias cancels.
func TestDifference(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	conv := net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}
	pool := net.MaxPool{In: image, Window: net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	none := weightsOf(0, 0, 0)
	n, err := newNoisy(ofLayers(
		posterior.Layer{Layer: net.Layer{Map: conv}, Weight: weightsOf(1, 0.25, 1), Bias: weightsOf(5, 9, 1)},
		posterior.Layer{Layer: net.Layer{Map: pool}, Weight: none, Bias: none},
		posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: weightsOf(1, 1, 1), Bias: weightsOf(0, 0, 1)}), false)
	if err != nil {
		t.Fatal(err)
	}
	p := n.newCellPass(property.Box{Lo: []float64{3, 1}, Hi: []float64{3, 1}}, 1e-3, 0)
	if got, want := p.difference(0, 0, []int32{0, 1}), -2+2*0.25*p.quantile(1e-3, 1); math.Abs(got-want) > 1e-12 {
		t.Errorf("the difference is at most %v, want %v", got, want)
	}
}
