package mean

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Down is a lower bound, at most 0, of the mean of each row of S at any point of T, given an
// upper bound of 1 - P_safe; known only if S is one conjunction. Where the network is safe the row
// is >= 0, so that E row(x) >= -|row(x)|_2 sqrt(1 - P_safe), |.|_2 being the L2 norm over the weights
// (docs/theory.md, section 3.4).
func Down(post *posterior.Posterior, task *property.Task, fail float64) (mean float64, known bool) {
	rows, conjunction := task.S.Conjunction()
	if !conjunction || !post.Independent() {
		return 0, false
	}
	unsafe := arith.SqrtUp(fail)
	norms := normsUp(post, task.T)
	for _, k := range rows {
		row := &task.S.Rows[k]
		var norm sizes
		norm.add(max(math.Abs(row.D), math.Abs(row.DHi)), 1)
		for i, n := range norms {
			norm.add(relax.Abs(row.CLo[i], row.CHi[i]), n)
		}
		mean = min(mean, -arith.Up(norm.hi()*unsafe))
	}
	return mean, !math.IsNaN(mean)
}

// normsUp bounds the L2 norms, over the weights, of the logits at any point of T. With q_j >=
// |z_j|_2 and Minkowski's inequality
//
//	|zeta_i|_2^2 <= (sum_j |M_ij| q_j + |mu_i|)^2 + sum_j sd_ij^2 q_j^2 + sd_b,i^2
//
// also where weights are used in several places, since neuron i meets each of them once; and
// the maximum of several numbers is at most the root of the sum of their squares.
func normsUp(post *posterior.Posterior, t []property.Box) []float64 {
	q := make([]float64, post.Inputs())
	for _, b := range t {
		for j := range q {
			q[j] = max(q[j], relax.Abs(b.Lo[j], b.Hi[j]))
		}
	}
	norms, feeds := [][]float64{q}, post.Network() // of the outputs of layer k at k+1
	for k := range post.Layers {
		var q []float64
		for _, s := range feeds.Feed(k) {
			q = append(q, norms[s+1]...)
		}
		norms = append(norms, layerNormsUp(&post.Layers[k], q))
	}
	return norms[len(norms)-1]
}

// layerNormsUp bounds the norms of a layer's outputs by those of its inputs; they are unknown of
// maps that this program does not know.
func layerNormsUp(l *posterior.Layer, q []float64) []float64 {
	next := make([]float64, l.Outputs())
	shape, _, err := relax.ShapeOf(l.Map, l.Activation)
	linear, weights := l.Map.(net.Linear)
	for i := range next {
		var mean, variance sizes
		switch {
		case err != nil:
			mean.add(arith.Inf, 1)
		case shape.Windows != nil:
			for _, j := range shape.Windows[i] {
				variance.add(law.SquareUp(q[j]), 1)
			}
		case weights && relax.Weighted(l.Map):
			b := linear.BiasOf(i)
			mean.add(math.Abs(l.Bias.Mean[b]), 1)
			variance.add(law.SquareUp(l.Bias.SdHi[b]), 1)
			for j, w := range linear.Into(i) {
				mean.add(math.Abs(l.Weight.Mean[w]), q[j])
				variance.add(law.SquareUp(l.Weight.SdHi[w]), law.SquareUp(q[j]))
			}
		default:
			shape.Each(i, func(j int, size float64) { mean.add(size, q[j]) })
		}
		next[i] = l.Activation.SizeUp(arith.SqrtUp(arith.SumUp(law.SquareUp(mean.hi()), variance.hi())))
	}
	return next
}

// sizes is a sum of products of numbers that are not negative. Those that are 0 are left out, so
// that a sum of them is 0.
type sizes struct{ of arith.Sum }

func (s *sizes) add(x, y float64) {
	if x != 0 && y != 0 {
		s.of.Add(x, y)
	}
}

// hi is at least the sum.
func (s *sizes) hi() float64 {
	if s.of.N == 0 {
		return 0
	}
	return s.of.Hi()
}
