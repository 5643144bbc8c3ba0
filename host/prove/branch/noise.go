package branch

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// A network is drawn: W = M + D, b = mu_b + d. On one event K the noise D z(x) + d of every neuron
// is at most kappa for all x of the box, and the drawn network at x is that of the means with
// biases that are off by as much ((68), docs/theory.md). So what is decided for all such
// biases is decided for all networks of K at once, and any number of statements, cuts and rows cost
// no more than K.

// radiusShare is the share of Tau that a bound of how far a pre-activation varies over the box may
// fail with.
const radiusShare = 1.0 / 64

// inflated is the factor that every noise is enlarged by, so that psafe check, whose intervals are
// other roundings of these, proves what is proved with it.
const inflated = 1 + 0x1p-12

// Noise holds what independent normal weights of a network deviate by, with the failure budget of
// one bound. Its last layer is dense.
type Noise struct {
	net    network.Network
	layers []noiseLayer
	// noise and radius are how many standard deviations the noise of a neuron, and how far it
	// varies over the box, are allowed for.
	noise, radius float64
}

// noiseLayer has upper bounds of sd, sd^2 and E|W| of the weights, and sd^2 of the biases, as the map
// has them. random says that anything deviates.
type noiseLayer struct {
	network.Layer
	in, out                   int
	sd, variance, absMean, vb []float64
	random                    bool
}

// NewNoise prepares the deviations of a posterior of independent normal weights; absMean[k][j] is an
// upper bound of E|W_j| of layer k, and tau, in (0, 1), the probability that either bound of the
// noise of a neuron may fail with.
func NewNoise(post *posterior.Posterior, absMean [][]float64, tau float64) *Noise {
	n := &Noise{net: post.Network(), noise: probability.NoiseQuantileUp(tau, 1), radius: probability.NoiseQuantileUp(tau*radiusShare, 1)}
	for k := range post.Layers {
		l := &post.Layers[k]
		if len(absMean[k]) != len(l.Weight.SdHi) {
			panic(fmt.Sprintf("phases: NewNoise: %d means of |W|, layer %d has %d weights", len(absMean[k]), k, len(l.Weight.SdHi)))
		}
		n.layers = append(n.layers, noiseLayer{
			Layer: l.Layer, in: l.Inputs(), out: l.Outputs(), sd: l.Weight.SdHi, variance: squaresUp(l.Weight.SdHi), absMean: absMean[k], vb: squaresUp(l.Bias.SdHi),
			random: slices.ContainsFunc(l.Weight.SdHi, above0) || slices.ContainsFunc(l.Bias.SdHi, above0),
		})
	}
	return n
}

// EventsUp returns how many bounds, in units of tau, may fail beside the sets of rows that are
// proved: two for each neuron of a hidden layer whose weights deviate and a small one for its radius,
// and one for each of rows rows, whose noise counts from below alone. It is exact.
func (n *Noise) EventsUp(rows int) float64 {
	events, last := 0.0, len(n.layers)-1
	for k := range n.layers {
		switch l := &n.layers[k]; {
		case !l.random:
		case k < last:
			events += float64(l.out) * (2 + radiusShare)
		default:
			events += float64(rows)
		}
	}
	return events
}

// Reach holds of numbers that depend on x how far they are at most, for x in the box, from what
// they are at its centre, and from 0.
type Reach struct{ radius, most []float64 }

// ReachOf returns the reach of the box itself: any point of an interval may be the centre.
func ReachOf(box property.Box) Reach {
	var r Reach
	for j, lo := range box.Lo {
		hi := box.Hi[j]
		c := min(max(lo/2+hi/2, lo), hi)
		r.radius = append(r.radius, max(arith.SumUp(hi, -c), arith.SumUp(c, -lo)))
		r.most = append(r.most, max(-lo, hi))
	}
	return r
}

// units bounds the noise of the units of layer k, whose inputs reach so far: from either side each
// but for a probability of tau.
func (n *Noise) units(k int, in *Reach) []float64 {
	l := &n.layers[k]
	if !l.random {
		return make([]float64, l.out)
	}
	mean, variance := l.weigh(l.sd, in.radius), l.weigh(l.variance, squaresUp(in.most))
	by := make([]float64, l.out)
	for i := range by {
		variance[i].Plus(l.vb[l.Map.(network.Linear).BiasOf(i)])
		by[i] = n.byUp(&mean[i], &variance[i])
	}
	return by
}

// rows bounds the noise that the last layer adds to rows, from below, each but for a probability of
// tau.
func (n *Noise) rows(rows []property.Row, in *Reach) []float64 {
	l := &n.layers[len(n.layers)-1]
	by, most := make([]float64, len(rows)), squaresUp(in.most)
	if !l.random {
		return by
	}
	for r, row := range rows {
		square := make([]float64, l.out)
		var mean, variance arith.Sum
		for i := range square {
			c := max(math.Abs(row.CLo[i]), math.Abs(row.CHi[i]))
			square[i] = arith.ProductUp(c, c)
			variance.Add(square[i], l.vb[i])
		}
		for j := range l.in {
			var s arith.Sum // the variance of the coefficient of input j
			for i, v := range l.variance[j*l.out : (j+1)*l.out] {
				s.Add(square[i], v)
			}
			sq := max(0, s.Hi())
			variance.Add(sq, most[j])
			mean.Add(arith.SqrtUp(sq), in.radius[j])
		}
		by[r] = n.byUp(&mean, &variance)
	}
	return by
}

