package sums

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// normalApprox is Prob(Z <= z) in ordinary float64.
func normalApprox(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// onePoint is a task of one row y >= 0 at a point.
func onePoint(x []float64) *property.Task {
	b := property.Box{Lo: x, Hi: x}
	return &property.Task{T: []property.Box{b}, Inner: []property.Box{b}, S: property.Safe{
		Any: [][]int{{0}}, Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}}}
}

// TestSumsQuadrature: with one or two hidden neurons, the probability of failure at a point is
// an integral over their pre-activations, given which the margin is normal. The bound is above
// it, and near.
func TestSumsQuadrature(t *testing.T) {
	for seed := range testscale.Cases(t, 200) {
		rng := rand.New(rand.NewPCG(uint64(seed), 22))
		act := activations[seed%len(activations)]
		hidden := 1 + rng.IntN(2)
		post := sumtest.AnyShallow(rng, act, 2, hidden, 1)
		post.Layers[1].Bias.Mean[0] = 2*rng.Float64() - 0.3
		post.Layers[1].Bias.SdLo[0], post.Layers[1].Bias.SdHi[0] = 0.2, 0.2 // the integrand is smooth
		x := []float64{rng.Float64(), 2*rng.Float64() - 1}
		w, b, u := &post.Layers[0].Weight, &post.Layers[0].Bias, &post.Layers[1].Weight
		const step = 1. / 32
		var integral func(i int, mean, variance float64) float64
		integral = func(i int, mean, variance float64) float64 {
			if i == hidden {
				return normalApprox(-mean / math.Sqrt(variance))
			}
			m := b.Mean[i] + w.Mean[i]*x[0] + w.Mean[hidden+i]*x[1]
			sd := math.Sqrt(b.SdHi[i]*b.SdHi[i] + math.Pow(w.SdHi[i]*x[0], 2) + math.Pow(w.SdHi[hidden+i]*x[1], 2))
			total := 0.0
			for z := -8.0; z <= 8; z += step {
				s := act.Approx(m + sd*z)
				p := integral(i+1, mean+u.Mean[i]*s, variance+math.Pow(u.SdHi[i]*s, 2))
				total += p * math.Exp(-z*z/2) * step / math.Sqrt(2*math.Pi)
			}
			return total
		}
		want := integral(0, post.Layers[1].Bias.Mean[0], 0.04)
		fail, err := failUp(t, post, onePoint(x).T, &onePoint(x).S, anyFail)
		// Where the slope changes the trapezoidal rule errs by step^2.
		if err != nil || fail < want*(1-1e-4)-1e-9 || fail > want*1.15+1e-4 {
			t.Errorf("%d %v %d neurons: fails %v, integral %v, %v", seed, act, hidden, fail, want, err)
		}
		safe, err := safeUp(t, post, &onePoint(x).S, property.Box{Lo: x, Hi: x})
		if err != nil || safe < (1-want)*(1-1e-4)-1e-9 || safe > (1-want)*1.15+1e-4 {
			t.Errorf("%d %v %d neurons: safe %v, integral %v, %v", seed, act, hidden, safe, 1-want, err)
		}
	}
}

// TestSumsConstants: with constant neurons the margin is normal, and the bound is the tail.
func TestSumsConstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 23))
	for i := range 100 {
		act := activations[i%len(activations)]
		post := sumtest.AnyShallow(rng, act, 2, 3, 1)
		for _, g := range []*posterior.Params{&post.Layers[0].Weight, &post.Layers[0].Bias} {
			for j := range g.Mean {
				g.SdLo[j], g.SdHi[j] = 0, 0
			}
		}
		post.Layers[1].Bias.SdLo[0], post.Layers[1].Bias.SdHi[0] = 0.1, 0.1
		x := []float64{rng.Float64(), rng.Float64()}
		mean, variance := post.LogitsApprox(x)[0], 0.01
		for i := range 3 {
			l := &post.Layers[0]
			s := act.Approx(l.Bias.Mean[i] + l.Weight.Mean[i]*x[0] + l.Weight.Mean[3+i]*x[1])
			variance += math.Pow(post.Layers[1].Weight.SdHi[i]*s, 2)
		}
		want := normalApprox(-mean / math.Sqrt(variance))
		fail, err := failUp(t, post, onePoint(x).T, &onePoint(x).S, anyFail)
		if err != nil || math.Abs(fail-want) > 1e-12*want+1e-300 {
			t.Errorf("%v: fails %v, want %v, %v", act, fail, want, err)
		}
	}
}

