package sums

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestHats: hats make up the whole, and means of a convex function by them are above the integral
// and near it.
func TestHats(t *testing.T) {
	for step, h := range hatsOf() {
		total, by, n := h.lost, 0., len(h.z)
		for k, m := range h.mass {
			total += m
			by += m * math.Exp(h.z[k]/2)
			next := h.z[min(k+1, n-1)] - h.z[k]
			if gap := max(next, h.z[k]-h.z[max(k-1, 0)]); h.gap[k] < gap || h.z[k] != -h.z[n-1-k] {
				t.Errorf("step %v: node %v has the gap %v, not %v", step, h.z[k], h.gap[k], gap)
			}
			// The mean of the hat, by the midpoint rule.
			want := 0.
			const d = 1. / 2048
			for z := h.z[max(k-1, 0)] + d/2; z < h.z[min(k+1, n-1)]; z += d {
				hat := 1 - (z-h.z[k])/next
				if z < h.z[k] {
					hat = (z - h.z[k-1]) / (h.z[k] - h.z[k-1])
				}
				want += hat * d * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			}
			if m < want*(1-1e-5) || m > want*(1+1e-5)+1e-14 {
				t.Errorf("step %v: the hat of %v has %v, want %v", step, h.z[k], m, want)
			}
		}
		if total < 1 || total > 1+1e-12 {
			t.Errorf("step %v: all hats have %v", step, total)
		}
		if want := math.Exp(0.125); by < want-1e-6 || by > want*(1+0.1*step*step) {
			t.Errorf("step %v: the mean of exp(Z/2) is bounded by %v, it is %v", step, by, want)
		}
		if h.lost < math.Erfc(hatReach/math.Sqrt2)*(1-1e-12) {
			t.Errorf("step %v: only %v is lost", step, h.lost)
		}
	}
}

// TestTailCurves: the curves are above the tail, and above minus its second derivative here and
// further up.
func TestTailCurves(t *testing.T) {
	c := tailCurves()
	rng := rand.New(rand.NewPCG(16, 2))
	for range 20000 {
		y := 12 * (2*rng.Float64() - 1)
		q, bend := onCurve(c.q, y, 1), onCurve(c.bend, y, c.bend[0])
		if want := normalApprox(-y); q < want*(1-1e-14) || y < 8.9 && q > want*1.04 {
			t.Fatalf("Q(%v) = %v, want %v", y, q, want)
		}
		at := min(0, max(y, -1))
		want := -at * math.Exp(-at*at/2) / math.Sqrt(2*math.Pi)
		if bend < want*(1-1e-14) || bend > want+2e-3 {
			t.Fatalf("-Q'' is up to %v above %v, want %v", bend, y, want)
		}
	}
	if onCurve(c.q, math.NaN(), 1) != 1 || onCurve(c.q, arith.Inf, 1) > 1e-18 || onCurve(c.q, -arith.Inf, 1) != 1 {
		t.Error("no argument")
	}
}

// TestShareUp: shares between nodes are the greatest of the lines, of the better kind in each piece.
func TestShareUp(t *testing.T) {
	nan := math.NaN()
	s := &share{node: []float64{1, 2, 3, 5, 6}, value: []float64{1.5, 0.5, 0.25, nan, nan}, crude: []float64{arith.Inf, 2, 0.5, 0.125, nan}}
	for _, c := range []struct{ from, to, want float64 }{
		{1, 1, 1}, {1.25, 1.5, 1}, {1.75, 1.75, 0.75}, {2, 2.5, 0.5}, {2.5, 2.5, 0.375}, {2.5, 2.75, 0.375}, {4, 4, 0.3125}, {2.75, 4, 0.5}, {1.75, 4.5, 0.75},
		{5.5, 5.5, 1}, {4, 5.5, 1}, {0.5, 1, 1}, {5.5, 7, 1}, {nan, 2, 1}, {2, nan, 1},
	} {
		if got := s.up(c.from, c.to); got < c.want || got > c.want+1e-12 {
			t.Errorf("%v to %v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	step := &share{until: 2}
	if step.up(2, 3) != 1 || step.up(2.5, 3) != 0 || step.up(nan, 3) != 1 {
		t.Error("a share without noise")
	}
}

// givenCase is a neuron, a point of a grid and what is around it.
func givenCase(t *testing.T, seed int) (n *Network, g *GridPoint, vars []variation, rest arith.Interval) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 165))
	in := 1 + rng.IntN(4)
	var weight, bias [2][]float64
	for range in {
		weight[0], weight[1] = append(weight[0], rng.NormFloat64()), append(weight[1], 0.2+rng.Float64())
	}
	bias = [2][]float64{{rng.NormFloat64()}, {rng.Float64() + 0.5}}
	post := shallow(net.Activation{Kind: net.ReLU}, in, 1, weight, bias, constants(1), constants(0))
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	box := anyBox(rng, in)
	grid := anyGrid(rng, box, 2)
	points, err := gridOf(0, box, grid, anyCentres(rng, box, grid))
	if err != nil {
		t.Fatal(err)
	}
	g = &points[rng.IntN(len(points))]
	vars, rest = n.around(g, 0)
	return n, g, vars, rest
}

