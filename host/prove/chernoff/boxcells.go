package chernoff

import (
	"context"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// A box may be cut, as in concentration LBP (docs/theory.md, section 3.3): failures of cells add up, so that this
// pays where a network fails in a small part of the box alone.

const (
	// mostCells is how many cells a box with few inputs is cut into, if nobody says otherwise.
	mostCells = 16
	// worthCutting is below which failures are left as they are.
	worthCutting = 1e-3
)

// boxCell is a box, and how it was bounded: found is nil if it was not.
type boxCell struct {
	*found
	box   property.Box
	axis  int
	parts []*boxCell
}

// fail bounds the failure of the cell as it is.
func (l *boxCell) fail() float64 {
	if l.found == nil {
		return 1
	}
	return l.failUp
}

// best bounds it by itself or by its parts.
func (l *boxCell) best() float64 {
	if len(l.parts) == 0 {
		return l.fail()
	}
	return min(l.fail(), arith.Up(l.parts[0].best()+l.parts[1].best()))
}

// leaves appends to a tree in preorder, and to a list, the cells that best rests on.
func (l *boxCell) leaves(tree []int, list []*boxCell) ([]int, []*boxCell) {
	if len(l.parts) == 0 || l.fail() <= l.best() {
		return append(tree, claim.Leaf), append(list, l)
	}
	tree = append(tree, l.axis)
	for _, p := range l.parts {
		tree, list = p.leaves(tree, list)
	}
	return tree, list
}

// cut bounds a box, and cuts what fails most of it as long as there are fewer cells than most.
func (c *chain) cut(ctx context.Context, box property.Box, s *property.Safe, most int, enough float64) (*boxCell, error) {
	root, err := c.newCell(ctx, box, s, enough)
	if err != nil || most < 2 || nearlyPoint(box) || root.best() < worthCutting {
		return root, err
	}
	// Each cell fails about as much as a point of it at least.
	mid := box.CentreApprox()
	point, err := c.newCell(ctx, property.Box{Lo: mid, Hi: mid}, s, min(enough, root.best())/2)
	if err != nil || point.found == nil {
		return root, err
	}
	open := []*boxCell{root}
	for cells := 1; cells < most && root.best() >= worthCutting; cells++ {
		if cells == 4 && root.best() >= root.fail() {
			break // nothing was gained
		}
		at := 0
		for i, l := range open {
			if l.fail() > open[at].fail() {
				at = i
			}
		}
		worst := open[at]
		if worst.fail() < 2*point.fail() || 8*worst.fail()*float64(len(open)) < root.best() {
			break
		}
		lower, upper := worst.box.Halves(worst.axis)
		for _, half := range []property.Box{lower, upper} {
			part, err := c.newCell(ctx, half, s, 1)
			if err != nil {
				return nil, err
			}
			worst.parts = append(worst.parts, part)
		}
		open[at] = worst.parts[0]
		open = append(open, worst.parts[1])
	}
	return root, nil
}

// newCell bounds a box by itself.
func (c *chain) newCell(ctx context.Context, box property.Box, s *property.Safe, enough float64) (*boxCell, error) {
	f, axis, err := c.wideBoxed(ctx, box, s, enough)
	return &boxCell{found: f, box: box, axis: axis}, err
}
