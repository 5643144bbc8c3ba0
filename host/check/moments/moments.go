package moments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Row is how a row was bounded: by a rate, 0 if it was not, and planes for the second hidden layer, if there is one.
// If it was by the middle of a box and a difference, that may fail with Budget, and Shares are the parts of
// differences that go through hidden neurons, in 128ths.
type Row struct {
	Rate   float64
	Planes []Plane
	Budget float64
	Shares []byte
}

const (
	// mostWeights is how many weights the second hidden layer may have.
	mostWeights = 1 << 18
	// far is how many standard deviations no weight is from its mean: it is with 2 Q(38.6) < 2^-1074.
	far = 38.6
	// fine and rough are how near planes and statements are proved, in all neurons together.
	fine = 0.004
	// statements are those about a neuron of the second hidden layer: two bounds of its mean, two of its variance.
	statements = 4
)

// Chain is a network with one or two hidden layers of ReLU neurons.
type Chain struct{ layers []posterior.Layer }

// New says what is not so in a posterior.
func New(p *posterior.Posterior) (*Chain, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.RequireIndependent(); err != nil {
		return nil, err
	}
	if n := len(p.Layers); n < 2 || n > 3 || !p.Network().Chain() {
		return nil, errors.New("exact moments are of chains of dense layers with one or two hidden ones")
	}
	for k, l := range p.Layers[:len(p.Layers)-1] {
		if _, kinked := l.Activation.Kinked(); !kinked || !l.Activation.DeadBelow() {
			return nil, fmt.Errorf("exact moments are of ReLU, layer %d has %v", k, l.Activation)
		}
		if k > 0 && len(l.Weight.Mean) > mostWeights {
			return nil, fmt.Errorf("layer %d has %d weights, exact moments take up to %d", k, len(l.Weight.Mean), mostWeights)
		}
	}
	return &Chain{p.Layers}, nil
}

// around is what is known of all points of a box.
type around struct {
	*Chain
	// first are the neurons of the first hidden layer at a point of the box, second those of the second.
	first, second []bounds
	// reach is how far each output of the last hidden layer may be from what it is at that point.
	reach  []float64
	failUp float64
}

// around bounds what is below the last layer; statements fail with tau each.
func (c *Chain) around(ctx context.Context, box property.Box, tau float64) (*around, error) {
	a := &around{Chain: c}
	point, reach := make([]float64, len(box.Lo)), make([]float64, len(box.Lo))
	for j := range point {
		point[j] = arith.Middle(box.Lo[j], box.Hi[j])
		reach[j] = max(0, arith.SumUp(box.Hi[j], -point[j]), arith.SumUp(point[j], -box.Lo[j]))
		if box.Lo[j] == box.Hi[j] {
			point[j], reach[j] = box.Lo[j], 0
		}
	}
	weights := 0
	for k := range c.layers {
		weights += len(c.layers[k].Weight.Mean)
	}
	if slices.Max(reach) > 0 {
		for k := range len(c.layers) - 1 {
			reach = reachOf(&c.layers[k], reach)
		}
		a.reach, a.failUp = reach, float64(4*weights)*arith.Eta
	}
	a.first = neurons(&c.layers[0], point)
	if len(c.layers) == 2 {
		return a, nil
	}
	a.second = make([]bounds, c.layers[1].Outputs())
	err := fault.OnCores(ctx, len(a.second), func(i int) { a.second[i] = a.stated(i, tau) })
	a.failUp = arith.Up(a.failUp + arith.Up(float64(statements*len(a.second))*tau))
	return a, err
}

// reachOf is how far the outputs of a layer may move with its inputs, whatever weights within far are.
func reachOf(l *posterior.Layer, reach []float64) []float64 {
	next := make([]float64, l.Outputs())
	for i := range next {
		var s arith.Sum
		for j, r := range reach {
			s.Add(sizeUp(l, j*len(next)+i), r)
		}
		next[i] = s.Hi()
	}
	return next
}

// sizeUp is above the magnitude of a weight within far.
func sizeUp(l *posterior.Layer, at int) float64 {
	return arith.Up(math.Abs(l.Weight.Mean[at]) + arith.Up(far*l.Weight.SdHi[at]))
}

// variance encloses that of weight or bias number at.
func variance(p *posterior.Params, at int) arith.Interval {
	return arith.Of(p.SdLo[at], p.SdHi[at]).Square()
}

// neurons encloses means and variances at a point.
func neurons(l *posterior.Layer, x []float64) []bounds {
	list := make([]bounds, l.Outputs())
	for i := range list {
		var mean, lo, hi arith.Sum
		mean.Plus(l.Bias.Mean[i])
		v := variance(&l.Bias, i)
		lo.Plus(v.Lo)
		hi.Plus(v.Hi)
		for j, z := range x {
			at := j*len(list) + i
			mean.Add(l.Weight.Mean[at], z)
			v, square := variance(&l.Weight, at), arith.Exactly(z).Square()
			lo.Add(v.Lo, square.Lo)
			hi.Add(v.Hi, square.Hi)
		}
		list[i] = bounds{arith.Of(mean.Lo(), mean.Hi()), arith.Of(max(0, lo.Lo()), hi.Hi())}
	}
	return list
}

