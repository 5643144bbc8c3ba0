package grid

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// This file tests bounds by grids: points, the law of low, and the sum, against simulation and
// integrals that owe nothing to the code under test.

// TestGridPoints: points and the middles around them, on numbers that are exact.
func TestGridPoints(t *testing.T) {
	g := Grid{Box: property.Box{Lo: []float64{0, 5}, Hi: []float64{4, 5}}, Cuts: [][]float64{{1, 2}, {}}}
	points := g.points()
	if g.Points() != 4 || len(points) != 4 {
		t.Fatalf("%d points, said %d", len(points), g.Points())
	}
	holds := func(v arith.Interval, x float64) bool { return v.Lo <= x && x <= v.Hi && v.Hi-v.Lo < 1e-15 }
	for k, want := range []struct{ x, beside, before, after float64 }{{0, 0.5, 0, 0}, {1, 0, -0.5, 0.5}, {2, 0, -0.5, 1}, {4, -1, 0, 0}} {
		p := &points[k]
		if p.x[0] != want.x || p.x[1] != 5 || !holds(p.beside[0], want.beside) || !holds(p.before[0], want.before) || !holds(p.after[0], want.after) {
			t.Errorf("point %d is %+v, want %+v", k, p, want)
		}
		if p.beside[1] != (arith.Interval{}) || p.twoSided(1) || p.twoSided(0) != (want.after > 0) {
			t.Errorf("point %d: sides are wrong: %+v", k, p)
		}
	}
	g.CentreAt = []float64{0.25, 1}
	points = g.points()
	for k, want := range []struct{ beside, before, after float64 }{{0.25, 0, 0}, {0, -0.75, 0.25}, {0, -0.75, 0.5}, {-1.5, 0, 0}} {
		if p := &points[k]; !holds(p.beside[0], want.beside) || !holds(p.before[0], want.before) || !holds(p.after[0], want.after) {
			t.Errorf("middles at a quarter: point %d is %+v, want %+v", k, p, want)
		}
	}
	for _, bad := range [][]float64{{0, 0.5}, {1, 0.5}, {0.5, -0.1}, {0.5, 1.1}, {0.5}, {0.5, math.NaN()}, {math.NaN(), 0.5}} {
		if g.CentreAt = bad; g.valid() {
			t.Errorf("middles at %v are taken", bad)
		}
	}
	if g.CentreAt = []float64{0.01, 1}; !g.valid() {
		t.Error("middles are not taken")
	}
	g.CentreAt = nil
	for _, bad := range [][][]float64{{{0}, {}}, {{4}, {}}, {{2, 1}, {}}, {{1, 1}, {}}, {{math.NaN()}, {}}, {{}, {5}}, {{}, {6}}, {{}}} {
		g.Cuts = bad
		if g.valid() {
			t.Errorf("planes %v are taken", bad)
		}
	}
}

// lowSimulated draws low at a point of a grid, from the definition: the least over the cells around
// the point of what each takes.
func lowSimulated(r *rand.Rand, n *sums, p *point, i, draws int) []float64 {
	middles := [][]float64{{}}
	for j, x := range p.x {
		ends := []float64{x + p.beside[j].Lo}
		if p.twoSided(j) {
			ends = []float64{x + p.before[j].Lo, x + p.after[j].Lo}
		}
		var more [][]float64
		for _, m := range middles {
			for _, e := range ends {
				more = append(more, append(m[:len(m):len(m)], e))
			}
		}
		middles = more
	}
	lows := make([]float64, draws)
	for d := range lows {
		b := n.Hidden.Bias.Mean[i] + n.Hidden.Bias.SdHi[i]*r.NormFloat64()
		w := make([]float64, len(p.x))
		for j, at := range n.Hidden.Dense().Into(i) {
			w[j] = n.Hidden.Weight.Mean[at] + n.Hidden.Weight.SdHi[at]*r.NormFloat64()
		}
		value := func(x []float64) float64 {
			sum := b
			for j := range x {
				sum += w[j] * x[j]
			}
			return sum
		}
		u, low := value(p.x), math.Inf(1)
		for _, m := range middles {
			if value(m) > 0 {
				low = min(low, u)
			} else {
				low = min(low, n.Slope*u)
			}
		}
		lows[d] = low
	}
	slices.Sort(lows)
	return lows
}

