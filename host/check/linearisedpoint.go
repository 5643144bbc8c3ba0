package check

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/read/property"
)

// The law of a row of linearised networks at a point (docs/theory.md, section 5.8): normal, with the mean network's
// margin and the sum of the squares of what each independent normal number adds, both enclosed for all points of a
// small box.

// pointLaw is the mean network on the box: what feeds each layer, whether its ReLUs are on, and what it gives.
type pointLaw struct {
	*linear
	fed   []span
	on    [][]arith.Interval
	gives span
}

func (n *noisy) newPointLaw(box property.Box) *pointLaw {
	p := &pointLaw{linear: n.linear}
	z := span{box.Lo, box.Hi}
	for k := range n.mean {
		p.fed = append(p.fed, z)
		pre := n.mean[k].affine(z)
		if k == len(n.mean)-1 {
			p.gives = pre
			break
		}
		z = newSpan(len(pre.lo))
		on := make([]arith.Interval, len(pre.lo))
		for o := range on {
			switch {
			case pre.lo[o] > 0:
				on[o] = arith.Exactly(1)
			case !(pre.hi[o] <= 0):
				on[o] = arith.Of(0, 1)
			}
			z.lo[o], z.hi[o] = max(0, pre.lo[o]), max(0, pre.hi[o])
		}
		p.on = append(p.on, on)
	}
	return p
}

// tailUp bounds the probability that the row is negative, or 0, at some one point of the box.
func (p *pointLaw) tailUp(row *property.Row) float64 {
	var least arith.Sum
	least.Plus(row.D)
	for o := range row.CLo {
		least.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], p.gives.lo[o], p.gives.hi[o]))
	}
	v := p.variance(p.rows(row))
	switch m := least.Lo(); {
	case !arith.Finite(m, m) || !v.Finite():
		return 1
	case m > 0 && v.Hi == 0:
		return 0
	case m > 0:
		return gauss.TailOfUp(ratio(m, v.Hi))
	case v.Lo > 0:
		return min(1, arith.Up(1-tailDown(-m, v.Lo)))
	}
	return 1
}

// rows are the row's coefficients of the outputs of each layer.
func (p *pointLaw) rows(row *property.Row) []span {
	last := len(p.layers) - 1
	rows := make([]span, last+1)
	rows[last] = span{row.CLo, row.CHi}
	for k := last; k > 0; k-- {
		out, below := p.layers[k].Outputs(), newSpan(p.layers[k].Inputs())
		for j, on := range p.on[k-1] {
			if on.Hi == 0 {
				continue
			}
			var of products
			for o, w := range p.layers[k].Weight.Mean[j*out : (j+1)*out] {
				of.add(arith.Of(rows[k].lo[o], rows[k].hi[o]), arith.Exactly(w))
			}
			a := of.value()
			if on.Lo == 0 {
				a = arith.Of(min(0, a.Lo), max(0, a.Hi))
			}
			below.lo[j], below.hi[j] = a.Lo, a.Hi
		}
		rows[k-1] = below
	}
	return rows
}

// variance holds that of the row at every point of the box.
func (p *pointLaw) variance(rows []span) arith.Interval {
	for k := range rows {
		if !inRange(rows[k].lo, rows[k].hi, p.fed[k].lo, p.fed[k].hi) {
			return arith.Of(0, arith.Inf)
		}
	}
	var total squares
	if c := p.joint; c != nil {
		for t := range c.rank {
			var of linearForm
			for k := range rows {
				of.add(rows[k], p.fed[k], c.of[k][t])
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
				a := arith.Of(row.lo[o], row.hi[o])
				for j := range in {
					total.add(a.Times(arith.Of(z.lo[j], z.hi[j])), l.Weight.SdLo[j*out+o], l.Weight.SdHi[j*out+o])
				}
				total.add(a, l.Bias.SdLo[o], l.Bias.SdHi[o])
			}
		case v == nil:
		case v.covariance.Full():
			c, column := v.covariance, make([]float64, out*(in+1))
			for t := range c.Rank {
				for e := range column {
					column[e] = c.Factor[e*c.Rank+t]
				}
				var of linearForm
				of.add(row, z, column)
				total.add(of.value(), 1, 1)
			}
		default:
			c := v.covariance
			left, right := through(c.QG, row, out), through(c.QA, span{append(slices.Clone(z.lo), 1), append(slices.Clone(z.hi), 1)}, in+1)
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

func (f *linearForm) add(row, z span, column []float64) {
	n := len(z.lo) + 1
	for o := range row.lo {
		var of products
		for j, v := range column[o*n : (o+1)*n] {
			x := arith.Exactly(1)
			if j < n-1 {
				x = arith.Of(z.lo[j], z.hi[j])
			}
			of.add(arith.Exactly(v), x)
		}
		f.products.add(arith.Of(row.lo[o], row.hi[o]), of.value())
	}
}

// through is Q'x, Q [n x n].
func through(q []float64, x span, n int) []arith.Interval {
	list := make([]arith.Interval, n)
	for i := range n {
		var of products
		for o := range n {
			of.add(arith.Exactly(q[o*n+i]), arith.Of(x.lo[o], x.hi[o]))
		}
		list[i] = of.value()
	}
	return list
}
