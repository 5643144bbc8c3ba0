package sumtest

import (
	"math"
	"math/big"
	"slices"

	"psafe/host/model/posterior"
)

// Probit is the softmax of the logits m_k / sqrt(1 + pi/8 v_k) of a posterior that is random in the last
// layer alone, of the exact variances.
func Probit(post *posterior.Posterior, x []float64) []float64 {
	last, z := len(post.Layers)-1, slices.Clone(x)
	for k := range last {
		l := &post.Layers[k]
		y := slices.Clone(l.Bias.Mean)
		for o := range y {
			for j, v := range z {
				y[o] += l.Weight.Mean[j*len(y)+o] * v
			}
			y[o] = max(0, y[o])
		}
		z = y
	}
	l := &post.Layers[last]
	var cov *posterior.Covariance
	if all := post.Covariances(); all != nil {
		cov = all[last]
	}
	n := post.Outputs()
	pi, sum := make([]float64, n), 0.0
	for k := range pi {
		c := make([]float64, n)
		c[k] = 1
		v, _ := Form(RowCovariance(l, cov, c), append(slices.Clone(z), 1)).Float64()
		m := new(big.Rat).SetFloat64(l.Bias.Mean[k])
		for j, x := range z {
			m.Add(m, new(big.Rat).Mul(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(l.Weight.Mean[j*n+k])))
		}
		mean, _ := m.Float64()
		pi[k] = mean / math.Sqrt(1+math.Pi/8*v)
	}
	most := slices.Max(pi)
	for k := range pi {
		pi[k] = math.Exp(pi[k] - most)
		sum += pi[k]
	}
	for k := range pi {
		pi[k] /= sum
	}
	return pi
}
