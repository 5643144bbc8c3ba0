package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestLargeOneNeuron: a s(t) + a_0 of one neuron at one point, without the draws in which it is
// large: against an integral over a and t.
func TestLargeOneNeuron(t *testing.T) {
	less := 0
	for seed := range max(30, testscale.Cases(t, 300)) {
		rng := rand.New(rand.NewPCG(uint64(seed), 394))
		act := []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.3}}[seed%2]
		c := anySplit(rng, act, 1)
		c.row.D = 2 * rng.Float64()
		c.large.Above = 0.2 + 3*rng.Float64()
		l := c.post.Layers
		a0, sd0 := c.row.D+l[1].Bias.Mean[0], l[1].Bias.SdHi[0]+0.05
		l[1].Bias.SdLo[0], l[1].Bias.SdHi[0] = sd0, sd0
		u, other := c.n.preactivation(0, c.g.at), c.n.preactivation(0, c.large.At)
		s := c.n.splitOf(&c.large, c.g.at, 0)
		// With less than a 20th of its mass left a neuron is no term of a circle.
		if c.n.largeUp(&c.large, &c.row) > 0.9 || s == nil || s.rough || u.sd.Lo < 0.05 || s.sd.Lo < 0.02 {
			continue
		}
		a, sdA := l[1].Weight.Mean[0], l[1].Weight.SdHi[0]
		if sdA < 0.02 {
			continue
		}
		zero := min(max(-u.mean.Lo/u.sd.Lo, -8.9), 8.9)
		inner := func(w float64) float64 {
			f := func(z float64) float64 {
				h := act.Approx(u.mean.Lo + u.sd.Lo*z)
				p := normalApprox(-(a0 + w*h) / sd0)
				if w < 0 {
					p *= normalApprox((c.large.Above/-w - other.mean.Lo - s.slope.Lo*z) / s.sd.Lo)
				}
				return p * densityApprox(z)
			}
			return integralApprox(-9, zero, 12, f) + integralApprox(zero, 9, 12, f)
		}
		f := func(z float64) float64 { return densityApprox(z) * inner(a+sdA*z) }
		at0 := min(max(-a/sdA, -8.9), 8.9)
		want := integralApprox(-9, at0, 30, f) + integralApprox(at0, 9, 30, f)
		rows := []property.Row{c.row}
		got := c.n.pointFailUp(t.Context(), &c.g, rows, []*Large{&c.large})
		all := c.n.pointFailUp(t.Context(), &c.g, rows, nil)
		if got < want*(1-1e-6) || got > want*1.1+1e-5 && got > all*0.999 {
			t.Errorf("%d: %v fail, bound %v, with all %v; %v +- %v at %v, %v", seed, want, got, all, a, sdA, c.g.at, c.large)
		}
		if got > all*(1+1e-6)+1e-9 { // errors of the circle
			t.Errorf("%d: %v with less, %v with all", seed, got, all)
		}
		if got < 0.9*all {
			less++
		}
		t.Logf("%d: %v fail, bound %v, with all %v", seed, want, got, all)
	}
	if less == 0 {
		t.Error("nothing is split off")
	}
}

