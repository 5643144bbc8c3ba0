package network

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
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
	feed    [][]int
	// Pre[k] are the pre-activations of layer k, Z[k] its inputs; Z[len(Pre)] are the
	// logits. Z of what takes the network's input alone is the slice that Forward was given.
	Pre, Z [][]float64
	// out[k] are the outputs of layer k; delta[k+1] is the gradient with respect to its
	// pre-activations, delta[0] that with respect to the input; joined[k] is room for that
	// with respect to all inputs of layer k.
	out, delta, joined [][]float64
	// abs and square are for RoundingApprox.
	abs, square [][]float64
}

// NewPass makes room for passes of the network with these weights, weights[2k] and
// weights[2k+1] being the weights and the biases of layer k.
func (n Network) NewPass(weights [][]float64) *Pass {
	if len(weights) != 2*len(n) {
		panic(fmt.Sprintf("network: NewPass: %d lists of weights, %d layers need %d", len(weights), len(n), 2*len(n)))
	}
	p := &Pass{net: n, weights: weights, delta: [][]float64{make([]float64, n.Inputs())}}
	for k, l := range n {
		if len(weights[2*k]) != l.Weights() || len(weights[2*k+1]) != l.Biases() {
			panic(fmt.Sprintf("network: NewPass: layer %d has %d weights and %d biases, not %d and %d",
				k, l.Weights(), l.Biases(), len(weights[2*k]), len(weights[2*k+1])))
		}
		p.feed = append(p.feed, n.Feed(k))
		p.Pre = append(p.Pre, make([]float64, l.Outputs()))
		p.out = append(p.out, make([]float64, l.Outputs()))
		p.delta = append(p.delta, make([]float64, l.Outputs()))
		p.joined = append(p.joined, nil)
		switch s := p.feed[k]; {
		case len(s) > 1:
			p.Z = append(p.Z, make([]float64, l.Inputs()))
		case s[0] < 0:
			p.Z = append(p.Z, nil)
		default:
			p.Z = append(p.Z, p.out[s[0]])
		}
	}
	p.Z = append(p.Z, p.out[len(n)-1])
	return p
}

// Forward evaluates the network at x and returns the logits, which are Z's last.
func (p *Pass) Forward(x []float64) []float64 {
	return p.ForwardBy(x, func(k int, z, pre []float64) {
		a := p.net[k].Activation
		if a.Kind == Identity {
			copy(z, pre)
			return
		}
		for i, t := range pre {
			z[i] = a.Approx(t)
		}
	})
}

// ForwardBy is Forward with activate(k, z, pre) for the activation of layer k, which writes what
// becomes of the pre-activations to z.
func (p *Pass) ForwardBy(x []float64, activate func(k int, z, pre []float64)) []float64 {
	if len(x) != p.net.Inputs() {
		panic(fmt.Sprintf("network: Forward: input has %d entries, network takes %d", len(x), p.net.Inputs()))
	}
	for k, l := range p.net {
		p.gather(k, x)
		l.forwardApprox(p.Pre[k], p.weights[2*k], p.weights[2*k+1], p.Z[k])
		activate(k, p.out[k], p.Pre[k])
	}
	return p.Logits()
}

// gather puts the inputs of layer k together.
func (p *Pass) gather(k int, x []float64) {
	if feed := p.feed[k]; len(feed) == 1 {
		if feed[0] < 0 {
			p.Z[k] = x
		}
		return
	}
	at := 0
	for _, s := range p.feed[k] {
		from := x
		if s >= 0 {
			from = p.out[s]
		}
		at += copy(p.Z[k][at:], from)
	}
}

// Logits returns the logits of the last Forward.
func (p *Pass) Logits() []float64 { return p.Z[len(p.net)] }

// Back returns the gradient of sum_i c_i y_i with respect to the input of the last
// Forward.
func (p *Pass) Back(c []float64) []float64 { return p.BackBy(c, Activation.DerivativeApprox) }

// BackBy is Back with slope(a, t, z) for the derivative of activation a at t, where its
// value is z. It asks for the layers from the last on, and for the neurons of each in order.
func (p *Pass) BackBy(c []float64, slope func(a Activation, t, z float64) float64) []float64 {
	return p.BackLines(c, func(k, i int, _ float64) float64 {
		return slope(p.net[k].Activation, p.Pre[k][i], p.out[k][i])
	})
}

// BackLines is Back with slope(k, i, g) for the derivative of the activation of neuron i of
// layer k, whose value the sum meets with the coefficient g: with the slope of a line below the
// activation where g >= 0, and of one above it elsewhere, what comes back are the coefficients
// of a linear lower bound of the sum. It asks in the order of BackBy.
func (p *Pass) BackLines(c []float64, slope func(k, i int, g float64) float64) []float64 {
	met := make([]bool, len(p.delta))
	copy(p.delta[len(p.net)], c)
	met[len(p.net)] = true
	for k := len(p.net) - 1; k >= 0; k-- {
		up := p.delta[k+1]
		if !met[k+1] {
			clear(up)
		}
		for i, g := range up {
			up[i] = g * slope(k, i, g)
		}
		p.backThrough(k, met)
	}
	if !met[0] {
		clear(p.delta[0])
	}
	return p.delta[0]
}

// backThrough takes the gradient of layer k to what feeds it, where gradients of several
// layers that are fed by one add up; met says who has one already.
func (p *Pass) backThrough(k int, met []bool) {
	feed, weight := p.feed[k], p.weights[2*k]
	if s := feed[0] + 1; len(feed) == 1 && !met[s] {
		met[s] = true
		p.net[k].backApprox(p.delta[s], weight, p.Z[k], p.delta[k+1])
		return
	}
	if p.joined[k] == nil {
		p.joined[k] = make([]float64, p.net[k].Inputs())
	}
	p.net[k].backApprox(p.joined[k], weight, p.Z[k], p.delta[k+1])
	at := 0
	for _, s := range feed {
		to := p.delta[s+1]
		part := p.joined[k][at : at+len(to)]
		if at += len(to); met[s+1] {
			floats.Add(to, part)
		} else {
			copy(to, part)
			met[s+1] = true
		}
	}
}

// AddParameterGradient adds to weight and bias the gradient of the last Back with respect to
// the parameters of layer k, which has none where its map has no weights.
func (p *Pass) AddParameterGradient(k int, weight, bias []float64) {
	if l, linear := p.net[k].Map.(Linear); linear {
		l.addGradient(weight, bias, p.Z[k], p.delta[k+1])
	}
}

// matrix is a list of weights as (In, Out).
func (d Dense) matrix(weight []float64) blas64.General {
	return blas64.General{Rows: d.In, Cols: d.Out, Stride: d.Out, Data: weight}
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

func (d Dense) forwardApprox(zeta, weight, bias, z []float64) {
	copy(zeta, bias)
	blas64.Gemv(blas.Trans, 1, d.matrix(weight), vector(z), 1, vector(zeta))
}

func (d Dense) backApprox(dz, weight, _, dzeta []float64) {
	blas64.Gemv(blas.NoTrans, 1, d.matrix(weight), vector(dzeta), 0, vector(dz))
}

func (d Dense) addGradient(dw, db, z, dzeta []float64) {
	floats.Add(db, dzeta)
	blas64.Ger(1, vector(z), vector(dzeta), d.matrix(dw))
}
