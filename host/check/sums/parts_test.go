package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// shallow is a posterior with one hidden layer from means and standard deviations.
func shallow(act net.Activation, in, hidden int, weight, bias, out, last [2][]float64) *posterior.Posterior {
	params := func(v [2][]float64) posterior.Params { return posterior.NewParams(v[0], v[1], posterior.ScaleSD) }
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(in, hidden, act), Weight: params(weight), Bias: params(bias)},
		{Layer: net.DenseLayer(hidden, len(last[0]), net.Activation{}), Weight: params(out), Bias: params(last)},
	}}
}

func constants(x ...float64) [2][]float64 { return [2][]float64{x, make([]float64, len(x))} }

// TestSumsCell: of one neuron with t = w x + b, x in [-1, 1], the margin fails at an end, for
// draws that exclude each other: what is added up over vertices or cells is exact.
func TestSumsCell(t *testing.T) {
	box := property.Box{Lo: []float64{-1}, Hi: []float64{1}}
	tail := normalApprox(-2)
	for _, act := range []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.1}, {Kind: net.Identity}} {
		for what, c := range map[string]struct {
			bias, out, last float64
			want            float64
		}{
			"2 - s(w x)":     {0, -1, 2, 2 * tail}, // |w| >= 2
			"s(w x + 5) - 3": {5, 1, -3, 2 * tail}, // |w| >= 2
		} {
			post := shallow(act, 1, 1, [2][]float64{{0}, {1}}, constants(c.bias), constants(c.out), constants(c.last))
			task := &property.Task{T: []property.Box{box}, S: onePoint([]float64{0}).S}
			halves := []property.Box{{Lo: []float64{-1}, Hi: []float64{0}}, {Lo: []float64{0}, Hi: []float64{1}}}
			for _, cells := range [][]property.Box{task.T, halves} {
				fail, err := failUp(t, post, cells, &task.S, anyFail)
				if err != nil || fail < c.want || fail > c.want*1.05 {
					t.Errorf("%s, %v, cells %v: fails %v, want %v, %v", what, act, cells, fail, c.want, err)
				}
				n, err := New(post)
				if err != nil {
					t.Fatal(err)
				}
				finer := 0.0
				for _, cell := range cells {
					finer += n.cellFailUp(t.Context(), cell, likely(t, post, task.T[0], &task.S), n.fineNotPositiveUp)
				}
				if finer < c.want {
					t.Errorf("%s, %v, cells %v: fails %v by finer sums, want %v", what, act, cells, finer, c.want)
				}
			}
		}
	}
	// A constant neuron that is 1 at one end of the cell and -1 at the other.
	post := shallow(net.Activation{}, 1, 1, constants(1), constants(0), constants(1), [2][]float64{{1.5}, {0.5}})
	task := &property.Task{T: []property.Box{box}, S: onePoint([]float64{0}).S}
	fail, err := failUp(t, post, task.T, &task.S, anyFail)
	if want := normalApprox(-1) + normalApprox(-5); err != nil || math.Abs(fail-want) > 1e-12 {
		t.Errorf("x + N(1.5, 0.25) fails %v, want %v, %v", fail, want, err)
	}
	// Constant neurons of which the sum, |x|, is least between the vertices.
	post = shallow(net.Activation{Kind: net.ReLU}, 1, 2, constants(1, -1), constants(0, 0), constants(1, 1), [2][]float64{{1}, {0.5}})
	fail, err = failUp(t, post, task.T, &task.S, anyFail)
	if want := normalApprox(-2); err != nil || fail < want {
		t.Errorf("|x| + N(1, 0.25) fails %v, want %v, %v", fail, want, err)
	}
}

