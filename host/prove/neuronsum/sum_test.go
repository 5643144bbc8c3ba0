package neuronsum

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// This file compares the bounds by sums of neurons with simulation and with
// one-dimensional integrals that owe nothing to the code under test.

// rowFailUp is the bound for one row.
func (n *Sum) rowFailUp(cell property.Box, row property.Row) float64 {
	return n.failUp(n.view(cell), row)
}

func newSum(t *testing.T, p *posterior.Posterior) *Sum {
	t.Helper()
	n, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEveryActivation: the other tests run over all that there are.
func TestEveryActivation(t *testing.T) {
	if len(sumtest.Activations) != network.Kinds {
		t.Errorf("%d activations are tested, there are %d", len(sumtest.Activations), network.Kinds)
	}
}

// TestSumMonteCarlo: no bound is below what simulation finds, and none is far
// above it at points and in small cells.
func TestSumMonteCarlo(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	r := rand.New(rand.NewPCG(51, 1))
	const draws = 4000
	for trial := range max(3*len(sumtest.Activations), testscale.Cases(t, 40)) { // every activation with 1 to 3 inputs
		act := sumtest.Activations[trial%len(sumtest.Activations)]
		in := 1 + trial/len(sumtest.Activations)%3
		p := sumtest.Net(r, in, 1+r.IntN(5), 2, act)
		n := newSum(t, p).withQuality(quality{factors: 256, nodes: 256, rests: 24, step: 1. / 16, work: 1e8})
		var cell property.Box
		half := []float64{0, 0.05, 0.4}[trial%3]
		for range in {
			x := r.NormFloat64()
			cell.Lo, cell.Hi = append(cell.Lo, x-half), append(cell.Hi, x+half)
		}
		c := []float64{r.NormFloat64(), r.NormFloat64()}
		row := property.Row{CLo: c, CHi: c, D: 3 * r.NormFloat64()}
		row.DHi = row.D
		got := n.rowFailUp(cell, row)
		share, sigma := sumtest.FailShare(r, p, cell, sumtest.Single(row), draws)
		if got < share-6*sigma {
			t.Errorf("trial %d, %v, half-width %v: bound %v, simulated %v +- %v", trial, act, half, got, share, sigma)
		}
		if half == 0 && got > 1.3*share+6*sigma+0.02 {
			t.Errorf("trial %d, %v at a point: bound %v is loose, simulated %v", trial, act, got, share)
		}
		safe, _ := n.SafeUp(property.Box{Lo: cell.Lo, Hi: cell.Lo}, sumtest.Single(row))
		failLo, failSigma := sumtest.FailShare(r, p, property.Box{Lo: cell.Lo, Hi: cell.Lo}, sumtest.Single(row), draws)
		if safe < 1-failLo-6*failSigma || safe > 1.3*(1-failLo)+6*failSigma+0.02 {
			t.Errorf("trial %d, %v: safe at a point <= %v, simulated %v", trial, act, safe, 1-failLo)
		}
	}
}

// TestSumQuadrature: one ReLU neuron, f = a relu(t) + 1/2: Prob(f <= 0) is
// an integral over t.
func TestSumQuadrature(t *testing.T) {
	for _, c := range []struct{ ma, sa, mt, st float64 }{{0.5, 0.5, 0.3, 1}, {-0.4, 0.3, 1, 0.5}, {1, 0.2, -1, 1}, {-2, 0.1, 0, 0.1}} {
		p := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: posterior.NewParams([]float64{c.mt}, []float64{c.st}, posterior.ScaleSD), Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)},
			{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: posterior.NewParams([]float64{c.ma}, []float64{c.sa}, posterior.ScaleSD), Bias: posterior.NewParams([]float64{0.5}, []float64{0}, posterior.ScaleSD)},
		}}
		truth, step := 0.0, c.st/4000
		for x := step / 2; x < c.mt+9*c.st; x += step {
			truth += step * math.Exp(-(x-c.mt)*(x-c.mt)/2/c.st/c.st) / math.Sqrt(2*math.Pi) / c.st * sumtest.NormalCDF((-0.5/x-c.ma)/c.sa)
		}
		n := newSum(t, p)
		got := n.rowFailUp(property.Box{Lo: []float64{1}, Hi: []float64{1}}, property.Row{CLo: []float64{1}, CHi: []float64{1}})
		t.Logf("%+v: %v, integral %v", c, got, truth)
		if got < truth*(1-1e-9) || got > 1.25*truth+1e-10 {
			t.Errorf("%+v: %v, integral %v", c, got, truth)
		}
	}
}

