package neuronsum

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// This file tests the parts of the bound by sums of neurons one by one.

// TestUnknownActivation: an activation that is not in the table is refused.
func TestUnknownActivation(t *testing.T) {
	if _, err := New(sumtest.Linear(network.Activation{Kind: network.Kinds}, 1)); err == nil {
		t.Error("a network of an unknown activation is taken")
	}
}

// below and above count how often the stand-ins are there, among draws of t.
func TestSumLow(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 1))
	for trial := range 20 {
		act := sumtest.Activations[trial%2]
		p := sumtest.Net(r, 2, 1, 1, act)
		n := newSum(t, p)
		centre, v := []float64{r.NormFloat64(), r.NormFloat64()}, []float64{r.NormFloat64(), r.NormFloat64()}
		h := n.atVertex(&shape{centre: centre, narrow: make([]bool, 2)}, v, 0, quantileGrid(n.q.nodes), quantileGrid(n.q.rests))
		const draws = 20000
		lows, highs := make([]float64, draws), make([]float64, draws)
		for i := range draws {
			l := sumtest.Drawn(r, p).Layers[0]
			at := func(x []float64) float64 {
				return l.Weight.Mean[0]*x[0] + l.Weight.Mean[1]*x[1] + l.Bias.Mean[0]
			}
			lows[i], highs[i] = n.net.Slope*at(v), act.Approx(at(v))
			if at(centre) > 0 {
				lows[i] = at(v)
			}
		}
		for _, x := range []float64{-2, -1, -0.3, -0.01, 0.01, 0.2, 0.5, 1, 2, 3} {
			var under, over, low, high float64
			for i := range draws {
				if lows[i] <= x {
					under += 1. / draws
				}
				if highs[i] > x {
					over += 1. / draws
				}
			}
			for k, y := range h.low.X {
				if y <= x {
					low += h.low.P[k]
				}
			}
			for k, y := range h.high.X {
				if y > x {
					high += h.high.P[k]
				}
			}
			const sigma = 0.0036 // 1/2 / sqrt(draws)
			if low < under-6*sigma || high < over-6*sigma || low > under+6*sigma+0.02 || high > over+6*sigma+0.02 {
				t.Errorf("trial %d at %v: low below with %v, simulated %v; high above with %v, simulated %v", trial, x, low, under, high, over)
			}
		}
	}
}

// TestSumWhole: the radius of a cell adds up over the inputs.
func TestSumWhole(t *testing.T) {
	n := newSum(t, sumtest.Linear(network.Activation{Kind: network.Tanh}, 0))
	box := property.Box{Lo: []float64{-0.25, -0.25}, Hi: []float64{0.25, 0.25}}
	for _, c := range []struct{ d, want float64 }{{math.Tanh(0.5) - 0.01, 1}, {math.Tanh(0.5) + 0.01, 0}} {
		if got := n.rowFailUp(box, property.Row{CLo: []float64{1}, CHi: []float64{1}, D: c.d, DHi: c.d}); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("offset %v: %v, want %v", c.d, got, c.want)
		}
	}
}

// TestSumVertices: x_1 w_1 + x_2 w_2 + 2 is negative at one vertex or the
// opposite one, which are different draws: probabilities are added.
func TestSumVertices(t *testing.T) {
	n := newSum(t, sumtest.Linear(network.Activation{}, 1))
	p := n.net.Hidden.Weight.Mean
	p[0], p[1] = 0, 0
	box := property.Box{Lo: []float64{-1, 0}, Hi: []float64{1, 0}}
	got := n.rowFailUp(box, property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 2, DHi: 2})
	if want := 2 * sumtest.NormalCDF(-2); got < want || got > 1.4*want {
		t.Errorf("%v, want %v", got, want)
	}
	s := &property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: 2, DHi: 2}}, Any: [][]int{{0}}}
	points := []property.Box{{Lo: []float64{-1, 0}, Hi: []float64{-1, 0}}, {Lo: []float64{1, 0}, Hi: []float64{1, 0}}}
	cover, err := n.Cover(context.Background(), points, s, 2)
	if want := 2 * sumtest.NormalCDF(-2); err != nil || cover.FailUp < want || cover.FailUp > 1.4*want || cover.Cells != 2 {
		t.Errorf("cover %+v, want %v", cover, want)
	}
}

// TestSumUnion and TestSumRows: cells and rows are added.
func TestSumUnion(t *testing.T) { TestSumVertices(t) }

