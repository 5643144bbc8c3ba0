package paper

import (
	"fmt"
	"math"
	"strings"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/tell/plot"
)

// slice is a heatmap over two inputs, the others being 0: squares that cover
// [-reach, reach]^2, each the region T of a property.
type slice struct {
	name, run, property string
	class               int
	grid                *plot.Grid
}

// sliceReach is the reach of the slice: the paper's regions are within.
const sliceReach = 0.5

// newSlices adds a slice for every property that says that an advisory is never given.
func (j *vcasJob) newSlices() error {
	for _, p := range j.list {
		if p.Kind != "argmax_is_never" || p.Class == nil || len(p.Boxes) == 0 {
			continue
		}
		s, err := j.newSlice(p)
		if err != nil {
			return err
		}
		if j.slices = append(j.slices, s); j.c.Quick {
			break
		}
	}
	return nil
}

func (j *vcasJob) newSlice(never entry) (*slice, error) {
	n := j.c.count(7, 4)
	s := &slice{name: fmt.Sprintf("vcas-slice-never-%d", *never.Class), property: never.Name, class: *never.Class, grid: &plot.Grid{Field: "p_lower"}}
	edge := func(i int) float64 { return three(sliceReach * (2*float64(i)/float64(n) - 1)) }
	var list []entry
	for x := range n {
		s.grid.X = append(s.grid.X, (edge(x)+edge(x+1))/2)
		s.grid.Y = append(s.grid.Y, (edge(x)+edge(x+1))/2)
		s.grid.Cells = append(s.grid.Cells, make([]plot.Cell, n))
		for y := range n {
			box := [][2]float64{{edge(x), edge(x + 1)}, {edge(y), edge(y + 1)}}
			for len(box) < len(never.Boxes[0]) {
				box = append(box, [2]float64{})
			}
			list = append(list, entry{Name: fmt.Sprintf("square %d,%d", x, y), Kind: never.Kind, Class: never.Class, Boxes: [][][2]float64{box}})
		}
	}
	path, err := j.c.writeProperties(s.name+".json", list)
	if err != nil {
		return nil, err
	}
	s.run = j.run(strings.TrimPrefix(s.name, "vcas-"), certify.Method{By: new(prove.NeuronSum), Cells: new(1)}, path)
	return s, nil
}

// draw puts the bounds on the grid.
func (s *slice) draw(r Results) *plot.Figure {
	rows := len(s.grid.Y)
	for i, p := range r[s.run] {
		cell := plot.Cell{State: plot.Proved, Value: float64(p.PLower)}
		if p.PLower == 0 && p.PUpper == 1 {
			cell.State = plot.Nothing
		}
		s.grid.Cells[i/rows][i%rows] = cell
	}
	return plot.DrawHeat(s.grid, [2]int{0, 1})
}

// three rounds to a number that is written with three digits.
func three(x float64) float64 { return math.Round(1000*x) / 1000 }
