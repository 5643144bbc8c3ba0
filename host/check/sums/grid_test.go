package sums

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// anyGrid cuts a box that has some width.
func anyGrid(rng *rand.Rand, b property.Box, mostPlanes int) [][]float64 {
	grid := make([][]float64, len(b.Lo))
	for j, lo := range b.Lo {
		for range rng.IntN(mostPlanes + 1) {
			if x := lo + (b.Hi[j]-lo)*rng.Float64(); lo < x && x < b.Hi[j] {
				grid[j] = append(grid[j], x)
			}
		}
		slices.Sort(grid[j])
		grid[j] = slices.Compact(grid[j])
	}
	return grid
}

// anyBox has coordinates that are points, and others that are wide, of either sign or with 0 at an
// end.
func anyBox(rng *rand.Rand, in int) (b property.Box) {
	for range in {
		x, r := 2*rng.Float64()-1, math.Exp2(float64(-rng.IntN(5)))
		lo, hi := x-r*rng.Float64(), x+r*rng.Float64()
		switch rng.IntN(6) {
		case 0:
			lo, hi = x, x
		case 1:
			lo, hi = 0, r
		case 2:
			lo, hi = -r, 0
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

// drawnNeuron draws the weights and the bias of neuron 0.
func drawnNeuron(rng *rand.Rand, l *posterior.Layer) (w []float64, bias float64) {
	for _, at := range l.Dense().Into(0) {
		w = append(w, l.Weight.Mean[at]+l.Weight.SdHi[at]*rng.NormFloat64())
	}
	return w, l.Bias.Mean[0] + l.Bias.SdHi[0]*rng.NormFloat64()
}

// preOf is w x + bias.
func preOf(w []float64, bias float64, x []float64) float64 {
	for j := range w {
		bias += w[j] * x[j]
	}
	return bias
}

// lowOf returns what stands in from below at a point of a grid, for one draw: by all centres around it.
func lowOf(w []float64, bias, slope float64, g *GridPoint) float64 {
	u := preOf(w, bias, g.at)
	all, some := true, false
	for corner := range 1 << len(w) {
		t := u
		for j := range w {
			if o := g.before[j]; corner>>j&1 == 0 {
				t += w[j] * o.Lo
			} else {
				t += w[j] * g.after[j].Lo
			}
		}
		all, some = all && t > 0, some || t > 0
	}
	if u > 0 && all || u <= 0 && some {
		return u
	}
	return slope * u
}

// TestGridStandIns: for every draw of a neuron and every point of a grid's cell, s(t) is at least
// the interpolation of low from the cell's vertices; and the distribution of the stand-ins is
// stochastically below that of low, and not by much.
func TestGridStandIns(t *testing.T) {
	for seed := range testscale.Cases(t, 300) {
		rng := rand.New(rand.NewPCG(uint64(seed), 161))
		act := []net.Activation{{Kind: net.ReLU}, {Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.2}}[seed%3]
		slope, _ := act.Kinked()
		in := 1 + rng.IntN(4)
		post := sumtest.AnyShallow(rng, act, in, 1, 1)
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
		const draws = 4000
		values := make([][]float64, len(points))
		chosen := rng.Perm(len(points))[:min(len(points), 4)]
		for d := range draws {
			w, bias := drawnNeuron(rng, &post.Layers[0])
			for _, k := range chosen {
				values[k] = append(values[k], lowOf(w, bias, slope, &points[k]))
			}
			if d < 30 {
				x, at := anyOfCell(rng, box, points)
				got := 0.
				for k, p := range at {
					if p > 0 {
						got += p * lowOf(w, bias, slope, &points[k])
					}
				}
				if s := act.Approx(preOf(w, bias, x)); got > s+1e-12 {
					t.Fatalf("%d: the value is %v at %v, interpolated are %v", seed, s, x, got)
				}
			}
		}
		for _, k := range chosen {
			h := n.atPoint(&points[k], 0)
			if h.constant {
				h.low = atoms{x: []float64{h.value.Lo}, p: []float64{1}}
			}
			slices.Sort(values[k])
			mean, from, square := 0., 0., 0.
			for i, x := range h.low.x {
				mean += x * h.low.p[i]
			}
			for _, x := range values[k] {
				from, square = from+x/draws, square+x*x/draws
			}
			for i := 0; i < draws; i += 97 {
				x := values[k][i]
				p := h.lost
				for j, y := range h.low.x {
					if y <= x+1e-12 {
						p += h.low.p[j]
					}
				}
				if drawn := float64(i+1) / draws; drawn > p+4*math.Sqrt(0.25/draws) {
					t.Fatalf("%d: low is <= %v with %v, drawn %v", seed, x, p, drawn)
				}
			}
			if sd := math.Sqrt(max(0, square-from*from) + 1e-9); mean > from+5*sd/math.Sqrt(draws) {
				t.Errorf("%d: the mean of low is %v, drawn %v", seed, mean, from)
			}
		}
	}
}

// anyOfCell is a point of a box and its weights in the interpolation from a grid.
func anyOfCell(rng *rand.Rand, box property.Box, points []GridPoint) (x, weights []float64) {
	weights = slices.Repeat([]float64{1}, len(points))
	for j, lo := range box.Lo {
		y := lo + (box.Hi[j]-lo)*rng.Float64()
		if rng.IntN(3) == 0 { // on a plane
			y = points[rng.IntN(len(points))].at[j]
		}
		x = append(x, y)
		below, above := math.Inf(-1), math.Inf(1)
		for _, g := range points {
			if g.at[j] <= y {
				below = max(below, g.at[j])
			}
			if g.at[j] >= y {
				above = min(above, g.at[j])
			}
		}
		for k, g := range points {
			switch {
			case below == above && g.at[j] == y:
			case below < above && g.at[j] == below:
				weights[k] *= (above - y) / (above - below)
			case below < above && g.at[j] == above:
				weights[k] *= (y - below) / (above - below)
			default:
				weights[k] = 0
			}
		}
	}
	return x, weights
}

// TestShares: the probability that a centre has the other sign, given t(v), against draws of the
// weights given t(v): never less, and at most a quarter more where the rest of t(v) is random.
func TestShares(t *testing.T) {
	for seed := range testscale.Cases(t, 400) {
		rng := rand.New(rand.NewPCG(uint64(seed), 162))
		in := 1 + rng.IntN(4)
		mean := func() float64 { return 3 * (rng.Float64() - 0.5) * float64(rng.IntN(2)) }
		var weight, bias [2][]float64
		for range in {
			weight[0], weight[1] = append(weight[0], mean()), append(weight[1], []float64{1, 0.3, 1, 0}[rng.IntN(4)])
		}
		bias = [2][]float64{{mean()}, {[]float64{1, 0.5, 0.1, 0}[rng.IntN(4)]}}
		if seed%2 == 0 {
			bias[1][0] = 1
		}
		post := shallow(net.Activation{Kind: net.ReLU}, in, 1, weight, bias, constants(1), constants(0))
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		box := anyBox(rng, in)
		points, err := gridOf(0, box, anyGrid(rng, box, 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		g := &points[rng.IntN(len(points))]
		at := n.preactivation(0, g.at)
		vars, rest := n.around(g, 0)
		l := &post.Layers[0]
		sign := float64(1 - 2*(seed/2%2))
		for k := range vars {
			if sign < 0 {
				vars[k].mean = vars[k].mean.Negated()
			}
		}
		m := at.mean.Lo
		most := max(0, sign*m+6*at.sd.Hi) + 0.1
		tm := at.mean
		if sign < 0 {
			tm = arith.Of(-tm.Hi, -tm.Lo)
		}
		s := newShare(vars, arith.Interval{}, tm, rest, 0, most)
		random := rest.Hi > 0.2
		for _, v := range vars {
			random = random || v.linear() && v.sd.Hi > 0.2
		}
		for range 8 {
			u := most * math.Pow(rng.Float64(), 3)
			const draws = 20000
			count := 0.
			for range draws {
				// Given t(v), a draw is moved along the covariances (Matheron).
				w, b := drawnNeuron(rng, l)
				if at.sd.Hi > 0 {
					off := (sign*u - preOf(w, b, g.at)) / (at.sd.Hi * at.sd.Hi)
					for j := range w {
						w[j] += l.Weight.SdHi[j] * l.Weight.SdHi[j] * g.at[j] * off
					}
					b += l.Bias.SdHi[0] * l.Bias.SdHi[0] * off
				} else {
					b += sign*u - preOf(w, b, g.at)
				}
				all, some := true, false
				for corner := range 1 << in {
					c := sign * u
					for j := range w {
						if o := g.before[j].Lo; corner>>j&1 == 0 {
							c += w[j] * o
						} else {
							c += w[j] * g.after[j].Lo
						}
					}
					all, some = all && c > 0, some || c > 0
				}
				if sign > 0 && !all || sign < 0 && some {
					count++
				}
			}
			got, want := s.up(u, u), count/draws
			slack := 4*math.Sqrt(max(want, 1e-3)*(1-min(want, 0.99))/draws) + 4./draws
			if got < want-slack {
				t.Fatalf("%d: P(%v) = %v, drawn %v", seed, u, got, want)
			}
			if random && got > 1.25*want+0.02+slack {
				t.Errorf("%d: P(%v) = %v, drawn only %v", seed, u, got, want)
			}
		}
	}
}