// inThree cuts a box across its first axis, and the upper half across its last.
func inThree(b property.Box) []property.Box {
	half := func(b property.Box, j int, upper bool) property.Box {
		lo, hi := slices.Clone(b.Lo), slices.Clone(b.Hi)
		at := arith.Middle(lo[j], hi[j])
		if upper {
			lo[j] = at
		} else {
			hi[j] = at
		}
		return property.Box{Lo: lo, Hi: hi}
	}
	upper, last := half(b, 0, true), len(b.Lo)-1
	return []property.Box{half(b, 0, false), half(upper, last, false), half(upper, last, true)}
}

// TestSumsHold: as many drawn networks as can be are within the bounds, over cells and at points.
func TestSumsHold(t *testing.T) {
	said := 0
	for seed := range testscale.Costly(t, 400) {
		rng := rand.New(rand.NewPCG(uint64(seed), 24))
		act := activations[seed%len(activations)]
		in := 1 + rng.IntN(2)
		post := sumtest.AnyShallow(rng, act, in, 1+rng.IntN(5), 1+rng.IntN(2))
		task := &property.Task{T: []property.Box{sumtest.AnyCell(rng, in)}}
		task.Inner = task.T
		task.S = sumtest.AnySafe(rng, post, task.T[0].Lo)
		at := task.Witness(0, task.T[0].Hi)
		fail, err := failUp(t, post, inThree(task.T[0]), &task.S, anyFail)
		if err != nil {
			t.Fatal(err)
		}
		safe, err := safeUp(t, post, &task.S, at)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 4000
		somewhere, here := sumtest.DrawnUnsafe(post, task, at.Lo, draws)
		slack := func(p float64) float64 { return 4*math.Sqrt(p*(1-p)/draws) + 4.0/draws }
		if somewhere > fail+slack(min(fail, 0.5)) {
			t.Errorf("%d %v: %v of networks are unsafe, bound %v", seed, act, somewhere, fail)
		}
		if 1-here > safe+slack(min(safe, 0.5)) {
			t.Errorf("%d %v: %v of networks are safe at a point, bound %v", seed, act, 1-here, safe)
		}
		if fail < 1 || safe < 1 {
			said++
		}
	}
	if said == 0 {
		t.Error("no bound says anything")
	}
}

