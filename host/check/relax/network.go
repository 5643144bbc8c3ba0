// Package relax bounds rows of a network with weights in intervals, on a box of inputs: by
// intervals and by lines (docs/theory.md, section 4), for the checker. Layer and Graph say what
// meets what, Pass goes up a network and Down takes rows back; a WeightBox is what certify drew.
package relax

import (
	"fmt"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// RowsLo bounds rows of a property from below, for every network of n and every input x of
// the box: lo[r] <= C_r f(x) + d_r in real arithmetic, -Inf where nothing is known.
// Intervals: docs/theory.md (2); lines: (3), (4), without a charge for roundings, since
// sums are known in twice the precision and coefficients are rounded to the safe side.
func (n *Network) RowsLo(box property.Box, rows []property.Row) (lo []float64) {
	n.By.drawn = 0
	p := n.NewPass(Span{box.Lo, box.Hi})
	last := len(n.Layers) - 1
	for k := range last {
		p.HiddenLayer(k)
	}
	for r := range rows {
		s, c := n.Layers[last].Merged(&rows[r])
		bound := IntervalLo(s, p.Into(last), c)
		for _, w := range p.Ways(last) {
			bound = max(bound, p.Down(last, s, c, w))
		}
		lo = append(lo, bound)
	}
	return lo
}

// Tries is the number of times that lines are chosen before a box is given up.
const Tries = 32

// NetworkOf is the network with these weights, in the layout of posterior.Draw.
func NetworkOf(m *mold, weights [][]float64) (*Network, error) {
	layers, err := m.Filled(weights, weights)
	return &Network{Layers: layers, Graph: m.Graph}, err
}

// EachNetwork calls each for every network of a finite set, with its number and how often it is there.
func EachNetwork(post *posterior.Posterior, each func(i int, count int64, n *Network) error) error {
	set := post.Networks()
	m, err := MoldOf(post.Network())
	if err != nil {
		return fmt.Errorf("posterior: %w", err)
	}
	for i, count := range set.Counts {
		n, err := NetworkOf(m, set.Weights(i))
		if err == nil {
			err = each(i, count, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SafeOn reports whether S is proved on all of the boxes, of each by intervals or by lines.
func (n *Network) SafeOn(boxes []property.Box, s *property.Safe, tries uint64) bool {
	for _, b := range boxes {
		if !n.holdsOn(b, s, tries) {
			return false
		}
	}
	return true
}

func (n *Network) holdsOn(b property.Box, s *property.Safe, tries uint64) bool {
	intervals := Network{Layers: n.Layers, Graph: n.Graph}
	if s.Holds(intervals.RowsLo(b, s.Rows)) {
		return true
	}
	for try := range tries {
		if s.Holds(n.ByLines(b, s.Rows, try)) {
			return true
		}
	}
	return false
}

// ByLines is RowsLo by lines, of the try of this number.
func (n *Network) ByLines(b property.Box, rows []property.Row, try uint64) []float64 {
	lines := Network{Layers: n.Layers, Graph: n.Graph, Lines: true, By: Choice{Try: try}}
	return lines.RowsLo(b, rows)
}

func (n *Network) NewPass(x Span) *Pass {
	if n.Graph == nil {
		g, err := graphOf(n.Layers)
		if err != nil {
			panic("check: " + err.Error())
		}
		n.Graph = g
	}
	wide := make([]bool, len(n.Layers))
	for k := range n.Layers {
		wide[k] = n.Layers[k].wide()
	}
	return &Pass{Network: n, X: x, fed: make([]Span, len(n.Layers)), wide: wide, needed: n.Graph.Needed(n.Layers, wide)}
}

// HiddenLayer bounds layer k, whose inputs are known.
func (p *Pass) HiddenLayer(k int) {
	l := &p.Layers[k]
	if l.Windows != nil {
		p.Hidden = append(p.Hidden, p.Pooled(k))
		return
	}
	pre := l.Affine(p.Into(k))
	// By intervals alone the first layer is exact, and a dead neuron is dead.
	_, kinked := l.Act.Kinked()
	ways := p.Ways(k)
	for i := range l.Out {
		if !p.Graph.Used[k][i] {
			pre.Lo[i], pre.Hi[i] = 0, 0 // it may be anything: nothing takes it
		} else if p.Ctx != nil && p.Ctx.Err() != nil {
			pre.Lo[i], pre.Hi[i] = -arith.Inf, arith.Inf
		} else if len(ways) > 0 && !(kinked && l.Act.DeadBelow() && pre.Hi[i] <= 0) {
			p.tighten(k, i, ways, &pre)
		}
	}
	by := &p.By
	if !p.Lines && !p.Graph.Linear[k] {
		by = nil
	}
	p.Hidden = append(p.Hidden, HiddenOf(l.Act, pre, by))
}

// tighten intersects the interval of neuron i of layer k with what rows say.
func (p *Pass) tighten(k, i int, ways []Way, pre *Span) {
	l := &p.Layers[k]
	s, c := l.Unit(i, 1)
	mirrored, mc := l.Unit(i, -1)
	lo, hi := pre.Lo[i], pre.Hi[i]
	for _, w := range ways {
		lo, hi = max(lo, p.Down(k, s, c, w)), min(hi, -p.Down(k, mirrored, mc, w))
	}
	if !(lo <= hi) {
		lo, hi = -arith.Inf, arith.Inf // one of them was wrong: then nothing is known
	}
	pre.Lo[i], pre.Hi[i] = lo, hi
}