// TestSumConstant: without spread the answer is 0 or 1, at points and where
// the line under the activation is exact.
func TestSumConstant(t *testing.T) {
	g := func(v ...float64) posterior.Params {
		return posterior.NewParams(v, make([]float64, len(v)), posterior.ScaleSD)
	}
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(1, 2, network.Activation{Kind: network.ReLU}), Weight: g(1, -1), Bias: g(0, 0)},
		{Layer: network.DenseLayer(2, 1, network.Activation{}), Weight: g(2, -1), Bias: g(0.5)}, // 2 relu(x) - relu(-x) + 1/2
	}}
	n, one := newSum(t, p), []float64{1}
	for _, c := range []struct{ lo, hi, d, want float64 }{
		{1, 1, 0, 0}, {1, 1, -2.25, 0}, {1, 1, -2.75, 1}, {-1, -1, 0, 1}, {-0.25, -0.25, 0, 0},
		{1, 2, -2.25, 0}, {1, 2, -2.75, 1}, {-0.25, -0.125, 0, 0}, {-1, 1, 0, 1},
	} {
		if got := n.rowFailUp(property.Box{Lo: []float64{c.lo}, Hi: []float64{c.hi}}, property.Row{CLo: one, CHi: one, D: c.d, DHi: c.d}); math.Abs(got-c.want) > 1e-300 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSumFailsClosed: what cannot be bounded is 1.
func TestSumFailsClosed(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 1))
	nan, inf, one := math.NaN(), math.Inf(1), []float64{1}
	huge := []float64{1e155, 1e300, math.MaxFloat64}
	for k, act := range sumtest.Activations {
		p := sumtest.Net(r, 1, 3, 1, act)
		n := newSum(t, p).withQuality(coarse) // at huge numbers lattices have as many points as there may be
		row := property.Row{CLo: one, CHi: one, D: 1000, DHi: 1000}
		at := func(lo, hi float64) property.Box { return property.Box{Lo: []float64{lo}, Hi: []float64{hi}} }
		if got := n.rowFailUp(at(0, 0.5), row); got > 1e-6 {
			t.Errorf("%v: a row that cannot fail fails with %v", act, got)
		}
		for _, box := range []property.Box{at(nan, 1), at(0, nan), at(0, inf), at(-inf, 0), at(1, 0), {Lo: []float64{0, 0}, Hi: []float64{0, 0}}, {}} {
			if got := n.rowFailUp(box, row); got != 1 {
				t.Errorf("%v cell %v: %v", act, box, got)
			}
		}
		for _, row := range []property.Row{{CLo: []float64{nan}, CHi: one}, {CLo: one, CHi: []float64{inf}}, {CLo: one, CHi: one, D: nan}, {CLo: one, CHi: one, D: -inf}, {}} {
			if got := n.rowFailUp(at(0, 0), row); got != 1 {
				t.Errorf("%v row %v: %v", act, row, got)
			}
		}
		sizes := huge
		if !testscale.Deep(t) { // one for each activation
			sizes = huge[k%3 : k%3+1]
		}
		for _, x := range sizes {
			for _, lo := range []float64{x, -x} {
				if got := n.rowFailUp(at(lo, x), property.Row{CLo: one, CHi: one, D: -10, DHi: -10}); got < 0.5 || got > 1 {
					t.Errorf("%v at %v: %v", act, x, got)
				}
			}
		}
	}
	deep := sumtest.Net(r, 1, 2, 2, sumtest.Activations[0])
	deep.Layers = append(deep.Layers[:1:1], append([]posterior.Layer{{Layer: network.DenseLayer(2, 2, network.Activation{}), Weight: deep.Layers[1].Weight, Bias: deep.Layers[1].Bias}}, deep.Layers[1:]...)...)
	if _, err := New(deep); err == nil {
		t.Error("two hidden layers are accepted")
	}
	for _, kind := range []string{"samples", "swag", "dropout"} {
		p, err := format.Read("../../../testdata/"+kind+"-2-8-3.npz", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(p); err == nil {
			t.Errorf("%s: weights that are not independent are accepted", kind)
		}
	}
}