func TestSumRows(t *testing.T) {
	n := newSum(t, sumtest.Linear(network.Activation{}, 1))
	n.net.Hidden.Weight.Mean[0] = 0
	point := property.Box{Lo: []float64{1, 0}, Hi: []float64{1, 0}}
	rows := []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: 2, DHi: 2}, {CLo: []float64{-1}, CHi: []float64{-1}, D: 2, DHi: 2}}
	both := &property.Safe{Rows: rows, Any: [][]int{{0, 1}}}
	if got, want := first(n.CellFailUp(point, both)), 2*sumtest.NormalCDF(-2); got < want || got > 1.4*want {
		t.Errorf("both: %v, want %v", got, want)
	}
}

// TestSumMixed: only alternatives of single rows may be mixed.
func TestSumMixed(t *testing.T) {
	m := &moments{mean: []float64{1, 1}, cov: [][]float64{{1, 0}, {0, 1}}}
	row := func(a, b, d float64) property.Row {
		return property.Row{CLo: []float64{a, b}, CHi: []float64{a, b}, D: d, DHi: d}
	}
	s := &property.Safe{Rows: []property.Row{row(1, 0, 1), row(0, 1, 1), row(1, 1, 0)}, Any: [][]int{{0}, {1}}}
	mix, plan := m.disjunction(s)
	if plan == nil || !slices.Equal(plan.Rows, []int{0, 1}) || len(plan.Factors) != 2 || !(mix.CLo[0] > 0 && mix.CLo[1] > 0 && mix.D > 0) || math.Abs(mix.CLo[0]-mix.CLo[1]) > 1e-9 {
		t.Errorf("mixed to %+v, %+v", mix, plan)
	}
	s.Any[1] = []int{1, 2}
	if mix, plan := m.disjunction(s); plan != nil {
		t.Errorf("a conjunction is mixed: %+v", mix)
	}
}

// TestSumConstantNeuron: a neuron that is 1 for certain, times a weight of
// standard deviation 1/2; and TestSumCoefficients: the worst coefficient of a row.
func TestSumConstantNeuron(t *testing.T) {
	p := sumtest.Linear(network.Activation{Kind: network.ReLU}, 0)
	p.Layers[1].Weight.SdLo[0], p.Layers[1].Weight.SdHi[0] = 0.5, 0.5
	point := property.Box{Lo: []float64{0.5, 0.5}, Hi: []float64{0.5, 0.5}}
	got := newSum(t, p).rowFailUp(point, property.Row{CLo: []float64{1}, CHi: []float64{1}})
	if want := sumtest.NormalCDF(-2); got < want*(1-1e-12) || got > want*(1+1e-9) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSumOutputBias: a network whose only random number is the bias of its output, 1 + N(0, 1/2^2).
func TestSumOutputBias(t *testing.T) {
	p := sumtest.Linear(network.Activation{Kind: network.ReLU}, 0)
	p.Layers[1].Bias.SdLo[0], p.Layers[1].Bias.SdHi[0] = 0.5, 0.5
	point := property.Box{Lo: []float64{0.5, 0.5}, Hi: []float64{0.5, 0.5}}
	got := newSum(t, p).rowFailUp(point, property.Row{CLo: []float64{1}, CHi: []float64{1}})
	if want := sumtest.NormalCDF(-2); got < want*(1-1e-12) || got > want*(1+1e-9) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSumCoefficients(t *testing.T) {
	n := newSum(t, sumtest.Linear(network.Activation{}, 1))
	point := property.Box{Lo: []float64{1, 0}, Hi: []float64{1, 0}}
	for _, d := range []float64{-0.25, 0.25} {
		// C w + d <= 0, w ~ N(1, 1), for the worst C in [1/2, 2].
		row := property.Row{CLo: []float64{0.5}, CHi: []float64{2}, D: d, DHi: d}
		if got, want := n.rowFailUp(point, row), max(sumtest.NormalCDF(-d/0.5-1), sumtest.NormalCDF(-d/2-1)); got < want {
			t.Errorf("d %v: %v, want at least %v", d, got, want)
		}
		row.CLo, row.CHi = []float64{-2}, []float64{0.5}
		if got, want := n.rowFailUp(point, row), sumtest.NormalCDF(1-d/2); got < want {
			t.Errorf("d %v: %v, want at least %v", d, got, want)
		}
	}
}
