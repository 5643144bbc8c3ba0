package covary

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// NewCovaried prepares a layer; the covariances of rows are made up to so many inputs. Of a convolution at is
// not nil, and none is made.
func NewCovaried(l *posterior.Layer, c *posterior.Covariance, most int, at *relax.Places) *Covaried {
	in, out, _ := posterior.CovariedShape(l.Map)
	v := &Covaried{Topped: Topped{Layer: l, Covariance: c, In: in, Out: out}, forms: in <= most && at == nil, at: at}
	n := v.In + 1
	v.sd = make([]float64, v.Out*n)
	v.norm = arith.Inf
	if !v.forms && !c.Full() && InRange(c.QA, c.QG, c.Sd) {
		v.norm = largestEigenvalueUp(c.QA, n)
	}
	for o := range v.Out {
		row := property.Row{CLo: make([]float64, v.Out)}
		row.CLo[o] = 1
		row.CHi = row.CLo
		u := v.of(&row)
		v.units = append(v.units, u)
		moves := v.moves(o)
		for j := range n {
			if moves[j] {
				v.sd[o*n+j] = u.Marginal(j)
			}
		}
	}
	return v
}

// moves says which entries of the row [W b] of output o are random: of others, that a file states with zeros, nothing
// is to be paid for roundings, and a layer of these is certain.
func (v *Covaried) moves(o int) []bool {
	c, n := v.Covariance, v.In+1
	moves, factors := make([]bool, n), make([]bool, n)
	if c.Full() {
		for j := range n {
			moves[j] = anyNot0(c.Factor[(o*n+j)*c.Rank : (o*n+j+1)*c.Rank])
		}
		return moves
	}
	for e, sd := range c.Sd {
		factors[e%n] = factors[e%n] || sd != 0 && c.QG[o*v.Out+e/n] != 0
	}
	for e, q := range c.QA {
		moves[e/n] = moves[e/n] || q != 0 && factors[e%n]
	}
	return moves
}

func (v *Covaried) of(row *property.Row) covariance {
	if v.forms {
		if r := v.newRow(row); r != nil {
			return r
		}
	} else if r := v.NewWide(row); r != nil {
		return r
	}
	return unknown{}
}

// Weights are sd of the weights as layers have them, and of the biases.
func (v *Covaried) Weights() (weight, bias []float64) {
	n := v.In + 1
	weight, bias = make([]float64, v.In*v.Out), make([]float64, v.Out)
	for o := range v.Out {
		for j := range v.In {
			weight[j*v.Out+o] = v.sd[o*n+j]
		}
		bias[o] = v.sd[o*n+v.In]
	}
	return weight, bias
}

// varianceUp is (92) with the box alone.
func (r *TopRow) varianceUp(b FedBox) float64 {
	if !InRange(b.C, b.H) {
		return arith.Inf
	}
	own, first := arith.Interval{}, arith.Sum{}
	for i, x := range b.C {
		var s arith.Sum
		for j, y := range b.C {
			s = s.With(r.K[i*r.N+j], y)
		}
		s.Add(r.Delta[i], x)
		w := arith.Of(s.Lo(), s.Hi())
		// What the row may be off by, twice its delta, is on the diagonal, which K is at most.
		own = own.Plus(w.Times(arith.Exactly(x)))
		if i < len(b.H) {
			first.Add(w.Size(), b.H[i])
		}
	}
	return FormOf(max(0, own.Hi), max(0, first.Hi()), r.FormUp(b.H))
}

// OfUnits is the noise of each output, mean being what the marginals say.
func (v *Covaried) OfUnits(z relax.Span) []float64 {
	if v.at != nil {
		return v.ofConvUnits(z)
	}
	box, list := FedBoxOf(z), make([]float64, v.Out)
	for i, u := range v.units {
		list[i] = u.varianceUp(box)
	}
	return list
}

// OfVariation is the variance of sum_j |W_ij| radius_j, for each output.
func (v *Covaried) OfVariation(radius []float64) []float64 {
	if v.at != nil {
		return v.ofConvVariation(radius)
	}
	box, list := around(radius), make([]float64, v.Out)
	for i, u := range v.units {
		list[i] = u.varianceUp(box)
	}
	return list
}

// OfRow is the noise of a row with coefficients in [lo, hi] of the outputs. Of coefficients out of range it is that of
// the row at another scale.
func (v *Covaried) OfRow(lo, hi, radius []float64, z relax.Span) law.Noise {
	if InRange(lo, hi) {
		return v.ofRowInRange(lo, hi, radius, z)
	}
	const scale = 0x1p-400
	lo, hi = slices.Clone(lo), slices.Clone(hi)
	for i := range lo {
		lo[i], hi[i] = arith.ProductDown(lo[i], scale), arith.ProductUp(hi[i], scale)
	}
	n := v.ofRowInRange(lo, hi, radius, z)
	return law.Noise{Mean: arith.ProductUp(n.Mean, 1/scale), Variance: arith.ProductUp(arith.ProductUp(n.Variance, 1/scale), 1/scale)}
}

func (v *Covaried) ofRowInRange(lo, hi, radius []float64, z relax.Span) law.Noise {
	if v.at != nil {
		return v.ofConvRow(lo, hi, radius, z)
	}
	of := v.of(&property.Row{CLo: lo, CHi: hi})
	var mean arith.Sum
	for j, r := range radius {
		if r != 0 {
			mean.Add(of.Marginal(j), r)
		}
	}
	return law.Noise{Mean: law.TimesSqrt2OverPiUp(mean.Hi()), Variance: of.varianceUp(FedBoxOf(z))}
}
