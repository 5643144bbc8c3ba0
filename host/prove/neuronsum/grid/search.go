package grid

import (
	"fmt"
	"math"
	"slices"
)

// search looks, from the grids that moments chose, for ones whose sum (39) is less in drawn networks:
// for each box by other numbers of cells, other points in them and, last, other planes.
func (c *chooser) search(grids []Grid, budget int) []Grid {
	now := slices.Clone(grids)
	if c.n.Hidden.Inputs() > searchInputs {
		return now
	}
	for b := range now {
		s := &search{c: c, most: budget - points(now) + now[b].Points(), axes: max(searchAxes, now[b].axesCut()), known: map[string]float64{}}
		if s.chooseDraws(&now[b]) {
			now[b] = s.planes(s.cells(now[b]))
		}
	}
	return now
}

// search is the search for one box's grid.
type search struct {
	c     *chooser
	draws int
	most  int // points
	axes  int // across which planes may lie
	known map[string]float64
}

// Sums are known from searchFails failures of points, about, in at most searchDraws networks.
const searchFails, searchDraws = 200, 1 << 13

// chooseDraws sets how many networks are drawn, from how often they fail, and forgets sums by another
// number. False where they fail so seldom, or the context has ended, that drawing does not help.
func (s *search) chooseDraws(g *Grid) bool {
	s.draws = searchDraws / 8
	f := s.sum(g)
	if !(f > 2/float64(s.draws) && f < math.Inf(1)) {
		return false
	}
	s.draws = int(min(searchDraws, max(float64(s.draws), searchFails/f)))
	clear(s.known)
	return true
}

// sum is about (39), without a limit of 1.
func (s *search) sum(g *Grid) (sum float64) {
	if !g.valid() || g.Points() > s.most || g.axesCut() > s.axes {
		return math.Inf(1)
	}
	key := fmt.Sprint(g.Cuts, g.CentreAt)
	if sum, known := s.known[key]; known {
		return sum
	}
	for r := range s.c.exact {
		_, f := s.c.n.largeFor(s.c.ctx, g, &s.c.exact[r], s.draws)
		sum += f
	}
	s.known[key] = sum
	return sum
}

// searchAxes is across how many axes planes may lie if they do not already: with more, points take
// ten times as long. Drawing networks of more than searchInputs takes longer than points do.
const searchAxes, searchInputs = 2, 32

func (s *search) worth(g *Grid) float64 { return s.sum(g) * cost(g.Points()) }

// cells takes one more or one fewer cell along an axis, or moves the points of all cells along one,
// as long as that is worth it. Cells are all of the same size, and half as many at first: by
// moments, points of cells are worth less than they are, and planes more.
func (s *search) cells(from Grid) Grid {
	best, least := from, s.worth(&from)
	count := make([]int, len(from.Cuts))
	for j := range count {
		count[j] = (len(from.Cuts[j]) + 2) / 2
	}
	centreAt := slices.Clone(from.CentreAt)
	try := func() bool {
		g := evenly(from.Box, count)
		g.CentreAt = slices.Clone(centreAt)
		f := s.worth(&g)
		if f < least {
			best, least = g, f
			return true
		}
		return false
	}
	try()
	for moved := true; moved; {
		moved = false
		for j := range count {
			if from.Box.Lo[j] == from.Box.Hi[j] {
				continue
			}
			for _, step := range searchSteps {
				was := centreAt[j]
				count[j] += step.cells
				centreAt[j] = min(max(was+step.centre, 0), 1)
				if count[j] > 0 && try() {
					moved = true
				} else {
					count[j], centreAt[j] = count[j]-step.cells, was
				}
			}
		}
	}
	return best
}

// searchSteps are the steps tried along an axis: what is best in cells depends on their length.
var searchSteps = []struct {
	cells  int
	centre float64
}{{-1, 0}, {1, 0}, {0, 1. / 8}, {0, -1. / 8}, {0, 1. / 32}, {0, -1. / 32}}

// planes moves planes.
func (s *search) planes(g Grid) Grid {
	least := s.sum(&g)
	for _, step := range []float64{0.25, 0.1} {
		for j := range g.Cuts {
			for k := range g.Cuts[j] {
				for side := range 2 {
					p := g.planes(j)
					h := Grid{g.Box, slices.Clone(g.Cuts), g.CentreAt}
					h.Cuts[j] = slices.Clone(h.Cuts[j])
					h.Cuts[j][k] += step * (p[k+2*side] - p[k+1])
					if f := s.sum(&h); f < least {
						g, least = h, f
					}
				}
			}
		}
	}
	return g
}

// axesCut is across how many axes there are planes.
func (g *Grid) axesCut() (n int) {
	for _, c := range g.Cuts {
		if len(c) > 0 {
			n++
		}
	}
	return n
}
