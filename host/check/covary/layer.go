package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Layers whose weights depend on each other (docs/theory.md, section 5.5): the variance of a row's noise
// is a quadratic form over the box of what feeds the layer, of the covariance of the row.

// MostFormedInputs is up to how many inputs the covariance of a row is made: as for certify.
const MostFormedInputs = 128

// Covaried is a dense layer with a covariance, or a convolution: then it is what a position has, in and out
// being taps and filters, and at says where those are; last is what fed it last.
type Covaried struct {
	Topped
	at   *relax.Places
	last *convBox
	// sd are upper bounds of the deviations of the entries of [W b], [out x (in+1)].
	sd []float64
	// units are the rows of single outputs, once they have been asked for; norm is that of wide.
	units []covariance
	norm  float64
	forms bool
}

// covariance is that of a row: formed, or by factors where it is large.
type covariance struct {
	formed *TopRow
	wide   *WideRow
}

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
				v.sd[o*n+j] = u.marginal(j)
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

// of is the covariance of a row, without anything where numbers are out of range.
func (v *Covaried) of(row *property.Row) covariance {
	if v.forms {
		return covariance{formed: v.newRow(row)}
	}
	return covariance{wide: v.NewWide(row)}
}

// marginal bounds the standard deviation of coefficient j.
func (c covariance) marginal(j int) float64 {
	switch {
	case c.formed != nil:
		return c.formed.Marginal(j)
	case c.wide != nil:
		return c.wide.Marginal(j)
	}
	return arith.Inf
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

// FedBox is what feeds a layer: middle and half-width of each number, and 1.
type FedBox struct{ C, H []float64 }

func FedBoxOf(z relax.Span) FedBox {
	b := FedBox{}
	for j := range z.Lo {
		c := relax.CentreOf(z.Lo[j], z.Hi[j])
		b.C = append(b.C, c)
		b.H = append(b.H, max(0, arith.SumUp(z.Hi[j], -c), arith.SumUp(c, -z.Lo[j])))
	}
	b.C = append(b.C, 1)
	return b
}

// around is a box of these half-widths around 0, and 0 where there is 1 otherwise.
func around(h []float64) FedBox { return FedBox{make([]float64, len(h)+1), h} }

// varianceUp bounds the form over a box.
func (c covariance) varianceUp(b FedBox) float64 {
	if !InRange(b.C, b.H) {
		return arith.Inf
	}
	switch {
	case c.formed != nil:
		return c.formed.varianceUp(b)
	case c.wide != nil:
		return c.wide.varianceUp(b)
	}
	return arith.Inf
}

// varianceUp is (92) with the box alone.
func (r *TopRow) varianceUp(b FedBox) float64 {
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

// FormOf is (92): of the form at the middle, half of what it changes by in first order, and the largest
// value of the form of the half-widths.
func FormOf(centre, first, second float64) float64 {
	root := arith.SumUp(arith.SqrtUp(centre), arith.SqrtUp(second))
	return min(arith.SumUp(arith.SumUp(centre, 2*first), second), arith.ProductUp(root, root))
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

// OfRow is the noise of a row with coefficients in [lo, hi] of the outputs.
func (v *Covaried) OfRow(lo, hi, radius []float64, z relax.Span) law.Noise {
	if v.at != nil {
		return v.ofConvRow(lo, hi, radius, z)
	}
	of := v.of(&property.Row{CLo: lo, CHi: hi})
	var mean arith.Sum
	for j, r := range radius {
		if r != 0 {
			mean.Add(of.marginal(j), r)
		}
	}
	return law.Noise{Mean: law.TimesSqrt2OverPiUp(mean.Hi()), Variance: of.varianceUp(FedBoxOf(z))}
}

func InRange(lists ...[]float64) bool {
	for _, list := range lists {
		if slices.ContainsFunc(list, func(x float64) bool { return !(math.Abs(x) <= TopMost) }) {
			return false
		}
	}
	return true
}

func AnyAbove0(list []float64) bool {
	return slices.ContainsFunc(list, func(x float64) bool { return x > 0 })
}

func anyNot0(list []float64) bool {
	return slices.ContainsFunc(list, func(x float64) bool { return x != 0 })
}