// TestSumsFiner: where the sums of a cell do not show what is claimed, finer ones are taken, which hold
// for draws of the network as well.
func TestSumsFiner(t *testing.T) {
	better := 0
	for seed := range testscale.Costly(t, 200) {
		rng := rand.New(rand.NewPCG(uint64(seed), 26))
		in := 1 + rng.IntN(2)
		post := sumtest.AnyShallow(rng, activations[seed%len(activations)], in, 5+rng.IntN(4), 1+rng.IntN(2))
		task := &property.Task{T: []property.Box{sumtest.AnyCell(rng, in)}}
		task.Inner = task.T
		task.S = sumtest.AnySafe(rng, post, task.T[0].Lo)
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		plain := n.cellFailUp(t.Context(), task.T[0], likely(t, post, task.T[0], &task.S), n.notPositiveUp)
		finer := n.cellFailUp(t.Context(), task.T[0], likely(t, post, task.T[0], &task.S), n.fineNotPositiveUp)
		const draws = 2000
		somewhere, _ := sumtest.DrawnUnsafe(post, task, task.T[0].Hi, draws)
		if p := min(finer, 0.5); somewhere > finer+4*math.Sqrt(p*(1-p)/draws)+4.0/draws {
			t.Errorf("%d: %v of networks are unsafe, finer bound %v", seed, somewhere, finer)
		}
		if !(finer < plain*0.999 && plain < 1) {
			continue
		}
		better++
		claimed := (finer + plain) / 2
		if fail, err := failUp(t, post, task.T, &task.S, func(fail float64) bool { return fail <= claimed }); err != nil || fail > claimed {
			t.Errorf("%d: claimed %v, by plain sums %v, finer %v; proved %v, %v", seed, claimed, plain, finer, fail, err)
		}
	}
	if better == 0 {
		t.Error("finer sums are nowhere better")
	}
}

// TestSumsAlternatives: what alternatives that exclude each other hold with is added up.
func TestSumsAlternatives(t *testing.T) {
	post := shallow(net.Activation{}, 1, 1, constants(0), constants(0), constants(0), [2][]float64{{0}, {1}})
	task := onePoint([]float64{0})
	task.S = property.Safe{Any: [][]int{{0}, {1}}, Rows: []property.Row{
		{CLo: []float64{1}, CHi: []float64{1}, D: -1, DHi: -1}, {CLo: []float64{-1}, CHi: []float64{-1}, D: -1, DHi: -1}}}
	safe, err := safeUp(t, post, &task.S, task.T[0])
	if want := 2 * normalApprox(-1); err != nil || math.Abs(safe-want) > 1e-12 {
		t.Errorf("|N(0,1)| >= 1 holds with %v, want %v, %v", safe, want, err)
	}
	// One offset is known up to an interval: the least counts, and the greatest if negated.
	task.S = property.Safe{Any: [][]int{{0}}, Rows: []property.Row{{CLo: []float64{0}, CHi: []float64{0}, D: -1, DHi: 1}}}
	fail, err := failUp(t, post, task.T, &task.S, anyFail)
	safe, err2 := safeUp(t, post, &task.S, task.T[0])
	if fail != 1 || safe != 1 || err != nil || err2 != nil {
		t.Errorf("an offset from -1 to 1: fails %v, holds %v", fail, safe)
	}
}

// TestSumsShares: the shares of bins with t(centre) > 0 are those of the formula, computed with
// the covariance, and what is placed is the least of the larger value.
func TestSumsShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for range 20 {
		mean := func() float64 { return rng.NormFloat64() / 4 }
		post := shallow(net.Activation{Kind: net.ReLU}, 2, 1, [2][]float64{{mean(), mean()}, {0.5, 0.7}}, [2][]float64{{mean()}, {0.6}}, constants(1), constants(0))
		l := &post.Layers[0]
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		f := n.newFace(property.Box{Lo: []float64{2, -4}, Hi: []float64{4, -1}})
		v := f.vertices[rng.IntN(len(f.vertices))]
		at, centre := n.preactivation(0, v), n.preactivation(0, f.centre)
		cov, varV, varC := 0.36, 0.36, 0.36
		for j, s := range l.Weight.SdHi {
			cov, varV, varC = cov+s*s*v[j]*f.centre[j], varV+s*s*v[j]*v[j], varC+s*s*f.centre[j]*f.centre[j]
		}
		share := func(z float64) float64 {
			return normalApprox((centre.mean.Lo + z*cov/math.Sqrt(varV)) / math.Sqrt(varC-cov*cov/varV))
		}
		positive, table := n.positive(f, v, 0, at, centre), normalTable()
		placed := map[float64]float64{}
		h := n.atVertex(f, v, 0)
		for k, x := range h.low.x {
			placed[x] = h.low.p[k]
		}
		for k, m := range table.mass {
			from, to := table.edges[k], table.edges[k+1]
			got, lo, hi := positive(from, to), min(share(from), share(to)), max(share(from), share(to))
			if got.Lo > lo+1e-12 || got.Hi < hi-1e-12 || got.Lo < lo-2e-6 || got.Hi > hi+2e-6 {
				t.Fatalf("t(centre) > 0 in %v of the bin from %v to %v, want %v to %v", got, from, to, lo, hi)
			}
			x := at.bin(from, to).Lo
			want := m * got.Lo
			if x < 0 {
				want = m * got.Hi
			}
			if p := placed[x]; x != 0 && math.Abs(p-want) > 1e-12*want+0x1p-66 {
				t.Fatalf("t(v) = %v has %v, want %v", x, p, want)
			}
		}
	}
}

