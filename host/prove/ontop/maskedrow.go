package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/prove/covary"
)

type activation = network.Activation

// maskedRow is a row on its way down: the sum of coefficients times values of the layers that it has yet to
// go through, of a constant, and of the terms of the masks that it has met.
type maskedRow struct {
	// todo[k+1] are coefficients of the values of layer k, todo[0] those of the features.
	todo     []coefficients
	constant arith.Sum
	// lowest are terms of masks of what is certain, which have the law that they have; of those above only
	// means of convex functions are known.
	lowest, above []term
	// features are the coefficients of features that layer k drops.
	features []featureMask
}

type featureMask struct {
	k int
	coefficients
}

func (m *Masked) newRow() *maskedRow { return &maskedRow{todo: make([]coefficients, len(m.layers))} }

// take is given the coefficients of the inputs of layer k, masks and all: what the masks do becomes terms,
// and the rest is the row of the sources.
func (p *MaskedCell) take(k int, s coefficients, row *maskedRow, below []*hidden) {
	l := &p.layers[k]
	switch {
	case l.rate == 0:
	case len(l.sources) == 1 && l.sources[0] < 0:
		row.features = append(row.features, featureMask{k, s})
	default:
		l.mask(s, row, p.into(k, below))
	}
	at := 0
	for _, source := range l.sources {
		n := p.width(source)
		row.add(source, coefficients{s.a[at : at+n], s.wrong[at : at+n]})
		at += n
	}
}

// add adds coefficients of the values of a source.
func (r *maskedRow) add(source int, c coefficients) {
	to := &r.todo[source+1]
	if to.a == nil {
		*to = c
		return
	}
	sum := newCoefficients(len(c.a))
	for j, a := range c.a {
		if sum.a[j] = to.a[j] + a; a != 0 || c.wrong[j] != 0 {
			sum.wrong[j] = (to.wrong[j]+c.wrong[j]+math.Abs(sum.a[j])*0x1p-52)*(1+0x1p-50) + covary.Tiny
		} else {
			sum.wrong[j] = to.wrong[j]
		}
	}
	*to = sum
}

// mask makes terms of what the masks of a layer fed by z do to a row: (94) for z that is certain, else (94a).
func (l *maskedLayer) mask(s coefficients, row *maskedRow, z *values) {
	// u holds what each unit gives, moves how far that is from what it is at the centre.
	u, moves := make([]arith.Interval, l.units), make([]float64, l.units)
	met := make([]bool, l.units)
	for j, a := range s.a {
		if a == 0 && s.wrong[j] == 0 {
			continue
		}
		by, c := l.unit[j], s.interval(j)
		gives := c.Times(arith.Of(z.lo[j], z.hi[j]))
		if !met[by] {
			u[by] = gives
		} else {
			u[by] = u[by].Plus(gives)
		}
		met[by] = true
		if z.moves[j] != 0 {
			moves[by] = arith.SumUp(moves[by], arith.ProductUp(c.Size(), z.moves[j]))
		}
	}
	more, lean := odds(l.rate), arith.Difference(1, 2*l.rate)
	for i, g := range u {
		if !met[i] {
			continue
		}
		if !l.fedRandom {
			row.lowest = append(row.lowest, term{-g.Hi, arith.Exactly(g.Lo).Times(more).Lo, l.rate})
			continue
		}
		if moves[i] != 0 {
			row.constant.Add(-2*l.rate, moves[i])
			g = g.Plus(arith.Exactly(moves[i]).Times(lean))
		}
		for _, end := range []float64{max(g.Hi, 0), min(g.Lo, 0)} {
			if end != 0 {
				row.above = append(row.above, term{-end, arith.Exactly(end).Times(more).Lo, l.rate})
			}
		}
	}
}

// odds are rate/(1-rate).
func odds(rate float64) arith.Interval {
	return arith.Exactly(rate).Over(arith.Difference(1, rate))
}

// through takes coefficients of the values h of a layer to its pre-activations, by their lines.
func (h *hidden) through(c coefficients, constant *arith.Sum) coefficients {
	s := newCoefficients(len(c.a))
	for j, a := range c.a {
		if a == 0 && c.wrong[j] == 0 {
			continue
		}
		if wrong := c.wrong[j]; wrong != 0 {
			constant.Add(-wrong, max(-h.lo[j], h.hi[j]))
		}
		line := h.lower[j]
		if a < 0 {
			line = h.upper[j]
		}
		if line.at != 0 {
			constant.Add(a, line.at)
		}
		if s.a[j] = float64(a * line.slope); line.slope != 0 && line.slope != 1 {
			s.wrong[j] = float64(math.Abs(s.a[j])*0x1p-52) + covary.Tiny
		}
	}
	return s
}

