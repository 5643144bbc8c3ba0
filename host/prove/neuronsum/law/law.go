// Package law computes laws of one hidden layer with independent normal weights: of its neurons
// before the activation, at one point or two, and of the factors of a row's margin.
package law

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Reach is the number of standard deviations of a weight that are looked at; what is beyond,
// 6.4e-14 a weight, counts as failure.
const Reach = 7.5

// Net is a posterior of networks with one hidden layer.
type Net struct {
	Hidden, Output *posterior.Layer
	Act            network.Activation
	// Slope and Convex are Act.Kinked: s(t) is the larger of t and Slope t.
	Slope  float64
	Convex bool
}

// New prepares a posterior, which it keeps and must not be changed. The error says
// why sums of neurons cannot serve: p does not have exactly one hidden layer, dense as
// the output is, or independent normal weights, or is not valid.
func New(p *posterior.Posterior) (*Net, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.RequireIndependent(); err != nil {
		return nil, err
	}
	if len(p.Layers) != 2 {
		return nil, fmt.Errorf("the sum of neurons needs a network with exactly one hidden layer, this one has %d", len(p.Layers)-1)
	}
	for k, l := range p.Layers {
		if _, dense := l.Map.(network.Dense); !dense {
			// The terms of the sum would share weights.
			return nil, fmt.Errorf("the sum of neurons needs dense layers, layer %d is a %T", k, l.Map)
		}
	}
	if !p.Network().Chain() {
		return nil, fmt.Errorf("the sum of neurons needs an output layer that is fed by the hidden layer alone")
	}
	n := &Net{Hidden: &p.Layers[0], Output: &p.Layers[1], Act: p.Layers[0].Activation}
	n.Slope, n.Convex = n.Act.Kinked()
	return n, nil
}

// Preactivation is the distribution of t_i(x) for exact numbers x.
func (n *Net) Preactivation(i int, x []float64) (mean, sd arith.Interval) {
	w, b := &n.Hidden.Weight, &n.Hidden.Bias
	mean, sd = arith.Exactly(b.Mean[i]), arith.Of(b.SdLo[i], b.SdHi[i])
	variance := sd.Square()
	for j, at := range n.Hidden.Dense().Into(i) {
		v := x[j]
		mean = mean.Plus(arith.Exactly(v).Times(arith.Exactly(w.Mean[at])))
		variance = variance.Plus(arith.Exactly(v).Times(arith.Of(w.SdLo[at], w.SdHi[at])).Square())
	}
	return mean, variance.Sqrt()
}

// Pair describes t(v) given t(centre) = c: normal with mean
// Mean + Slope (c - MeanC) and the standard deviation Rest.
type Pair struct {
	Mean, Sd, MeanC, SdC, Slope, Rest arith.Interval
}

// Pair is the law of t_i(v) given t_i(centre). It uses Lagrange's identity for the rest's variance, so that nothing
// cancels: with the weights' variances s_p^2 and a last coordinate 1 for the bias,
//
//	Var t(v) - Cov^2/Var t(c) = sum_(p<q) s_p^2 s_q^2 (c_p v_q - c_q v_p)^2 / Var t(c)
func (n *Net) Pair(centre, v []float64, i int) Pair {
	var p Pair
	p.Mean, p.Sd = n.Preactivation(i, v)
	p.MeanC, p.SdC = n.Preactivation(i, centre)
	if p.SdC.Hi == 0 {
		p.Rest = p.Sd // t(centre) is a constant
		return p
	}
	variance := make([]arith.Interval, len(v)+1)
	c, x := append(centre[:len(v):len(v)], 1), append(v[:len(v):len(v)], 1)
	for j, at := range n.Hidden.Dense().Into(i) {
		variance[j] = arith.Of(n.Hidden.Weight.SdLo[at], n.Hidden.Weight.SdHi[at]).Square()
	}
	variance[len(v)] = arith.Of(n.Hidden.Bias.SdLo[i], n.Hidden.Bias.SdHi[i]).Square()
	var cov, rest arith.Interval
	for j, s := range variance {
		cov = cov.Plus(s.Times(arith.Exactly(c[j]).Times(arith.Exactly(x[j]))))
		for k := range j {
			minor := arith.Exactly(c[j]).Times(arith.Exactly(x[k])).Minus(arith.Exactly(c[k]).Times(arith.Exactly(x[j])))
			rest = rest.Plus(s.Times(variance[k]).Times(minor.Square()))
		}
	}
	square := p.SdC.Square()
	p.Slope, p.Rest = cov.Over(square), rest.Over(square).Sqrt()
	return p
}

// Factors are the weights a_i of the margin of one row, and a_0: normal variables.
type Factors struct {
	Neurons []Factor
	// Mean and Variance are those of a_0.
	Mean, Variance arith.Interval
}

// Factor is the distribution of one a_i.
type Factor struct{ Mean, Sd arith.Interval }

// Factors gives the distributions for one row, nil if one is not finite.
//
// a_i = sum_c C_c u_ci is normal with mean sum C mu and variance sum C^2 sd^2 for
// each C in [CLo, CHi] and each sd in [SdLo, SdHi]: both sums in intervals.
func (n *Net) Factors(row property.Row) *Factors {
	if len(row.CLo) != n.Output.Outputs() || len(row.CHi) != n.Output.Outputs() {
		return nil
	}
	f := &Factors{Neurons: make([]Factor, n.Hidden.Outputs()), Mean: arith.Exactly(row.D)}
	w, b := &n.Output.Weight, &n.Output.Bias
	for c := range row.CLo {
		k := arith.Of(row.CLo[c], row.CHi[c])
		f.Mean = f.Mean.Plus(k.Times(arith.Exactly(b.Mean[c])))
		f.Variance = f.Variance.Plus(k.Times(arith.Of(b.SdLo[c], b.SdHi[c])).Square())
	}
	if !f.Mean.Finite() || !f.Variance.Finite() {
		return nil
	}
	for i := range f.Neurons {
		var mean, variance arith.Interval
		for c, at := range n.Output.Dense().From(i) {
			k := arith.Of(row.CLo[c], row.CHi[c])
			mean = mean.Plus(k.Times(arith.Exactly(w.Mean[at])))
			variance = variance.Plus(k.Times(arith.Of(w.SdLo[at], w.SdHi[at])).Square())
		}
		if !mean.Finite() || !variance.Finite() {
			return nil
		}
		f.Neurons[i] = Factor{Mean: mean, Sd: variance.Sqrt()}
	}
	return f
}

// Normal is the law of a normal variable with this mean and standard deviation.
func Normal(mean, sd arith.Interval) gauss.Normal {
	return gauss.Normal{MeanLo: mean.Lo, MeanHi: mean.Hi, SdLo: max(0, sd.Lo), SdHi: sd.Hi}
}

// OnCores runs f(0) ... f(n-1) on all cores and waits.
func OnCores(n int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		fault.Go(&wait, func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}