// TestSumsNarrow: a constant neuron is looked at all over a coordinate that hardly moves it.
func TestSumsNarrow(t *testing.T) {
	post := shallow(net.Activation{}, 1, 1, constants(1), constants(0), constants(1), constants(-1-0x1p-46))
	task := &property.Task{T: []property.Box{{Lo: []float64{1}, Hi: []float64{1 + 0x1p-44}}}, S: onePoint([]float64{0}).S}
	if fail, err := failUp(t, post, task.T, &task.S, anyFail); fail != 1 || err != nil {
		t.Errorf("x - 1 - 2^-46 fails %v at 1, %v", fail, err)
	}
}

// TestSumsLost: what lies beyond the bins and beyond the reach of weights counts as failure.
func TestSumsLost(t *testing.T) {
	post := shallow(net.Activation{Kind: net.Tanh}, 2, 1, [2][]float64{{1, 1}, {0.1, 0.1}}, [2][]float64{{0}, {0.1}}, [2][]float64{{1}, {0.1}}, constants(1e6))
	task := &property.Task{T: []property.Box{{Lo: []float64{0, 0}, Hi: []float64{1, 1}}}, S: onePoint([]float64{0}).S}
	fail, err := failUp(t, post, task.T, &task.S, anyFail)
	want := 2*beyondReach[wideReach] + 2*normalTable().lost
	if err != nil || fail < want || fail > want+1e-13 {
		t.Errorf("what never fails fails %v, want %v, %v", fail, want, err)
	}
}

// TestConstantWithin: a neuron near a constant takes off what it may vary by.
func TestConstantWithin(t *testing.T) {
	var s normalSum
	h := standIn{constant: true, value: arith.Exactly(2), within: 0.25}
	lost := s.addConstant(&h, &normalVar{arith.Exactly(-3), arith.Exactly(0.5)})
	a := s.normalVar()
	if want := -6 - 0.25*(3+narrowReach*0.5); a.mean.Lo > want || a.mean.Lo < want-1e-9 || lost < 3.5e-33 || a.sd.Lo > 1 || a.sd.Hi < 1 {
		t.Errorf("N(-3, 0.25) times 2 up to 0.25: %v, lost %v", a, lost)
	}
}

// TestFactor: bins of the weights of a row hold the mass on either side of every number.
func TestFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for range 200 {
		mean, sd := rng.NormFloat64(), math.Exp(rng.NormFloat64())
		post := shallow(net.Activation{}, 1, 1, constants(1), constants(0), [2][]float64{{mean}, {sd}}, constants(0))
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		f := n.factorOf(0, &property.Row{CLo: []float64{2}, CHi: []float64{2}})
		for range 20 {
			x := 2 * (mean + sd*rng.NormFloat64())
			below, above := f.lost, f.lost
			for _, b := range []bins{f.neg, f.pos} {
				for k, p := range b.p {
					if b.lo[k] <= x {
						below += p
					}
					if b.hi[k] >= x {
						above += p
					}
				}
			}
			if p := normalApprox((x/2 - mean) / sd); below < p-1e-14 || above < 1-p-1e-14 || below > p+0.01 || above > 1.01-p {
				t.Fatalf("N(%v, %v) is below %v with %v, %v above, want %v", 2*mean, 2*sd, x, below, above, p)
			}
		}
		for k, hi := range f.neg.hi {
			if hi > 0 || f.neg.lo[k] > hi {
				t.Fatalf("a negative bin from %v to %v", f.neg.lo[k], hi)
			}
		}
		for k, lo := range f.pos.lo {
			if lo < 0 || f.pos.hi[k] < lo {
				t.Fatalf("a positive bin from %v to %v", lo, f.pos.hi[k])
			}
		}
	}
}

