package ontop

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// The law of a row of linearised networks at a point (docs/theory.md, section 5.8): normal, with the mean network's
// margin and the sum of the squares of what each independent normal number adds, both enclosed for all points of a
// small box.

// pointLaw is the mean network on the box: what feeds each layer, whether its ReLUs are on, and what it gives.
type pointLaw struct {
	*Linear
	fed   []relax.Span
	on    [][]arith.Interval
	gives relax.Span
}

func NewPointLaw(of *Linear, mean []relax.Layer, box property.Box) *pointLaw {
	p := &pointLaw{Linear: of}
	z := relax.Span{Lo: box.Lo, Hi: box.Hi}
	for k := range mean {
		p.fed = append(p.fed, z)
		pre := mean[k].Affine(z)
		if k == len(mean)-1 {
			p.gives = pre
			break
		}
		z = relax.NewSpan(len(pre.Lo))
		on := make([]arith.Interval, len(pre.Lo))
		for o := range on {
			switch {
			case pre.Lo[o] > 0:
				on[o] = arith.Exactly(1)
			case !(pre.Hi[o] <= 0):
				on[o] = arith.Of(0, 1)
			}
			z.Lo[o], z.Hi[o] = max(0, pre.Lo[o]), max(0, pre.Hi[o])
		}
		p.on = append(p.on, on)
	}
	return p
}

// TailUp bounds the probability that the row is negative, or 0, at some one point of the box.
func (p *pointLaw) TailUp(row *property.Row) float64 {
	var least arith.Sum
	least.Plus(row.D)
	for o := range row.CLo {
		least.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], p.gives.Lo[o], p.gives.Hi[o]))
	}
	v := p.variance(p.rows(row))
	switch m := least.Lo(); {
	case !arith.Finite(m, m) || !v.Finite():
		return 1
	case m > 0 && v.Hi == 0:
		return 0
	case m > 0:
		return gauss.TailOfUp(law.Ratio(m, v.Hi))
	case v.Lo > 0:
		return min(1, arith.Up(1-law.TailDown(-m, v.Lo)))
	}
	return 1
}

// rows are the row's coefficients of the outputs of each layer.
func (p *pointLaw) rows(row *property.Row) []relax.Span {
	last := len(p.layers) - 1
	rows := make([]relax.Span, last+1)
	rows[last] = relax.Span{Lo: row.CLo, Hi: row.CHi}
	for k := last; k > 0; k-- {
		out, below := p.layers[k].Outputs(), relax.NewSpan(p.layers[k].Inputs())
		for j, on := range p.on[k-1] {
			if on.Hi == 0 {
				continue
			}
			var of products
			for o, w := range p.layers[k].Weight.Mean[j*out : (j+1)*out] {
				of.add(arith.Of(rows[k].Lo[o], rows[k].Hi[o]), arith.Exactly(w))
			}
			a := of.value()
			if on.Lo == 0 {
				a = arith.Of(min(0, a.Lo), max(0, a.Hi))
			}
			below.Lo[j], below.Hi[j] = a.Lo, a.Hi
		}
		rows[k-1] = below
	}
	return rows
}

