package check

import (
	"context"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// noisy is a posterior of independent normal weights as concentration LBP needs it: the
// network of the means, and the moments of what weights deviate by.
type noisy struct {
	mean  []layer
	graph *graph
	// top is there if the last layer alone is random; without deviations nothing else is known.
	top *topped
	// masks are there for dropout; without deviations nothing else is known.
	masks      *masks
	deviations []deviations
	// linear is there for networks that are linearised about the mean; nothing else is known then.
	linear *linear
	// covaries says that weights depend on each other in layers; common is what all layers have in common.
	covaries bool
	common   *common
	// levels: what is known of where noise comes from.
	levels levels
	// quantiles keeps what noiseQuantileUp said.
	quantiles map[quantileOf]float64
	// ctx, if it is not nil, ends what takes long: then nothing is known.
	ctx context.Context
}

type quantileOf struct {
	tau    float64
	layers int
}

// deviations are upper bounds of the standard deviations of a layer's weights, of their squares
// and of E|W|, laid out as in layer, and of the variances of the biases.
type deviations struct {
	sd, variance, absMean, biasVariance []float64
	// covaried, if it is not nil, says how the weights vary together: sd are then their marginals.
	covaried *covaried
	// meanSquare are squares of the means, of chains.
	meanSquare []float64
	at         *places
}

// newNoisy prepares a posterior. Everything that is claimed of the noise grows with the
// standard deviations, so that upper bounds of them will do.
func newNoisy(post *posterior.Posterior) (*noisy, error) {
	top, masks := newTopped(post), newMasks(post)
	if err := post.RequireRows(); err != nil {
		return nil, err
	}
	m, err := moldOf(post.Network())
	if err != nil {
		return nil, err
	}
	n := &noisy{top: top, masks: masks, covaries: !post.Independent(), common: newCommon(post), graph: m.graph, quantiles: map[quantileOf]float64{}}
	if n.mean, err = m.filled(post.Mean(), post.Mean()); err != nil {
		return nil, err
	}
	if about := post.About(); about != nil {
		n.linear = newLinear(about)
		return n, nil
	}
	if !post.Independent() && (top != nil || masks != nil) {
		return n, nil
	}
	noise := make([]bool, len(n.mean))
	for k := range post.Layers {
		l := &post.Layers[k]
		d := deviations{at: n.mean[k].at}
		if m.weights[k] {
			weight, bias := l.Weight.SdHi, l.Bias.SdHi
			if all := post.Covariances(); all != nil {
				weight, bias = make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Bias.Mean))
				if all[k] != nil {
					v := newCovaried(l, all[k], mostFormedInputs, n.mean[k].at)
					if weight, bias = v.weights(); anyAbove0(weight) || anyAbove0(bias) { // else the layer is certain
						d.covaried = v
					}
				}
			}
			both, bothBias := weight, bias // with what all layers have in common
			if n.common != nil {
				weight, bias = make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Bias.Mean))
				if post.SWAG() != nil {
					weight, bias = swagSds(post, k)
				}
				both, bothBias = n.common.sds(k, weight, bias)
			}
			noise[k] = anyAbove0(both) || anyAbove0(bothBias) || m.graph.chain && k > 0 && noise[k-1]
			d.sd, d.biasVariance = matrix(weight, m.params[k]), squaresUp(bias)
			d.variance = squaresUp(d.sd)
			absMean := make([]float64, len(l.Weight.Mean))
			for j, mean := range l.Weight.Mean {
				absMean[j] = gauss.AbsMeanUp(mean, both[j])
			}
			d.absMean = matrix(absMean, m.params[k])
			if m.graph.chain {
				d.meanSquare = squaresUp(l.Weight.Mean)
			}
		}
		n.deviations = append(n.deviations, d)
	}
	n.levels = levelsOf(n.mean, m.graph, noise)
	return n, nil
}

