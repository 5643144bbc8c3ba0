package sums

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// nodes10 and weights10 are Gauss and Legendre's of ten points, for x > 0.
var (
	nodes10   = []float64{0.14887433898163122, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717}
	weights10 = []float64{0.29552422471475287, 0.26926671930999635, 0.21908636251598204, 0.1494513491505806, 0.06667134430868814}
)

// integralApprox is that of f from a to b, in so many pieces.
func integralApprox(a, b float64, pieces int, f func(x float64) float64) float64 {
	total, half := 0., (b-a)/float64(2*pieces)
	for k := range pieces {
		m := a + half*float64(2*k+1)
		for i, x := range nodes10 {
			total += weights10[i] * half * (f(m-half*x) + f(m+half*x))
		}
	}
	return total
}

func densityApprox(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// TestLargeTerm: the probability that a neuron is large, against its integral, where either factor
// may be a constant.
func TestLargeTerm(t *testing.T) {
	for seed := range testscale.Cases(t, 400) {
		rng := rand.New(rand.NewPCG(uint64(seed), 391))
		a := normalVar{arith.Exactly(3 * (rng.Float64() - 0.6)), arith.Exactly(math.Exp2(float64(-rng.IntN(6))))}
		u := normalVar{arith.Exactly(3 * (rng.Float64() - 0.3)), arith.Exactly(math.Exp2(float64(-rng.IntN(6))))}
		tau := 4 * rng.Float64() * rng.Float64()
		switch rng.IntN(6) {
		case 0:
			a.sd = arith.Interval{}
		case 1:
			u.sd = arith.Interval{}
		}
		mean, sd := a.mean.Lo, a.sd.Lo
		given := func(a float64) float64 {
			if a >= 0 {
				return 0
			}
			if over := u.mean.Lo + tau/a; u.sd.Lo > 0 {
				return normalApprox(over / u.sd.Lo)
			} else if over > 0 {
				return 1
			}
			return 0
		}
		want := given(mean)
		if sd > 0 {
			want = 0
			// Pieces end where given is 0 or changes most.
			cuts := []float64{-9, 9}
			for _, at := range []float64{0, -tau / u.mean.Lo, -tau / (u.mean.Lo + 7*u.sd.Lo), -tau / max(u.mean.Lo-7*u.sd.Lo, 1e-9)} {
				if z := (at - mean) / sd; at <= 0 && math.Abs(z) < 9 {
					cuts = append(cuts, z)
				}
			}
			slices.Sort(cuts)
			for k := range len(cuts) - 1 {
				want += integralApprox(cuts[k], cuts[k+1], 200, func(z float64) float64 { return densityApprox(z) * given(mean+sd*z) })
			}
		}
		got := largeTermUp(a, u, tau)
		if got < want*(1-1e-10) || got > want*1.02+1e-12 {
			t.Errorf("%d: a %v, t %v, tau %v: %v, is %v", seed, a, u, tau, got, want)
		}
		if wide := largeTermUp(normalVar{arith.Of(mean, mean+0.1), a.sd}, u, tau); wide < got {
			t.Errorf("%d: a weight that is hardly known: %v, known it is %v", seed, wide, got)
		}
	}
	if got := largeTermUp(normalVar{arith.Exactly(-1), arith.Exactly(0)}, normalVar{arith.Exactly(1), arith.Exactly(0)}, 1); got != 1 {
		t.Errorf("constants that may be too large: %v", got)
	}
	if got := largeTermUp(normalVar{arith.Exactly(math.NaN()), arith.Exactly(0)}, normalVar{arith.Exactly(1), arith.Exactly(0)}, 1); got != 1 {
		t.Errorf("NaN: %v", got)
	}
}

// TestShareTable: values that are within d of some number have the mean of Phi that the table says
// or less, and not much less.
func TestShareTable(t *testing.T) {
	table := theShareTable()
	for seed := range testscale.Cases(t, 100000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 392))
		mean := 16*rng.Float64() - 9.5
		d := math.Exp2(-10 * rng.Float64())
		if seed%3 == 0 {
			d = 0
		}
		p := rng.Float64()
		r := d * rng.Float64()
		from, to := mean-r*min(1, (1-p)/p), mean+r*min(1, p/(1-p)) // the mean is p from + (1-p) to
		want := p*normalApprox(from) + (1-p)*normalApprox(to)
		got := table.up(mean, d)
		if got < want*(1-1e-12) {
			t.Fatalf("%v within %v: %v, is %v", mean, d, got, want)
		}
		if most := normalApprox(mean); mean > -4 && d < 0.01 && got > most*1.003+1e-6 || mean > -4 && d < 0.2 && got > most*1.4+0.01 {
			t.Fatalf("%v within %v: %v, should be near %v", mean, d, got, most)
		}
	}
	if table.up(math.NaN(), 0) != 1 || table.up(0, math.NaN()) != 1 || table.up(5, 0) != 1 || table.up(math.Nextafter(5, 0), 0) > 1 || table.up(-arith.Inf, 0) > 1e-18 {
		t.Error("the ends of the table")
	}
}