// TestSumWorstSD: where the standard deviation is only known between bounds, the
// bound holds for all of them; likewise for the coefficients of the row.
func TestSumWorstSD(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 1))
	cell := property.Box{Lo: []float64{0.5}, Hi: []float64{0.75}}
	for trial := range 8 / testscale.By(t, 2) {
		p := sumtest.Net(r, 1, 2, 1, sumtest.Activations[0])
		row := property.Row{CLo: []float64{0.75}, CHi: []float64{1.25}, D: r.NormFloat64()}
		row.DHi = row.D
		wide := sumtest.Net(r, 1, 2, 1, sumtest.Activations[0])
		for k := range wide.Layers {
			for _, g := range [][2]*posterior.Params{{&wide.Layers[k].Weight, &p.Layers[k].Weight}, {&wide.Layers[k].Bias, &p.Layers[k].Bias}} {
				*g[0] = *g[1]
				g[0].SdLo, g[0].SdHi = nil, nil
				for _, sd := range g[1].SdLo {
					g[0].SdLo, g[0].SdHi = append(g[0].SdLo, sd/1.25), append(g[0].SdHi, sd*1.25)
				}
			}
		}
		n := newSum(t, wide)
		got := n.rowFailUp(cell, row)
		for _, f := range []float64{0.8, 1, 1.25} {
			for _, c := range []float64{0.75, 1.25} {
				q := sumtest.Net(r, 1, 2, 1, sumtest.Activations[0])
				for k := range q.Layers {
					q.Layers[k].Weight = posterior.NewParams(p.Layers[k].Weight.Mean, scaledBy(p.Layers[k].Weight.SdHi, f), posterior.ScaleSD)
					q.Layers[k].Bias = posterior.NewParams(p.Layers[k].Bias.Mean, scaledBy(p.Layers[k].Bias.SdHi, f), posterior.ScaleSD)
				}
				share, sigma := sumtest.FailShare(r, q, cell, sumtest.Single(property.Row{CLo: []float64{c}, CHi: []float64{c}, D: row.D, DHi: row.D}), 4000)
				if got < share-6*sigma {
					t.Errorf("trial %d: bound %v, with sd times %v and coefficient %v simulated %v", trial, got, f, c, share)
				}
			}
		}
	}
}

func scaledBy(x []float64, f float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f * v
	}
	return out
}

