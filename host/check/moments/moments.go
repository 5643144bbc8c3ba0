package moments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Proof is how the rows of S were bounded, and what that rests on of the neurons of hidden layers above the first:
// for each layer and neuron four statements, of an upper and a lower bound of its mean, and of its variance.
type Proof struct{ Rows, Statements []Row }

// Row is how a row was bounded: by a rate, 0 if it was not, and planes for the neurons of all hidden layers below it but
// the first, from the lowest layer on. If a row was by the middle of a box and a
// difference, that may fail with Budget, and Shares are the parts of differences that go through hidden neurons, in 128ths.
// If it was bounded part by part of the variance of its own noise, Squares multiply that, Upto is where each part ends but
// the last, and planes are those of one part after the other.
type Row struct {
	Rate          float64
	Planes        []Plane
	Budget        float64
	Shares        []byte
	Squares, Upto []float64
}

const (
	// mostWeights is how many weights hidden layers above the first may have, mostPlanes how many planes statements may.
	mostWeights, mostPlanes = 1 << 18, 1 << 16
	// far is how many standard deviations no weight is from its mean: it is with 2 Q(38.6) < 2^-1074.
	far = 38.6
	// fine and rough are how near planes of rows and of statements are proved, in all neurons of a layer together.
	fine, rough = 0.004, 0.2
	// pieceShare is how much further above a function its stretches may be somewhere than planes are above it, up to
	// mostPiece, in all neurons of a layer together.
	pieceShare, mostPiece = 2.5, 0.05
	// statements are those about a neuron above the first hidden layer: two bounds of its mean, two of its variance.
	statements = 4
)

// Chain is a network with hidden layers.
type Chain struct{ layers []posterior.Layer }

// New says what is not so in a posterior.
func New(p *posterior.Posterior) (*Chain, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.RequireIndependent(); err != nil {
		return nil, err
	}
	if len(p.Layers) < 2 || !p.Network().Chain() {
		return nil, errors.New("exact moments are of chains of dense layers, some of them hidden")
	}
	weights, planes, below := 0, 0, 0
	for k, l := range p.Layers[:len(p.Layers)-1] {
		if !served(l.Activation) {
			return nil, fmt.Errorf("exact moments of %v, which layer %d has, are not known", l.Activation, k)
		}
		if k > 0 {
			weights, planes, below = weights+len(l.Weight.Mean), planes+statements*l.Outputs()*below, below+l.Outputs()
		}
	}
	if weights > mostWeights || planes > mostPlanes {
		return nil, fmt.Errorf("%d weights and %d planes of statements: exact moments take up to %d and %d", weights, planes, mostWeights, mostPlanes)
	}
	return &Chain{p.Layers}, nil
}

// pieceTol is how far stretches may be above a function where planes are proved to tol.
func pieceTol(tol float64) float64 { return min(pieceShare*tol, mostPiece) }

// around is what is known of all points of a box.
type around struct {
	*Chain
	// neurons are those of each hidden layer, at a point of the box.
	neurons [][]bounds
	// reach is how far each output of the last hidden layer may be from what it is at that point.
	reach  []float64
	failUp float64
}

// around bounds what is below the last layer; statements fail with tau each, and are shown by rows.
func (c *Chain) around(ctx context.Context, box property.Box, tau float64, rows []Row) (*around, error) {
	a := &around{Chain: c}
	point, reach := relax.CentresOf(box), relax.RadiusOf(box)
	weights := 0
	for k := range c.layers {
		weights += len(c.layers[k].Weight.Mean)
	}
	if slices.Max(reach) > 0 {
		for k := range len(c.layers) - 1 {
			reach = reachOf(&c.layers[k], reach)
		}
		a.reach, a.failUp = reach, float64(weights)*arith.Eta
	}
	a.neurons = append(a.neurons, neurons(&c.layers[0], point))
	for k := 1; k < len(c.layers)-1; k++ {
		list := make([]bounds, c.layers[k].Outputs())
		if err := fault.OnCores(ctx, len(list), func(i int) { list[i] = a.stated(k, i, tau, rows[statements*i:]) }); err != nil {
			return nil, err
		}
		rows = rows[statements*len(list):]
		a.neurons = append(a.neurons, list)
		a.failUp = arith.SumUp(a.failUp, arith.ProductUp(float64(statements*len(list)), tau))
	}
	return a, nil
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
		noisy := v.Hi > 0
		for j, z := range x {
			if z == 0 {
				continue
			}
			at := j*len(list) + i
			mean.Add(l.Weight.Mean[at], z)
			v, square := variance(&l.Weight, at), arith.Exactly(z).Square()
			lo.Add(v.Lo, square.Lo)
			hi.Add(v.Hi, square.Hi)
			noisy = noisy || v.Hi > 0 && z != 0
		}
		list[i].mean = arith.Of(mean.Lo(), mean.Hi())
		if noisy { // else its variance is 0, not nearly so
			list[i].variance = arith.Of(max(0, lo.Lo()), hi.Hi())
		}
	}
	return list
}

