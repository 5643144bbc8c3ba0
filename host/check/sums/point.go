package sums

import (
	"psafe/host/arith"
	"psafe/host/check/curves"
)

// What stands in for a neuron at a point of a grid, for all cells around it at once
// (doc.go).

// GridPoint is a point v of a grid. In each coordinate the centres of the cells around it are at
// v + before or v + after. Both are the same where there are cells on one side only, and 0 where
// the cell has no width.
type GridPoint struct {
	at            []float64
	before, after []arith.Interval
}

// oneSided reports whether all centres around the point have the same coordinate j.
func (g *GridPoint) oneSided(j int) bool { return g.before[j] == g.after[j] }

// around returns how the centres' pre-activations of neuron i differ from that at the point: a
// variation for each coordinate in which there are cells on both sides, and one for all others
// together. rest is the variance of the part of t(v) that is independent of all of them: of the
// variables w_j v_j that nothing else depends on, and of sum_p w_p v_p given sum_p w_p offset_p, by
// Lagrange's identity
//
//	Var - Cov^2/Var' = sum_(p < q) s_p^2 s_q^2 (offset_p v_q - offset_q v_p)^2 / Var'
func (n *Network) around(g *GridPoint, i int) (vars []variation, rest arith.Interval) {
	w, b := &n.hidden.Weight, &n.hidden.Bias
	at := n.hidden.Dense().BiasOf(i)
	rest = arith.Of(b.SdLo[at], b.SdHi[at]).Square()
	var oneSided []int
	var variance []arith.Interval
	others := variation{before: arith.Exactly(1), after: arith.Exactly(1)}
	for j, at := range n.hidden.Dense().Into(i) {
		sd, x := arith.Of(w.SdLo[at], w.SdHi[at]), arith.Exactly(g.at[j])
		s := sd.Square()
		variance = append(variance, s)
		switch {
		case !g.oneSided(j):
			vars = append(vars, variation{mean: arith.Exactly(w.Mean[at]), sd: sd, cov: s.Times(x), before: g.before[j], after: g.after[j]})
		case g.before[j] == arith.Interval{}:
			rest = rest.Plus(s.Times(x.Square()))
		default:
			oneSided = append(oneSided, j)
			others.mean = others.mean.Plus(g.before[j].Times(arith.Exactly(w.Mean[at])))
			others.sd = others.sd.Plus(s.Times(g.before[j].Square())) // the variance, for now
			others.cov = others.cov.Plus(s.Times(g.before[j]).Times(x))
		}
	}
	if len(oneSided) == 0 {
		return vars, rest
	}
	if others.sd.Hi > 0 {
		var minors arith.Interval
		for k, p := range oneSided {
			for _, q := range oneSided[:k] {
				minor := g.before[p].Times(arith.Exactly(g.at[q])).Minus(g.before[q].Times(arith.Exactly(g.at[p])))
				minors = minors.Plus(variance[p].Times(variance[q]).Times(minor.Square()))
			}
		}
		rest = rest.Plus(minors.Over(others.sd))
	}
	others.sd = others.sd.Sqrt()
	return append(vars, others), rest
}

// atPoint gives the stand-ins of neuron i at a point of a grid. For every draw, the largest
// function that is below those of all cells around it is
//
//	low  = t(v)  if t(v) > 0 and all centres around v have t > 0, or t(v) <= 0 and some have,
//	       else slope t(v)
//	high = s(t(v))
//
// and the bins of low take shares that are bounded over each bin.
func (n *Network) atPoint(g *GridPoint, i int) standIn {
	t := n.preactivation(i, g.at)
	if !t.mean.Finite() || !t.sd.Finite() {
		return standIn{lost: 1}
	}
	b := theValueBins()
	low, high := t.bin(b.z[0], b.z[0]).Lo, t.bin(b.z[len(b.z)-1], b.z[len(b.z)-1]).Hi
	vars, rest := n.around(g, i)
	// Some centre is not positive although t(v) is; or, with all signs changed, the other way.
	above := newShare(vars, arith.Interval{}, t.mean, rest, max(low, 0), max(high, 0))
	for k := range vars {
		vars[k].mean = vars[k].mean.Negated()
	}
	below := newShare(vars, arith.Interval{}, t.mean.Negated(), rest, max(-high, 0), max(-low, 0))
	slope, _ := n.act.Kinked()
	if t.sd.Hi == 0 && (low > 0 && above.up(low, high) == 0 || high <= 0 && below.up(-high, -low) == 0 || slope == 1) {
		return standIn{constant: true, value: curves.Value(n.act, t.mean)}
	}
	return n.cut(t, b, above, below)
}

// cut gives the stand-ins: each bin of it takes shares of low = slope t and low = t that hold all
// over it, and in it t moves to either end with its mean kept. In the bin that 0 is in it is
// rounded.
func (n *Network) cut(t normalVar, b *weightBins, above, below *share) standIn {
	slope, _ := n.act.Kinked()
	h := standIn{lost: normalTable().lost}
	if t.sd.Hi == 0 {
		b, h.lost = &weightBins{z: []float64{0, 0}, toLower: []float64{1}, toUpper: []float64{0}}, 0
	}
	place := func(a *atoms, x, p, square float64) {
		if p < 0x1p-66 {
			h.lost = arith.Up(h.lost + p) // too light to carry along
			return
		}
		a.addMoved(x, p, square)
	}
	// Of bins without 0 nothing is too light, so that what moved to an edge came from both sides of it;
	// or x is the same as before, and it has none.
	placeHigh := func(x, p, square float64, edge int) {
		before := len(h.high.x)
		place(&h.high, x, p, square)
		if n := len(h.high.x); n > before {
			h.edge = append(h.edge, edge)
		} else if n > 0 && h.edge[n-1] != edge {
			h.edge[n-1] = -1
		}
	}
	for k := range b.toLower {
		from, to := t.bin(b.z[k], b.z[k]), t.bin(b.z[k+1], b.z[k+1])
		wide := arith.Up(to.Hi - from.Lo)
		square, flat := arith.ProductUp(wide, wide), 0.
		if slope != 0 {
			flat = arith.ProductUp(arith.Up(slope*slope), square)
		}
		var small, large, ofValue float64 // shares of low = slope t and low = t
		switch {
		case from.Lo >= 0:
			small = above.up(from.Lo, to.Hi)
			large, ofValue = arith.Up(1-small), max(square, flat)
		case to.Hi <= 0:
			large = below.up(-to.Hi, -from.Lo)
			small, ofValue = arith.Up(1-large), flat
		default:
			m := arith.Up(b.toLower[k] + b.toUpper[k])
			place(&h.low, min(from.Lo, arith.ProductDown(slope, from.Lo), arith.ProductDown(slope, to.Hi)), m, 0)
			placeHigh(max(curves.ValueUp(n.act, from.Hi), curves.ValueUp(n.act, to.Hi)), m, 0, -1)
			continue
		}
		for i, end := range []struct {
			at arith.Interval
			p  float64
		}{{from, b.toLower[k]}, {to, b.toUpper[k]}} {
			place(&h.low, min(arith.ProductDown(slope, end.at.Lo), arith.ProductDown(slope, end.at.Hi)), arith.ProductUp(end.p, small), flat)
			place(&h.low, end.at.Lo, arith.ProductUp(end.p, large), square)
			edge := -1
			if from.Lo >= 0 && t.sd.Hi > 0 {
				edge = k + i
			}
			placeHigh(curves.ValueUp(n.act, end.at.Hi), end.p, ofValue, edge)
		}
	}
	return h
}
