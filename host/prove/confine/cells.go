package confine

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/branch"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// With few inputs T is cut into cells, as are the sub-problems of each by phases. The noise of a cell is
// that of an event of its own, as it is smaller than that of all of T and costs next to nothing.

// cell is a part of T: proved, or cut in coordinate axis into parts.
type cell struct {
	box   property.Box
	depth int
	proof *branch.Proof
	parts []*cell
	axis  int
}

// search proves the cells of a task.
type search struct {
	e     *engine.Engine
	ask   func(*asked)
	noise *branch.Noise
	task  *property.Task
	// left is how many sub-problems may still be looked at; cells is how many cells there are, most how
	// many there may be.
	left, cells, most int
	// looked reports whether points of T were looked at.
	looked bool
	// done is the share of all boxes that is proved.
	done float64
}

const (
	// firstParts is how many sub-problems a cell gets that may be cut itself: cutting it takes about as long.
	firstParts = 256
	// moreDepth is how much deeper than equal cells would be one may be.
	moreDepth = 4
	// witnessParts is how many sub-problems a point gets.
	witnessParts = 64
	// early is the share of all sub-problems after which it is looked whether the rest may do, and least
	// how much of T has to be proved by then, as a share of what would be in proportion.
	early, least = 1.0 / 8, 1.0 / 4
)

// all reports whether all cells are proved, cutting those that are not as long as it may.
func (s *search) all(ctx context.Context, roots []*cell) (bool, error) {
	most := s.left
	for waiting := append([]*cell(nil), roots...); len(waiting) > 0; {
		c := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		cuts := s.cells < s.most && c.depth < bits.Len(uint(s.most))+moreDepth && !slices.Equal(c.box.Lo, c.box.Hi)
		parts := s.left
		if cuts {
			parts = min(parts, firstParts)
		}
		proved, err := s.try(ctx, c, parts, cuts)
		if err != nil || !proved && (!cuts || s.left <= 0) {
			return false, err
		}
		if proved {
			s.done += math.Ldexp(1/float64(len(roots)), -c.depth)
			continue
		}
		if used := 1 - float64(s.left)/float64(most); used > early && s.done < least*used {
			return false, nil
		}
		if hopeless, err := s.hopeless(ctx, c); hopeless || err != nil {
			return false, err
		}
		s.cut(c)
		waiting = append(waiting, c.parts...)
	}
	return true, nil
}

// try reports whether a cell is proved with so many sub-problems; more says that others are to follow where it is not.
func (s *search) try(ctx context.Context, c *cell, most int, more bool) (bool, error) {
	// It is the device that ends work whose time is up: an answer that was cut short would be another than
	// that of a recheck.
	a := &asked{task: &branch.Task{Box: c.box, Safe: &s.task.S, Noise: s.noise, Most: most, Beside: !more && bound.Wide(s.e.Device)}}
	if s.ask(a); a.err != nil {
		return false, a.err
	}
	s.left -= max(a.found.Tried, 1)
	c.proof = a.found.Proof
	return a.found.Proved, nil
}

// hopeless reports of the first cell that is not proved whether a point of it cannot be either.
func (s *search) hopeless(ctx context.Context, c *cell) (bool, error) {
	if s.looked {
		return false, nil
	}
	s.looked = true
	at := decide.Target{Net: s.e.Normal.Network(), Weights: s.e.Normal.Mean(), Box: c.box, Safe: &s.task.S}
	x, margin := decide.AttackApprox(at, decide.Effort{Steps: 20, Starts: 3, Over: decide.Over(ctx)})
	if margin < 0 {
		return true, nil
	}
	proved, err := s.try(ctx, &cell{box: property.Box{Lo: x, Hi: x}}, witnessParts, true)
	return !proved, err
}

// cut cuts a cell in two where rows of the network of the means vary most.
func (s *search) cut(c *cell) {
	c.axis = clbp.SteepestApprox(s.e.Normal.Network(), s.e.Normal.Mean(), s.task.S.Rows, c.box)
	left, right := c.box.Halves(c.axis)
	for _, b := range []property.Box{left, right} {
		c.parts = append(c.parts, &cell{box: b, depth: c.depth + 1})
	}
	s.cells++
}

// write appends the tree of a cell to trees, in preorder, and the proofs of its leaves to a list.
func (c *cell) write(trees []int, proofs []*branch.Proof) ([]int, []*branch.Proof) {
	if c.parts == nil {
		return append(trees, claim.Leaf), append(proofs, c.proof)
	}
	trees = append(trees, c.axis)
	for _, p := range c.parts {
		trees, proofs = p.write(trees, proofs)
	}
	return trees, proofs
}