// TestGivenExactly: given t(v), variations have the mean and the covariance of the formula for
// normal vectors, D - c c'/V.
func TestGivenExactly(t *testing.T) {
	for seed := range testscale.Cases(t, 300) {
		n, g, vars, rest := givenCase(t, seed)
		l := &n.hidden.Weight
		v := n.hidden.Bias.SdHi[0] * n.hidden.Bias.SdHi[0]
		for j, x := range g.at {
			v += l.SdHi[j] * x * l.SdHi[j] * x
		}
		c := given(vars, arith.Exactly(0.3), rest)
		for a := range vars {
			// Of variations with a mean, sd and cov as the weights have them.
			if vars[a].linear() {
				mean, variance, cov := 0., 0., 0.
				for j, x := range g.at {
					if o := g.before[j].Lo; g.oneSided(j) {
						mean, variance, cov = mean+o*l.Mean[j], variance+o*l.SdHi[j]*o*l.SdHi[j], cov+o*x*l.SdHi[j]*l.SdHi[j]
					}
				}
				if math.Abs(mean-vars[a].mean.Lo) > 1e-12 || math.Abs(variance-vars[a].sd.Lo*vars[a].sd.Lo) > 1e-12 || math.Abs(cov-vars[a].cov.Lo) > 1e-12 {
					t.Fatalf("%d: what is on one side: %+v, want %v, %v, %v", seed, vars[a], mean, variance, cov)
				}
			}
			if want := vars[a].cov.Lo / v; math.Abs(c.move[a].Lo-want) > 1e-9 {
				t.Fatalf("%d: %d moves by %v, want %v", seed, a, c.move[a], want)
			}
			for b := range a + 1 {
				got := 0.
				for k := range b + 1 {
					got += c.root[a][k].Lo * c.root[b][k].Lo
				}
				want := -vars[a].cov.Lo * vars[b].cov.Lo / v
				if a == b {
					want += vars[a].sd.Lo * vars[a].sd.Lo
				}
				if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) || c.root[a][b].Hi-c.root[a][b].Lo > 1e-9 {
					t.Fatalf("%d: covariance of %d and %d is %v, want %v", seed, a, b, got, want)
				}
			}
		}
	}
}

// TestTailMeanNodes: between nodes of u the interpolation is above the mean, which is integrated
// on a finer grid of Z; with many nodes of u it hardly matters how they lie.
func TestTailMeanNodes(t *testing.T) {
	for seed := range testscale.Cases(t, 100) {
		_, _, vars, rest := givenCase(t, seed)
		if len(vars) == 0 {
			continue
		}
		for _, far := range []float64{0, 0.3, 3} { // t(v) is known better and better
			for k := range vars {
				vars[k].sd = vars[k].sd.Times(arith.Exactly(math.Exp2(-far)))
				vars[k].cov = vars[k].cov.Times(arith.Exactly(math.Exp2(-2 * far)))
			}
			if far == 3 {
				rest = arith.Exactly(0)
			}
			c := given(lastBest(vars, rest), arith.Exactly(0.2), rest)
			e := newTailMean(c, arith.Interval{}, 2)
			for _, from := range []float64{0, 0.1, 0.7} {
				const wide = 0.6
				a, b := e.up(from, wide), e.up(from+wide, wide)
				for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
					u := from + share*wide
					want := tailMeanApprox(c, u)
					if got := (1-share)*a + share*b; got < want-1e-9 {
						t.Fatalf("%d: P(%v) = %v is above the line between nodes, %v", seed, u, want, got)
					}
				}
			}
		}
	}
}

