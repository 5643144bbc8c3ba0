package sumtest

import (
	"math/big"

	"psafe/host/model/posterior"
)

// RowCovariance is the covariance of the coefficients of the row c of a layer, of its inputs and 1, in rational
// numbers: that of the columns of what a file states, by definition. Weights are independent where cov is nil.
func RowCovariance(l *posterior.Layer, cov *posterior.Covariance, c []float64) [][]*big.Rat {
	n, out := l.Inputs()+1, l.Outputs()
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	var columns [][]*big.Rat // what each normal number adds to the row's coefficients
	add := func(entry func(o, j int) *big.Rat) {
		column := make([]*big.Rat, n)
		for j := range n {
			column[j] = new(big.Rat)
			for o := range out {
				column[j].Add(column[j], new(big.Rat).Mul(rat(c[o]), entry(o, j)))
			}
		}
		columns = append(columns, column)
	}
	switch {
	case cov == nil:
		for e := range out * n {
			add(func(o, j int) *big.Rat {
				switch {
				case o*n+j != e:
					return new(big.Rat)
				case j == n-1:
					return rat(l.Bias.SdHi[o])
				}
				return rat(l.Weight.SdHi[j*out+o])
			})
		}
	case cov.Full():
		for k := range cov.Rank {
			for own := range out {
				if !cov.Apart && own > 0 {
					break
				}
				add(func(o, j int) *big.Rat {
					if cov.Apart && o != own {
						return new(big.Rat)
					}
					return rat(cov.Factor[(o*n+j)*cov.Rank+k])
				})
			}
		}
	default:
		for e := range out * n {
			i, k := e/n, e%n
			add(func(o, j int) *big.Rat {
				return new(big.Rat).Mul(rat(cov.Sd[e]), new(big.Rat).Mul(rat(cov.QG[o*out+i]), rat(cov.QA[j*n+k])))
			})
		}
	}
	k := make([][]*big.Rat, n)
	for i := range k {
		for j := range n {
			sum := new(big.Rat)
			for _, column := range columns {
				sum.Add(sum, new(big.Rat).Mul(column[i], column[j]))
			}
			k[i] = append(k[i], sum)
		}
	}
	return k
}

// Form is p'K p.
func Form(k [][]*big.Rat, p []float64) *big.Rat {
	sum := new(big.Rat)
	for i := range k {
		for j := range k {
			x := new(big.Rat).SetFloat64(p[i])
			sum.Add(sum, x.Mul(x, new(big.Rat).SetFloat64(p[j])).Mul(x, k[i][j]))
		}
	}
	return sum
}