// TestSumDisjunction: "class 0 is never the largest" fails less often than
// each alternative, and the bound knows; conjunctions are added.
func TestSumDisjunction(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	r := rand.New(rand.NewPCG(54, 1))
	for trial := range 6 / testscale.By(t, 3) {
		p := sumtest.Net(r, 2, 6, 4, sumtest.Activations[trial%2])
		n := newSum(t, p).withQuality(coarse)
		p.Layers[1].Bias.Mean[0] -= 4
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		cell := property.Box{Lo: x, Hi: []float64{x[0] + 0.05, x[1] + 0.05}}
		for _, s := range []property.Safe{property.ArgmaxIsNever(0, 4), property.ArgmaxIs(0, 4), property.ArgmaxIs(1, 4)} {
			got, _ := n.CellFailUp(cell, &s)
			share, sigma := sumtest.FailShare(r, p, cell, &s, 3000)
			if got < share-6*sigma {
				t.Errorf("trial %d, %d alternatives: fails <= %v, simulated %v +- %v", trial, len(s.Any), got, share, sigma)
			}
			point := property.Box{Lo: x, Hi: x}
			safe, _ := n.SafeUp(point, &s)
			share, sigma = sumtest.FailShare(r, p, point, &s, 3000)
			if safe < 1-share-6*sigma {
				t.Errorf("trial %d, %d alternatives: safe <= %v, simulated %v +- %v", trial, len(s.Any), safe, 1-share, sigma)
			}
			if y := n.PointApprox(cell, &s); y[0] < cell.Lo[0] || y[0] > cell.Hi[0] || y[1] < cell.Lo[1] || y[1] > cell.Hi[1] {
				t.Errorf("point %v is outside of %v", y, cell)
			}
		}
		s := property.ArgmaxIsNever(0, 4)
		least := 1.0
		for _, row := range s.Rows {
			least = min(least, n.rowFailUp(cell, row))
		}
		if got, _ := n.CellFailUp(cell, &s); got > 1.1*least {
			t.Errorf("trial %d: together %v, one alternative %v", trial, got, least)
		}
	}
	n := newSum(t, sumtest.Net(r, 1, 2, 2, sumtest.Activations[0]))
	if got, _ := n.CellFailUp(property.Box{Lo: []float64{0}, Hi: []float64{0}}, &property.Safe{}); got != 1 {
		t.Errorf("the empty set is safe: %v", got)
	}
}

// TestSumCover: cutting helps where intervals are wide (tanh), never leaves a
// part out, and stops when told.
func TestSumCover(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 1))
	p := sumtest.Net(r, 1, 4, 1, network.Activation{Kind: network.Tanh})
	n, one := newSum(t, p), []float64{1}
	s := sumtest.Single(property.Row{CLo: one, CHi: one, D: 5, DHi: 5})
	box := property.Box{Lo: []float64{-1}, Hi: []float64{1}}
	uncut, err := n.Cover(context.Background(), []property.Box{box}, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := n.Cover(context.Background(), []property.Box{box}, s, 12)
	if err != nil {
		t.Fatal(err)
	}
	share, sigma := sumtest.FailShare(r, p, box, s, 4000)
	t.Logf("uncut %+v, cut %+v, simulated %v", uncut, cut, share)
	if !(cut.FailUp < 0.7*uncut.FailUp) || cut.Cells < 2 || cut.FailUp < share-6*sigma {
		t.Errorf("uncut %+v, cut %+v, simulated %v", uncut, cut, share)
	}
	a, b := halves(box, 0)
	if a.Lo[0] != -1 || a.Hi[0] != 0 || b.Lo[0] != 0 || b.Hi[0] != 1 || box.Lo[0] != -1 || box.Hi[0] != 1 {
		t.Errorf("halves %v %v of %v", a, b, box)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if got, err := n.Cover(ctx, []property.Box{box}, s, 12); err == nil || got.FailUp != 1 {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}

// TestSumDegenerateVertex: a corner of the cell where a neuron's value is known for
// sure costs nothing; the bound of a larger cell is not better.
func TestSumDegenerateVertex(t *testing.T) {
	p := sumtest.Linear(network.Activation{Kind: network.ReLU}, 0.5)
	p.Layers[0].Bias.SdLo[0], p.Layers[0].Bias.SdHi[0], p.Layers[0].Bias.Spread[0], p.Layers[0].Bias.Mean[0] = 0, 0, 0, 0
	n := newSum(t, p)
	box := func(lo, hi float64) property.Box {
		b := property.Box{Lo: make([]float64, p.Inputs()), Hi: make([]float64, p.Inputs())}
		for j := range b.Lo {
			b.Lo[j], b.Hi[j] = lo, hi
		}
		return b
	}
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 8, DHi: 8}
	small, large := n.rowFailUp(box(0, 0.5), row), n.rowFailUp(box(-0.01, 0.52), row)
	if !(small < 1 && small <= large*1.5+1e-6) {
		t.Errorf("cell with a corner at 0: %v, one around it: %v", small, large)
	}
}

// first is a bound without its plan.
func first[P any](bound float64, _ P) float64 { return bound }
