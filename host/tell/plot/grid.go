package plot

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

// State names what is known of a cell of a heatmap.
type State int

const (
	NoRecord State = iota // no record is about the point
	Nothing               // there is one, which proves nothing: p_lower 0 and p_upper 1
	Proved                // the cell has a value
)

// Cell is one point of the grid.
type Cell struct {
	State State
	Value float64
}

// Grid is a regular grid of points with a value for some: Cells[column][row].
type Grid struct {
	X, Y  []float64
	Cells [][]Cell
	// Eps holds the eps of the records.
	Eps, Field string
}

// gridSlack is how far the step between neighbours may be from the mean step, as
// a part of it: coordinates written with few digits are no irregular grid.
const gridSlack = 0.05

// mostCells is the greatest number of columns or rows that a figure shows as cells of some pixels.
const mostCells = 400

// HeatGrid puts the values of records, by index of their points, on the grid that
// the points of file form.
func HeatGrid(records []record.Placed, file string, points [][2]float64, field string) (*Grid, error) {
	g := &Grid{Field: field, Eps: records[0].Eps}
	var err error
	if g.X, err = lattice(points, 0); err == nil {
		g.Y, err = lattice(points, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: give points of a regular grid, or other --columns", file, err)
	}
	if len(points) != len(g.X)*len(g.Y) {
		return nil, fmt.Errorf("%s: %d points are no regular grid of %d x %d: give every point of it once, or other --columns", file, len(points), len(g.X), len(g.Y))
	}
	for range g.X {
		g.Cells = append(g.Cells, make([]Cell, len(g.Y)))
	}
	cells := make([]*Cell, len(points))
	seen := map[*Cell]bool{}
	for i, p := range points {
		c, _ := slices.BinarySearch(g.X, p[0])
		r, _ := slices.BinarySearch(g.Y, p[1])
		if cells[i] = &g.Cells[c][r]; seen[cells[i]] {
			return nil, fmt.Errorf("%s: point %d has the coordinates of another: give every point of the grid once, or other --columns", file, i)
		}
		seen[cells[i]] = true
	}
	return g, g.fill(records, cells)
}

// fill sets the cells that records are about, which must be of one kind.
func (g *Grid) fill(records []record.Placed, cells []*Cell) error {
	first := &records[0]
	names := summary.PosteriorNames(records, quoted)
	for i := range records {
		r := &records[i]
		switch {
		case r.InputsSHA256 != first.InputsSHA256 || names[i] != names[0] || r.Eps != first.Eps:
			return fmt.Errorf("%s: posterior, inputs and eps are not those of %s: a heatmap shows one of each", r.Place(), first.Place())
		case r.Index < 0 || r.Index >= len(cells):
			return fmt.Errorf("%s: index %d is none of the %d points: give the file that --inputs named", r.Place(), r.Index, len(cells))
		case cells[r.Index].State != NoRecord:
			return fmt.Errorf("%s: point %d has a record already: give one record for each point", r.Place(), r.Index)
		}
		cell := Cell{Proved, float64(r.PLower)}
		if g.Field == "p_upper" {
			cell.Value = float64(r.PUpper)
		}
		if r.PLower == 0 && r.PUpper == 1 {
			cell.State = Nothing
		}
		*cells[r.Index] = cell
	}
	return nil
}

// lattice returns the different coordinates of points, which must be at least two
// and equally far apart.
func lattice(points [][2]float64, axis int) ([]float64, error) {
	var x []float64
	for _, p := range points {
		x = append(x, p[axis])
	}
	slices.Sort(x)
	x = slices.Compact(x)
	if len(x) < 2 {
		return nil, fmt.Errorf("the points have one and the same coordinate in a column")
	}
	if len(x) > mostCells {
		return nil, fmt.Errorf("the points have %d different coordinates in a column, a figure holds %d", len(x), mostCells)
	}
	step := (x[len(x)-1] - x[0]) / float64(len(x)-1)
	for i := range x[1:] {
		if !(math.Abs(x[i+1]-x[i]-step) <= gridSlack*step) {
			return nil, fmt.Errorf("coordinates %v and %v are not as far apart as others, %v on average", x[i], x[i+1], step)
		}
	}
	return x, nil
}