// variance holds that of the row at every point of the box.
func (p *pointLaw) variance(rows []relax.Span) arith.Interval {
	for k := range rows {
		if !covary.InRange(rows[k].Lo, rows[k].Hi, p.fed[k].Lo, p.fed[k].Hi) {
			return arith.Of(0, arith.Inf)
		}
	}
	var total squares
	if c := p.joint; c != nil {
		for t := range c.Rank {
			var of linearForm
			for k := range rows {
				of.add(rows[k], p.fed[k], c.Of[k][t])
			}
			total.add(of.value(), 1, 1)
		}
		return total.value()
	}
	for k, row := range rows {
		l, z := &p.layers[k], p.fed[k]
		in, out := l.Inputs(), l.Outputs()
		switch v := p.own[k]; {
		case v == nil && p.independent:
			for o := range out {
				a := arith.Of(row.Lo[o], row.Hi[o])
				for j := range in {
					total.add(a.Times(arith.Of(z.Lo[j], z.Hi[j])), l.Weight.SdLo[j*out+o], l.Weight.SdHi[j*out+o])
				}
				total.add(a, l.Bias.SdLo[o], l.Bias.SdHi[o])
			}
		case v == nil:
		case v.Covariance.Full():
			c, column := v.Covariance, make([]float64, out*(in+1))
			for t := range c.Rank {
				for e := range column {
					column[e] = c.Factor[e*c.Rank+t]
				}
				if !c.Apart {
					var of linearForm
					of.add(row, z, column)
					total.add(of.value(), 1, 1)
					continue
				}
				for o := range out { // each with a number of its own
					var of linearForm
					of.add(relax.Span{Lo: row.Lo[o : o+1], Hi: row.Hi[o : o+1]}, z, column[o*(in+1):(o+1)*(in+1)])
					total.add(of.value(), 1, 1)
				}
			}
		default:
			c := v.Covariance
			left, right := through(c.QG, row, out), through(c.QA, relax.Span{Lo: append(slices.Clone(z.Lo), 1), Hi: append(slices.Clone(z.Hi), 1)}, in+1)
			for e, sd := range c.Sd {
				total.add(left[e/(in+1)].Times(right[e%(in+1)]), sd, sd)
			}
		}
	}
	return total.value()
}

// products is a sum of products of numbers in intervals: of terms of which a factor is 0 it is 0, and not nearly so.
type products struct {
	lo, hi arith.Sum
	some   bool
}

func (p *products) add(a, b arith.Interval) {
	if a == (arith.Interval{}) || b == (arith.Interval{}) {
		return
	}
	p.lo.Add(arith.LeastProduct(a.Lo, a.Hi, b.Lo, b.Hi))
	p.hi.Add(arith.MostProduct(a.Lo, a.Hi, b.Lo, b.Hi))
	p.some = true
}

func (p *products) value() arith.Interval {
	if !p.some {
		return arith.Interval{}
	}
	return arith.Of(p.lo.Lo(), p.hi.Hi())
}

// squares is a sum of squares of x sd.
type squares struct {
	lo, hi arith.Sum
	some   bool
}

func (s *squares) add(x arith.Interval, sdLo, sdHi float64) {
	if x == (arith.Interval{}) || sdHi == 0 {
		return
	}
	x = x.Abs()
	least, most := arith.ProductDown(x.Lo, sdLo), arith.ProductUp(x.Hi, sdHi)
	s.lo.Add(least, least)
	s.hi.Add(most, most)
	s.some = true
}

func (s *squares) value() arith.Interval {
	if !s.some {
		return arith.Interval{}
	}
	return arith.Of(max(0, s.lo.Lo()), max(0, s.hi.Hi()))
}

// linearForm is sum_oj row_o column_oj z_j, the last z_j of each being 1.
type linearForm struct{ products }

func (f *linearForm) add(row, z relax.Span, column []float64) {
	n := len(z.Lo) + 1
	for o := range row.Lo {
		var of products
		for j, v := range column[o*n : (o+1)*n] {
			x := arith.Exactly(1)
			if j < n-1 {
				x = arith.Of(z.Lo[j], z.Hi[j])
			}
			of.add(arith.Exactly(v), x)
		}
		f.products.add(arith.Of(row.Lo[o], row.Hi[o]), of.value())
	}
}

// through is Q'x, Q [n x n].
func through(q []float64, x relax.Span, n int) []arith.Interval {
	list := make([]arith.Interval, n)
	for i := range n {
		var of products
		for o := range n {
			of.add(arith.Exactly(q[o*n+i]), arith.Of(x.Lo[o], x.Hi[o]))
		}
		list[i] = of.value()
	}
	return list
}
