package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/internal/testscale"
)

// drawnNetwork is a draw of the posterior as a network of the checker's.
func drawnNetwork(post *posterior.Posterior, seed int, w [][]float64) (pre func(x []float64) [][]float64) {
	post.Draw(17, seed, w)
	return func(x []float64) [][]float64 { return floatsAt(post, w, x) }
}

// floatsAt are the pre-activations of all layers at x, in float64 and by definition.
func floatsAt(post *posterior.Posterior, w [][]float64, x []float64) (pre [][]float64) {
	out := map[int][]float64{-1: x}
	for k := range post.Layers {
		l := &post.Layers[k]
		var z []float64
		for _, s := range post.Network().Feed(k) {
			z = append(z, out[s]...)
		}
		pre = append(pre, appliedFloat(l.Map, w[2*k], w[2*k+1], z))
		for _, t := range pre[k] {
			out[k] = append(out[k], l.Activation.Approx(t))
		}
	}
	return pre
}

// appliedFloat is applied, faster, but for the maps without weights as the readers lower them.
func appliedFloat(m net.Map, w, b, z []float64) []float64 {
	y := make([]float64, m.Outputs())
	switch m := m.(type) {
	case net.Dense:
		for i := range y {
			y[i] = b[i]
			for j, v := range z {
				y[i] += w[j*m.Out+i] * v
			}
		}
	case net.Conv:
		group := m.In.Channels / m.Groups
		for i := range y {
			o := i % m.Filters
			y[i] = b[o]
			windowed(m.In, m.Window, m.Out(), i/m.Filters, func(a, r, x int) {
				for c := range group {
					ch := o/(m.Filters/m.Groups)*group + c
					j := (r*m.In.Width+x)*m.In.Channels + ch
					if m.ChannelsFirst {
						j = (ch*m.In.Height+r)*m.In.Width + x
					}
					y[i] += w[(a*group+c)*m.Filters+o] * z[j]
				}
			})
		}
	case net.MaxPool:
		members := m.Members()
		size := len(members) / len(y)
		for i := range y {
			y[i] = -inf
			for _, j := range members[i*size : (i+1)*size] {
				if j >= 0 {
					y[i] = max(y[i], z[j])
				}
			}
		}
	case lowered:
		low := m.Lowered()
		for i := range y {
			for k := range low.Taps {
				if j := low.Input(i, k); j >= 0 {
					y[i] += low.CoefficientLo[k] * z[j]
				}
			}
		}
	}
	return y
}

// allows is how many of n draws may do what has probability p, but for very bad luck.
func allows(p float64, n int) int {
	mean := p * float64(n)
	return int(mean + 6*math.Sqrt(mean) + 6)
}

// tally counts the events of a cell that fail.
type tally struct {
	p      *cellPass
	failed map[[3]int]int // layer, event, unit
}

const (
	lowerEvent = iota
	upperEvent
	radiusEvent
	pairEvent
)

// draw adds one network, evaluated at points of the cell, the first being the centre, and says
// whether any event failed. Those of a layer are about networks for which none failed below, and
// radii about those whose bounds hold.
func (c *tally) draw(pre [][][]float64) (any bool) {
	const slack = 1e-9
	for k := range c.p.hidden {
		h, act := &c.p.hidden[k], c.p.layers[k].act
		bad := map[[3]int]bool{}
		check := func(i, event int, fails bool) {
			if fails {
				bad[[3]int{k, event, i}] = true
			}
		}
		for i := range h.pre.lo {
			if !c.p.graph.used[k][i] || h.pool == nil && !c.p.levels.open[k] {
				continue
			}
			for _, at := range pre {
				v := at[k][i]
				if h.pool != nil {
					star := at[c.p.graph.from[k][0]][h.pool.star[i]]
					check(i, pairEvent, v > h.pool.slope[i]*star+h.pool.above[i]+slack)
					continue
				}
				check(i, upperEvent, v > h.pre.hi[i]+slack)
				check(i, lowerEvent, v < h.pre.lo[i]-slack && (!c.p.graph.pooled[k] || c.p.isStar(k, int32(i))))
			}
			if len(bad) > 0 || !c.p.levels.needed[k] {
				continue
			}
			for _, at := range pre {
				check(i, radiusEvent, math.Abs(act.Approx(at[k][i])-act.Approx(pre[0][k][i])) > c.p.reach[k].radius[i]+slack)
			}
		}
		for e := range bad {
			c.failed[e]++
		}
		if len(bad) > 0 {
			return true
		}
	}
	return false
}

