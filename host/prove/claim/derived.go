package claim

import (
	"fmt"
	"math"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Derived are bounds that follow from those of P_safe (Wicker et al., UAI 2020,
// proposition 4), about single points of T instead of all at once.
type Derived struct {
	// ProbLower <= inf over x in T of Prob(f(x) in S) <= ProbUpper.
	ProbLower, ProbUpper float64
	// MeanLower <= inf over x in T of E row(x), for the row of S that has the least
	// such bound; NaN if S is not one conjunction.
	MeanLower float64
}

// Derive computes Derived for a posterior of independent normal weights.
//
// For every x of T, Prob(f(x) in S) is at least the probability that this holds on all
// of T at once, and the upper bound of P_safe is that of Prob(f(x) in S) at one x.
//
// The paper's second part, a P_safe <= inf_x E f_i(x) for S = {y_i > a}, is Markov's
// inequality and needs f_i >= 0, which logits are not. Instead: a row is >= 0 where
// the network is safe, and with Cauchy and Schwarz
//
//	E row(x) >= E row(x) 1[unsafe] >= -|row(x)|_2 sqrt(1 - p_lower)
//
// with the L2 norm |.|_2 over the weights bounded layer by layer, see normsUp.
func Derive(post *posterior.Posterior, r *Result) *Derived {
	d := &Derived{ProbLower: r.Lower(), ProbUpper: r.Upper(), MeanLower: math.NaN()}
	rows, ok := r.Task.S.Conjunction()
	if !ok {
		return d
	}
	unsafe := above1(1 - r.Lower())
	norms := normsUp(post, r.Task.T)
	d.MeanLower = 0
	for _, k := range rows {
		row := &r.Task.S.Rows[k]
		norm := max(math.Abs(row.D), math.Abs(row.DHi))
		for i, n := range norms {
			norm = above1(norm + above1(max(math.Abs(row.CLo[i]), math.Abs(row.CHi[i]))*n))
		}
		d.MeanLower = min(d.MeanLower, -above1(norm*above1(math.Sqrt(unsafe))))
	}
	return d
}

// normsUp bounds the L2 norms, over the weights, of the logits at any point of T.
// Given the layer below, E zeta_i^2 = (M z + mu)_i^2 + sum_j sd_ij^2 z_j^2 + sd_b^2, so
// with q_j >= |z_j|_2 and Minkowski's inequality
//
//	|zeta_i|_2^2 <= (sum_j |M_ij| q_j + |mu_i|)^2 + sum_j sd_ij^2 q_j^2 + sd_b,i^2
//
// and network.Activation.SizeUp takes the norm through the activation. In a convolution the
// weights that meet in one output are different ones, as in a dense layer, and independent of
// what they meet. Without weights, |sum_j c_j z_j|_2 <= sum_j c_j q_j by Minkowski, and of a
// max pool |max_j z_j|_2^2 <= E sum_j z_j^2 <= sum_j q_j^2.
func normsUp(post *posterior.Posterior, t []property.Box) []float64 {
	q := make([]float64, post.Inputs())
	for _, b := range t {
		for j := range q {
			q[j] = max(q[j], math.Abs(b.Lo[j]), math.Abs(b.Hi[j]))
		}
	}
	net, out := post.Network(), make([][]float64, len(post.Layers))
	for k := range post.Layers {
		l := &post.Layers[k]
		out[k] = layerNormsUp(l, network.Join(net, k, q, out))
		for i, n := range out[k] {
			out[k][i] = l.Activation.SizeUp(n)
		}
	}
	return out[len(out)-1]
}

// layerNormsUp bounds the L2 norms of the pre-activations of a layer by those of its inputs.
func layerNormsUp(l *posterior.Layer, q []float64) []float64 {
	norm := make([]float64, l.Outputs())
	switch m := l.Map.(type) {
	case network.Linear:
		for i := range norm {
			b := m.BiasOf(i)
			mean, variance := math.Abs(l.Bias.Mean[b]), above1(l.Bias.SdHi[b]*l.Bias.SdHi[b])
			for j, w := range m.Into(i) {
				x := q[j]
				mean = above1(mean + above1(math.Abs(l.Weight.Mean[w])*x))
				s := above1(l.Weight.SdHi[w] * x)
				variance = above1(variance + above1(s*s))
			}
			norm[i] = above1(math.Sqrt(above1(above1(mean*mean) + variance)))
		}
	case network.Fixed:
		into := network.Unweighted(m)
		for i := range norm {
			for j, c := range into(i) {
				norm[i] = above1(norm[i] + above1(c*q[j]))
			}
		}
	case network.MaxPool:
		into := network.Unweighted(m)
		for i := range norm {
			for j := range into(i) {
				norm[i] = above1(norm[i] + above1(q[j]*q[j]))
			}
			norm[i] = above1(math.Sqrt(norm[i]))
		}
	default:
		panic(fmt.Sprintf("prove: norms of a %T", m))
	}
	return norm
}

// above1 is the next float64 above x: above every real number that x was rounded from.
func above1(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
