package sums

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"psafe/host/arith"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Grids (32): one event for each point of a grid over T, in the place of one for each vertex of
// each cell (doc.go).

// MostPoints is the greatest number of points of grids: each takes seconds.
const MostPoints = 4096

// gridLine is one coordinate of a grid: the values of its points, and the centres' distances from
// each of them.
type gridLine struct {
	at            []float64
	before, after []arith.Interval
}

// newGridLine has points at lo, hi and the planes between them. The centre of a cell may be any
// point of it: their coordinates are centres, or those of the middles if that is nil.
func newGridLine(lo, hi float64, planes, centres []float64) gridLine {
	if lo == hi {
		return gridLine{at: []float64{lo}, before: []arith.Interval{{}}, after: []arith.Interval{{}}}
	}
	l := gridLine{at: append(append([]float64{lo}, planes...), hi)}
	last := len(l.at) - 1
	l.before, l.after = make([]arith.Interval, last+1), make([]arith.Interval, last+1)
	for k := range last {
		c := arith.Middle(l.at[k], l.at[k+1])
		if centres != nil {
			c = centres[k]
		}
		l.after[k], l.before[k+1] = arith.Difference(c, l.at[k]), arith.Difference(c, l.at[k+1])
	}
	l.before[0], l.after[last] = l.after[0], l.before[last]
	return l
}

// gridOf reads the grid of box b of T from a proof: the coordinates of the planes across each
// axis, strictly ascending and strictly within the box, and those of the centres of cells. It
// returns the points.
func gridOf(b int, box property.Box, planes, centres [][]float64) ([]GridPoint, error) {
	if len(planes) != len(box.Lo) {
		return nil, fmt.Errorf("proof: grids: box %d has planes across %d axes, the network has %d inputs", b, len(planes), len(box.Lo))
	}
	if centres != nil && len(centres) != len(box.Lo) {
		return nil, fmt.Errorf("proof: centres: box %d has them in %d axes, the network has %d inputs", b, len(centres), len(box.Lo))
	}
	points, cut := 1, 0
	lines := make([]gridLine, len(planes))
	for j, list := range planes {
		below := box.Lo[j]
		if !(math.Abs(below) <= math.MaxFloat64 && math.Abs(box.Hi[j]) <= math.MaxFloat64) {
			return nil, fmt.Errorf("proof: grids: box %d has no ends in axis %d", b, j)
		}
		for k, x := range list {
			if !(below < x && x < box.Hi[j]) {
				return nil, fmt.Errorf("proof: grids: plane %d across axis %d of box %d is at %v, not between %v and %v", k, j, b, x, below, box.Hi[j])
			}
			below = x
		}
		if len(list) > 0 {
			cut++
		}
		var at []float64
		if centres != nil {
			if at = centres[j]; at == nil {
				at = []float64{}
			}
			if err := centresFit(box.Lo[j], box.Hi[j], list, at); err != nil {
				return nil, fmt.Errorf("proof: centres: axis %d of box %d: %w", j, b, err)
			}
		}
		if points > MostPoints/(len(list)+1) {
			return nil, fmt.Errorf("proof: grids: box %d has more than the %d points that this program takes", b, MostPoints)
		}
		lines[j] = newGridLine(box.Lo[j], box.Hi[j], list, at)
		points *= len(lines[j].at)
	}
	switch {
	case cut >= mostVariations:
		return nil, fmt.Errorf("proof: grids: box %d is cut across %d axes, this program takes %d", b, cut, mostVariations-1)
	case points > MostPoints:
		return nil, fmt.Errorf("proof: grids: box %d has %d points, this program takes %d", b, points, MostPoints)
	}
	return pointsOf(lines), nil
}

