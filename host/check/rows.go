package check

import (
	"math"

	"psafe/host/arith"
)

// way describes how a row is taken down a network. All of them bound the same row; the best counts.
type way struct {
	// stop ends rows at the nearest values that are not linear in what is below them, of which
	// only intervals are taken; otherwise rows go through their lines: of as many as depth says on
	// the longest way, or of all, down to the input, if that is 0.
	stop  bool
	depth int
	// shared takes weights that are used in several places together, (29) of
	// docs/theory.md, section 4.5, not each place by itself.
	shared bool
	// lower, if it is not nil, are lower lines of the hidden layers in the place of theirs.
	lower [][]line
	// signs, if it is not nil, are those of neurons that are taken to be active, 1, or not, -1, 0 being no sign,
	// by hidden layer, nil of layers without one; and multipliers what that is weighed with (throughSigns).
	signs       [][]int
	multipliers [][]float64
	// visit, if it is not nil, is told the coefficients of the pre-activations of each layer
	// that the row meets.
	visit func(l int, a []float64)
	// arrive, if it is not nil, is told the coefficients of the inputs, and the constant.
	arrive func(s span, c arith.Sum)
}

// ways returns the ways in which rows of weight boxes over what feeds layer k are worth taking
// down, beside its intervals.
func (p *pass) ways(k int) []way {
	var list []way
	open, above := p.opens(k)
	if open {
		list = append(list, way{stop: true})
	}
	if above && p.lines && p.needed[k] {
		list = append(list, way{depth: p.graph.depthOf(k)})
	}
	for l := range k {
		if p.layers[l].at != nil && p.wide[l] && p.lines {
			for _, w := range list {
				list = append(list, way{stop: w.stop, depth: w.depth, shared: true})
			}
			break
		}
	}
	return list
}

// ends reports whether a row that has passed so many values that are not linear ends at the next.
func (w *way) ends(passed int) bool { return w.stop || w.depth > 0 && passed >= w.depth }

// depthOf is depth of the rows of layer k: those of the last one go down to the input.
func (g *graph) depthOf(k int) int {
	if k == len(g.from)-1 {
		return 0
	}
	return g.depth
}

// opens reports whether something that is linear in what is below it feeds layer k, and whether
// anything but the input does. Of chains of dense layers the interval form is that of one layer.
func (p *pass) opens(k int) (open, above bool) {
	for _, s := range p.graph.from[k] {
		open = open || s >= 0 && p.graph.linear[s] && !p.graph.chain
		above = above || s >= 0
	}
	return open, above
}

// down bounds s z + c from below, z being what feeds layer k: each value is replaced by lines
// in its pre-activation, that by what feeds it, and so on down. Where a value goes into several
// layers, coefficients add up: (28) of docs/theory.md.
func (p *pass) down(k int, s span, c arith.Sum, w way) float64 {
	todo := make([]span, k+1) // coefficients of the values of layer l at l+1
	passed := make([]int, k+1)
	p.feed(k, s, todo)
	for l := k - 1; l >= 0; l-- {
		bends := !p.graph.linear[l] || p.graph.chain
		switch s := todo[l+1]; {
		case s.lo == nil:
		case bends && w.ends(passed[l]):
			addLeast(&c, s, p.hidden[l].z)
		default:
			for _, f := range p.graph.from[l] {
				if f >= 0 && bends {
					passed[f] = max(passed[f], passed[l]+1)
				} else if f >= 0 {
					passed[f] = max(passed[f], passed[l])
				}
			}
			lower := p.hidden[l].lower
			if w.lower != nil {
				lower = w.lower[l]
			}
			var a []float64
			if w.signs != nil && w.signs[l] != nil {
				a = p.hidden[l].throughSigns(s, lower, w.signs[l], w.multipliers[l], &c)
			} else {
				a = p.hidden[l].through(s, lower, &c)
			}
			if w.visit != nil {
				w.visit(l, a)
			}
			p.deviate(l, a, &c)
			p.feed(l, p.substitute(l, a, &c, w.shared), todo)
		}
	}
	if w.arrive != nil {
		w.arrive(todo[0], c)
	}
	return intervalLo(todo[0], p.x, c)
}