// TestSumsStandIns: for every draw of a neuron and every point of a cell, a s(t) is at least the
// interpolation from the vertices of what stands in; and the stand-ins' distributions are
// stochastically below and above it, by counting draws.
func TestSumsStandIns(t *testing.T) {
	for seed := range testscale.Cases(t, 100) {
		rng := rand.New(rand.NewPCG(uint64(seed), 25))
		act := activations[seed%len(activations)]
		in := 1 + rng.IntN(3)
		post := sumtest.AnyShallow(rng, act, in, 1, 1)
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		f := n.newFace(sumtest.AnyCell(rng, in))
		slope, _ := act.Kinked()
		l := &post.Layers[0]
		const draws = 4000
		low, high := make([][]float64, len(f.vertices)), make([][]float64, len(f.vertices))
		for range draws {
			bias := l.Bias.Mean[0] + l.Bias.SdHi[0]*rng.NormFloat64()
			weight := make([]float64, in)
			for j := range weight {
				weight[j] = l.Weight.Mean[j] + l.Weight.SdHi[j]*rng.NormFloat64()
			}
			pre := func(x []float64) float64 {
				t := bias
				for j := range x {
					t += weight[j] * x[j]
				}
				return t
			}
			centre := pre(f.centre)
			for k, v := range f.vertices {
				// The least of s over the flat coordinates, and the supporting line there.
				least, most := pre(v), pre(v)
				for j, reach := range f.flat {
					if reach > 0 {
						a, b := weight[j]*(f.cell.Lo[j]-v[j]), weight[j]*(f.cell.Hi[j]-v[j])
						least, most = least+min(a, b), most+max(a, b)
					}
				}
				value := act.Approx(least)
				if len(f.vertices) > 1 {
					if value = least; centre <= 0 {
						value = slope * least
					}
				}
				low[k], high[k] = append(low[k], value), append(high[k], act.Approx(most))
			}
		}
		for k, v := range f.vertices {
			h := n.atVertex(f, v, 0)
			if h.constant {
				h.low, h.high = atoms{x: []float64{h.value.Lo - h.within}, p: []float64{1}}, atoms{x: []float64{h.value.Hi + h.within}, p: []float64{1}}
			}
			// Prob(low <= x) is at least that of the drawn values, and of high at most.
			for _, x := range low[k][:50] {
				p, below := h.lost, 0.0
				for i, y := range h.low.x {
					if y <= x+1e-12 {
						p += h.low.p[i]
					}
				}
				for _, y := range low[k] {
					if y <= x {
						below++
					}
				}
				if below/draws > p+4*math.Sqrt(0.25/draws) {
					t.Fatalf("%d %v: low is <= %v with %v, drawn %v", seed, act, x, p, below/draws)
				}
			}
			for _, x := range high[k][:50] {
				p, above := h.lost, 0.0
				for i, y := range h.high.x {
					if y >= x-1e-12 {
						p += h.high.p[i]
					}
				}
				for _, y := range high[k] {
					if y >= x {
						above++
					}
				}
				if above/draws > p+4*math.Sqrt(0.25/draws) {
					t.Fatalf("%d %v: high is >= %v with %v, drawn %v", seed, act, x, p, above/draws)
				}
			}
		}
	}
}

// TestLatticeExactly: sums of a few discrete terms, whose distribution is enumerated in
// rationals, are not positive with at most the probability that the lattice gives.
func TestLatticeExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 26))
	for range testscale.Costly(t, 500) {
		n := 1 + rng.IntN(5)
		step := []float64{0.25, 0.7, 0.1}[rng.IntN(3)]
		rest := arith.Exactly(4*rng.Float64() - 1)
		values, masses := []*big.Rat{exactly(rest.Lo)}, []*big.Rat{exactly(1)}
		var terms []*lattice
		for range n {
			// a is 1/4 of the time each of four numbers, q each of two, half of the time.
			var a bins
			var q atoms
			numbers := make([]float64, 4)
			for k := range numbers {
				numbers[k] = 2*rng.Float64() - 0.8
			}
			for _, x := range numbers {
				a.add(x, x, 0.25)
			}
			for range 2 {
				q.x, q.p = append(q.x, rng.Float64()*float64(rng.IntN(3))), append(q.p, 0.5)
			}
			l := newLattice(step, -3, 3, nil)
			l.addProducts(a, q)
			l.trim()
			terms = append(terms, l)
			var v, m []*big.Rat
			for k := range values {
				for _, x := range a.lo {
					for _, y := range q.x {
						p := new(big.Rat).Mul(exactly(x), exactly(y))
						v, m = append(v, p.Add(p, values[k])), append(m, new(big.Rat).Mul(masses[k], exactly(0.125)))
					}
				}
			}
			values, masses = v, m
			if len(values) > 40000 {
				break
			}
		}
		want := new(big.Rat)
		for k, v := range values {
			if v.Sign() <= 0 {
				want.Add(want, masses[k])
			}
		}
		got := convolved(terms).notPositiveUp(len(terms), normalVar{rest, arith.Exactly(0)})
		if exactly(got).Cmp(want) < 0 {
			t.Fatalf("%d terms: %v, exactly %v", len(terms), got, want.FloatString(20))
		}
	}
}