// centresFit returns what is wrong with the centres' coordinates in an axis with these planes, each of
// which must lie in its cell and, where there are planes, on none of them.
func centresFit(lo, hi float64, planes, centres []float64) error {
	cells := len(planes) + 1
	if lo == hi {
		cells = 0
	}
	if len(centres) != cells {
		return fmt.Errorf("there are %d, and %d cells", len(centres), cells)
	}
	below := lo
	for k, c := range centres {
		above := hi
		if k < len(planes) {
			above = planes[k]
		}
		if !(below <= c && c <= above) || len(planes) > 0 && (c == below || c == above) {
			return fmt.Errorf("number %d is %v, not between %v and %v", k, c, below, above)
		}
		below = above
	}
	return nil
}

// pointsOf are the points of a grid, the last coordinate changing first.
func pointsOf(lines []gridLine) []GridPoint {
	points := []GridPoint{{}}
	for _, l := range lines {
		var next []GridPoint
		for _, p := range points {
			for k, x := range l.at {
				next = append(next, GridPoint{append(p.at[:len(p.at):len(p.at)], x),
					append(p.before[:len(p.before):len(p.before)], l.before[k]), append(p.after[:len(p.after):len(p.after)], l.after[k])})
			}
		}
		points = next
	}
	return points
}

// Grids are the points of the grids of all boxes of T.
func Grids(boxes []property.Box, grids, centres [][][]float64) ([][]GridPoint, error) {
	if len(grids) != len(boxes) {
		return nil, fmt.Errorf("proof: grids: there are %d, T has %d boxes", len(grids), len(boxes))
	}
	if centres == nil {
		centres = make([][][]float64, len(boxes))
	} else if len(centres) != len(boxes) {
		return nil, fmt.Errorf("proof: centres: there are those of %d boxes, T has %d", len(centres), len(boxes))
	}
	var all [][]GridPoint
	total := 0
	for b, box := range boxes {
		points, err := gridOf(b, box, grids[b], centres[b])
		if err != nil {
			return nil, err
		}
		if total += len(points); total > MostPoints {
			return nil, fmt.Errorf("proof: grids: they have more than the %d points that this program takes", MostPoints)
		}
		all = append(all, points)
	}
	return all, nil
}

// GridsFailUp is an upper bound, at most 1, of the probability that one of the rows is not positive
// somewhere in T: for each box of T the sum over the rows and the points of the box's grid. Where a
// part of the sum is not enough any more, it is all there is to know. large is nil or has for each
// box what is split off of each row.
func (n *Network) GridsFailUp(ctx context.Context, grids [][]GridPoint, rows []property.Row, large [][]*Large, enough func(fail float64) bool) (float64, error) {
	total := 0.
	for b, points := range grids {
		var off []*Large
		if large != nil {
			off = large[b]
		}
		for r, l := range off {
			if l != nil {
				total = arith.SumUp(total, n.largeUp(l, &rows[r]))
			}
		}
		// Points are looked at side by side, as many as there are processors.
		for len(points) > 0 && total < 1 && enough(total) {
			some := points[:min(len(points), runtime.GOMAXPROCS(0))]
			points = points[len(some):]
			fails := make([]float64, len(some))
			var wait sync.WaitGroup
			for k := range some {
				fault.Go(&wait, func() { fails[k] = n.pointFailUp(ctx, &some[k], rows, off) })
			}
			wait.Wait()
			if err := ctx.Err(); err != nil {
				return 1, err
			}
			for _, fail := range fails {
				total = arith.SumUp(total, fail)
			}
		}
	}
	return min(1, total), nil
}

// pointFailUp bounds the sum over the rows of Prob(sum_i X_i + a_0 <= 0) at a point, of draws that
// are not split off.
func (n *Network) pointFailUp(ctx context.Context, g *GridPoint, rows []property.Row, off []*Large) (fail float64) {
	neurons := make([]standIn, n.hidden.Outputs())
	for i := range neurons {
		if ctx.Err() != nil {
			return 1
		}
		neurons[i] = n.atPoint(g, i)
	}
	for r, row := range rows {
		left := neurons
		if off != nil && off[r] != nil {
			left = n.without(off[r], g, neurons)
		}
		if ctx.Err() == nil && fail < 1 {
			fail = arith.SumUp(fail, n.fineNotPositiveUp(left, row))
		}
	}
	return fail
}