// randomGrid is a grid in so many dimensions with up to two planes in each.
func randomGrid(r *rand.Rand, in int) Grid {
	g := Grid{Cuts: make([][]float64, in)}
	for j := range in {
		at := r.NormFloat64()
		g.Box.Lo, g.Box.Hi = append(g.Box.Lo, at), append(g.Box.Hi, at)
		for range r.IntN(4) {
			if g.Box.Hi[j] > at {
				g.Cuts[j] = append(g.Cuts[j], g.Box.Hi[j])
			}
			g.Box.Hi[j] += 0.05 + 0.5*r.Float64()
		}
		g.CentreAt = append(g.CentreAt, []float64{0.5, 0.03, 0.97, r.Float64()}[r.IntN(4)])
	}
	return g
}

// TestGridLow: the mean of max(0, x - low) is no less than what is simulated, for all x: low is
// stochastically below the real one but for steps with its mean kept. And it is near it.
func TestGridLow(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 1))
	for trial := range 24 {
		p := sumtest.Net(r, 1+trial%4, 1, 1, sumtest.Activations[trial/4%2])
		if trial%5 == 0 {
			for j := range p.Layers[0].Weight.SdHi {
				if j != trial%len(p.Layers[0].Weight.SdHi) {
					p.Layers[0].Weight.SdLo[j], p.Layers[0].Weight.SdHi[j] = 0, 0
				}
			}
		}
		n := newSum(t, p)
		g := randomGrid(r, 1+trial%4)
		points := g.points()
		v := &points[r.IntN(len(points))]
		coarse := trial%3 == 2
		bins := newSumBins(1./64, 1, 2)
		h := n.atPoint(v, 0, bins, trial%3/2)
		const draws = 20000
		lows := lowSimulated(r, n, v, 0, draws)
		total := h.lost
		for _, m := range h.low.P {
			total += m
		}
		if total < 1-1e-12 {
			t.Errorf("trial %d: the masses sum up to %v", trial, total)
		}
		scale := lows[draws-1] - lows[0]
		for k := range 40 {
			x := lows[0] + (float64(k)+0.5)/40*scale
			want, square := 0.0, 0.0
			for _, y := range lows {
				d := max(0, x-y)
				want, square = want+d/draws, square+d*d/draws
			}
			got := h.lost * scale
			for i, y := range h.low.Lo {
				got += h.low.P[i] * max(0, x-y)
			}
			off := 5*math.Sqrt(square/draws) + 1e-4*scale
			if got < want-off || !coarse && got > want+off+0.01*scale {
				t.Errorf("trial %d, %d inputs, at %v: %v, simulated %v +- %v", trial, len(v.x), x, got, want, off)
			}
		}
	}
}

// TestChanceClosed: one axis, cells on both sides, against the integral over w given u.
func TestChanceClosed(t *testing.T) {
	r := rand.New(rand.NewPCG(72, 1))
	for trial := range 20 {
		p := sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, []float64{r.NormFloat64()}, []float64{0.1 + r.Float64()}, r.NormFloat64(), 0.1+r.Float64(), 1)
		n := newSum(t, p)
		x := r.NormFloat64()
		g := Grid{Box: property.Box{Lo: []float64{x - 0.1 - r.Float64()}, Hi: []float64{x + 0.1 + r.Float64()}}, Cuts: [][]float64{{x}}}
		v := &g.points()[1]
		l := &p.Layers[0]
		mean, sd := l.Weight.Mean[0], l.Weight.SdHi[0]
		variance := sd*sd*x*x + l.Bias.SdHi[0]*l.Bias.SdHi[0]
		for _, mirrored := range []bool{false, true} {
			sign := 1.0
			if mirrored {
				sign = -1
			}
			c := n.chance(v, 0, mirrored)
			for _, u := range []float64{0, 0.1, 0.2, 0.5, 1} {
				if !(u <= c.most) {
					continue
				}
				given := sign*mean + sd*sd*x/variance*(u-sign*(mean*x+l.Bias.Mean[0]))
				rest := sd * l.Bias.SdHi[0] / math.Sqrt(variance)
				want := sumtest.NormalCDF((-u/v.after[0].Lo-given)/rest) + sumtest.NormalCDF(-(-u/v.before[0].Lo-given)/rest)
				if u == 0 {
					want = 1
				}
				if got := c.above(u); !c.unknown && (got < want-1e-12 || got > want+1e-5) {
					t.Errorf("trial %d, u = %v: %v, want %v", trial, u, got, want)
				}
				c.last = -1 // no steps between
				c.p = 1
			}
		}
	}
}

