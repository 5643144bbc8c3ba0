package relax

import (
	"math"

	"psafe/host/arith"
)

// Way describes how a row is taken down a network. All of them bound the same row; the best counts.
type Way struct {
	// Stop ends rows at the nearest values that are not linear in what is below them, of which
	// only intervals are taken; otherwise rows go through their lines: of as many as depth says on
	// the longest way, or of all, down to the input, if that is 0.
	Stop  bool
	Depth int
	// shared takes weights that are used in several places together, (29) of
	// docs/theory.md, section 4.5, not each place by itself.
	shared bool
	// Lower, if it is not nil, are lower lines of the hidden layers in the place of theirs.
	Lower [][]Line
	// Signs, if it is not nil, are those of neurons that are taken to be active, 1, or not, -1, 0 being no sign,
	// by hidden layer, nil of layers without one; and multipliers what that is weighed with (throughSigns).
	Signs       [][]int
	Multipliers [][]float64
	// Visit, if it is not nil, is told the coefficients of the pre-activations of each layer
	// that the row meets.
	Visit func(l int, a []float64)
	// Arrive, if it is not nil, is told the coefficients of the inputs, and the constant.
	Arrive func(s Span, c arith.Sum)
}

// Ways returns the ways in which rows of weight boxes over what feeds layer k are worth taking
// down, beside its intervals.
func (p *Pass) Ways(k int) []Way {
	var list []Way
	open, above := p.Opens(k)
	if open {
		list = append(list, Way{Stop: true})
	}
	if above && p.Lines && p.needed[k] {
		list = append(list, Way{Depth: p.Graph.DepthOf(k)})
	}
	for l := range k {
		if p.Layers[l].At != nil && p.wide[l] && p.Lines {
			for _, w := range list {
				list = append(list, Way{Stop: w.Stop, Depth: w.Depth, shared: true})
			}
			break
		}
	}
	return list
}

// ends reports whether a row that has passed so many values that are not linear ends at the next.
func (w *Way) ends(passed int) bool { return w.Stop || w.Depth > 0 && passed >= w.Depth }

// Opens reports whether something that is linear in what is below it feeds layer k, and whether
// anything but the input does. Of chains of dense layers the interval form is that of one layer.
func (p *Pass) Opens(k int) (open, above bool) {
	for _, s := range p.Graph.From[k] {
		open = open || s >= 0 && p.Graph.Linear[s] && !p.Graph.Chain
		above = above || s >= 0
	}
	return open, above
}

// Down bounds s z + c from below, z being what feeds layer k: each value is replaced by lines
// in its pre-activation, that by what feeds it, and so on down. Where a value goes into several
// layers, coefficients add up: (28) of docs/theory.md.
func (p *Pass) Down(k int, s Span, c arith.Sum, w Way) float64 {
	todo := make([]Span, k+1) // coefficients of the values of layer l at l+1
	passed := make([]int, k+1)
	p.feed(k, s, todo)
	for l := k - 1; l >= 0; l-- {
		bends := !p.Graph.Linear[l] || p.Graph.Chain
		switch s := todo[l+1]; {
		case s.Lo == nil:
		case bends && w.ends(passed[l]):
			addLeast(&c, s, p.Hidden[l].Z)
		default:
			for _, f := range p.Graph.From[l] {
				if f >= 0 && bends {
					passed[f] = max(passed[f], passed[l]+1)
				} else if f >= 0 {
					passed[f] = max(passed[f], passed[l])
				}
			}
			lower := p.Hidden[l].Lower
			if w.Lower != nil {
				lower = w.Lower[l]
			}
			var a []float64
			if w.Signs != nil && w.Signs[l] != nil {
				a = p.Hidden[l].throughSigns(s, lower, w.Signs[l], w.Multipliers[l], &c)
			} else {
				a = p.Hidden[l].Through(s, lower, &c)
			}
			if w.Visit != nil {
				w.Visit(l, a)
			}
			p.deviate(l, a, &c)
			p.feed(l, p.Substitute(l, a, &c, w.shared), todo)
		}
	}
	if w.Arrive != nil {
		w.Arrive(todo[0], c)
	}
	return IntervalLo(todo[0], p.X, c)
}

// deviate takes from c what the pre-activations of layer l may be off, for a row a over them.
func (p *Pass) deviate(l int, a []float64, c *arith.Sum) {
	if p.Off == nil || p.Off[l] == nil {
		return
	}
	for i, by := range p.Off[l] {
		if a[i] != 0 {
			c.Add(-math.Abs(a[i]), by)
		}
	}
}

// feed adds coefficients of what feeds layer k to those of its sources.
func (p *Pass) feed(k int, s Span, todo []Span) {
	from, first := p.Graph.From[k], 0
	for _, f := range from {
		n := len(s.Lo)
		if len(from) > 1 {
			n = SizeOf(p.Layers, f)
		}
		part := Span{s.Lo[first : first+n], s.Hi[first : first+n]}
		first += n
		if todo[f+1].Lo == nil {
			todo[f+1] = part
			continue
		}
		both := NewSpan(n)
		for j := range n {
			both.Lo[j], both.Hi[j] = arith.SumDown(todo[f+1].Lo[j], part.Lo[j]), arith.SumUp(todo[f+1].Hi[j], part.Hi[j])
		}
		todo[f+1] = both
	}
}

// Substitute replaces a zeta, zeta being the pre-activations of layer l, by s z, plus what it
// adds to c.
func (p *Pass) Substitute(l int, a []float64, c *arith.Sum, shared bool) Span {
	switch m := &p.Layers[l]; {
	case m.Windows != nil:
		return p.Hidden[l].Pool.substitute(a, m.In, c)
	case m.At == nil:
		return m.substitute(a, p.Into(l), c)
	case shared && p.wide[l]:
		return m.substituteShared(a, p.Into(l), c, byChords)
	default:
		return m.substitutePlaces(a, p.Into(l), c)
	}
}
