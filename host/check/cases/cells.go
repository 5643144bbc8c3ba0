// Package cases splits claims as their proofs do: T into cells, S into clauses, mixtures and rows
// that imply or refute it.
package cases

import (
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Leaf stands in trees for a cell that is not cut.
const Leaf = -1

// mostCoordinates is how many coordinates all cells of a proof may have: 2^26 make 1 GiB.
const mostCoordinates = 1 << 26

// CellsOf cuts the boxes of T as a proof says: for each box its tree in preorder, -1 for a leaf
// and j for a cut in coordinate j, followed by the lower and the upper half. The leaves, in
// order, cover the boxes, since halves share their face. No trees at all are trees of leaves.
func CellsOf(boxes []property.Box, trees []int) ([]property.Box, error) {
	if trees == nil {
		return boxes, nil
	}
	if cells := len(trees)/2 + 1; len(boxes) > 0 && cells > mostCoordinates/len(boxes[0].Lo) {
		return nil, fmt.Errorf("proof: cells are %d, of %d coordinates each: more than this program takes", cells, len(boxes[0].Lo))
	}
	var cells []property.Box
	for n, b := range boxes {
		// todo are the cells whose trees come next, the last first.
		for todo := []property.Box{b}; len(todo) > 0; {
			c := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if len(trees) == 0 {
				return nil, fmt.Errorf("proof: cells end before the tree of box %d of T does", n)
			}
			j := trees[0]
			trees = trees[1:]
			switch {
			case j == Leaf:
				cells = append(cells, c)
			case j < 0 || j >= len(c.Lo):
				return nil, fmt.Errorf("proof: cells are cut in coordinate %d of %d", j, len(c.Lo))
			default:
				lower, upper := halves(c, j)
				todo = append(todo, upper, lower)
			}
		}
	}
	if len(trees) > 0 {
		return nil, fmt.Errorf("proof: cells go on after the last tree: %d more numbers", len(trees))
	}
	return cells, nil
}

// halves cuts a box in coordinate j in the middle, as certify has it.
func halves(c property.Box, j int) (lower, upper property.Box) {
	at := arith.Middle(c.Lo[j], c.Hi[j])
	lower, upper = property.Box{Lo: c.Lo, Hi: slices.Clone(c.Hi)}, property.Box{Lo: slices.Clone(c.Lo), Hi: c.Hi}
	lower.Hi[j], upper.Lo[j] = at, at
	return lower, upper
}

// TausOf is one failure budget for each cell: those given, or the one that is the same for all. A
// budget of 0 is that of a cell of which nothing is claimed, or nothing can fail; others are large
// enough for their 64th part to be exact.
func TausOf(taus []float64, cells int) ([]float64, error) {
	switch {
	case len(taus) == 1:
		taus = slices.Repeat(taus, cells)
	case len(taus) != cells:
		return nil, fmt.Errorf("proof: tau has %d numbers for %d cells", len(taus), cells)
	}
	for _, tau := range taus {
		if tau != 0 && !(tau >= 1e-300 && tau < 1) {
			return nil, fmt.Errorf("proof: tau is %v, neither 0 nor in [1e-300, 1)", tau)
		}
	}
	return taus, nil
}