// swagSds are the standard deviations that weights and biases of a layer have by themselves, rounded up.
func swagSds(post *posterior.Posterior, k int) (weight, bias []float64) {
	half := func(list []float64) []float64 {
		sd := make([]float64, len(list))
		for e, v := range list {
			if v > 0 {
				sd[e] = arith.SqrtUp(arith.Up(arith.ProductUp(v, v) / 2))
			}
		}
		return sd
	}
	s := post.SWAG()
	return half(s.Sd[2*k]), half(s.Sd[2*k+1])
}

// ofMeans is the network of the means for bounds below noise, whose rows certify takes down to the input, whatever
// --depth says.
func (n *noisy) ofMeans(try uint64) network {
	g := *n.graph
	g.depth = 0
	return network{layers: n.mean, graph: &g, lines: true, by: choice{try: try}, ctx: n.ctx}
}

// cellFailUp bounds the probability that the network leaves S in a cell. Of weights that depend on each
// other nothing is known but what topPass says, and of masks what maskPass does: both of the whole cell.
// ball is what the cell is cut to, nil if it is not.
func (n *noisy) cellFailUp(cell property.Box, ball *property.Ball, tau float64, try uint64, s *property.Safe) float64 {
	if n.masks != nil {
		return n.newMaskPass(cell, tau, try).cellFailUp(s)
	}
	if n.linear != nil {
		return impliedUp(s, n.newLinearPass(cell, try, linesNarrow).tails(s))
	}
	least := 1.0
	if n.covaries {
		ball = nil // bounds on balls are for independent weights: those of the whole cell
	}
	if n.top != nil {
		least = n.newTopPass(cell, try).cellFailUp(s)
	}
	if n.deviations == nil {
		return least
	}
	return min(least, n.newPassOnBall(cell, ball, tau, try).cellFailUp(s))
}

// holdsUp bounds the probability that S holds at some one point of a cell, given S with its rows negated.
func (n *noisy) holdsUp(cell property.Box, tau float64, try uint64, negated *property.Safe) float64 {
	if n.masks != nil {
		return n.newMaskPass(cell, tau, try).holdsUp(negated)
	}
	if n.linear != nil {
		tails, at := n.newLinearPass(cell, try, linesNarrow).tails(negated), n.newPointLaw(cell)
		for r := range tails {
			tails[r] = min(tails[r], at.tailUp(&negated.Rows[r]))
		}
		return refutedUp(negated, tails)
	}
	least := 1.0
	if n.top != nil {
		least = n.newTopPass(cell, try).holdsUp(negated)
	}
	if n.deviations == nil {
		return least
	}
	return min(least, n.newCellPass(cell, tau, try).holdsUp(negated))
}

func anyAbove0(list []float64) bool {
	return slices.ContainsFunc(list, func(x float64) bool { return x > 0 })
}

func anyNot0(list []float64) bool {
	return slices.ContainsFunc(list, func(x float64) bool { return x != 0 })
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
func squareUp(x float64) float64 { return arith.ProductUp(x, x) }

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
	return arith.SumUp(n.mean, arith.Up(quantile*arith.SqrtUp(n.variance)))
}

