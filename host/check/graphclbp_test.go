package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
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
			y[i] = -arith.Inf
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

// allows returns how many of n draws may do what has probability p, but for very bad luck.
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
	kinds(t, 12/testscale.By(t, 2), func(t *testing.T, rng *rand.Rand, kind string) {
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
	kinds(t, 40/testscale.By(t, 2), func(t *testing.T, rng *rand.Rand, kind string) {
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