// TestAddProducts: a product of a bin and an atom is placed with the mean of its least value.
func TestAddProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	for range 1000 {
		lo, q := 4*rng.NormFloat64(), rng.NormFloat64()
		hi := lo + rng.Float64()
		if rng.IntN(10) == 0 {
			q = 0
		}
		l := newLattice(0.07, -40, 40, nil)
		l.addProducts(bins{[]float64{lo}, []float64{hi}, []float64{0.5}}, atoms{x: []float64{q}, p: []float64{0.5}})
		mean, total := 0.0, l.lost
		for k, p := range l.p {
			mean += p * float64(l.first+k) * l.step
			total += p
		}
		if want := min(lo*q, hi*q) / 4; math.Abs(mean-want) > 1e-9 || mean > want+1e-13 || math.Abs(total-0.25) > 1e-12 {
			t.Fatalf("[%v, %v] times %v has the mean %v and the mass %v, want %v and 0.25", lo, hi, q, mean, total, want)
		}
	}
}

// cumulative returns what a lattice says of the probability of at most its k-th point.
func (l *lattice) cumulative(point int) float64 {
	total := l.lost
	for k, p := range l.p {
		if l.first+k <= point {
			total += p
		}
	}
	return total
}

// TestTrim: trimming, adding up and giving back only raise the probability below any point.
func TestTrim(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	for range 200 {
		l := &lattice{step: 1, first: -rng.IntN(20), lost: 1e-14}
		for range 1 + rng.IntN(30) {
			l.p = append(l.p, math.Exp2(-60*rng.Float64()))
		}
		before := lattice{first: l.first, p: append([]float64(nil), l.p...), lost: l.lost}
		m := &lattice{step: 1, p: []float64{1}, lost: 1e-15}
		sum := l.plus(m)
		l.trim()
		for point := before.first - 1; point <= before.first+len(before.p); point++ {
			want := before.cumulative(point)
			if got := l.cumulative(point); got < want || got > want*1.1+1e-7 {
				t.Fatalf("at most %d with %v, before %v", point, got, want)
			}
			if got := sum.cumulative(point); got < want+1e-15 {
				t.Fatalf("at most %d with %v in the sum, want %v", point, got, want+1e-15)
			}
		}
		if l.cumulative(100) < before.cumulative(100) {
			t.Fatal("mass is gone")
		}
	}
	l := &lattice{p: []float64{0.25}, lost: 0.25}
	l.grow(1 << 20)
	if want := 0.25 * (1 + 0x1p20*arith.Unit); l.p[0] < want || l.lost < want {
		t.Errorf("2^20 roundings of 0.25 are made good by %v and %v, want %v", l.p[0], l.lost, want)
	}
}

// TestHoeffding: terms that are constants between two points have a sum that is not positive
// for sure, though the points that stand for them are often higher.
func TestHoeffding(t *testing.T) {
	for _, n := range []int{1, 2, 5, 16, 17, 60} {
		var terms []*lattice
		for range n {
			l := newLattice(1, -2, 2, nil)
			l.addProducts(bins{[]float64{1}, []float64{1}, []float64{1}}, atoms{x: []float64{0.5}, p: []float64{1}})
			terms = append(terms, l)
		}
		if p := convolved(terms).notPositiveUp(n, normalVar{arith.Exactly(-float64(n) / 2), arith.Exactly(0)}); p < 1 {
			t.Errorf("%d terms: %v, want 1", n, p)
		}
		// The same a standard deviation above 0.
		var again []*lattice
		for range n {
			l := newLattice(1, -2, 2, nil)
			l.addProducts(bins{[]float64{1}, []float64{1}, []float64{1}}, atoms{x: []float64{0.5}, p: []float64{1}})
			again = append(again, l)
		}
		sd := 20 * math.Sqrt(float64(n))
		p := convolved(again).notPositiveUp(n, normalVar{arith.Exactly(sd - float64(n)/2), arith.Exactly(sd)})
		if want := normalApprox(-1); p < want || p > 1.2*want {
			t.Errorf("%d terms and a normal rest: %v, want %v", n, p, want)
		}
	}
}

// TestBelowUp: the worst member of the rest counts.
func TestBelowUp(t *testing.T) {
	l := &lattice{step: 0.5, first: 2, p: []float64{1}}
	for _, x := range []float64{-3, 0, 0.5, 1, 1.5, 2, 5} {
		rest := normalVar{arith.Of(0.1, 0.3), arith.Of(0.5, 1)}
		got, want := l.belowUp(x, rest), 0.0
		for _, mean := range []float64{0.1, 0.3} {
			for _, sd := range []float64{0.5, 1} {
				want = max(want, normalApprox((x-1-mean)/sd))
			}
		}
		if got < want-1e-15 || got > want+1e-6 {
			t.Errorf("1 + rest is below %v with %v, want %v", x, got, want)
		}
	}
}