// exponent is sum -al_j z_j + b_j z_j^2/2.
type exponent struct{ al, b []float64 }

// times is h times it, or more.
func (e exponent) times(h float64) exponent {
	s := exponent{make([]float64, len(e.al)), make([]float64, len(e.b))}
	for j := range s.al {
		s.al[j], s.b[j] = arith.Down(h*e.al[j]), arith.Up(h*e.b[j])
	}
	return s
}

// firstUp bounds the logarithm of the moment of the first hidden layer's outputs.
func (a *around) firstUp(e exponent) float64 {
	var s arith.Sum
	for j, n := range a.first {
		if e.al[j] == 0 && e.b[j] == 0 {
			continue
		}
		u := n.certainUp(e.al[j], e.b[j])
		if n.variance.Hi > 0 {
			u = n.heightUp(e.al[j], e.b[j], Plane{}, arith.Inf)
		}
		if !(u < arith.Inf) {
			return arith.Inf
		}
		s.Plus(u)
	}
	return s.Hi()
}

// firstApprox is about that.
func (a *around) firstApprox(e exponent) float64 {
	sum := 0.0
	for j, n := range a.first {
		if n.variance.Hi == 0 {
			sum += n.certainUp(e.al[j], e.b[j])
			continue
		}
		sum += valueUp(e.al[j], e.b[j], n.mean.Middle(), n.variance.Middle())
	}
	return sum
}

// stated bounds the mean and the variance of neuron i of the second hidden layer, each side but with probability tau.
func (a *around) stated(i int, tau float64) bounds {
	l := &a.layers[1]
	n, out := l.Inputs(), l.Outputs()
	mean, less, vary, still := exponent{make([]float64, n), make([]float64, n)}, exponent{make([]float64, n), make([]float64, n)},
		exponent{make([]float64, n), make([]float64, n)}, exponent{make([]float64, n), make([]float64, n)}
	for j := range n {
		at := j*out + i
		v := variance(&l.Weight, at)
		mean.al[j], less.al[j] = -l.Weight.Mean[at], l.Weight.Mean[at]
		vary.b[j], still.b[j] = 2*v.Hi, -2*v.Lo
	}
	own := variance(&l.Bias, i)
	b := l.Bias.Mean[i]
	return bounds{
		arith.Of(arith.SumDown(b, -a.quantileUp(less, tau)), arith.SumUp(b, a.quantileUp(mean, tau))),
		arith.Of(max(own.Lo, arith.SumDown(own.Lo, -a.quantileUp(still, tau))), arith.SumUp(own.Hi, a.quantileUp(vary, tau))),
	}
}

// quantileUp is above which an exponent is with probability tau at most, (log E e^(h e) - log tau)/h for about the
// best rate.
func (a *around) quantileUp(e exponent, tau float64) float64 {
	size, any := 0.0, false
	for j, n := range a.first {
		any = any || e.al[j] != 0 || e.b[j] != 0
		m, v := max(0, n.mean.Hi), n.variance.Hi
		size += e.al[j]*e.al[j]*(v+n.mean.Radius()) + e.b[j]*e.b[j]*v*(m*m+v)
	}
	log := logUp(1 / tau * (1 + 0x1p-50))
	if !any {
		return 0 // e is, surely
	}
	h := 0x1p40 // of what does not vary
	if size > 0 {
		h = leastAt(math.Sqrt(2*log/size), func(h float64) float64 { return (a.firstApprox(e.times(h)) + log) / h })
	}
	return arith.Exactly(arith.Up(a.firstUp(e.times(h)) + log)).Over(arith.Exactly(h)).Hi
}

// leastAt is about where a function of h > 0 that falls and then grows, and is infinite from somewhere on, is least:
// from a start on by factors of 2, and then by golden sections.
func leastAt(start float64, f func(h float64) float64) (best float64) {
	const golden = 0.6180339887498949
	least := math.Inf(1)
	look := func(h float64) float64 {
		v := f(h)
		if v < least {
			best, least = h, v
		}
		return v
	}
	look(start)
	for h := start; ; h *= 2 {
		if v := look(2 * h); !(v <= least) || h > 0x1p60*start {
			break
		}
	}
	for h := start; ; h /= 2 {
		if v := look(h / 2); v > least || h < 0x1p-60*start {
			break
		}
	}
	lo, hi := math.Log(best/2), math.Log(2*best)
	x, y := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fx, fy := look(math.Exp(x)), look(math.Exp(y))
	for range 10 {
		if fx <= fy {
			hi, y, fy = y, x, fx
			x = hi - golden*(hi-lo)
			fx = look(math.Exp(x))
		} else {
			lo, x, fx = x, y, fy
			y = lo + golden*(hi-lo)
			fy = look(math.Exp(y))
		}
	}
	return best
}
