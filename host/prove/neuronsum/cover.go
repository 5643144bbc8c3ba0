package neuronsum

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/prove/neuronsum/grid"
	"psafe/host/read/property"
)

// LeastTold is the least distance below 1 of a bound that is told: what is left of a convolution of
// which nearly all is lost says nothing of the network, and is as much that of its grid.
const LeastTold = 1e-3

// Cover is a bound that comes from cells that cover T.
type Cover struct {
	// FailUp is an upper bound, at most 1, of Prob(f(x) is outside of S for some
	// x in T): 1 - FailUp, rounded down, is a lower bound of P_safe(T, S).
	FailUp float64
	// Cells is how many cells FailUp adds up.
	Cells int
	// Tree says how the boxes were cut into them: for each box its tree in preorder, -1 for
	// a cell, j for a cut in coordinate j at the middle.
	Tree []int
	// Plans are those of the cells, in the order of Tree; nil where S has one alternative, which is
	// of rows alone: then all of them were proved of each.
	Plans []*grid.Plan
}

// coverCell is a cell, its bound, whether cutting it has been tried, and its place.
type coverCell struct {
	box    property.Box
	bound  float64
	frozen bool
	at     *node
}

// improve takes in a bound of the cell if it is less.
func (c *coverCell) improve(bound float64, plan *grid.Plan) {
	if bound < c.bound {
		c.bound, c.at.plan = bound, plan
	}
}

// node is a box of the cover that is a cell, or that was cut, and how many cells there were then.
type node struct {
	axis, cells int
	parts       []*node
	plan        *grid.Plan // of the least bound while it was a cell
}

// preorder appends the node's tree as it was when there were so many cells, and their plans.
func (n *node) preorder(c *Cover) {
	if n.parts == nil || n.cells > c.Cells {
		c.Tree, c.Plans = append(c.Tree, -1), append(c.Plans, n.plan)
		return
	}
	c.Tree = append(c.Tree, n.axis)
	for _, p := range n.parts {
		p.preorder(c)
	}
}

// Cover bounds the failure probability on the union of boxes by the sum over cells,
// beginning with the boxes themselves. The worst cell is cut in two along the axis
// that serves best, if that lowers the sum, until there are budget cells, none can
// be improved, or ctx ends; what counts is evaluated once more with finer
// intervals. If that is more than some sum before, with fewer cells, those are returned.
// The error is ctx's; the bound is valid nevertheless.
func (n *Sum) Cover(ctx context.Context, boxes []property.Box, s *property.Safe, budget int) (Cover, error) {
	n = n.Until(ctx)
	rough := n.withQuality(coarse)
	var cells []coverCell
	var roots []*node
	for _, b := range boxes {
		roots = append(roots, &node{})
		cells = append(cells, coverCell{box: b, bound: 1, at: roots[len(roots)-1]})
	}
	for i := range cells {
		if ctx.Err() != nil || len(cells) >= budget {
			break // rough bounds are for choosing what to cut
		}
		cells[i].improve(rough.CellFailUp(cells[i].box, s))
	}
	best := coverOf(cells)
	for len(cells) < budget && ctx.Err() == nil {
		w := worstCell(cells)
		if w < 0 {
			break
		}
		axis, a, b, ok := rough.cut(ctx, cells[w], s)
		if !ok {
			cells[w].frozen = true
			continue
		}
		at := cells[w].at
		at.axis, at.cells, at.parts = axis, len(cells)+1, []*node{a.at, b.at}
		cells[w] = a
		cells = append(cells, b)
		best = best.or(coverOf(cells))
	}
	// Where coarse bounds leave nothing, fine ones are tried as long as they help.
	total := 0.0
	for i := range cells {
		if ctx.Err() == nil && total < 1 {
			cells[i].improve(n.CellFailUp(cells[i].box, s))
		}
		total = arith.Up(total + cells[i].bound)
	}
	best = best.or(coverOf(cells))
	if !(best.FailUp < 1-LeastTold) {
		best = Cover{FailUp: 1, Cells: len(cells)}
	}
	for _, r := range roots {
		r.preorder(&best)
	}
	if len(s.Any) == 1 && !slices.ContainsFunc(s.Any[0], func(r int) bool { return r < 0 }) || best.FailUp == 1 {
		best.Plans = nil
	}
	return best, ctx.Err()
}

// coverOf returns what cells show together, without their tree.
func coverOf(cells []coverCell) Cover {
	c := Cover{Cells: len(cells)}
	for i := range cells {
		c.FailUp = arith.Up(c.FailUp + cells[i].bound)
	}
	return c
}

// or is a later cover that is no worse, and otherwise this one.
func (c Cover) or(later Cover) Cover {
	if c.FailUp < later.FailUp {
		return c
	}
	return later
}