// unpool takes coefficients of the maxima of windows to n members.
func (h *hidden) unpool(c coefficients, n int, constant *arith.Sum) coefficients {
	s, met, most := newCoefficients(n), make([]int, n), 0
	size := make([]float64, n)
	for v, a := range c.a {
		if a == 0 && c.wrong[v] == 0 {
			continue
		}
		j, slope := h.star[v], 1.0
		if a < 0 {
			slope = h.slope[v]
			constant.Add(a, h.above[v])
		}
		by := float64(a * slope)
		s.a[j] += by
		size[j] += math.Abs(by) + covary.Tiny
		s.wrong[j] += c.wrong[v]
		met[j]++
		most = max(most, met[j])
	}
	u, g := covary.Unit(most), covary.Grow(2*most)
	for j := range s.wrong {
		if met[j] > 0 {
			s.wrong[j] = (float64(u*size[j])+s.wrong[j])*g + covary.Tiny
		}
	}
	return s
}

// down takes a row to the features: what it is at least there on the mean. The row gets all terms.
func (p *MaskedCell) down(row *maskedRow, below []*hidden) (mean float64) {
	for k := len(row.todo) - 2; k >= 0; k-- {
		c := row.todo[k+1]
		if c.a == nil {
			continue
		}
		h, l := below[k], &p.layers[k]
		c = h.through(c, &row.constant)
		if l.pool() {
			c = h.unpool(c, l.in, &row.constant)
		} else {
			c = l.substitute(c, &row.constant)
		}
		p.take(k, c, row, below)
	}
	return p.bottom(row)
}

// bottom is down for a row over the features (94): their masks' terms are as they are at some one point
// of the cell, whichever.
func (p *MaskedCell) bottom(row *maskedRow) (mean float64) {
	n := p.Inputs()
	c := row.todo[0]
	if c.a == nil {
		c = newCoefficients(n)
	}
	constant := row.constant.Lo()
	if !(math.Abs(constant) <= covary.Most) {
		return math.Inf(-1)
	}
	for j := range c.a {
		if !(math.Abs(c.a[j])+c.wrong[j] <= covary.Most) {
			return math.Inf(-1)
		}
	}
	var f *form
	if p.cell.whole() {
		f, mean = p.overBox(c, constant)
	} else {
		zeros := make([]float64, n+1)
		r := &Row{n: n, mean: make([]arith.Interval, n), constant: arith.Exactly(constant), Row: &covary.Row{N: n, Delta: zeros, Spread: zeros, Marginal: zeros}}
		r.idle = make([]bool, n)
		for j := range c.a {
			r.mean[j] = c.interval(j)
			r.idle[j] = c.a[j] == 0 && c.wrong[j] == 0
			for _, dropped := range row.features {
				r.idle[j] = r.idle[j] && dropped.a[j] == 0 && dropped.wrong[j] == 0
			}
		}
		if f = r.form(p.cell); f == nil {
			return math.Inf(-1)
		}
		mean = r.meanDown(f)
	}
	for _, dropped := range row.features {
		row.lowest = append(row.lowest, p.layers[dropped.k].featureTerms(dropped.coefficients, f)...)
	}
	return mean
}

// overBox returns what a row over the network's input is at least.
func (p *MaskedCell) overBox(c coefficients, constant float64) (f *form, mean float64) {
	f = &form{Cell: p.cell, at: p.cell.centre, reach: p.cell.radius}
	var sum arith.Sum
	sum.Plus(constant)
	for j := range c.a {
		if a := c.interval(j); a.Lo != 0 || a.Hi != 0 {
			sum.Add(arith.LeastProduct(a.Lo, a.Hi, p.cell.lo[j], p.cell.hi[j]))
		}
	}
	return f, sum.Lo()
}

// featureTerms returns the terms of the masks of a layer that drops features: (94).
func (l *maskedLayer) featureTerms(s coefficients, f *form) (terms []term) {
	at, vary, met := make([]arith.Interval, l.units), make([]float64, l.units), make([]int, l.units)
	for j, a := range s.a {
		if a == 0 && s.wrong[j] == 0 {
			continue
		}
		by, c := l.unit[j], s.interval(j)
		if gives := c.Times(arith.Exactly(f.at[j])); met[by] == 0 {
			at[by] = gives
		} else {
			at[by] = at[by].Plus(gives)
		}
		if f.reach[j] != 0 {
			vary[by] = arith.SumUp(vary[by], arith.ProductUp(c.Size(), f.reach[j]))
		}
		met[by]++
	}
	more := odds(l.rate)
	for i, g := range at {
		if met[i] == 0 {
			continue
		}
		by := arith.Exactly(vary[i])
		if t := (term{g.Negated().Minus(by).Lo, g.Minus(by).Times(more).Lo, l.rate}); t.dropped != 0 || t.kept != 0 {
			terms = append(terms, t)
		}
	}
	return terms
}