// exponent is sum -al_j z_j + b_j z_j^2/2, for any al_j from al to alHi.
type exponent struct{ al, alHi, b []float64 }

func newExponent(n int) exponent {
	return exponent{make([]float64, n), make([]float64, n), make([]float64, n)}
}

// of are the factors of term j.
func (e exponent) of(j int) (al arith.Interval, b float64) {
	return arith.Of(e.al[j], e.alHi[j]), e.b[j]
}

// zero says that it is 0, surely.
func (e exponent) zero() bool {
	some := func(x float64) bool { return x != 0 }
	return !slices.ContainsFunc(e.al, some) && !slices.ContainsFunc(e.alHi, some) && !slices.ContainsFunc(e.b, some)
}

// times is h times it, or more.
func (e exponent) times(h float64) exponent {
	s := newExponent(len(e.al))
	for j := range s.al {
		s.al[j], s.alHi[j], s.b[j] = arith.Down(h*e.al[j]), arith.Up(h*e.alHi[j]), arith.Up(h*e.b[j])
	}
	return s
}

// firstUp bounds the logarithm of the moment of the first hidden layer's outputs.
func (a *around) firstUp(e exponent, tol float64) float64 {
	var s arith.Sum
	act := a.layers[0].Activation
	for j, n := range a.neurons[0] {
		al, b := e.of(j)
		if al == (arith.Interval{}) && b == 0 {
			continue
		}
		u := 0.0
		if n.variance.Hi > 0 {
			u = n.heightUp(moment(act, al, b, n, tol/float64(len(e.b))), Plane{}, arith.Inf)
		} else {
			u = certainUp(act, al, b, n.mean)
		}
		if !(u < arith.Inf) {
			return arith.Inf
		}
		s.Plus(u)
	}
	return s.Hi()
}

// stated bounds the mean and the variance of neuron i of hidden layer k, each side but with probability tau, as rows
// show.
func (a *around) stated(k, i int, tau float64, rows []Row) bounds {
	l := &a.layers[k]
	n, out := l.Inputs(), l.Outputs()
	var of [statements]exponent // the mean, minus the mean, the variance, minus the variance
	for s := range of {
		of[s] = newExponent(n)
	}
	for j := range n {
		at := j*out + i
		v := variance(&l.Weight, at)
		of[0].al[j], of[1].al[j] = -l.Weight.Mean[at], l.Weight.Mean[at]
		of[0].alHi[j], of[1].alHi[j] = of[0].al[j], of[1].al[j]
		of[2].b[j], of[3].b[j] = 2*v.Hi, -2*v.Lo
	}
	var up [statements]float64
	for s, e := range of {
		up[s] = a.shownUp(k-1, e, tau, rows[s])
	}
	own := variance(&l.Bias, i)
	b := l.Bias.Mean[i]
	return bounds{
		arith.Of(arith.SumDown(b, -up[1]), arith.SumUp(b, up[0])),
		arith.Of(max(own.Lo, arith.SumDown(own.Lo, -up[3])), arith.SumUp(own.Hi, up[2])),
	}
}

// shownUp is above which an exponent of the outputs of hidden layer k is with probability tau at most on the statements
// of the layers up to k, as a row shows.
func (a *around) shownUp(k int, e exponent, tau float64, row Row) float64 {
	switch {
	case e.zero():
		return 0
	case !(row.Rate > 0):
		return arith.Inf
	}
	rates := []float64{row.Rate}
	if k == 0 && !plain(a.layers[0].Activation) { // near the rate that has no moment stretches are far above it
		rates = append(rates, 0.96*row.Rate, 0.88*row.Rate)
	}
	least := arith.Inf
	for _, h := range rates {
		below, power := a.below(k, e.times(h), row.Planes, rough)
		up := arith.Up(arith.Up(power+a.firstUp(below, pieceTol(rough))) + arith.LogUp(1/tau*(1+0x1p-50)))
		least = min(least, arith.Exactly(up).Over(arith.Exactly(h)).Hi)
	}
	return least
}
