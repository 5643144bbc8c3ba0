package loop

import (
	"slices"

	"psafe/host/arith"
)

// Ring is a box of outputs with a lower bound of a probability: that for all states of a cell outputs are in it
// (once), or the least over its states (each-step).
type Ring struct {
	Out []arith.Interval
	P   float64
}

// Cell is a cell of the grid with what is known of its outputs.
type Cell struct {
	Number int
	Rings  []Ring
}

// Result is what is proved of a loop.
type Result struct {
	// Lower is a lower bound of the probability that all trajectories from the start set stay safe, or
	// reach the goal and are safe until then; 0 proves nothing.
	Lower float64
	// Cells are those that it rests on, by number, with the steps after which their trajectories are in the goal: 0
	// where there is none.
	Cells, Ranks []int
	// Values has a bound for trajectories from each cell of the grid by itself (each-step), nil for once.
	Values []float64
	// Why says why Lower is 0, if it is.
	Why string
}

// outside is why a start set that leaves the grid proves nothing.
const outside = "the start set is not within the grid: bound each of its coordinates by itself, as in -1 <= x <= 1"

// Once bounds the probability over one draw of the network, for all time (docs/theory.md, section 3.9).
//
// Every cell has one ring. A set of cells whose images are within it is closed: on the event that the outputs
// are within the rings of all its cells, whose probability is at least 1 - sum_c (1 - P_c), every trajectory that
// begins in it stays in it. With a goal an image is within cells of lesser rank, and in the goal at rank 0. Of the
// cells those count that the start set leads to. P is rounded down, failures and their sum up.
func (l *Loop) Once(cells []Cell) Result {
	images := make([]Image, l.Cells())
	fail := make(map[int]float64, len(cells))
	in := make([]bool, len(images))
	for i := range cells {
		c := &cells[i]
		if r := c.Rings[0]; r.P > 0 && l.safe[c.Number] {
			images[c.Number] = l.Image(c.Number, r.Out)
			fail[c.Number] = arith.SumUp(1, -r.P)
			in[c.Number] = images[c.Number].Inside()
		}
	}
	ranks := l.keep(images, in)
	reach, why := l.reachable(images, in)
	if why != "" {
		return Result{Why: why}
	}
	r := Result{Cells: reach, Ranks: make([]int, len(reach))}
	sum := 0.0
	for i, c := range reach {
		if ranks != nil {
			r.Ranks[i] = ranks[c]
		}
		if !l.reached[c] {
			sum = arith.SumUp(sum, fail[c])
		}
	}
	if r.Lower = arith.SumDown(1, -sum); !(r.Lower > 0) {
		r.Lower, r.Why = 0, "the failures of the cells add up to 1 or more"
	}
	return r
}

// keep drops cells from a set until it is closed, and with a goal until all its cells lead there: then it returns their ranks,
// and the set has the goal.
func (l *Loop) keep(images []Image, in []bool) (ranks []int) {
	if l.Goal == nil {
		for changed := true; changed; {
			changed = false
			for c := range in {
				if in[c] && !l.each(images[c], func(to int) bool { return in[to] }) {
					in[c], changed = false, true
				}
			}
		}
		return nil
	}
	ranks = make([]int, len(in))
	open := slices.Clone(in)
	copy(in, l.reached)
	for rank, found := 1, []int{0}; len(found) > 0; rank++ {
		found = found[:0]
		for c := range in {
			if open[c] && !in[c] && l.each(images[c], func(to int) bool { return in[to] }) {
				found = append(found, c) // counts from the next rank on
			}
		}
		for _, c := range found {
			in[c], ranks[c] = true, rank
		}
	}
	return ranks
}

// reachable lists the cells of a closed set that the start set leads to, in order; of the goal those count that are
// led to, and nothing is asked of what follows. why says why there is no such list.
func (l *Loop) reachable(images []Image, in []bool) (list []int, why string) {
	if l.StartOutside() {
		return nil, outside
	}
	if len(l.start) == 0 {
		return nil, "no cell has a point of the start set"
	}
	seen := make([]bool, len(in))
	add := func(c int) bool {
		if !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
		return true
	}
	for _, c := range l.start {
		if !in[c] {
			return nil, "cells of the start set are in no closed set of cells that are safe"
		}
		add(c)
	}
	for i := 0; i < len(list); i++ {
		if c := list[i]; !l.reached[c] {
			l.each(images[c], add)
		}
	}
	slices.Sort(list)
	return list, ""
}