// TestWays: the mean of what goes to an edge, against integrals.
func TestWays(t *testing.T) {
	for _, b := range []*weightBins{theWeightBins(), theValueBins()} {
		for e := range b.z {
			mass, way := 0., 0.
			for _, other := range []int{e - 1, e + 1} {
				if other < 0 || other >= len(b.z) {
					continue
				}
				w := b.z[other] - b.z[e]
				part := func(f func(l float64) float64) float64 {
					return math.Abs(w) * integralApprox(0, 1, 1, func(l float64) float64 { return l * densityApprox(b.z[other]-l*w) * f(l) })
				}
				mass += part(func(float64) float64 { return 1 })
				way += part(func(l float64) float64 { return (1 - l) * w })
			}
			mean, want := b.mean(e), b.z[e]+way/mass
			if !(mean.Lo <= want+1e-14 && mean.Hi >= want-1e-14 && mean.Hi-mean.Lo < 0.0015) {
				t.Fatalf("what goes to %v has a mean in %v, is %v", b.z[e], mean, want)
			}
		}
	}
}

// splitCase is a neuron, a point of a grid and what is split off.
type splitCase struct {
	n     *Network
	post  *posterior.Posterior
	g     GridPoint
	large Large
	row   property.Row
}

func anySplit(rng *rand.Rand, act net.Activation, hidden int) splitCase {
	in := 1 + rng.IntN(3)
	draw := func(n int, scale, sd float64) (v [2][]float64) {
		for range n {
			v[0], v[1] = append(v[0], scale*rng.NormFloat64()), append(v[1], sd*rng.Float64())
		}
		return v
	}
	c := splitCase{row: property.Row{CLo: []float64{1}, CHi: []float64{1}}}
	c.post = shallow(act, in, hidden, draw(in*hidden, 1, 0.7), draw(hidden, 1, 0.7), draw(hidden, 1, 0.7), draw(1, 1, 0.5))
	for i := range hidden {
		c.post.Layers[0].Bias.Mean[i] = math.Abs(c.post.Layers[0].Bias.Mean[i])
		c.post.Layers[1].Weight.Mean[i] -= 1
	}
	var err error
	if c.n, err = New(c.post); err != nil {
		panic(err)
	}
	size := math.Exp2(float64(1 - rng.IntN(12)))
	for range in {
		x := rng.Float64()*2 - 1
		c.g.at = append(c.g.at, x)
		c.g.before, c.g.after = append(c.g.before, arith.Interval{}), append(c.g.after, arith.Interval{})
		c.large.At = append(c.large.At, x+size*(rng.Float64()*2-1))
	}
	if rng.IntN(6) == 0 {
		copy(c.large.At, c.g.at)
	}
	if rng.IntN(6) == 0 { // the correlation is negative
		for j, x := range c.g.at {
			c.large.At[j] = -3 * x
		}
	}
	c.large.Above = 4 * rng.Float64() * rng.Float64()
	return c
}

