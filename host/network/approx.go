package network

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Approx evaluates the activation in ordinary float64: not a bound.
func (a Activation) Approx(t float64) float64 { return a.facts().value(a, t) }

// DerivativeApprox is the derivative at t, where the value is z, in ordinary float64; at
// a kink it is one of both slopes.
func (a Activation) DerivativeApprox(t, z float64) float64 { return a.facts().derivative(a, t, z) }

// OutputsApprox evaluates the network at x in ordinary float64: not a bound. weights[2k]
// and weights[2k+1] are the weights and the biases of layer k.
func (n Network) OutputsApprox(weights [][]float64, x []float64) []float64 {
	return n.NewPass(weights).Forward(x)
}

// Pass is a network of given weights on its way through points, in ordinary float64,
// with what a gradient needs. It is not safe for use by several goroutines at once.
type Pass struct {
	net     Network
	weights [][]float64
	// Pre[k] are the pre-activations of layer k, Z[k] its inputs; Z[len(Pre)] are the
	// logits. Z[0] is the slice that Forward was given.
	Pre, Z [][]float64
	delta  [][]float64
	// abs and square are for RoundingApprox.
	abs, square [][]float64
}

// NewPass makes room for passes of the network with these weights, weights[2k] and
// weights[2k+1] being the weights and the biases of layer k.
func (n Network) NewPass(weights [][]float64) *Pass {
	if len(weights) != 2*len(n) {
		panic(fmt.Sprintf("network: NewPass: %d lists of weights, %d layers need %d", len(weights), len(n), 2*len(n)))
	}
	p := &Pass{net: n, weights: weights, Z: [][]float64{nil}, delta: [][]float64{make([]float64, n.Inputs())}}
	for k, l := range n {
		if len(weights[2*k]) != l.Weights() || len(weights[2*k+1]) != l.Biases() {
			panic(fmt.Sprintf("network: NewPass: layer %d has %d weights and %d biases, not %d and %d",
				k, l.Weights(), l.Biases(), len(weights[2*k]), len(weights[2*k+1])))
		}
		p.Pre = append(p.Pre, make([]float64, l.Outputs()))
		p.Z = append(p.Z, make([]float64, l.Outputs()))
		p.delta = append(p.delta, make([]float64, l.Outputs()))
	}
	return p
}

// Forward evaluates the network at x and returns the logits, which are Z's last.
func (p *Pass) Forward(x []float64) []float64 {
	if len(x) != p.net.Inputs() {
		panic(fmt.Sprintf("network: Forward: input has %d entries, network takes %d", len(x), p.net.Inputs()))
	}
	p.Z[0] = x
	for k, l := range p.net {
		pre, z, bias := p.Pre[k], p.Z[k+1], p.weights[2*k+1]
		for i := range pre {
			pre[i] = bias[l.BiasOf(i)]
		}
		l.addApprox(pre, p.weights[2*k], p.Z[k])
		for i, t := range pre {
			z[i] = l.Activation.Approx(t)
		}
	}
	return p.Logits()
}

// Logits are those of the last Forward.
func (p *Pass) Logits() []float64 { return p.Z[len(p.net)] }

// Back returns the gradient of sum_i c_i y_i with respect to the input of the last
// Forward. Gradient(k) says what it met on the way.
func (p *Pass) Back(c []float64) []float64 { return p.BackBy(c, Activation.DerivativeApprox) }

// BackBy is Back with slope(a, t, z) for the derivative of activation a at t, where its
// value is z.
func (p *Pass) BackBy(c []float64, slope func(a Activation, t, z float64) float64) []float64 {
	copy(p.delta[len(p.net)], c)
	for k := len(p.net) - 1; k >= 0; k-- {
		up := p.delta[k+1]
		for i, t := range p.Pre[k] {
			up[i] *= slope(p.net[k].Activation, t, p.Z[k+1][i])
		}
		p.net[k].backApprox(p.delta[k], p.weights[2*k], up)
	}
	return p.delta[0]
}

// Gradient is that of the last Back with respect to the pre-activations of layer k.
func (p *Pass) Gradient(k int) []float64 { return p.delta[k+1] }

// matrix is a list of weights as (In, Out).
func (d Dense) matrix(weight []float64) blas64.General {
	return blas64.General{Rows: d.In, Cols: d.Out, Stride: d.Out, Data: weight}
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

func (d Dense) addApprox(zeta, weight, z []float64) {
	blas64.Gemv(blas.Trans, 1, d.matrix(weight), vector(z), 1, vector(zeta))
}

func (d Dense) backApprox(dz, weight, dzeta []float64) {
	blas64.Gemv(blas.NoTrans, 1, d.matrix(weight), vector(dzeta), 0, vector(dz))
}