// deviate takes from c what the pre-activations of layer l may be off, for a row a over them.
func (p *pass) deviate(l int, a []float64, c *arith.Sum) {
	if p.off == nil || p.off[l] == nil {
		return
	}
	for i, by := range p.off[l] {
		if a[i] != 0 {
			c.Add(-math.Abs(a[i]), by)
		}
	}
}

// feed adds coefficients of what feeds layer k to those of its sources.
func (p *pass) feed(k int, s span, todo []span) {
	from, first := p.graph.from[k], 0
	for _, f := range from {
		n := len(s.lo)
		if len(from) > 1 {
			n = sizeOf(p.layers, f)
		}
		part := span{s.lo[first : first+n], s.hi[first : first+n]}
		first += n
		if todo[f+1].lo == nil {
			todo[f+1] = part
			continue
		}
		both := newSpan(n)
		for j := range n {
			both.lo[j], both.hi[j] = arith.SumDown(todo[f+1].lo[j], part.lo[j]), arith.SumUp(todo[f+1].hi[j], part.hi[j])
		}
		todo[f+1] = both
	}
}

// substitute replaces a zeta, zeta being the pre-activations of layer l, by s z, plus what it
// adds to c.
func (p *pass) substitute(l int, a []float64, c *arith.Sum, shared bool) span {
	switch m := &p.layers[l]; {
	case m.windows != nil:
		return p.hidden[l].pool.substitute(a, m.in, c)
	case m.at == nil:
		return m.substitute(a, p.into(l), c)
	case shared && p.wide[l]:
		return m.substituteShared(a, p.into(l), c, byChords)
	default:
		return m.substitutePlaces(a, p.into(l), c)
	}
}

// wide reports whether the weights or biases are not all numbers. The coefficients of maps without
// weights count as numbers.
func (l *layer) wide() bool {
	if l.windows != nil || len(l.b.lo) == 0 || l.at != nil && l.fixed {
		return false
	}
	differ := func(s span) bool {
		if len(s.lo) > 0 && &s.lo[0] == &s.hi[0] {
			return false
		}
		for j := range s.lo {
			if s.lo[j] != s.hi[j] {
				return true
			}
		}
		return false
	}
	return differ(l.w) || differ(l.b)
}

// unit is sign times neuron i as a row over its inputs, at its least.
func (l *layer) unit(i int, sign float64) (s span, c arith.Sum) {
	s = newSpan(l.in)
	set := func(j, w int) {
		if s.lo[j], s.hi[j] = l.w.lo[w], l.w.hi[w]; sign < 0 {
			s.lo[j], s.hi[j] = -l.w.hi[w], -l.w.lo[w]
		}
	}
	o := i
	if l.at == nil {
		for j := range l.in {
			set(j, j*l.out+i)
		}
	} else {
		o = i % l.at.channels
		under := l.at.under(i / l.at.channels)
		for _, k := range l.at.kernels[o] {
			if j := under[k]; j >= 0 {
				set(int(j), int(k)*l.at.channels+o)
			}
		}
	}
	if sign < 0 {
		c.Plus(-l.b.hi[o])
	} else {
		c.Plus(l.b.lo[o])
	}
	return s, c
}

// needed returns which layers have to be bounded: those with an activation, max pools, the last one, and what
// feeds max pools or weights that are not all numbers (wide). What is linear and only feeds sums of such is
// bounded at their end. Of chains of dense layers all are.
func (g *graph) needed(layers []layer, wide []bool) []bool {
	needed := make([]bool, len(layers))
	for k := range layers {
		needed[k] = needed[k] || g.chain || !g.linear[k] || k == len(layers)-1
		if layers[k].windows != nil || wide[k] {
			for _, s := range g.from[k] {
				if s >= 0 {
					needed[s] = true
				}
			}
		}
	}
	return needed
}