// tailMeanApprox is P(u) by trapezoids in all Z but the last, for at most two of them; by the
// first centre otherwise, which is less.
func tailMeanApprox(c *conditional, u float64) float64 {
	n := len(c.vars) - 1
	var mean func(l int, z []float64) float64
	mean = func(l int, z []float64) float64 {
		if l < n {
			total := 0.
			step := []float64{1, 0.02, 0.1, 0.5, 1}[n]
			for x := -6.; x <= 6; x += step {
				total += step * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) * mean(l+1, append(z[:l:l], x))
			}
			return total
		}
		r := u
		at := func(k int) float64 {
			y := c.vars[k].mean.Lo + c.move[k].Lo*(u-c.t.Lo)
			for l := range min(k+1, n) {
				y += c.root[k][l].Lo * z[l]
			}
			return y
		}
		for k := range n {
			r += min(at(k)*c.vars[k].before.Lo, at(k)*c.vars[k].after.Lo)
		}
		last, sd, m := &c.vars[n], c.root[n][n].Lo, at(n)
		if r <= 0 && !last.linear() {
			return 1
		}
		if sd == 0 {
			if r+min(m*last.before.Lo, m*last.after.Lo) <= 0 {
				return 1
			}
			return 0
		}
		if last.linear() {
			return normalApprox(-(r + m) / sd)
		}
		return normalApprox(-(-r/last.before.Lo-m)/sd) + normalApprox(-(r/last.after.Lo+m)/sd)
	}
	if n > 2 {
		return 0
	}
	return mean(0, nil) * (1 - 1e-2) // trapezoids of what has steps are not exact
}

// TestTailMeanLost: what nodes do not see counts in full.
func TestTailMeanLost(t *testing.T) {
	side := func(sd float64) variation {
		return variation{sd: arith.Exactly(sd), before: arith.Exactly(-1), after: arith.Exactly(1)}
	}
	c := given([]variation{side(1), side(1), side(1)}, arith.Exactly(0), arith.Exactly(1))
	e := newTailMean(c, arith.Exactly(1e6), 1) // nothing ever fails
	want := 2 * e.hats[0].lost
	var light float64
	for _, a := range e.hats[0].mass {
		for _, b := range e.hats[1].mass {
			if a*b < 1e-10 {
				light += 2 * a * b
			}
		}
	}
	if got := e.up(0, 0.1); got < want+light*(1-1e-9) || light == 0 {
		t.Errorf("lost are %v, and light ones of %v: %v", want, light, got)
	}
}

// TestCentreTails: the sum of the centres' tails, to be interpolated: nothing where one of them is
// not surely positive as far as the next node.
func TestCentreTails(t *testing.T) {
	c := given([]variation{{sd: arith.Exactly(1), before: arith.Exactly(-1), after: arith.Exactly(1)}}, arith.Exactly(0), arith.Exactly(1))
	tails := c.centres(arith.Interval{})
	if got, want := tails.sumUp(3, 1), 2*normalApprox(-3); math.Abs(got-want) > 1e-12 || got < want {
		t.Errorf("two centres 3 sd away: %v, want %v", got, want)
	}
	if got := tails.sumUp(1, 2); got != arith.Inf {
		t.Errorf("nodes too far apart: %v", got)
	}
}

// TestGridBoxesAdd: boxes, rows and points that fail with N(2, 1) each are added up.
func TestGridBoxesAdd(t *testing.T) {
	post := shallow(net.Activation{Kind: net.ReLU}, 1, 1, constants(0), constants(0), constants(0), [2][]float64{{2}, {1}})
	row := onePoint([]float64{0}).S.Rows[0]
	task := &property.Task{T: []property.Box{{Lo: []float64{0}, Hi: []float64{1}}, {Lo: []float64{3}, Hi: []float64{4}}}}
	task.S = property.Safe{Rows: []property.Row{row, row}, Any: [][]int{{0, 1}}}
	fail := gridFail(t, post, task, [][][]float64{{{0.25, 0.5}}, {{}}})
	if want := 2 * 6 * normalApprox(-2); math.Abs(fail-want) > 1e-12 {
		t.Errorf("fails %v, want %v", fail, want)
	}
	task.S.Any = [][]int{{0, 1}, {1}} // one row is better than two
	if fail, want := gridFail(t, post, task, [][][]float64{{{0.25, 0.5}}, {{}}}), 6*normalApprox(-2); math.Abs(fail-want) > 1e-12 {
		t.Errorf("fails %v, want %v", fail, want)
	}
}