// TestSharesOfPairs: what is left of a pair of a weight and a value that have moved, against the
// integral over what has moved to them, and where little moves far it is hardly more.
func TestSharesOfPairs(t *testing.T) {
	looked, below, near := 0, 0, 0
	for seed := range testscale.Cases(t, 400) {
		rng := rand.New(rand.NewPCG(uint64(seed), 393))
		c := anySplit(rng, net.Activation{Kind: net.ReLU}, 1)
		if rng.IntN(5) == 0 {
			c.post.Layers[1].Weight.SdLo[0], c.post.Layers[1].Weight.SdHi[0] = 0, 0
		}
		h := c.n.without(&c.large, &c.g, []standIn{c.n.atPoint(&c.g, 0)})[0]
		f := c.n.factorOf(0, &c.row)
		k := knotsOf(&f)
		if h.split == nil || len(k.neg.p) == 0 {
			continue
		}
		s := newShares(h.split, f.a, &k.neg, &h)
		// t(x) given t(v), without any care for cancellation.
		l := &c.post.Layers[0]
		variance, cov, other := l.Bias.SdHi[0]*l.Bias.SdHi[0], l.Bias.SdHi[0]*l.Bias.SdHi[0], l.Bias.SdHi[0]*l.Bias.SdHi[0]
		for j, at := range l.Dense().Into(0) {
			v := l.Weight.SdHi[at] * l.Weight.SdHi[at]
			variance += v * c.g.at[j] * c.g.at[j]
			cov += v * c.g.at[j] * c.large.At[j]
			other += v * c.large.At[j] * c.large.At[j]
		}
		sdU := math.Sqrt(variance)
		mean, sd := preOf(l.Weight.Mean, l.Bias.Mean[0], c.large.At), math.Sqrt(max(0, other-cov*cov/variance))
		given := func(a, z float64) float64 {
			y := c.large.Above/-a - mean - cov/sdU*z
			if sd < 1e-6*sdU { // a step, or what roundings make of one
				if math.Abs(y) < 1e-5*(1+math.Abs(mean)+c.large.Above/-a) {
					return 0.5
				}
				return math.Max(0, math.Copysign(1, y))
			}
			return normalApprox(y / sd)
		}
		bw, bv := theWeightBins(), theValueBins()
		// moved is the mean of f over what has moved to edge e.
		moved := func(b *weightBins, e int, f func(z float64) float64) float64 {
			mass, total := 0., 0.
			for _, other := range []int{e - 1, e + 1} {
				if other < 0 || other >= len(b.z) {
					continue
				}
				w := b.z[other] - b.z[e]
				for i, x := range nodes10 {
					for _, l := range []float64{(1 - x) / 2, (1 + x) / 2} {
						z := b.z[other] - l*w
						p := math.Abs(w) * weights10[i] * l * densityApprox(z)
						mass, total = mass+p, total+p*f(z)
					}
				}
			}
			return total / mass
		}
		ones := slices.Repeat([]float64{1}, len(k.neg.p))
		for range 200 {
			i, j := rng.IntN(len(k.neg.p)), rng.IntN(len(h.high.x))
			some := s.until(j, i, i+1)
			share := 1.
			if some > i {
				share = s.times(j, i, i+1, ones)[0]
			}
			if h.edge[j] < 0 {
				if share != 1 {
					t.Fatalf("%d: %v is left where t(v) may be anything", seed, share)
				}
				continue
			}
			overU := func(a float64) float64 {
				return moved(bv, h.edge[j], func(z float64) float64 { return given(a, z) })
			}
			want := 0.
			if e := k.neg.edge[i]; e >= 0 {
				want = moved(bw, e, func(z float64) float64 { return overU(min(f.a.mean.Lo+f.a.sd.Lo*z, -1e-300)) })
			} else {
				want = overU(min(-1e-300, k.neg.hi[i]))
			}
			looked++
			if share < want*(1-1e-9)-1e-17 {
				t.Fatalf("%d: %v is left of a = %v, h = %v; it is %v (sd %v of %v)", seed, share, k.neg.lo[i], h.high.x[j], want, sd, sdU)
			}
			d := s.weights.off[i] + s.values.off[j]
			if want < 0.999 && want > 1e-4 {
				below++
				if d < 0.1 {
					near++
					if share > want*(1.004+8*d*d)+1e-6 && (want > 0.02 || share > want*(1.02+20*d*d)) {
						t.Errorf("%d: %v is left of a = %v, h = %v; it is only %v (sd %v of %v, %v)", seed, share, k.neg.lo[i], h.high.x[j], want, sd, sdU, d)
					}
				}
			}
		}
	}
	t.Logf("%d pairs, %d with a share, %d of small bins", looked, below, near)
	if near*20 < looked {
		t.Error("hardly any pair has a share")
	}
}