// TestLargeDrawn: at points of grids, the draws that fail and have no large neuron are no more than the
// bound says, and not many less; nor are those that have a large one.
func TestLargeDrawn(t *testing.T) {
	less := 0
	for seed := range testscale.Cases(t, 16) {
		rng := rand.New(rand.NewPCG(uint64(seed), 395))
		act := []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.2}}[seed%2]
		hidden := 8 << (seed % 3)
		c := anySplit(rng, act, hidden)
		in := len(c.g.at)
		l := c.post.Layers
		for i := range hidden {
			scale := 1 / math.Sqrt(float64(hidden))
			if i < 2 {
				scale = 0.8
			}
			l[1].Weight.Mean[i] = scale * (rng.Float64() - 0.6)
			sd := scale * rng.Float64()
			l[1].Weight.SdLo[i], l[1].Weight.SdHi[i] = sd, sd
		}
		l[1].Bias.Mean[0] = 0
		box := anyBox(rng, in)
		points, err := gridOf(0, box, anyGrid(rng, box, 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		g := &points[rng.IntN(len(points))]
		for j := range c.large.At {
			c.large.At[j] = g.at[j]
			if seed%4 > 0 {
				c.large.At[j] += 0.2 * rng.NormFloat64()
			}
		}
		slope, _ := act.Kinked()
		const draws = 20000
		m, largest := make([]float64, draws), make([]float64, draws)
		mean, square := 0., 0.
		for d := range draws {
			m[d] = l[1].Bias.SdHi[0] * rng.NormFloat64()
			for i := range hidden {
				w, b := make([]float64, in), l[0].Bias.Mean[i]+l[0].Bias.SdHi[i]*rng.NormFloat64()
				for j, at := range l[0].Dense().Into(i) {
					w[j] = l[0].Weight.Mean[at] + l[0].Weight.SdHi[at]*rng.NormFloat64()
				}
				a := l[1].Weight.Mean[i] + l[1].Weight.SdHi[i]*rng.NormFloat64()
				if a >= 0 {
					m[d] += a * lowOf(w, b, slope, g)
					continue
				}
				m[d] += a * act.Approx(preOf(w, b, g.at))
				largest[d] = max(largest[d], -a*preOf(w, b, c.large.At))
			}
			mean, square = mean+m[d]/draws, square+m[d]*m[d]/draws
		}
		c.row.D = 2*math.Sqrt(square-mean*mean) - mean
		c.row.DHi = c.row.D
		c.large.Above = 0.6 * c.row.D
		failed, large, any := 0., 0., 0.
		for d := range draws {
			switch {
			case largest[d] > c.large.Above:
				large++
			case m[d]+c.row.D <= 0:
				failed++
			}
			if m[d]+c.row.D <= 0 {
				any++
			}
		}
		rows := []property.Row{c.row}
		check := func(what string, count, bound, most float64) {
			p := count / draws
			off := 4*math.Sqrt(max(p, 1./draws)/draws) + 2./draws
			if p > bound+off || bound > most*p+off+1e-4 {
				t.Errorf("%d: %s: %v of draws, bound %v", seed, what, p, bound)
			}
			t.Logf("%d, %d neurons: %s: %v of draws, bound %v", seed, hidden, what, p, bound)
		}
		all := c.n.pointFailUp(t.Context(), g, rows, nil)
		left := c.n.pointFailUp(t.Context(), g, rows, []*Large{&c.large})
		check("large", large, c.n.largeUp(&c.large, &c.row), 1.2)
		check("all that fail", any, all, 1.3)
		check("others that fail", failed, left, 1.3)
		if left < 0.8*all {
			less++
		}
	}
	if less == 0 {
		t.Error("nothing is split off")
	}
}

// TestLargeHolds: no more drawn networks are unsafe somewhere on the boxes than the bound says, with
// anything split off, with other or equal entries for all boxes and rows.
func TestLargeHolds(t *testing.T) {
	said := 0
	for seed := range testscale.Costly(t, 80) {
		rng := rand.New(rand.NewPCG(uint64(seed), 396))
		act := []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.1}}[seed%2]
		in := 1 + rng.IntN(3)
		post := sumtest.AnyShallow(rng, act, in, 1+rng.IntN(5), 1+rng.IntN(2))
		task := &property.Task{}
		var grids [][]GridPoint
		for range 1 + rng.IntN(2) {
			b := anyBox(rng, in)
			points, err := gridOf(0, b, anyGrid(rng, b, 2), nil)
			if err != nil {
				t.Fatal(err)
			}
			task.T, grids = append(task.T, b), append(grids, points)
		}
		task.S = sumtest.AnySafe(rng, post, task.T[0].Lo)
		task.S.Any = task.S.Any[:1]
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		var large [][]*Large
		for range grids {
			var list []*Large
			for range task.S.Any[0] {
				l := &Large{Above: 3 * rng.Float64() * rng.Float64()}
				for range in {
					l.At = append(l.At, rng.NormFloat64())
				}
				if rng.IntN(4) == 0 {
					l = nil
				} else if rng.IntN(3) == 0 {
					copy(l.At, grids[0][rng.IntN(len(grids[0]))].at)
				}
				list = append(list, l)
			}
			large = append(large, list)
		}
		fail, err := n.GridsFailUp(t.Context(), grids, likely(t, post, task.T[0], &task.S), large, anyFail)
		if err != nil {
			t.Fatal(err)
		}
		noMoreUnsafe(t, seed, post, task, fail)
		if fail < 1 {
			said++
		}
	}
	if said == 0 {
		t.Error("no bound says anything")
	}
}
