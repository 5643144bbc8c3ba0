package check

import (
	"fmt"

	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// noisy is a posterior of independent normal weights as concentration LBP needs it: the
// network of the means, and the moments of what weights deviate by.
type noisy struct {
	mean       []layer
	deviations []deviations
	// quantiles keeps what noiseQuantileUp said.
	quantiles map[quantileOf]float64
}

type quantileOf struct {
	tau    float64
	layers int
}

// deviations are upper bounds of the standard deviations of a layer's weights, of their squares
// and of E|W|, [in*out] with outputs contiguous, and of the variances of the biases.
type deviations struct{ sd, variance, absMean, biasVariance []float64 }

// newNoisy prepares a posterior. Everything that is claimed of the noise grows with the
// standard deviations, so that upper bounds of them will do.
func newNoisy(post *posterior.Posterior) (*noisy, error) {
	if err := post.RequireIndependent(); err != nil {
		return nil, err
	}
	n := &noisy{quantiles: map[quantileOf]float64{}}
	for k := range post.Layers {
		l := &post.Layers[k]
		mean, err := layerOf(l, k, l.Weight.Mean, l.Bias.Mean)
		if err != nil {
			return nil, err
		}
		n.mean = append(n.mean, mean)
		m := deviations{sd: l.Weight.SdHi, variance: squaresUp(l.Weight.SdHi), biasVariance: squaresUp(l.Bias.SdHi)}
		m.absMean = make([]float64, len(m.sd))
		for j, mean := range l.Weight.Mean {
			m.absMean[j] = absMeanUp(mean, m.sd[j])
		}
		n.deviations = append(n.deviations, m)
	}
	if !post.Network().Chain() {
		return nil, errNoChain
	}
	return n, nil
}

// layerOf is layer k with these weights and biases.
func layerOf(l *posterior.Layer, k int, weights, biases []float64) (layer, error) {
	if _, dense := l.Map.(net.Dense); !dense {
		return layer{}, fmt.Errorf("layer %d is a %T: only dense layers can be checked", k, l.Map)
	}
	if !supported(l.Activation) {
		return layer{}, fmt.Errorf("layer %d has activation %v, which cannot be checked", k, l.Activation)
	}
	return layer{in: l.Inputs(), out: l.Outputs(), act: l.Activation, w: span{weights, weights}, b: span{biases, biases}}, nil
}

// quantile is noiseQuantileUp.
func (n *noisy) quantile(tau float64, layers int) float64 {
	at := quantileOf{tau, layers}
	z, known := n.quantiles[at]
	if !known {
		z = noiseQuantileUp(tau, layers)
		n.quantiles[at] = z
	}
	return z
}

// squareUp is at least x^2, and 0 for 0.
func squareUp(x float64) float64 {
	p, e := twoProduct(x, x)
	if x != 0 && (e > 0 || p < 0x1p-900) {
		return up(p)
	}
	return p
}

func squaresUp(x []float64) []float64 {
	y := make([]float64, len(x))
	for j := range x {
		y[j] = squareUp(x[j])
	}
	return y
}

// noise bounds what a layer's deviations do to a row: -E inf over the cell (11), and the
// variance (12).
type noise struct{ mean, variance float64 }

// byUp is how far a bound has to be moved for noise of this mean and variance.
func (n noise) byUp(quantile float64) float64 {
	if n.variance == 0 {
		return n.mean
	}
	return sumUp(n.mean, up(quantile*sqrtUp(n.variance)))
}

// plus is the noise of two layers.
func (n noise) plus(m noise) noise {
	return noise{sumUp(n.mean, m.mean), sumUp(n.variance, m.variance)}
}

// reach says of numbers that depend on x in the cell how far they are at most from what they
// are at one point of the cell, and from 0, with the squares.
type reach struct{ radius, radiusSq, mostSq []float64 }

func newReach(n int) reach {
	return reach{make([]float64, n), make([]float64, n), make([]float64, n)}
}

func (r *reach) set(j int, radius, most float64) {
	r.radius[j], r.radiusSq[j], r.mostSq[j] = radius, squareUp(radius), squareUp(most)
}

// reachOf is that of the points of a box.
func reachOf(cell property.Box) reach {
	r := newReach(len(cell.Lo))
	for j, lo := range cell.Lo {
		hi, radius := cell.Hi[j], 0.0
		if lo != hi {
			c := lo + (hi-lo)/2 // any point will do as the centre
			radius = max(sumUp(hi, -c), sumUp(c, -lo))
		}
		r.set(j, radius, abs(lo, hi))
	}
	return r
}

// own is the noise of each neuron's own weights, (11) and (12) for the row e_i.
func (m *deviations) own(in *reach) []noise {
	mean, variance := weigh(m.sd, in.radius, len(m.biasVariance)), weigh(m.variance, in.mostSq, len(m.biasVariance))
	n := make([]noise, len(mean))
	for i := range n {
		variance[i].plus(m.biasVariance[i])
		n[i] = noise{timesSqrt2OverPiUp(mean[i].hi()), atLeast0(variance[i].hi())}
	}
	return n
}

// ofRow is the noise of the layer in a row a over its pre-activations.
func (m *deviations) ofRow(a []float64, in *reach) noise {
	square, at := make([]float64, len(a)), []int(nil)
	var mean, variance sum
	for i, v := range a {
		if v != 0 {
			square[i], at = squareUp(v), append(at, i)
			variance = variance.with(square[i], m.biasVariance[i])
		}
	}
	out := len(a)
	for j, radius := range in.radius {
		if in.mostSq[j] == 0 {
			continue // z_j is 0, and so is its radius
		}
		// up to s_j^2 of (11)
		s := dot(sum{}, square, m.variance[j*out:(j+1)*out], at)
		sq := atLeast0(s.hi())
		variance = variance.with(sq, in.mostSq[j])
		if radius != 0 {
			mean = mean.with(sqrtUp(sq), radius)
		}
	}
	return noise{timesSqrt2OverPiUp(mean.hi()), atLeast0(variance.hi())}
}

// variation bounds mean and variance of sum_j |W_ij| radius_j, by which the pre-activations
// vary over the cell at most (docs/concentration.md, section 3).
func (m *deviations) variation(in *reach) []noise {
	mean, variance := weigh(m.absMean, in.radius, len(m.biasVariance)), weigh(m.variance, in.radiusSq, len(m.biasVariance))
	n := make([]noise, len(mean))
	for i := range n {
		n[i] = noise{atLeast0(mean[i].hi()), atLeast0(variance[i].hi())}
	}
	return n
}

// weigh is sum_j w_ji x_j for each of the outputs.
func weigh(w, x []float64, out int) []sum {
	s := make([]sum, out)
	for j, v := range x {
		if v == 0 {
			continue
		}
		for i, c := range w[j*out : (j+1)*out] {
			s[i] = s[i].with(c, v)
		}
	}
	return s
}

// sqrt2OverPiUp is sqrt(2/pi), rounded up.
var sqrt2OverPiUp = overTau.scaled(1).roundUp(tailErr)

// timesSqrt2OverPiUp is at least sqrt(2/pi) s, for s >= 0 but for roundings.
func timesSqrt2OverPiUp(s float64) float64 {
	if s <= 0 {
		return 0
	}
	return up(sqrt2OverPiUp * s)
}

func atLeast0(x float64) float64 { return max(0, x) }
