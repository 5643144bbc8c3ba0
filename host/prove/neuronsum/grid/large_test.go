package grid

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// wideNet is a network with one output whose weights deviate as much as they are large.
func wideNet(r *rand.Rand, in, hidden int, act network.Activation) *posterior.Posterior {
	some := func(n int, size, sd float64) posterior.Params {
		mean, dev := make([]float64, n), make([]float64, n)
		for k := range mean {
			mean[k], dev[k] = size*r.NormFloat64(), sd*(0.5+r.Float64())
		}
		return posterior.NewParams(mean, dev, posterior.ScaleSD)
	}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(in, hidden, act), Weight: some(in*hidden, 0.7, 0.6), Bias: some(hidden, 0.7, 0.5)},
		{Layer: network.DenseLayer(hidden, 1, network.Activation{}), Weight: some(hidden, 0.3, 0.5), Bias: some(1, 1, 0.6)},
	}}
}

// integral of f times the normal density, by midpoints; kink is where f may have one.
func normalIntegral(mean, sd, kink float64, steps int, f func(x float64) float64) float64 {
	sum := 0.0
	ends := []float64{-8.5, max(-8.5, min(8.5, (kink-mean)/sd)), 8.5}
	for k := range 2 {
		h := (ends[k+1] - ends[k]) / float64(steps)
		for i := range steps {
			z := ends[k] + (float64(i)+0.5)*h
			sum += h * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * f(mean+sd*z)
		}
	}
	return sum
}

// given is the law of t(y) of neuron i given t(x) = u: mean + slope (u - at), deviation sd.
func (n *sums) givenApprox(i int, x, y []float64) (at, spread, mean, slope, sd float64) {
	b := &n.Hidden.Bias
	at, mean = b.Mean[i], b.Mean[i]
	xx, xy, yy := b.SdHi[i]*b.SdHi[i], b.SdHi[i]*b.SdHi[i], b.SdHi[i]*b.SdHi[i]
	for j, k := range n.Hidden.Dense().Into(i) {
		w, v := n.Hidden.Weight.Mean[k], n.Hidden.Weight.SdHi[k]*n.Hidden.Weight.SdHi[k]
		at, mean = at+w*x[j], mean+w*y[j]
		xx, xy, yy = xx+v*x[j]*x[j], xy+v*x[j]*y[j], yy+v*y[j]*y[j]
	}
	return at, math.Sqrt(xx), mean, xy / xx, math.Sqrt(max(0, yy-xy*xy/xx))
}

// TestLargeProbability: the probability that a neuron is split off, against an integral.
func TestLargeProbability(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 2))
	for trial := range 40 {
		n := newSum(t, wideNet(r, 2, 1, sumtest.Activations[trial%2]))
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}}
		bins := boundBins()
		w := n.rowWeights(row, bins)
		g := &LargeNeurons{At: []float64{r.NormFloat64(), r.NormFloat64()}, Above: 2 * r.Float64()}
		got := n.largeUp(g, w, bins[0][0])
		mean, sd := n.Preactivation(0, g.At)
		want := normalIntegral(w.neurons[0].mean.Lo, w.neurons[0].sd.Lo, 0, 4000, func(a float64) float64 {
			if a >= 0 {
				return 0
			}
			return math.Erfc((g.Above/-a-mean.Lo)/sd.Lo/math.Sqrt2) / 2
		})
		if got < want*(1-1e-7) || got > want*(1.03+0.004*math.Abs(math.Log(want)))+2e-12 {
			t.Errorf("trial %d: %v, want %v", trial, got, want)
		}
	}
}

// TestLargeGiven: for every u that may have moved to a value, the mean of t(At) given u is at least
// that of the value, and the deviation is right; of middling values by no more than two bins.
func TestLargeGiven(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 3))
	bins := boundBins()
	for trial := range 60 {
		q := wideNet(r, 2, 1, sumtest.Activations[trial%2])
		n := newSum(t, q)
		p := &point{x: []float64{r.NormFloat64(), r.NormFloat64()}, beside: make([]arith.Interval, 2), before: make([]arith.Interval, 2), after: make([]arith.Interval, 2)}
		if trial%5 == 0 { // 0 is in the last bin
			mean, sd := n.Preactivation(0, p.x)
			q.Layers[0].Bias.Mean[0] -= mean.Lo + 7.49*sd.Lo
			n = newSum(t, q)
		}
		g := &LargeNeurons{At: []float64{r.NormFloat64(), r.NormFloat64()}, Above: 1}
		h := n.atPoint(p, 0, bins, trial%2)
		l := n.large(g, p, 0, &h)
		at, spread, mean, slope, sd := n.givenApprox(0, p.x, g.At)
		if l.SdLo > sd*(1+1e-9) || l.SdHi < sd*(1-1e-9) || l.SdHi-l.SdLo > 1e-6*sd {
			t.Errorf("trial %d: deviation %v to %v, want %v", trial, l.SdLo, l.SdHi, sd)
		}
		values, known := h.high.Hi, 0
		for k, x := range values {
			if math.IsInf(l.Mean[k], -1) {
				continue
			}
			known++
			before, after := max(0, x-math.Sqrt(h.high.Square[k])), x
			if k > 0 {
				before = max(0, values[k-1])
			}
			if k+1 < len(values) {
				after = values[k+1]
			}
			for _, u := range []float64{before, x, after} {
				if want := mean + slope*(u-at); l.Mean[k] > want+1e-9*(1+math.Abs(want)) {
					t.Fatalf("trial %d: given %v, at %v: a mean of at least %v, not %v", trial, u, x, l.Mean[k], want)
				}
			}
			if want := mean + slope*(x-at); l.Mean[k] < want-math.Abs(slope)*spread/16 {
				t.Fatalf("trial %d: given %v: a mean of at least %v, far from %v", trial, x, l.Mean[k], want)
			}
		}
		if at > 0 && known < len(values)/3 {
			t.Errorf("trial %d: only %d of %d values say something", trial, known, len(values))
		}
	}
}

