package phases

import (
	"context"
	"math"
	"slices"
	"sync"

	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// With few inputs T is cut into cells, as are the leaves of each by phases ((69), docs/theory.md): hidden bounds of a
// cell are its own, with a budget of its own, and its rows have trees of their own. Which cells are cut, and whether
// a cell's parts or its trees count, is decided by what fails less.

// cell is a part of T: found is what is proved of it, nil for nothing, and parts are what it was cut into, in
// coordinate axis.
type cell struct {
	box   property.Box
	found *found
	parts []*cell
	axis  int
	// depth is how many cuts are above, and vain how many of the last of these have gained nothing.
	depth, vain int
}

// fail bounds what the cell fails with by its own trees.
func (c *cell) fail() float64 {
	if c.found == nil {
		return 1
	}
	return c.found.failUp
}

// best bounds what the cell fails with, by itself or by its parts: where it fails one of these does.
func (c *cell) best() float64 {
	if c.parts == nil {
		return c.fail()
	}
	sum := 0.0
	for _, p := range c.parts {
		sum = math.Nextafter(sum+p.best(), math.Inf(1))
	}
	return min(c.fail(), sum)
}

// write appends the tree of a cell to trees, in preorder, and the cells that best rests on to a list.
func (c *cell) write(trees []int, list []*cell) ([]int, []*cell) {
	if c.parts == nil || c.fail() <= c.best() {
		return append(trees, claim.Leaf), append(list, c)
	}
	trees = append(trees, c.axis)
	for _, p := range c.parts {
		trees, list = p.write(trees, list)
	}
	return trees, list
}

// cells is a search for cells of a task, of at most so many, and for trees of up to left nodes in all.
type cells struct {
	e *engine.Engine
	// device is for whoever asks it.
	device     *sync.Mutex
	task       *property.Task
	left, most int
	// enough says that what a T that is one box fails with is; nil: nothing is.
	enough func(fail float64) bool
}

const (
	// cellNodes is how many nodes the trees of a cell get that may be cut.
	cellNodes = 2 * firstNodes
	// vainCells is how many cuts in a row may gain nothing, and worthCell what the parts of a cell have to leave at
	// most of what it fails with to have gained something. Of a cell of which nothing is shown, cuts gain
	// nothing until all is shown, so that there may be more of them.
	vainCells, vainBlank = 2, 6
	worthCell            = 0.9
	// early is the share of all nodes after which it is looked whether the rest may show something of all of T, and
	// least of how much of T something has to be shown by then, as a share of what would be in proportion.
	early, least = 1.0 / 8, 1.0 / 4
	// lookCloser is how much smaller than a cell its surroundings of a point are.
	lookCloser = 16
)

// search cuts the boxes of T into cells as long as that gains something. Nil: no nodes are left.
func (s *cells) search(ctx context.Context) (roots []*cell, err error) {
	for _, b := range s.task.T {
		roots = append(roots, &cell{box: b})
	}
	all := s.left
	first := all / len(roots)
	if s.most > len(roots) {
		first = min(first, cellNodes)
	}
	if first -= 2 * batch; first < firstNodes { // nodes are cut so many at a time
		return nil, nil
	}
	for _, c := range roots {
		if err := s.bound(ctx, c, first); err != nil {
			return nil, err
		}
		if c.found != nil {
			continue
		}
		if s.most == len(roots) {
			return nil, nil
		}
		if hopeless, err := s.hopeless(ctx, c); hopeless || err != nil {
			return nil, err
		}
	}
	for count := len(roots); count < s.most && s.left > 4*firstNodes && !s.over(roots); count++ {
		c := worstCell(roots)
		if c == nil {
			break
		}
		if used := 1 - float64(s.left)/float64(all); c.found == nil && used > early && shown(roots) < least*used {
			return nil, nil
		}
		if err := s.cut(ctx, c); err != nil {
			return roots, s.kept(ctx, err)
		}
	}
	return roots, s.kept(ctx, s.deepen(ctx, roots))
}

// hopeless says of a cell of which nothing is shown whether nothing is of a much smaller one either, around the point
// where an attack finds the network of the means to be least safe. No bound rests on it.
func (s *cells) hopeless(ctx context.Context, c *cell) (bool, error) {
	at := decide.Target{Net: s.e.Normal.Network(), Weights: s.e.Normal.Mean(), Box: c.box, Safe: &s.task.S}
	x, margin := decide.AttackApprox(at, decide.Effort{Steps: 20, Starts: 3, Over: decide.Over(ctx)})
	if margin < 0 {
		return true, nil
	}
	near := property.Box{Lo: slices.Clone(x), Hi: slices.Clone(x)}
	for j := range x {
		by := (c.box.Hi[j] - c.box.Lo[j]) / (2 * lookCloser)
		near.Lo[j], near.Hi[j] = max(x[j]-by, c.box.Lo[j]), min(x[j]+by, c.box.Hi[j])
	}
	found, nodes, err := s.boxed(ctx, near, firstNodes, func(float64) bool { return false })
	s.left -= max(nodes, 1)
	return found == nil, err
}

// kept is no error where the time is up: what has been found counts.
func (s *cells) kept(ctx context.Context, err error) error {
	if err != nil && s.e.Cut(err) {
		return nil
	}
	return err
}

// bound bounds what a cell fails with, by trees of so many nodes.
func (s *cells) bound(ctx context.Context, c *cell, most int) error {
	one := len(s.task.T) == 1 && c.parts == nil && s.enough != nil
	found, nodes, err := s.boxed(ctx, c.box, most, func(fail float64) bool { return one && s.enough(fail) })
	s.left -= max(nodes, 1)
	if found != nil && (c.found == nil || found.failUp < c.found.failUp) {
		c.found = found
	}
	return err
}

// cut cuts a cell in two where rows of the network of the means vary most.
func (s *cells) cut(ctx context.Context, c *cell) error {
	c.axis = clbp.SteepestApprox(s.e.Normal.Network(), s.e.Normal.Mean(), s.task.S.Rows, c.box)
	left, right := c.box.Halves(c.axis)
	parts, sum := []*cell{{box: left}, {box: right}}, 0.0
	for _, p := range parts {
		if err := s.bound(ctx, p, cellNodes); err != nil {
			return err
		}
		sum += p.fail()
	}
	for _, p := range parts {
		if p.depth, p.vain = c.depth+1, c.vain+1; sum < worthCell*c.fail() {
			p.vain = 0
		}
	}
	c.parts = parts
	return nil
}

// total returns what is proved to fail.
func total(roots []*cell) (sum float64) {
	for _, c := range roots {
		sum += c.best()
	}
	return sum
}

// shown is the share of the boxes of which something is shown.
func shown(roots []*cell) (share float64) {
	for _, root := range roots {
		for _, c := range root.uncut(nil) {
			if c.found != nil || root.found != nil {
				share += math.Ldexp(1/float64(len(roots)), -c.depth)
			}
		}
	}
	return share
}

// over reports whether no more is wanted.
func (s *cells) over(roots []*cell) bool {
	sum := total(roots)
	return sum <= clbp.Enough || s.enough != nil && s.enough(sum)
}

// worstCell is the cell that fails most of those that may be cut; nil if none may.
func worstCell(roots []*cell) *cell {
	var worst *cell
	for _, root := range roots {
		for _, c := range root.uncut(nil) {
			most := vainCells
			if c.found == nil {
				most = vainBlank
			}
			if c.vain <= most && !slices.Equal(c.box.Lo, c.box.Hi) && (worst == nil || c.fail() > worst.fail()) {
				worst = c
			}
		}
	}
	return worst
}

// uncut appends the cells without parts.
func (c *cell) uncut(list []*cell) []*cell {
	if c.parts == nil {
		return append(list, c)
	}
	for _, p := range c.parts {
		list = p.uncut(list)
	}
	return list
}

// deepen looks for trees of more nodes of the cells that what is proved rests on, if T has been cut or may be.
func (s *cells) deepen(ctx context.Context, roots []*cell) error {
	if s.most == len(s.task.T) || s.over(roots) {
		return nil
	}
	var list []*cell
	for _, c := range roots {
		_, list = c.write(nil, list)
	}
	if slices.ContainsFunc(list, func(c *cell) bool { return c.found == nil }) && len(list) > 1 {
		return nil // a part of T shows nothing
	}
	floor := total(roots) / float64(8*len(list))
	list = slices.DeleteFunc(list, func(c *cell) bool { return c.fail() < floor })
	for i, c := range list {
		if most := s.left/(len(list)-i) - 2*batch; most > cellNodes {
			if err := s.bound(ctx, c, most); err != nil {
				return err
			}
		}
	}
	return nil
}