func (p *cellPass) isStar(k int, i int32) bool {
	for v := range p.hidden {
		if p.graph.from[v][0] == k && p.hidden[v].pool != nil && slices.Contains(p.hidden[v].pool.star, i) {
			return true
		}
	}
	return false
}

// TestGraphEvents: no event of a cell fails more often than it may, all of them together not more
// often than is paid for, and no more networks are unsafe than the bound says.
func TestGraphEvents(t *testing.T) {
	kinds(t, 12, func(t *testing.T, rng *rand.Rand, kind string) {
		const draws, tau = 1500, 0.01
		act := activations[1+rng.IntN(len(activations)-1)]
		post := sketched(rng, kind, act, []float64{1.0 / 32, 1.0 / 8}[rng.IntN(2)])
		eps := []float64{0, 1.0 / 64, 0.25}[rng.IntN(3)]
		x := ballOf(rng, 16, eps)
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		p := n.newCellPass(x, tau, 0)
		fail := p.cellFailUp(&task.S)
		c := tally{p, map[[3]int]int{}}
		w, any, unsafe := post.NewWeights(), 0, 0
		for d := range draws {
			pre := drawnNetwork(post, d, w)
			var at [][][]float64
			broken := false
			for v := range 5 {
				point := make([]float64, 16)
				for j := range point {
					switch v {
					case 0: // the centre
						point[j] = x.Lo[j] + (x.Hi[j]-x.Lo[j])/2
					case 1:
						point[j] = x.Lo[j]
					case 2:
						point[j] = x.Hi[j]
					default:
						point[j] = x.Lo[j] + float64(rng.IntN(2))*(x.Hi[j]-x.Lo[j])
					}
				}
				at = append(at, pre(point))
				y := at[v][len(at[v])-1]
				broken = broken || y[0] < y[1]
				if eps == 0 {
					break
				}
			}
			if c.draw(at) {
				any++
			}
			if broken {
				unsafe++
			}
		}
		for e, failed := range c.failed {
			may := tau
			switch {
			case e[1] == radiusEvent:
				may *= radiusShare
			case e[1] == pairEvent:
				may *= float64(len(p.layers[e[0]].windows[e[2]])) // its differences, and the star
			case !p.levels.needed[e[0]]:
				may *= looseShare
			}
			if failed > allows(may, draws) {
				t.Errorf("%v eps %v: event %v fails %d times in %d", act, eps, e, failed, draws)
			}
		}
		if budget := p.budgetUp(); any > allows(min(1, budget), draws) {
			t.Errorf("%v eps %v: events fail for %d of %d networks, the budget is %v", act, eps, any, draws, budget)
		}
		if unsafe > allows(fail, draws) {
			t.Errorf("%v eps %v: %d of %d networks are unsafe, the bound is %v", act, eps, unsafe, draws, fail)
		}
	})
}

// TestGraphSafeUp: no more networks satisfy S at a point than the upper bound says.
func TestGraphSafeUp(t *testing.T) {
	said := 0
	kinds(t, 40, func(t *testing.T, rng *rand.Rand, kind string) {
		const draws = 300
		post := sketched(rng, kind, activations[1+rng.IntN(2)], 1.0/32)
		x := ballOf(rng, 16, 0)
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		safe, err := n.safeUp(t.Context(), &task, x, 1e-5, atMost(0))
		if err != nil {
			t.Fatal(err)
		}
		holds, w := 0, post.NewWeights()
		for d := range draws {
			pre := drawnNetwork(post, d, w)(x.Lo)
			if y := pre[len(pre)-1]; y[0] >= y[1] {
				holds++
			}
		}
		if holds > allows(safe, draws) {
			t.Errorf("%d of %d networks are safe at a point, the bound is %v", holds, draws, safe)
		}
		if safe < 0.5 {
			said++
		}
	})
	if testscale.Factor(t) >= 0.1 && said == 0 {
		t.Error("no bound says anything")
	}
}

