package clbp

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"psafe/host/model/network"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// cell is an input box of a task, and what is known of it.
type cell struct {
	task *property.Task
	box  property.Box
	// ball holds what the box is cut to, nil if it is not.
	ball *property.Ball
	// fail bounds the probability that some x of the box is unsafe, from above; if the
	// cell is dual, its rows are negated and fail bounds the probability that S holds
	// on all of the box.
	fail float64
	dual bool
	// each says that fail is about any one point of the box, whichever it is: then of parts the worst counts, and
	// not the sum.
	each bool
	// refuted says that the mean network was seen to leave S in the cell (refute): then nothing is ever
	// shown of it, nor of what it is part of.
	refuted bool
	// tau is the failure budget that gave it, above which lines (claim.Proof.Lines).
	tau   float64
	above []int
	// parts holds what the box was cut into, in coordinate axis.
	parts []*cell
	axis  int
}

// best bounds the cell's failure by itself or by its parts, from above: if the box
// is unsafe, then one of its parts is, and each point is in one of them.
func (c *cell) best() float64 {
	if len(c.parts) == 0 {
		return c.fail
	}
	all := 0.0
	for _, p := range c.parts {
		all = c.with(all, p.best())
	}
	return min(c.fail, all)
}

// with is what cells fail with that cover a box together.
func (c *cell) with(a, b float64) float64 {
	if c.each {
		return max(a, b)
	}
	return plusUp(a, b)
}

// leaves appends to a tree, in preorder, and to a list the cells that best rests on.
func (c *cell) leaves(tree []int, list []*cell) ([]int, []*cell) {
	if len(c.parts) == 0 || c.fail <= c.best() {
		return append(tree, claim.Leaf), append(list, c)
	}
	tree = append(tree, c.axis)
	for _, p := range c.parts {
		tree, list = p.leaves(tree, list)
	}
	return tree, list
}

// How many cells T is cut into unless somebody says otherwise: fewer of a network so deep
// that each takes long, since a cell is bounded some ten times, and so is what it is cut from.
const (
	mostCellsUnasked  = 128
	leastCellsUnasked = 16
	cellWork          = 5e7 // multiplications of one pass over all cells
)

// MostCells returns how many cells a T of so many boxes may be cut into: as many as asked for, or
// some where inputs are few enough for that to pay, and then twice its boxes at least: one of which
// nothing is shown takes all from the rest.
func MostCells(e *engine.Engine, cells, boxes int) int {
	switch {
	case cells > 0:
		return cells
	case e.Normal.Inputs() <= decide.FewInputs:
		unasked := int(max(leastCellsUnasked, min(cellWork/max(1, engine.PassCost(e.Normal)), mostCellsUnasked)))
		return max(unasked, 2*boxes)
	}
	return 1
}

// refineAll is refine, and once more with even cuts where nothing is shown: a network that gives about the
// same at both ends of a coordinate seems flat there.
func (m method) refineAll(ctx context.Context, asked int, roots [][]*cell) error {
	if err := m.refine(ctx, asked, roots); err != nil {
		return err
	}
	m.even = true
	return m.refine(ctx, asked, slices.DeleteFunc(slices.Clone(roots), func(r []*cell) bool {
		if missingCells(r) == 0 {
			return true
		}
		for _, c := range r {
			if c.best() >= 1 {
				c.parts = nil
			}
		}
		return false
	}))
}

// refineRounds bounds the rounds of refine.
const refineRounds = 24