// TestGridBound: what grids give is above the share of drawn networks that fail somewhere in the
// box, and far below 1 where that is small.
func TestGridBound(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 1))
	useful := 0
	for trial := range 6 {
		in := 1 + trial%2
		p := sumtest.Net(r, in, 8, 2, sumtest.Activations[trial/2%2])
		n := newSum(t, p)
		box := property.Box{Lo: make([]float64, in), Hi: make([]float64, in)}
		for j := range in {
			box.Lo[j] = r.NormFloat64()
			box.Hi[j] = box.Lo[j] + 0.4
		}
		middle := p.LogitsApprox(box.Lo)
		row := property.Row{CLo: []float64{1, -1}, D: 4 - middle[0] + middle[1]}
		row.CHi, row.DHi = row.CLo, row.D
		s := sumtest.Single(row)
		cover, err := Bound(context.Background(), n.Net, []property.Box{box}, s, 20)
		if err != nil {
			t.Fatal(err)
		}
		share, sigma := sumtest.FailShare(r, p, box, s, 2000)
		if cover.FailUp < share-4*sigma {
			t.Errorf("trial %d: %+v, but %v of drawn networks fail", trial, cover, share)
		}
		if cover.FailUp < 0.9 {
			useful++
			if again, err := n.gridsUp(context.Background(), []Grid{gridOf(box, &cover)}, []property.Row{row}, cover.Large); err != nil || again != cover.FailUp {
				t.Errorf("trial %d: %v again, %v before", trial, again, cover.FailUp)
			}
		}
		t.Logf("trial %d: %v with %d points, simulated %v", trial, cover.FailUp, cover.Points, share)
	}
	if useful < 3 {
		t.Errorf("only %d of 6 bounds say something", useful)
	}
}

// gridOf is the grid of the only box of a bound; the middles are all in the same part of cells.
func gridOf(box property.Box, c *Cover) Grid {
	g := Grid{Box: box, Cuts: c.Cuts[0]}
	for j, list := range c.Centres[0] {
		g.CentreAt = append(g.CentreAt, 0.5)
		if len(list) > 0 {
			p := g.planes(j)
			g.CentreAt[j] = math.Round(64*(list[0]-p[0])/(p[1]-p[0])) / 64
		}
	}
	return g
}

// TestChanceManyAxes: more axes than bins are for say nothing.
func TestChanceManyAxes(t *testing.T) {
	for in := maxAxes; in < maxAxes+3; in++ {
		mean, sd := make([]float64, in), make([]float64, in)
		p := point{x: make([]float64, in), beside: make([]arith.Interval, in)}
		for j := range in {
			sd[j] = 1
			p.before, p.after = append(p.before, arith.Exactly(-0.01)), append(p.after, arith.Exactly(0.01))
		}
		c := newSum(t, sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, mean, sd, 0, 1, 1)).chance(&p, 0, false)
		if c.unknown != (in > maxAxes) {
			t.Errorf("%d axes: unknown %v", in, c.unknown)
		}
		if q := c.above(2); !(q <= 1) || c.unknown && q != 1 {
			t.Errorf("%d axes: %v", in, q)
		}
	}
}