// TestGraphEventsCounted: what is paid for, by hand.
func TestGraphEventsCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 4))
	image := net.Image{Height: 4, Width: 4, Channels: 1}
	build := func(f func(s *sketch)) *noisy {
		s := &sketch{rng: rng, post: &posterior.Posterior{Scale: posterior.ScaleSD}, sd: 1.0 / 64}
		s.put(net.Reorder{In: 16, Order: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, image, net.Activation{}, 0, -1)
		f(s)
		for k := range s.post.Layers { // no weight without a spread
			for _, g := range []*posterior.Params{&s.post.Layers[k].Weight, &s.post.Layers[k].Bias} {
				for j, sd := range g.SdHi {
					if sd == 0 && s.sd > 0 {
						g.SdLo[j], g.SdHi[j] = s.sd, s.sd
					}
				}
			}
		}
		n, err := newNoisy(s.post)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	relu := net.Activation{Kind: net.ReLU}
	point, ball := ballOf(rng, 16, 0), ballOf(rng, 16, 0.5)

	// 18 units of a convolution, one layer of 2.
	n := build(func(s *sketch) {
		s.dense(s.dense(s.conv(0, 2, 1, 0, 2, 1, relu, s.sd), 2, relu, s.sd), 2, net.Activation{}, s.sd)
	})
	if p := n.newCellPass(point, 1e-3, 0); p.events != 2*20 {
		t.Errorf("%v events at a point, want 40", p.events)
	}
	if p := n.newCellPass(ball, 1e-3, 0); p.events != (2+1.0/64)*20 {
		t.Errorf("%v events, want %v", p.events, (2+1.0/64)*20)
	}
	// Max pools of 2 x 2 of 3 x 3 x 2 with stride 2: of 8 units the upper bounds, of 2 the lower,
	// and 3 differences each where the star is not above all others.
	n = build(func(s *sketch) {
		s.dense(s.pool(s.conv(0, 2, 1, 0, 2, 1, net.Activation{}, s.sd), 2, 2, 0, relu), 2, net.Activation{}, s.sd)
	})
	p := n.newCellPass(ball, 1e-3, 0)
	if p.events != 8+2+6+8.0/64 {
		t.Errorf("%v events of a max pool, want %v", p.events, 8+2+6+8.0/64)
	}
	// Overlapping windows: stars are paid once.
	n = build(func(s *sketch) {
		s.dense(s.pool(s.conv(0, 2, 1, 0, 1, 1, net.Activation{}, s.sd), 2, 1, 0, relu), 2, net.Activation{}, s.sd)
	})
	p = n.newCellPass(ball, 1e-3, 0)
	stars := slices.Clone(p.hidden[2].pool.star)
	slices.Sort(stars)
	if want := 9 + float64(len(slices.Compact(stars))) + 12 + 9.0/64; p.events != want {
		t.Errorf("%v events of overlapping windows, want %v", p.events, want)
	}
}

// TestLevels: layers that do not feed each other are of one level, and noise of the same weights
// is in one group.
func TestLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 5))
	n, err := newNoisy(sketched(rng, "shortcut and pool of a sum", activations[1], 1.0/16))
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
		n, err := newNoisy(ofLayers(conv(3, -1), c.second, add, last))
		if err != nil {
			t.Fatal(err)
		}
		v := n.newCellPass(cell, 1e-3, 0).vary[2][0]
		if mean := math.Sqrt(2/math.Pi) * c.mean; math.Abs(v.mean-mean) > 1e-12 || math.Abs(v.variance-c.sd*c.sd) > 1e-9 {
			t.Errorf("%s: mean %v, variance %v; want %v, %v", c.what, v.mean, v.variance, mean, c.sd*c.sd)
		}
	}
}

// TestGraphNorms: second moments of outputs are not above the bound; of one convolution they are
// its parts exactly.
func TestGraphNorms(t *testing.T) {
	kinds(t, 20, func(t *testing.T, rng *rand.Rand, kind string) {
		const draws = 400
		post := sketched(rng, kind, activations[1+rng.IntN(len(activations)-1)], 0.5)
		x := ballOf(rng, 16, 0)
		norms := normsUp(post, []property.Box{x})
		squares, fourth, w := make([]float64, 2), make([]float64, 2), post.NewWeights()
		for d := range draws {
			pre := drawnNetwork(post, d, w)(x.Lo)
			for i, y := range pre[len(pre)-1] {
				squares[i] += y * y / draws
				fourth[i] += y * y * y * y / draws
			}
		}
		for i, n := range norms {
			if !(squares[i]-5*math.Sqrt(fourth[i]/draws) <= n*n*(1+1e-12)) {
				t.Errorf("output %d: the mean square is about %v, the bound %v", i, squares[i], n*n)
			}
		}
	})
}