// TestTailMeanErrors: what coefficients are only known up to counts at its worse end.
func TestTailMeanErrors(t *testing.T) {
	side := func(mean, sd arith.Interval) variation {
		return variation{mean: mean, sd: sd, before: arith.Exactly(-1), after: arith.Exactly(1)}
	}
	for _, off := range []float64{0, 0x1p-31, 0x1p-2} {
		wide := func(x float64) arith.Interval { return arith.Of(x-off, x+off) }
		for _, vars := range [][]variation{
			{side(wide(0.25), arith.Exactly(1))}, {side(arith.Exactly(0), arith.Exactly(0.25)), side(wide(-0.5), arith.Exactly(1))}, {side(wide(1), arith.Exactly(0.25)), side(arith.Exactly(0.1), arith.Exactly(1))},
		} {
			e := newTailMean(given(vars, wide(0), arith.Exactly(1)), arith.Exactly(0.125), 2)
			got := e.up(2, 0)
			for corner := range 2 {
				exactly := append([]variation(nil), vars...)
				for k := range exactly {
					m := &exactly[k].mean
					*m = arith.Exactly([]float64{m.Lo, m.Hi}[corner])
				}
				c := given(exactly, arith.Exactly(0), arith.Exactly(1))
				want := tailMeanApprox(c, 2.125) * (1 + 1e-2) // it gives a hundredth away
				if got < want-1e-6*want-off/100 {
					t.Errorf("off by %v: %v, with the ends %v", off, got, want)
				}
			}
			if off == 0 && e.terms[0].less > 1e-9 {
				t.Errorf("exact numbers are off by %v", e.terms[0].less)
			}
		}
	}
}

// TestTailMeanThree: three variations that depend on each other given t(v), against trapezoids.
func TestTailMeanThree(t *testing.T) {
	side := func(mean, sd, cov, before, after float64) variation {
		return variation{mean: arith.Exactly(mean), sd: arith.Exactly(sd), cov: arith.Exactly(cov), before: arith.Exactly(before), after: arith.Exactly(after)}
	}
	for what, vars := range map[string][]variation{
		"two sides": {side(0.5, 1, 0.5, -0.4, 1), side(-0.3, 0.8, -0.5, -1, 0.6), side(0.2, 1.2, 0.9, -1, 1)},
		"one side":  {side(0.5, 1, 0.5, -0.4, 1), side(-0.3, 0.8, -0.5, -1, 0.6), side(0.2, 1.2, 0.9, 1, 1)},
	} {
		c := given(vars, arith.Exactly(-0.7), arith.Exactly(0.4))
		e := newTailMean(c, arith.Interval{}, 4)
		for _, u := range []float64{0, 1, 2, 4} {
			got, want := e.up(u, 0), tailMeanApprox(c, u)/(1-1e-2)
			if u == 0 {
				want = min(want, 1) // R is negative, and the tails of both sides are more than 1
			}
			if got < want*(1-1e-4) || u > 0 && got > want*1.15+1e-3 {
				t.Errorf("%s: P(%v) = %v, want %v", what, u, got, want)
			}
		}
	}
}

// TestLowByHand: the law of low of one neuron, of which t(v) and the weights depend on each other,
// against many draws.
func TestLowByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	box := property.Box{Lo: []float64{-1, 0.5}, Hi: []float64{1, 2}}
	for _, c := range []struct{ weight, bias [2][]float64 }{
		{[2][]float64{{1, -0.5}, {1, 0.5}}, [2][]float64{{-0.5}, {0.3}}},
		{[2][]float64{{-0.5, 0.3}, {0.5, 1}}, [2][]float64{{0.7}, {0.5}}},
		{[2][]float64{{1.5, 1}, {0.3, 0.2}}, [2][]float64{{-1.5}, {0.2}}},
	} {
		n, err := New(shallow(net.Activation{Kind: net.ReLU}, 2, 1, c.weight, c.bias, constants(1), constants(0)))
		if err != nil {
			t.Fatal(err)
		}
		points, err := gridOf(0, box, [][]float64{{0, 0.5}, {1}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range points {
			g, h := &points[k], n.atPoint(&points[k], 0)
			const draws = 10000
			var drawn []float64
			for range draws {
				w, bias := drawnNeuron(rng, n.hidden)
				drawn = append(drawn, lowOf(w, bias, 0, g))
			}
			slices.Sort(drawn)
			for i := draws / 100; i < draws; i += draws / 50 {
				p := h.lost
				for j, y := range h.low.x {
					if y <= drawn[i] {
						p += h.low.p[j]
					}
				}
				if want := float64(i+1) / draws; p < want-4*math.Sqrt(want*(1-want)/draws) {
					t.Fatalf("at %v low is <= %v with %v, drawn %v", g.at, drawn[i], p, want)
				}
			}
		}
	}
}
