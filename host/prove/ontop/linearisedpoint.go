package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// AtPoint holds what is known of a posterior of KindLinearised at all points of a small box, by intervals on
// the host: of what feeds each layer, whether ReLUs are on, and what the mean network gives.
type AtPoint struct {
	*Linearised
	post *posterior.Posterior
	fed  [][]arith.Interval
	on   [][]arith.Interval
	mean []arith.Interval
}

// AtPoint bounds the mean network on a box, which has to hold a point or little more to be of use.
func (l *Linearised) AtPoint(post *posterior.Posterior, box property.Box) *AtPoint {
	p := &AtPoint{Linearised: l, post: post}
	z := make([]arith.Interval, len(box.Lo))
	for j := range z {
		z[j] = arith.Of(box.Lo[j], box.Hi[j])
	}
	for k := range l.layers {
		p.fed = append(p.fed, z)
		of, out := &l.layers[k], l.layers[k].Outputs()
		pre, on := make([]arith.Interval, out), make([]arith.Interval, out)
		for o := range pre {
			pre[o] = arith.Exactly(of.Bias.Mean[o])
			for j, v := range z {
				pre[o] = pre[o].Plus(v.Times(arith.Exactly(of.Weight.Mean[j*out+o])))
			}
		}
		if k == len(l.layers)-1 {
			p.mean = pre
			break
		}
		for o, v := range pre {
			switch {
			case v.Lo > 0:
				on[o] = arith.Exactly(1)
			case !(v.Hi <= 0):
				on[o] = arith.Of(0, 1)
			}
			pre[o] = arith.Of(max(0, v.Lo), max(0, v.Hi))
		}
		z = pre
		p.on = append(p.on, on)
	}
	return p
}

// TailUp bounds the probability that the row is negative, or 0, at some one point of the box, of which nothing is
// known but that it is in it: there the row is normal (docs/theory.md, section 5.8).
func (p *AtPoint) TailUp(row *property.Row) float64 {
	mean, variance := arith.Exactly(row.D), arith.Interval{}
	a := make([]arith.Interval, len(row.CLo))
	for o := range a {
		a[o] = arith.Of(row.CLo[o], row.CHi[o])
		mean = mean.Plus(a[o].Times(p.mean[o]))
	}
	rows := make([][]arith.Interval, len(p.layers))
	for k := len(p.layers) - 1; ; k-- {
		if rows[k] = a; k == 0 {
			break
		}
		out, below := len(a), make([]arith.Interval, p.layers[k].Inputs())
		for j := range below {
			if p.on[k-1][j].Hi == 0 {
				continue
			}
			for o, v := range a {
				below[j] = below[j].Plus(v.Times(arith.Exactly(p.layers[k].Weight.Mean[j*out+o])))
			}
			below[j] = below[j].Times(p.on[k-1][j])
		}
		a = below
	}
	for _, list := range append([][]arith.Interval{{mean}}, append(rows, p.fed...)...) {
		for _, v := range list {
			if !(v.Size() <= covary.Most) {
				return 1
			}
		}
	}
	p.eachTerm(rows, func(of arith.Interval) { variance = variance.Plus(of.Square()) })
	switch {
	case !variance.Finite():
		return 1
	case mean.Lo > 0 && variance.Hi == 0:
		return 0
	case mean.Lo > 0:
		return arith.Up(gauss.TailUp(arith.Down(mean.Lo/arith.Up(math.Sqrt(variance.Hi)))) * slack.PointLaw)
	case variance.Lo > 0:
		// Of any mean at least that, and any variance at least that.
		return min(1, arith.Up((1-gauss.TailDown(arith.Up(-mean.Lo/arith.Down(math.Sqrt(variance.Lo)))))*slack.PointLaw))
	}
	return 1
}

// eachTerm calls each with the coefficient of each of the independent standard normal numbers that the noise of rows
// over the outputs of each layer is made of.
func (p *AtPoint) eachTerm(rows [][]arith.Interval, each func(arith.Interval)) {
	about := p.post.About()
	if joint := about.Joint(); joint != nil {
		terms := make([]arith.Interval, about.JointRank())
		for k, c := range joint {
			if c != nil {
				terms = addFactor(terms, c, rows[k], p.fed[k])
			}
		}
		for _, t := range terms {
			each(t)
		}
		return
	}
	for k := range p.layers {
		of, out, z := &about.Layers[k], p.layers[k].Outputs(), p.fed[k]
		if about.Independent() {
			for o, a := range rows[k] {
				for j, v := range z {
					each(a.Times(v).Times(arith.Of(of.Weight.SdLo[j*out+o], of.Weight.SdHi[j*out+o])))
				}
				each(a.Times(arith.Of(of.Bias.SdLo[o], of.Bias.SdHi[o])))
			}
			continue
		}
		switch c := about.Covariances()[k]; {
		case c == nil:
		case c.Full():
			for _, t := range addFactor(nil, c, rows[k], z) {
				each(t)
			}
		default: // D = QG (E o Sd) QA'
			n := len(z) + 1
			right := turned(c.QA, z, n)
			for i, left := range turned(c.QG, rows[k], out) {
				for e, sd := range c.Sd[i*n : (i+1)*n] {
					each(left.Times(right[e]).Times(arith.Exactly(sd)))
				}
			}
		}
	}
}

// turned is Q'x for Q [n x n] and an x of n numbers, or of n-1 and 1.
func turned(q []float64, x []arith.Interval, n int) []arith.Interval {
	list := make([]arith.Interval, n)
	for e, v := range q {
		at := arith.Exactly(1)
		if e/n < len(x) {
			at = x[e/n]
		}
		list[e%n] = list[e%n].Plus(at.Times(arith.Exactly(v)))
	}
	return list
}

// addFactor adds to terms, none or those of other layers, what a layer with a factor does, of a row over its outputs.
func addFactor(terms []arith.Interval, c *posterior.Covariance, row, z []arith.Interval) []arith.Interval {
	first, m := c.Columns(len(row), func(o int) bool { return row[o] != arith.Interval{} })
	n := len(z) + 1
	if terms == nil {
		terms = make([]arith.Interval, m)
	}
	for o, a := range row {
		if first[o] < 0 {
			continue
		}
		for j := range n {
			by := a
			if j < len(z) {
				by = a.Times(z[j])
			}
			for t, v := range c.Factor[(o*n+j)*c.Rank : (o*n+j+1)*c.Rank] {
				at := &terms[first[o]+t]
				*at = at.Plus(by.Times(arith.Exactly(v)))
			}
		}
	}
	return terms
}