// refine cuts the cells that fail most, as long as a task has fewer than MostCells, and only
// where the task may gain by it.
func (m method) refine(ctx context.Context, asked int, roots [][]*cell) error {
	count, most := make([]int, len(roots)), make([]int, len(roots))
	for i, r := range roots {
		for _, c := range r {
			count[i] += len(c.uncut())
		}
		most[i] = MostCells(m.e, asked, len(r))
	}
	hopeless, err := m.hopeless(ctx, most, roots)
	if err != nil {
		return err
	}
	net, mean := m.e.Normal.Network(), m.e.Normal.Mean()
	for range refineRounds {
		var fresh []*cell
		for i, r := range roots {
			if hopeless[i] || slices.ContainsFunc(r, (*cell).lost) || missingCells(r) > most[i]-count[i] {
				continue
			}
			for _, c := range worst(r, most[i]-count[i]) {
				m.halve(net, mean, c)
				fresh = append(fresh, c.parts...)
				count[i] += len(c.parts) - 1
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		if err := m.judge(ctx, fresh); err != nil {
			return err
		}
	}
	return nil
}

// missingCells returns how many more cells it takes at least to show anything of a task: while a
// part of T says nothing, the sum says nothing.
func missingCells(cells []*cell) int {
	n := 0
	for _, c := range cells {
		switch {
		case c.best() < 1:
		case len(c.parts) == 0:
			n++
		default:
			n += missingCells(c.parts)
		}
	}
	return n
}

// A task is looked at in some places of a box of which nothing is shown, each cut
// lookDeeper times more often than most equal cells would be.
const lookDeeper = 3

// lookAt says which half is gone on with in a place, 0 or 1, over and over: two corners, and
// two places inside.
var lookAt = [][]int{{0}, {1}, {0, 1}, {1, 0}}

// hopeless says of which tasks nothing will be shown however T is cut: those of which
// nothing is shown of much smaller cells either, in two places or more. In one it might be an
// exception that a few deep cuts get around. A task may be given up that could have been
// shown; no bound rests on it.
func (m method) hopeless(ctx context.Context, most []int, roots [][]*cell) ([]bool, error) {
	net, mean := m.e.Normal.Network(), m.e.Normal.Mean()
	looks := make([][]*cell, len(roots))
	var all []*cell
	for i, r := range roots {
		at := slices.IndexFunc(r, func(c *cell) bool { return c.best() >= 1 && !uncuttable(c.box) })
		if at < 0 || len(r) >= most[i] || slices.ContainsFunc(r, (*cell).lost) {
			continue
		}
		for _, halves := range lookAt {
			c := &cell{task: r[at].task, box: r[at].box}
			for k := range bits.Len(uint(most[i]-1)) + lookDeeper {
				m.halve(net, mean, c)
				c = c.parts[halves[k%len(halves)]]
			}
			looks[i] = append(looks[i], c)
		}
		all = append(all, looks[i]...)
	}
	hopeless := make([]bool, len(roots))
	if len(all) == 0 {
		return hopeless, nil
	}
	if err := m.judgePlainly(ctx, all); err != nil {
		return nil, err
	}
	for i, places := range looks {
		blank := 0
		for _, c := range places {
			if c.fail >= 1 {
				blank++
			}
		}
		hopeless[i] = blank >= 2
	}
	return hopeless, nil
}

// lost says that the cell or a part of it was refuted.
func (c *cell) lost() bool { return c.refuted || slices.ContainsFunc(c.parts, (*cell).lost) }

// worst lists the uncut cells that are worth cutting: those that make up most of
// what a task fails by, at most n of them.
func worst(roots []*cell, n int) []*cell {
	total := 0.0
	var open []*cell
	for _, c := range roots {
		total = c.with(total, c.best())
		open = append(open, c.uncut()...)
	}
	if n <= 0 || total <= Enough {
		return nil
	}
	least := Enough / 8
	if 2*len(roots) > mostCellsUnasked { // many boxes fail by their budgets, of which halves have one each
		least = Enough
	}
	open = slices.DeleteFunc(open, func(c *cell) bool {
		return c.fail <= least || uncuttable(c.box)
	})
	slices.SortStableFunc(open, func(a, b *cell) int {
		switch {
		case a.fail > b.fail:
			return -1
		case a.fail < b.fail:
			return 1
		}
		return 0
	})
	if len(open) == 0 {
		return nil
	}
	// All that fail about as much as the worst.
	at := open[0].fail / 4
	k := 1
	for k < len(open) && k < n && open[k].fail >= at {
		k++
	}
	return open[:k]
}

// uncuttable reports whether a box is a point, or one that no float64 is: of a unit or two in the last place,
// of which halves are no easier.
func uncuttable(b property.Box) bool {
	for j, lo := range b.Lo {
		if b.Hi[j] > math.Nextafter(math.Nextafter(lo, math.Inf(1)), math.Inf(1)) {
			return false
		}
	}
	return true
}

// uncut lists the cells without parts.
func (c *cell) uncut() []*cell {
	if len(c.parts) == 0 {
		return []*cell{c}
	}
	var all []*cell
	for _, p := range c.parts {
		all = append(all, p.uncut()...)
	}
	return all
}

// halve cuts a cell in two in the coordinate over which the rows of the network of
// these weights vary most, or the widest one. The halves share their common face.
func (m method) halve(net network.Network, weights [][]float64, c *cell) {
	j := c.box.Widest()
	if !m.even {
		j = SteepestApprox(net, weights, c.task.S.Rows, c.box)
	}
	c.axis = j
	left, right := c.box.Halves(j)
	for _, b := range []property.Box{left, right} {
		c.parts = append(c.parts, &cell{task: c.task, box: b, fail: 1, each: c.each})
	}
}

// SteepestApprox is the coordinate in which one of these rows of the network of these weights changes
// most over the box, by finite differences; the widest if none changes.
func SteepestApprox(net network.Network, weights [][]float64, rows []property.Row, box property.Box) int {
	n := len(box.Lo)
	mid := make([]float64, n)
	for j := range mid {
		mid[j] = property.Middle(box.Lo[j], box.Hi[j])
	}
	best, most := -1, 0.0
	for j := range n {
		x := slices.Clone(mid)
		x[j] = box.Lo[j]
		a := net.OutputsApprox(weights, x)
		x[j] = box.Hi[j]
		b := net.OutputsApprox(weights, x)
		for _, row := range rows {
			d := 0.0
			for i, w := range row.CLo {
				d += w * (b[i] - a[i])
			}
			if d = math.Abs(d); d > most {
				best, most = j, d
			}
		}
	}
	if best < 0 {
		return box.Widest()
	}
	return best
}