// plus is the noise of two layers.
func (n noise) plus(m noise) noise {
	return noise{arith.SumUp(n.mean, m.mean), arith.SumUp(n.variance, m.variance)}
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

// centreOf is a point of an interval: any will do as the centre.
func centreOf(lo, hi float64) float64 { return min(max(lo+(hi-lo)/2, lo), hi) }

// reachOf is that of the points of a box.
func reachOf(cell property.Box) reach {
	r := newReach(len(cell.Lo))
	for j, lo := range cell.Lo {
		hi, radius := cell.Hi[j], 0.0
		if lo != hi {
			c := centreOf(lo, hi)
			radius = max(arith.SumUp(hi, -c), arith.SumUp(c, -lo))
		}
		r.set(j, radius, abs(lo, hi))
	}
	return r
}

// own is the noise of each neuron's own weights, (11) and (12) for the row e_i, z being what feeds it.
func (m *deviations) own(in *reach, z span) []noise {
	mean, variance := m.weigh(m.sd, in.radius), m.weigh(m.variance, in.mostSq)
	n := make([]noise, len(mean))
	for i := range n {
		variance[i].Plus(m.biasVariance[i%len(m.biasVariance)])
		n[i] = noise{timesSqrt2OverPiUp(mean[i].Hi()), atLeast0(variance[i].Hi())}
	}
	if m.covaried != nil {
		for i, v := range m.covaried.ofUnits(z) {
			n[i].variance = v
		}
	}
	return n
}

// ofProperty is the noise of the layer in a row of a property, z being what feeds it.
func (m *deviations) ofProperty(row *property.Row, in *reach, z span) noise {
	if m.covaried != nil {
		return m.covaried.ofRow(row.CLo, row.CHi, in, z)
	}
	return m.ofRow(sizesOf(row), in, z)
}

// sizesOf are the largest magnitudes of a row's coefficients.
func sizesOf(row *property.Row) []float64 {
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = abs(row.CLo[i], row.CHi[i])
	}
	return most
}

// ofRow is the noise of the layer in a row a over its pre-activations, z being what feeds it.
func (m *deviations) ofRow(a []float64, in *reach, z span) noise {
	if m.covaried != nil {
		return m.covaried.ofRow(a, a, in, z)
	}
	if m.at != nil {
		return m.ofSharedRow(a, in, z)
	}
	square, at := make([]float64, len(a)), []int(nil)
	var mean, variance arith.Sum
	for i, v := range a {
		if v != 0 {
			square[i], at = squareUp(v), append(at, i)
			variance = variance.With(square[i], m.biasVariance[i])
		}
	}
	out := len(a)
	for j, radius := range in.radius {
		if in.mostSq[j] == 0 {
			continue // z_j is 0, and so is its radius
		}
		// up to s_j^2 of (11)
		s := dot(arith.Sum{}, square, m.variance[j*out:(j+1)*out], at)
		sq := atLeast0(s.Hi())
		variance = variance.With(sq, in.mostSq[j])
		if radius != 0 {
			mean = mean.With(arith.SqrtUp(sq), radius)
		}
	}
	return noise{timesSqrt2OverPiUp(mean.Hi()), atLeast0(variance.Hi())}
}

// variation bounds mean and variance of sum_j |W_ij| radius_j, by which the pre-activations
// vary over the cell at most (docs/theory.md, section 3.3).
func (m *deviations) variation(in *reach) []noise {
	mean, variance := m.weigh(m.absMean, in.radius), m.weigh(m.variance, in.radiusSq)
	n := make([]noise, len(mean))
	for i := range n {
		n[i] = noise{atLeast0(mean[i].Hi()), atLeast0(variance[i].Hi())}
	}
	if m.covaried != nil {
		for i, v := range m.covaried.ofVariation(in.radius) {
			n[i].variance = v
		}
	}
	return n
}

// weigh is sum_j w_ji x_j for each of the outputs.
func (m *deviations) weigh(w, x []float64) []arith.Sum {
	if m.at != nil {
		return m.at.weigh(w, x)
	}
	out := len(m.biasVariance)
	s := make([]arith.Sum, out)
	for j, v := range x {
		if v == 0 {
			continue
		}
		for i, c := range w[j*out : (j+1)*out] {
			s[i] = s[i].With(c, v)
		}
	}
	return s
}

// timesSqrt2OverPiUp is at least sqrt(2/pi) s, for s >= 0 but for roundings.
func timesSqrt2OverPiUp(s float64) float64 {
	if s <= 0 {
		return 0
	}
	return arith.Up(arith.Sqrt2OverPiUp * s)
}

func atLeast0(x float64) float64 { return max(0, x) }