// worstCell is the cell with the largest bound that may be cut, -1 if there is none.
func worstCell(cells []coverCell) int {
	w := -1
	for i, c := range cells {
		if !c.frozen && (w < 0 || c.bound > cells[w].bound) {
			w = i
		}
	}
	return w
}

// hopeless is the bound from which a cell is cut along its most sensitive axis
// even though the halves are no better: several cuts together may be.
const hopeless = 0.5

// cut halves a cell along an axis; both halves contain the cut. ok is false if the sum of
// the bounds is no smaller.
func (n *Sum) cut(ctx context.Context, c coverCell, s *property.Safe) (axis int, a, b coverCell, ok bool) {
	axis = n.axisApprox(c.box)
	if axis < 0 || ctx.Err() != nil {
		return axis, a, b, false
	}
	a.box, b.box = halves(c.box, axis)
	for _, half := range []*coverCell{&a, &b} {
		half.bound, half.at = 1, &node{}
		half.improve(n.CellFailUp(half.box, s))
	}
	return axis, a, b, ctx.Err() == nil && (c.bound >= hopeless || arith.Up(a.bound+b.bound) < c.bound)
}

// halves are two boxes whose union is the box.
func halves(box property.Box, axis int) (a, b property.Box) {
	middle := box.Lo[axis]/2 + box.Hi[axis]/2
	a = property.Box{Lo: box.Lo, Hi: append([]float64(nil), box.Hi...)}
	b = property.Box{Lo: append([]float64(nil), box.Lo...), Hi: box.Hi}
	a.Hi[axis], b.Lo[axis] = middle, middle
	return a, b
}

// axisApprox is the axis along which hidden neurons move most, -1 if none can be
// cut or is worth it.
func (n *Sum) axisApprox(box property.Box) int {
	axis, most := -1, 0.0
	w := &n.net.Hidden.Weight
	c := n.shape(box)
	if c == nil {
		return -1
	}
	for j, middle := range c.centre {
		if c.narrow[j] || !(box.Lo[j] < middle && middle < box.Hi[j]) {
			continue
		}
		size := 0.0
		for _, at := range n.net.Hidden.Dense().From(j) {
			size += w.Mean[at]*w.Mean[at] + w.SdHi[at]*w.SdHi[at]
		}
		if size = math.Sqrt(size) * (box.Hi[j] - box.Lo[j]); size > most {
			axis, most = j, size
		}
	}
	return axis
}

// PointApprox proposes a point of the box where S is improbable, for SafeUp: a
// pattern search from the best of the middle and the vertices. The box must lie
// within T for the bound to speak of P_safe(T, S).
func (n *Sum) PointApprox(box property.Box, s *property.Safe) []float64 {
	best := make([]float64, len(box.Lo))
	for j := range best {
		best[j] = min(max(box.Lo[j]/2+box.Hi[j]/2, box.Lo[j]), box.Hi[j])
	}
	least := n.SafeApprox(best, s)
	try := func(x []float64) {
		if n.over() {
			return
		}
		if p := n.SafeApprox(x, s); p < least {
			best, least = append([]float64(nil), x...), p
		}
	}
	for v := range 1 << min(len(best), 6) {
		x := append([]float64(nil), best...)
		for j := range min(len(x), 6) {
			x[j] = box.Lo[j]
			if v>>j&1 == 1 {
				x[j] = box.Hi[j]
			}
		}
		try(x)
	}
	for width := 0.5; width > 0.05; width /= 2 {
		for j := range min(len(best), 64) {
			for _, step := range []float64{-width, width} {
				x := append([]float64(nil), best...)
				x[j] = min(max(x[j]+step*(box.Hi[j]-box.Lo[j]), box.Lo[j]), box.Hi[j])
				try(x)
			}
		}
	}
	return best
}

// SafeApprox is about what SafeUp gives at x, from the mean and the variance of the
// margins alone: not a bound.
func (n *Sum) SafeApprox(x []float64, s *property.Safe) float64 {
	about, sum := n.momentsApprox(x), 0.0
	negated := negatedRows(s)
	if len(s.Gates) > 0 {
		likely := make([]float64, len(s.Rows))
		for r := range likely {
			likely[r] = about.failApprox(&negated[r])
		}
		d := s.Dual()
		rows, some := d.Implicant(likely)
		if !some {
			return 1
		}
		for _, r := range rows {
			sum += likely[r]
		}
		return sum
	}
	for _, all := range s.Any {
		least := 1.0
		for _, r := range all {
			least = min(least, about.failApprox(&negated[r]))
		}
		if mix, mixed := about.mixed(negated, all); mixed != nil {
			least = min(least, about.failApprox(&mix))
		}
		sum += least
	}
	return sum
}