// byUp is sqrt(2/pi) mean + noise sqrt(variance), (11) and (13a) of one layer, rounded up.
func (n *Noise) byUp(mean, variance *arith.Sum) float64 {
	e := arith.ProductUp(arith.Sqrt2OverPiUp, max(0, mean.Hi()))
	return arith.SumUp(e, arith.ProductUp(n.noise, arith.SqrtUp(max(0, variance.Hi()))))
}

// OutputsUp is the reach of the outputs of layer k, whose inputs reach so far and whose
// pre-activations are in [lo, hi]: but for a probability of tau radiusShare for each radius of a layer
// that is random, max(t, 0) varying by no more than t does, and a greatest by no more than any does.
func (n *Noise) OutputsUp(k int, in *Reach, lo, hi []float64) Reach {
	var out Reach
	cut := n.layers[k].Activation.NonNeg() // that of max(t, 0)
	for i, radius := range n.variesUp(k, in) {
		zLo, zHi := lo[i], hi[i]
		if cut {
			zLo, zHi = max(zLo, 0), max(zHi, 0)
		}
		out.radius = append(out.radius, min(radius, arith.SumUp(zHi, -zLo)))
		out.most = append(out.most, max(-zLo, zHi))
	}
	return out
}

// variesUp returns how far the pre-activations of layer k vary over the box.
func (n *Noise) variesUp(k int, in *Reach) []float64 {
	l := &n.layers[k]
	radius := make([]float64, l.out)
	if _, linear := l.Map.(network.Linear); !linear {
		_, pool := l.Map.(network.MaxPool)
		of := network.Unweighted(l.Map)
		for i := range radius {
			var sum arith.Sum
			for j, c := range of(i) {
				sum.Add(c, in.radius[j])
				radius[i] = max(radius[i], in.radius[j])
			}
			if !pool {
				radius[i] = max(0, sum.Hi())
			}
		}
		return radius
	}
	mean := l.weigh(l.absMean, in.radius)
	var variance []arith.Sum
	if l.random {
		variance = l.weigh(l.variance, squaresUp(in.radius))
	}
	for i := range radius {
		radius[i] = max(0, mean[i].Hi())
		if l.random {
			radius[i] = arith.SumUp(radius[i], arith.ProductUp(n.radius, arith.SqrtUp(max(0, variance[i].Hi()))))
		}
	}
	return radius
}

// Into is the reach of what feeds layer k: of the box, and of the outputs of the layers before.
func (n *Noise) Into(k int, box *Reach, outputs []Reach) Reach {
	var in Reach
	for _, s := range n.net.Feed(k) {
		from := box
		if s >= 0 {
			from = &outputs[s]
		}
		in.radius, in.most = append(in.radius, from.radius...), append(in.most, from.most...)
	}
	return in
}

// allow has bounds from layer k on, or of rows if it is the last, hold with the noise that it adds,
// whose inputs reach so far. What is too large to be worth anything ends the task.
func (p *phased) allow(k int, in *Reach) error {
	if p.task.Noise == nil || !p.task.Noise.layers[k].random {
		return nil
	}
	by := p.task.Noise.KappaUp(k, p.task.Safe.Rows, in)
	for i, v := range by {
		if by[i] = arith.ProductUp(inflated, v); !(by[i] <= mostNoise) {
			return errStopped
		}
	}
	return p.s.Allow(by)
}

// mostNoise fits every precision with room to spare.
const mostNoise = 0x1p60

// KappaUp bounds the noise of the units of layer k from either side or, if it is the last layer, that of
// rows from below, each but for a probability of tau. in is the reach of what feeds the layer.
func (n *Noise) KappaUp(k int, rows []property.Row, in *Reach) []float64 {
	if k == len(n.layers)-1 {
		return n.rows(rows, in)
	}
	return n.units(k, in)
}

// weigh is sum_j w_ji x_j for each output i.
func (l *noiseLayer) weigh(w, x []float64) []arith.Sum {
	s := make([]arith.Sum, l.out)
	if _, dense := l.Map.(network.Dense); !dense {
		for i := range s {
			for j, at := range l.Map.(network.Linear).Into(i) {
				s[i] = s[i].With(w[at], x[j])
			}
		}
		return s
	}
	for j, v := range x {
		if v == 0 {
			continue
		}
		for i, c := range w[j*l.out : (j+1)*l.out] {
			s[i] = s[i].With(c, v)
		}
	}
	return s
}

func squaresUp(list []float64) []float64 {
	squares := make([]float64, len(list))
	for j, x := range list {
		squares[j] = arith.ProductUp(x, x)
	}
	return squares
}

func above0(x float64) bool { return x > 0 }
