package clbp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// tally counts the events of a cell that fail.
type tally struct {
	p      *CellPass
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
	for k := range c.p.Hidden {
		h, act := &c.p.Hidden[k], c.p.Layers[k].Act
		bad := map[[3]int]bool{}
		check := func(i, event int, fails bool) {
			if fails {
				bad[[3]int{k, event, i}] = true
			}
		}
		for i := range h.Pre.Lo {
			if !c.p.Graph.Used[k][i] || h.Pool == nil && !c.p.Levels.open[k] {
				continue
			}
			for _, at := range pre {
				v := at[k][i]
				if h.Pool != nil {
					star := at[c.p.Graph.From[k][0]][h.Pool.Star[i]]
					check(i, pairEvent, v > h.Pool.Slope[i]*star+h.Pool.Above[i]+slack)
					continue
				}
				check(i, upperEvent, v > h.Pre.Hi[i]+slack)
				check(i, lowerEvent, v < h.Pre.Lo[i]-slack && (!c.p.Graph.Pooled[k] || c.p.isStar(k, int32(i))))
			}
			if len(bad) > 0 || !c.p.Levels.needed[k] {
				continue
			}
			for _, at := range pre {
				check(i, radiusEvent, math.Abs(act.Approx(at[k][i])-act.Approx(pre[0][k][i])) > c.p.reach[k].Radius[i]+slack)
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

func (p *CellPass) isStar(k int, i int32) bool {
	for v := range p.Hidden {
		if p.Graph.From[v][0] == k && p.Hidden[v].Pool != nil && slices.Contains(p.Hidden[v].Pool.Star, i) {
			return true
		}
	}
	return false
}

// TestGraphEvents: no event of a cell fails more often than it may, all of them together not more
// often than is paid for, and no more networks are unsafe than the bound says.
func TestGraphEvents(t *testing.T) {
	checktest.Kinds(t, 12/testscale.By(t, 2), func(t *testing.T, rng *rand.Rand, kind string) {
		const draws, tau = 1500, 0.01
		act := checktest.Activations[1+rng.IntN(len(checktest.Activations)-1)]
		post := checktest.Sketched(rng, kind, act, []float64{1.0 / 32, 1.0 / 8}[rng.IntN(2)])
		eps := []float64{0, 1.0 / 64, 0.25}[rng.IntN(3)]
		x := checktest.BallOf(rng, 16, eps)
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		p := n.NewCellPass(x, tau, 0)
		fail := p.CellFailUp(&task.S)
		c := tally{p, map[[3]int]int{}}
		w, any, unsafe := post.NewWeights(), 0, 0
		for d := range draws {
			pre := checktest.DrawnNetwork(post, d, w)
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
				may *= RadiusShare
			case e[1] == pairEvent:
				may *= float64(len(p.Layers[e[0]].Windows[e[2]])) // its differences, and the star
			case !p.Levels.needed[e[0]]:
				may *= looseShare
			}
			if failed > checktest.Allows(may, draws) {
				t.Errorf("%v eps %v: event %v fails %d times in %d", act, eps, e, failed, draws)
			}
		}
		if budget := p.BudgetUp(); any > checktest.Allows(min(1, budget), draws) {
			t.Errorf("%v eps %v: events fail for %d of %d networks, the budget is %v", act, eps, any, draws, budget)
		}
		if unsafe > checktest.Allows(fail, draws) {
			t.Errorf("%v eps %v: %d of %d networks are unsafe, the bound is %v", act, eps, unsafe, draws, fail)
		}
	})
}

// TestGraphEventsCounted: what is paid for, by hand.
func TestGraphEventsCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 4))
	image := net.Image{Height: 4, Width: 4, Channels: 1}
	build := func(f func(s *checktest.Sketch)) *Noisy {
		s := &checktest.Sketch{Rng: rng, Post: &posterior.Posterior{Scale: posterior.ScaleSD}, Sd: 1.0 / 64}
		s.Put(net.Reorder{In: 16, Order: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, image, net.Activation{}, 0, -1)
		f(s)
		for k := range s.Post.Layers { // no weight without a spread
			for _, g := range []*posterior.Params{&s.Post.Layers[k].Weight, &s.Post.Layers[k].Bias} {
				for j, sd := range g.SdHi {
					if sd == 0 && s.Sd > 0 {
						g.SdLo[j], g.SdHi[j] = s.Sd, s.Sd
					}
				}
			}
		}
		n, err := New(s.Post, false)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	relu := net.Activation{Kind: net.ReLU}
	point, ball := checktest.BallOf(rng, 16, 0), checktest.BallOf(rng, 16, 0.5)

	// 18 units of a convolution, one layer of 2.
	n := build(func(s *checktest.Sketch) {
		s.Dense(s.Dense(s.Conv(0, 2, 1, 0, 2, 1, relu, s.Sd), 2, relu, s.Sd), 2, net.Activation{}, s.Sd)
	})
	if p := n.NewCellPass(point, 1e-3, 0); p.Events != 2*20 {
		t.Errorf("%v events at a point, want 40", p.Events)
	}
	if p := n.NewCellPass(ball, 1e-3, 0); p.Events != (2+1.0/64)*20 {
		t.Errorf("%v events, want %v", p.Events, (2+1.0/64)*20)
	}
	// Max pools of 2 x 2 of 3 x 3 x 2 with stride 2: of 8 units the upper bounds, of 2 the lower,
	// and 3 differences each where the star is not above all others.
	n = build(func(s *checktest.Sketch) {
		s.Dense(s.Pool(s.Conv(0, 2, 1, 0, 2, 1, net.Activation{}, s.Sd), 2, 2, 0, relu), 2, net.Activation{}, s.Sd)
	})
	p := n.NewCellPass(ball, 1e-3, 0)
	if p.Events != 8+2+6+8.0/64 {
		t.Errorf("%v events of a max pool, want %v", p.Events, 8+2+6+8.0/64)
	}
	// Overlapping windows: stars are paid once.
	n = build(func(s *checktest.Sketch) {
		s.Dense(s.Pool(s.Conv(0, 2, 1, 0, 1, 1, net.Activation{}, s.Sd), 2, 1, 0, relu), 2, net.Activation{}, s.Sd)
	})
	p = n.NewCellPass(ball, 1e-3, 0)
	stars := slices.Clone(p.Hidden[2].Pool.Star)
	slices.Sort(stars)
	if want := 9 + float64(len(slices.Compact(stars))) + 12 + 9.0/64; p.Events != want {
		t.Errorf("%v events of overlapping windows, want %v", p.Events, want)
	}
}