// TestGraphFreed: networks with weights anywhere that freed allows compute what one of the box
// does.
func TestGraphFreed(t *testing.T) {
	freedLow, freedAll := 0, 0
	kinds(t, 60, func(t *testing.T, rng *rand.Rand, kind string) {
		post := sketched(rng, kind, activations[1], 1.0/64)
		if rng.IntN(2) == 0 { // many neurons that are never positive
			for k := range post.Layers[:len(post.Layers)-1] {
				g := post.Layers[k].Bias
				for o := range g.Mean {
					g.Mean[o] -= float64(rng.IntN(2)) * 4
				}
			}
		}
		x := ballOf(rng, 16, 1.0/64)
		for j := range x.Lo {
			if rng.IntN(2) == 0 {
				x.Lo[j], x.Hi[j] = 0, 0
			} else {
				x.Lo[j], x.Hi[j] = math.Abs(x.Lo[j]), math.Abs(x.Lo[j])+1.0/64
			}
		}
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		f := formats["float64"]
		b, err := boxOf(post, &f, slices.Repeat([]float64{1}, len(post.Layers)), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.network(post)
		if err != nil {
			t.Fatal(err)
		}
		n.lines = true
		_, dead := n.rowsLo(x, task.S.Rows)
		wide := freed(post, &task, b, dead)
		for range 4 {
			var inside, outside [][]*big.Rat
			for a := range b.lo {
				within := drawnIn(rng, b.lo[a], b.hi[a])
				beyond := slices.Clone(within)
				for i := range beyond {
					switch lo, hi := wide.lo[a][i], wide.hi[a][i]; {
					case lo == -inf && hi == inf:
						beyond[i], freedAll = exactly(math.Round(rng.NormFloat64()*100)), freedAll+1
					case lo == -inf:
						beyond[i], freedLow = new(big.Rat).Sub(within[i], exactly(math.Abs(math.Round(rng.NormFloat64()*100)))), freedLow+1
					}
				}
				inside, outside = append(inside, within), append(outside, beyond)
			}
			at := drawnIn(rng, x.Lo, x.Hi)
			want, got := evaluated(post, inside, at), evaluated(post, outside, at)
			for i := range want[len(want)-1] {
				if want[len(want)-1][i].Cmp(got[len(got)-1][i]) != 0 {
					t.Fatalf("output %d changes with weights that are called free", i)
				}
			}
		}
	})
	t.Logf("%d weights free, %d free downward", freedAll, freedLow)
	if testscale.Factor(t) >= 0.1 && (freedAll == 0 || freedLow == 0) {
		t.Error("no weight is free")
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
	n, err := newNoisy(post)
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
	if n, err = newNoisy(post); err != nil {
		t.Fatal(err)
	}
	p = n.newCellPass(property.Box{Lo: []float64{-1, -0x1p-40}, Hi: []float64{-1, 0x1p-40}}, 0.9, 0)
	if by := p.vary[0][1].byUp(p.quantile(p.tau*radiusShare, 1)); p.reach[0].radius[1] != up(by) {
		t.Errorf("radius %v of a member, want %v", p.reach[0].radius[1], by)
	}
}

// TestQuiet: layers without noise below are bounded by lines for nothing; one without noise of its
// own above noise is bounded by what was paid for alone.
func TestQuiet(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 6))
	n, err := newNoisy(sketched(rng, "certain below", activations[1], 1.0/16))
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
		posterior.Layer{Layer: net.Layer{Map: conv, Activation: relu}, Weight: weightsOf(1, 1, 1), Bias: weightsOf(0, 0, 1)}, certain(relu), certain(net.Activation{}))); err != nil {
		t.Fatal(err)
	}
	p = n.newCellPass(property.Box{Lo: []float64{1}, Hi: []float64{1}}, 1e-3, 0)
	if p.events != 2 || len(p.ways(1)) != 0 {
		t.Errorf("%v events, %d ways of a layer that has none of its own", p.events, len(p.ways(1)))
	}
}

// TestSigns: of sums with a negative coefficient nothing is said.
func TestSigns(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	pool := net.MaxPool{In: image, Window: net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	zero, positive, unknown := sign{true, true}, sign{false, true}, sign{}
	for _, c := range []struct {
		m    net.Map
		in   []sign
		want sign
	}{
		{net.Add{N: 1, Terms: 2}, []sign{zero, zero}, zero},
		{net.Add{N: 1, Terms: 2}, []sign{zero, positive}, positive},
		{net.Add{N: 1, Terms: 2}, []sign{unknown, positive}, unknown},
		{pool, []sign{unknown, positive}, positive},
		{pool, []sign{zero, zero}, zero},
		{pool, []sign{unknown, unknown}, unknown},
		{odd{net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}}, []sign{zero, zero}, unknown},
	} {
		if got := signsOf(c.m, c.in); got[0] != c.want {
			t.Errorf("%v of %v: %v, want %v", c.m, c.in, got[0], c.want)
		}
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
			d = func(int, int32) float64 { return delta }
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
