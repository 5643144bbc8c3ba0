package decide

import (
	"context"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// setCell is a cell of T, the share of the networks that are safe on all of it, and its halves.
type setCell struct {
	box   property.Box
	axis  int // where to cut it
	share int64
	parts []*setCell
}

// EachOfSet sets what is proved of inf over x in T of Prob(f(x) in S) for a finite set of networks (docs/theory.md,
// section 3.8): at least p_lower, and the share of the networks that are proved safe on all of a cell, in the worst
// cell. At points that is exact but for networks that are left open. T may be cut into so many cells; 0 leaves it to
// the number of inputs and networks.
func EachOfSet(ctx context.Context, e *engine.Engine, cells int, results []*claim.Result) error {
	p := newPredictives(e, Rule{})
	most := finitePieces(cells, e.Normal.Inputs(), len(p.nets))
	for _, r := range results {
		r.Each = &claim.Each{Lower: r.Lower()}
		if r.Lower() >= 1 {
			continue
		}
		p.task = r.Task
		var roots []*setCell
		for _, b := range r.Task.T {
			roots = append(roots, &setCell{box: b})
		}
		if err := p.shareOut(ctx, roots, most); err != nil && !e.Cut(err) {
			return err
		}
		least, trees := p.total, []int(nil)
		for _, c := range roots {
			least, trees = c.worst(least, trees)
		}
		if lower := shareDown(least, p.total); lower > r.Each.Lower {
			r.Each.Lower, r.Each.Proof.Cells = lower, claim.UncutCells(trees)
			r.Proof.Each = &r.Each.Proof
		}
	}
	return nil
}

// shareOut finds the shares of cells, and halves those with the least, as long as there are no more than most.
func (p *predictives) shareOut(ctx context.Context, cells []*setCell, most int) error {
	leaves := slices.Clone(cells)
	for fresh := cells; ; {
		if err := p.share(ctx, fresh); err != nil {
			return err
		}
		worst := slices.MinFunc(leaves, func(a, b *setCell) int { return int(a.share - b.share) })
		if worst.share == p.total || len(leaves) >= most || slices.Equal(worst.box.Lo, worst.box.Hi) {
			return nil
		}
		left, right := worst.box.Halves(worst.axis)
		fresh = []*setCell{{box: left}, {box: right}}
		worst.parts = fresh
		leaves = append(slices.DeleteFunc(leaves, func(c *setCell) bool { return c == worst }), fresh...)
	}
}

// share asks for the margins of all networks on cells.
func (p *predictives) share(ctx context.Context, cells []*setCell) error {
	asked := make([][]*question, len(cells))
	var qs []*question
	for i, c := range cells {
		for n := range p.nets {
			q := &question{net: n, box: c.box, rows: p.task.S.Rows, of: &p.task.S}
			if asked[i] = append(asked[i], q); p.fits[n] {
				qs = append(qs, q)
			}
		}
	}
	if err := p.ask(ctx, bound.LBP, qs); err != nil {
		return err
	}
	for i, c := range cells {
		for n, q := range asked[i] {
			if q.lo != nil && p.task.S.Holds(q.lo) {
				c.share += p.counts[n]
			}
		}
		c.axis = p.axisOf(c.box, asked[i])
	}
	return nil
}

// worst returns the least share of the parts of a cell, and what was before, and appends its tree.
func (c *setCell) worst(least int64, tree []int) (int64, []int) {
	if c.parts == nil {
		return min(least, c.share), append(tree, claim.Leaf)
	}
	tree = append(tree, c.axis)
	for _, p := range c.parts {
		least, tree = p.worst(least, tree)
	}
	return least, tree
}
