package neuronsum

import (
	"math"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// This file tests where laws are cut: leaky ReLU below zero, bins whose ends are nodes,
// and values of zero. The oracle is oneNeuronFails.

// oneNeuronFails is Prob(s(t(x)) <= level for some x in the box) for s(y) <= level
// where y <= at (above: >= for both), by Simpson's rule over the weights: the least t
// is b + sum_j min(w_j lo_j, w_j hi_j), in which b is normal.
func oneNeuronFails(p *posterior.Posterior, box property.Box, at float64, up bool) float64 {
	l := &p.Layers[0]
	var integral func(j int, sum float64) float64
	integral = func(j int, sum float64) float64 {
		if j == len(box.Lo) {
			if up {
				return sumtest.NormalCDF((sum + l.Bias.Mean[0] - at) / l.Bias.SdHi[0])
			}
			return sumtest.NormalCDF((at - sum - l.Bias.Mean[0]) / l.Bias.SdHi[0])
		}
		m, sd := l.Weight.Mean[j], l.Weight.SdHi[j]
		end := func(w float64) float64 {
			if up {
				return max(w*box.Lo[j], w*box.Hi[j])
			}
			return min(w*box.Lo[j], w*box.Hi[j])
		}
		if sd == 0 {
			return integral(j+1, sum+end(m))
		}
		// The integrand has a kink at w = 0.
		cuts := []float64{m - 9*sd, min(max(0, m-9*sd), m+9*sd), m + 9*sd}
		total := 0.0
		for k := range 2 {
			const n = 120
			h := (cuts[k+1] - cuts[k]) / n
			for i := range n + 1 {
				c := 2 + 2*float64(i%2)
				if i == 0 || i == n {
					c = 1
				}
				w := cuts[k] + float64(i)*h
				z := (w - m) / sd
				if h > 0 {
					total += c * h / 3 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / sd * integral(j+1, sum+end(w))
				}
			}
		}
		return total
	}
	return integral(0, 0)
}

func oneRow(d float64) property.Row {
	return property.Row{CLo: []float64{1}, CHi: []float64{1}, D: d, DHi: d}
}

// oracleError is more than Simpson's rule errs by, relatively.
const oracleError = 1e-7

// TestLeakyInactive: a leaky neuron that is below zero for nearly sure has values that
// are slope t, and the bound knows.
func TestLeakyInactive(t *testing.T) {
	for _, slope := range []float64{0.001, 0.1, 0.5} {
		for _, c := range []struct{ sd, bias, z, lo, hi float64 }{{0.1, 0.1, 4, 0.5, 0.75}, {0, 0.1, 4, 0.5, 0.75}, {0.3, 0.5, 2, 1, 1.0625}, {0.1, 0.05, 3, -1, -0.5}} {
			p := sumtest.OneNeuron(network.Activation{Kind: network.LeakyReLU, Slope: slope}, []float64{0.5}, []float64{c.sd}, -5, c.bias, 1)
			box := property.Box{Lo: []float64{c.lo}, Hi: []float64{c.hi}}
			at := -5 + min(0.5*c.lo, 0.5*c.hi) - c.z*math.Hypot(c.bias, c.sd*max(math.Abs(c.lo), math.Abs(c.hi)))
			got, truth := newSum(t, p).rowFailUp(box, oneRow(-slope*at)), oneNeuronFails(p, box, at, false)
			t.Logf("slope %v, %+v: fails <= %v, integral %v", slope, c, got, truth)
			if got < truth*(1-oracleError) || got > 6*truth+1e-9 {
				t.Errorf("slope %v, %+v: fails <= %v, integral %v", slope, c, got, truth)
			}
		}
	}
}

// TestEdges: bins of t(centre) whose ends are nodes of t(v) lose no more than the bins'
// own width: E low is as near to E t as where the cell is a point.
func TestEdges(t *testing.T) {
	for _, c := range []struct{ sd, biasSD, centre, v float64 }{{0, 1, 0.5, 0}, {0, 1, 0.25, 1}, {0, 0.3, 0.7, 0.1}, {0.5, 1, 0.5, 0.5}, {0.5, 0, 0.7, 0.1}} {
		for _, act := range sumtest.Activations[:2] {
			for _, bias := range []float64{30, -30} {
				p := sumtest.OneNeuron(act, []float64{1}, []float64{c.sd}, bias, c.biasSD, 1)
				n := newSum(t, p)
				z, rests := quantileGrid(n.q.nodes), quantileGrid(n.q.rests)
				mean := func(h hidden) float64 {
					first, _ := momentsApprox(h.low.X, h.low.P)
					return first
				}
				v := []float64{c.v}
				low := n.atVertex(&shape{centre: []float64{c.centre}, narrow: make([]bool, 1)}, v, 0, z, rests)
				point := n.whole(&shape{narrow: make([]bool, 1)}, property.Box{Lo: v, Hi: v}, v, 0, z)
				truth := act.Approx(bias + c.v)
				lost, want := truth-mean(low), truth-mean(point)
				t.Logf("%+v, %v, bias %v: E low is %v below E s(t), at a point %v", c, act, bias, lost, want)
				if lost > 1.01*want+1e-9 || lost < -1e-9 {
					t.Errorf("%+v, %v, bias %v: E low is %v below E s(t), at a point %v", c, act, bias, lost, want)
				}
			}
		}
	}
}

// TestZeroValue: the bin that ends at t = 0, where tanh is 0, keeps its mass: 2 - tanh t
// is positive for sure.
func TestZeroValue(t *testing.T) {
	for _, mean := range []float64{-1, 0, 0.25} {
		p := sumtest.OneNeuron(network.Activation{Kind: network.Tanh}, []float64{1}, []float64{0.5}, mean, 1, -1)
		if got := newSum(t, p).rowFailUp(property.Box{Lo: []float64{0.5}, Hi: []float64{0.5}}, oneRow(2)); got > 1e-9 {
			t.Errorf("mean %v: what cannot fail fails with %v", mean, got)
		}
	}
}