// TestGridsAdd: points, rows and boxes add up, and a sum that was stopped says nothing.
func TestGridsAdd(t *testing.T) {
	n := newSum(t, sumtest.Linear(network.Activation{Kind: network.ReLU}, 0.1))
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: -0.28, DHi: -0.28}
	at := Grid{Box: property.Box{Lo: []float64{0.1, 0.2}, Hi: []float64{0.1, 0.2}}, Cuts: [][]float64{{}, {}}}
	sum := func(ctx context.Context, grids []Grid, rows ...property.Row) float64 {
		p, _ := n.gridsUp(ctx, grids, rows, nil)
		return p
	}
	ctx := context.Background()
	one := sum(ctx, []Grid{at}, row)
	if !(one > 1e-6 && one < 0.3) {
		t.Fatalf("one point fails with %v", one)
	}
	for k, p := range []float64{sum(ctx, []Grid{at, at}, row), sum(ctx, []Grid{at}, row, row)} {
		if p < 2*one || p > 2.01*one {
			t.Errorf("%d: %v, want twice %v", k, p, one)
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	if p := sum(ended, []Grid{at}, row); p != 1 {
		t.Errorf("nothing was added up, the bound is %v", p)
	}
}

// TestGridConstant: t is 0.5 at the point in every draw, and of either sign at the middles beside
// it, unless their weights are constants as well.
func TestGridConstant(t *testing.T) {
	for _, sd := range []float64{0, 1} {
		n := newSum(t, sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, []float64{0.4}, []float64{sd}, 0.5, 0, 1))
		for _, far := range []float64{-1, -2} {
			p := point{x: []float64{0}, beside: []arith.Interval{arith.Exactly(far)}, before: []arith.Interval{{}}, after: []arith.Interval{{}}}
			h := n.atPoint(&p, 0, newSumBins(1./16, 1./16, 1), 0)
			if low := sd > 0 || far < -1; h.constant == low || low && !(h.low.Lo[0] <= 0) || !low && h.value.Lo > 0.5 {
				t.Errorf("sd %v, middle at %v: %+v", sd, far, h)
			}
		}
	}
}

// TestGridLowShares: t = b, and b + 2 w at the middle beside it. Of the bin that begins at u > 0 at
// most 1 - Q(u/2) stays u, of one that ends at u < 0 at least 1 - Q(-u/2) goes to slope u.
func TestGridLowShares(t *testing.T) {
	n := newSum(t, sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, []float64{0}, []float64{1}, 0, 1, 1))
	p := point{x: []float64{0}, beside: []arith.Interval{arith.Exactly(2)}, before: []arith.Interval{{}}, after: []arith.Interval{{}}}
	u := newNormalBins(1, 1, 0).at(arith.Exactly(0), arith.Exactly(1))
	down, up := n.shares(&p, 0, u)
	seen := 0
	for k := range down {
		switch lo, hi := u[k].Lo, u[k+1].Hi; {
		case lo >= 0:
			seen++
			if want := sumtest.NormalCDF(lo / 2); up[k] > want*(1+1e-9) || up[k] < want*(1-1e-3) || down[k] < (1-want)*(1-1e-9) {
				t.Errorf("of the bin from %v to %v %v stays, want %v", lo, hi, up[k], want)
			}
		case hi <= 0:
			seen++
			if want := sumtest.NormalCDF(-hi / 2); down[k] > want*(1+1e-9) || down[k] < want*(1-1e-3) || up[k] < (1-want)*(1-1e-9) {
				t.Errorf("of the bin from %v to %v %v goes, want %v", lo, hi, down[k], want)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d bins are seen", seen)
	}
}

func newSum(t *testing.T, p *posterior.Posterior) *sums {
	t.Helper()
	n, err := law.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return &sums{n}
}

// TestGridRows: of alternatives that have more clauses than can be mixed, a bound names the rows that it
// is about, which are those of the better one; of one alternative it names none.
func TestGridRows(t *testing.T) {
	n := newSum(t, sumtest.Net(rand.New(rand.NewPCG(73, 2)), 1, 2, 1, sumtest.Activations[0]))
	s := &property.Safe{}
	for d := range 18 {
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 4 + float64(d/9)*2}
		row.DHi = row.D
		s.Rows = append(s.Rows, row)
	}
	better := []int{17, 10, 11, 12, 13, 14, 15, 16, 9}
	for _, any := range [][][]int{{{0, 1, 2, 3, 4, 5, 6, 7, 8}, better}, {better}} {
		s.Any = any
		cover, err := Bound(t.Context(), n.Net, []property.Box{{Lo: []float64{0.1}, Hi: []float64{0.1}}}, s, 4)
		want := slices.Sorted(slices.Values(better))
		if len(any) == 1 {
			want = nil
		}
		if err != nil || cover.Theta != nil || !(cover.FailUp < 1) || !slices.Equal(cover.Rows, want) {
			t.Errorf("%d alternatives: %+v, %v", len(any), cover, err)
		}
	}
}