// TestLargePoint: the bound at one point, against integrals over a, t(v) and what is split off.
func TestLargePoint(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 4))
	useful, trials := 0, max(12, testscale.Cases(t, 24))
	for trial := range trials {
		n := newSum(t, wideNet(r, 1, 1, sumtest.Activations[trial%2]))
		x := r.NormFloat64()
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 1.5, DHi: 1.5}
		g := &LargeNeurons{At: []float64{x + 0.5*r.NormFloat64()}, Above: 0.3 + r.Float64()}
		grid := Grid{Box: sumtest.Interval(x, x), Cuts: [][]float64{{}}}
		got, err := n.gridsUp(t.Context(), []Grid{grid}, []property.Row{row}, [][]*LargeNeurons{{g}})
		w := n.rowWeights(row, boundBins())
		off := n.largeUp(g, w, boundBins()[0][0])
		at, spread, mean, slope, sd := n.givenApprox(0, []float64{x}, g.At)
		a := &w.neurons[0]
		kept, all := 0.0, 0.0
		both := func(f float64) float64 {
			return normalIntegral(a.mean.Lo, a.sd.Lo, 0, 300, func(a float64) float64 {
				return normalIntegral(at, spread, 0, 300, func(u float64) float64 {
					p := sumtest.NormalCDF(-(a*max(u, n.Slope*u) + w.mean.Lo) / math.Sqrt(w.variance.Lo))
					if a < 0 && f > 0 {
						p *= sumtest.NormalCDF((f/-a - mean - slope*(u-at)) / sd)
					}
					return p
				})
			})
		}
		kept, all = both(g.Above), both(0)
		if err != nil || got < (kept+off)*(1-1e-5) || got > kept*1.07+off+1e-6 {
			t.Errorf("trial %d: %v, of which %v are split off; %v are kept (%v in all); %v", trial, got, off, kept, all, err)
		}
		if kept < 0.9*all {
			useful++
		}
	}
	if useful < trials/3 {
		t.Errorf("splitting off changed only %d of %d", useful, trials)
	}
}

// TestLargeChosen: where single neurons fail at many points, what is chosen lowers the bound, which
// stays above what fails in drawn networks.
func TestLargeChosen(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 6))
	p := wideNet(r, 1, 24, network.Activation{Kind: network.ReLU})
	p.Layers[1].Bias.Mean[0] = 3
	n := newSum(t, p)
	box := sumtest.Interval(0.5, 1.5)
	grid := Grid{Box: box, Cuts: [][]float64{{0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4}}}
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 5, DHi: 5}
	grids, rows := []Grid{grid}, []property.Row{row}
	large := n.chooseLarge(context.Background(), grids, rows)
	if large == nil || large[0][0] == nil {
		t.Fatal("nothing was chosen")
	}
	with, _ := n.gridsUp(t.Context(), grids, rows, large)
	without, _ := n.gridsUp(t.Context(), grids, rows, nil)
	share, sigma := sumtest.FailShare(r, p, box, sumtest.Single(row), testscale.Cases(t, 20000))
	if with > 0.9*without || with < share-4*sigma {
		t.Errorf("%v with %+v, %v without, %v of drawn networks fail", with, large[0][0], without, share)
	}
	t.Logf("%v with %+v, %v without, %v of drawn networks fail", with, large[0][0], without, share)
	for _, bad := range []*LargeNeurons{{At: []float64{1}}, {At: []float64{1, 1}, Above: 1}, {At: []float64{math.NaN()}, Above: 1}, {At: []float64{1}, Above: math.Inf(1)}, {At: []float64{1}, Above: math.NaN()}} {
		if got, err := n.gridsUp(t.Context(), grids, rows, [][]*LargeNeurons{{bad}}); got != 1 || err != nil {
			t.Errorf("%+v: %v, %v", bad, got, err)
		}
	}
}