// TestRoughShares: where t(x) is t(v), a pair has nothing left or all of it.
func TestRoughShares(t *testing.T) {
	c := &shares{rough: true, weights: moved{at: []float64{1, 2.5, 6}, off: []float64{0.25, 0.25, 0.25}}, values: moved{at: []float64{3}, off: []float64{0.25}}}
	got := c.times(0, 0, 3, []float64{1, 1, 1})
	for k, want := range []float64{normalApprox(-1.5), 1, 1} {
		if got[k] < want*(1-1e-12) || got[k] > want*1.01 {
			t.Errorf("%v is left, want %v", got[k], want)
		}
	}
	rng := rand.New(rand.NewPCG(393, 1))
	for range 20 {
		s := anySplit(rng, net.Activation{Kind: net.ReLU}, 1)
		u := s.n.preactivation(0, s.g.at)
		s.large.At = s.g.at
		if at := s.n.splitOf(&s.large, s.g.at, 0); u.sd.Lo > 0.01 && (at == nil || !at.rough || at.sd.Hi > 1e-4) {
			t.Errorf("%+v of t(v) itself", at)
		}
		s.large.At = append([]float64{s.g.at[0] + 0.1}, s.g.at[1:]...)
		if at := s.n.splitOf(&s.large, s.g.at, 0); u.sd.Lo > 0.01 && (at == nil || at.rough) {
			t.Errorf("%+v near t(v)", at)
		}
	}
}

// TestLargeFits: what does not fit is refused in a line that says where.
func TestLargeFits(t *testing.T) {
	good := &Large{[]float64{0, 1}, 0.5}
	at := func(x ...float64) *Large { return &Large{x, 0.5} }
	above := func(tau float64) *Large { return &Large{[]float64{0, 1}, tau} }
	if err := LargeFits([][]*Large{{good, nil, nil}, {nil, nil, good}}, 2, 3, 2); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		large [][]*Large
		words string
	}{
		{[][]*Large{}, "there are 0 lists, T has 2 boxes"},
		{[][]*Large{{good}}, "there are 1 lists"},
		{[][]*Large{{good}, {good}, {good}}, "there are 3 lists"},
		{[][]*Large{{good}, nil}, "box 1 has 0 entries, there are 1 mixtures"},
		{[][]*Large{{good, nil}, {good}}, "box 0 has 2 entries"},
		{[][]*Large{{good}, {at(1)}}, "entry 0 of box 1 has 1 coordinates, the network has 2 inputs"},
		{[][]*Large{{at(1, 2, 3)}, {good}}, "entry 0 of box 0 has 3 coordinates"},
		{[][]*Large{{at()}, {good}}, "has 0 coordinates"},
		{[][]*Large{{at(0, arith.Inf)}, {good}}, "entry 0 of box 0 is at +Inf in axis 1"},
		{[][]*Large{{at(math.NaN(), 0)}, {good}}, "at NaN in axis 0"},
		{[][]*Large{{good}, {above(0)}}, "entry 0 of box 1 is above 0, which is no number > 0"},
		{[][]*Large{{above(-1)}, {nil}}, "above -1"},
		{[][]*Large{{above(arith.Inf)}, {nil}}, "above +Inf"},
		{[][]*Large{{above(math.NaN())}, {nil}}, "above NaN"},
	} {
		if err := LargeFits(c.large, 2, 1, 2); err == nil || !strings.Contains(err.Error(), c.words) || !strings.HasPrefix(err.Error(), "proof: large: ") {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
}