// TestNormalTable: the table's bounds enclose the tail, its bins make up the whole, and
// bounds between entries are bounds.
func TestNormalTable(t *testing.T) {
	table := normalTable()
	total := table.lost
	for k, m := range table.mass {
		from, to := table.edges[k], table.edges[k+1]
		want := normalApprox(to) - normalApprox(from)
		if from > 0 {
			want = normalApprox(-from) - normalApprox(-to)
		}
		if !(from < to) || math.Abs(m-want) > 1e-13*(want+1e-3*normalApprox(-math.Abs(from))) {
			t.Errorf("bin from %v to %v has %v, want %v", from, to, m, want)
		}
		total += m
	}
	if total < 1 || total > 1+1e-12 {
		t.Errorf("all bins have %v", total)
	}
	rng := rand.New(rand.NewPCG(5, 27))
	for range 20000 {
		z := rng.NormFloat64() * 4
		lo, hi := gauss.TailOfDown(arith.DDOf(-z)), gauss.TailOfUp(arith.DDOf(-z)) // Prob(Z <= z)
		if z > 30 || z < -30 {
			continue
		}
		if p := table.belowUp(z); p < lo || p > hi*1.001+5e-7+2e-19 {
			t.Fatalf("Prob(Z <= %v) is in [%v, %v], not %v", z, lo, hi, p)
		}
		if p := table.belowDown(z); p > hi || p < lo*0.999-5e-7 {
			t.Fatalf("Prob(Z <= %v) is in [%v, %v], not at least %v", z, lo, hi, p)
		}
		x, y := 16*rng.Float64()-8, 16*rng.Float64()-8
		x, y = min(x, y), max(x, y)
		fromLo, fromHi := gauss.TailOfDown(arith.DDOf(x)), gauss.TailOfUp(arith.DDOf(x))
		toLo, toHi := gauss.TailOfDown(arith.DDOf(y)), gauss.TailOfUp(arith.DDOf(y))
		if p := betweenUp(x, y); p < fromLo-toHi || p > fromHi-toLo+1e-15 {
			t.Fatalf("Prob(%v <= Z <= %v) is about %v, not %v", x, y, fromHi-toLo, p)
		}
	}
	for _, z := range []float64{math.NaN(), arith.Inf, -arith.Inf, 0, 9, -9, math.MaxFloat64, math.Copysign(0, -1)} {
		lo, hi := table.belowDown(z), table.belowUp(z)
		if !(lo >= 0 && lo <= hi && hi <= 1) || math.IsNaN(z) && (lo != 0 || hi != 1) {
			t.Errorf("Prob(Z <= %v) in [%v, %v]", z, lo, hi)
		}
	}
}

// TestSumsForged: what is not a certificate is refused or proves nothing.
func TestSumsForged(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 29))
	post := sumtest.AnyShallow(rng, net.Activation{Kind: net.ReLU}, 2, 4, 1)
	task := onePoint([]float64{0.5, 0.5})
	for what, b := range map[string]property.Box{
		"nothing": {}, "NaN": {Lo: []float64{0, math.NaN()}, Hi: []float64{0, math.NaN()}}, "infinite": {Lo: []float64{0, -arith.Inf}, Hi: []float64{0, 0}},
		"short": {Lo: []float64{0}, Hi: []float64{0}}, "empty": {Lo: []float64{0, 1}, Hi: []float64{0, 0}},
	} {
		if safe, _ := safeUp(t, post, &task.S, b); safe != 1 {
			t.Errorf("%s: p_upper %v", what, safe)
		}
		forged := *task
		forged.T = []property.Box{b}
		if fail, _ := failUp(t, post, forged.T, &forged.S, anyFail); fail != 1 {
			t.Errorf("%s: fails %v", what, fail)
		}
	}
	for _, sizes := range [][]int{{2, 1}, {2, 3, 3, 1}} {
		if fail, err := failUp(t, sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, 0.1, sizes...), task.T, &task.S, anyFail); err == nil || fail < 1 {
			t.Errorf("%v: fails %v, %v", sizes, fail, err)
		}
	}
	none := *task
	none.S.Any = nil
	if fail, err := failUp(t, post, none.T, &none.S, anyFail); fail != 1 || err != nil {
		t.Errorf("no alternative: fails %v, %v", fail, err)
	}
	huge := sumtest.AnyShallow(rng, net.Activation{}, 2, 4, 1)
	for j := range huge.Layers[1].Weight.Mean {
		huge.Layers[1].Weight.Mean[j] = 1e300
	}
	if fail, err := failUp(t, huge, task.T, &task.S, anyFail); !(fail >= 0 && fail <= 1) || err != nil {
		t.Errorf("huge weights: fails %v, %v", fail, err)
	}
}
