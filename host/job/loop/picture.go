package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"psafe/host/arith"
	"psafe/host/prove/loop"
	"psafe/host/read/plant"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/infile"
)

// Picture is what a result says of each cell of its grid.
type Picture struct {
	Result *Result
	Plant  *plant.Plant
	// Values has a number for each cell: once, 1 for those that the result rests on and else 0; each-step, a lower bound of the
	// probability for the trajectory from the worst state of the cell.
	Values []float64
	// Left has the cells from which a trajectory of a drawn network surely breaks the statement.
	Left map[int]bool
	// Middle is the cell that the middle of the start set is in, its place along each coordinate.
	Middle []int
}

// ReadPicture reads a result, and what it rests on, and finds from the bounds of the records again what follows. It
// takes records as they are: psafe check proves them. Errors are one line that names a file.
func ReadPicture(path string) (*Picture, error) {
	const most = 1 << 16
	text, err := infile.ReadAll(path, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := new(Result)
	if err := json.Unmarshal(bytes.TrimSpace(text), r); err != nil || r.Loop == "" {
		return nil, fmt.Errorf("%s: it is no result of psafe loop", path)
	}
	p, err := plant.Read(r.Plant)
	if err != nil {
		return nil, err
	}
	if p.SHA256 != r.PlantSHA256 {
		return nil, fmt.Errorf("%s: %s is not the plant file that it was made from: run psafe loop again", path, r.Plant)
	}
	l := loop.New(p)
	t := &Picture{Result: r, Plant: p, Values: make([]float64, p.Cells()), Left: map[int]bool{}, Middle: l.Middle()}
	for _, name := range r.Left {
		cell, ok := p.CellOf(name)
		if !ok {
			return nil, fmt.Errorf("%s: left: %.40q is no cell of the grid", path, name)
		}
		t.Left[cell] = true
	}
	if r.Cells == "" {
		return t, nil
	}
	cells, err := r.rings(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var proved loop.Result
	if p.Fresh {
		proved = l.EachStep(cells)
		t.Values = proved.Values
	} else {
		proved = l.Once(cells)
		for _, c := range proved.Cells {
			t.Values[c] = 1
		}
	}
	if proved.Lower != float64(r.PLower) {
		return nil, fmt.Errorf("%s: p_lower does not follow from %s: psafe check says what is wrong", path, r.Records)
	}
	return t, nil
}

// rings reads the cells of a result, with the bounds of their records.
func (r *Result) rings(p *plant.Plant) ([]loop.Cell, error) {
	tasks, err := property.ReadFile(r.Cells, len(p.Outputs))
	if err != nil {
		return nil, err
	}
	if tasks[0].FileSHA256 != r.CellsSHA256 {
		return nil, fmt.Errorf("%s has not the cells that it was made from", r.Cells)
	}
	bounds := make([]float64, len(tasks))
	err = record.Each(r.Records, func(of record.Placed) error {
		if of.InputsSHA256 != r.CellsSHA256 || of.Index < 0 || of.Index >= len(bounds) {
			return fmt.Errorf("%s: it is about no cell of %s", of.Place(), r.Cells)
		}
		bounds[of.Index] = boundOf(p, of.Record)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var cells []loop.Cell
	at := make([]int, len(p.State))
	for i := range tasks {
		number, ok := p.CellOf(tasks[i].Name)
		out := boxOf(&tasks[i])
		if p.Cell(number, at); !ok || !isAbout(p, &tasks[i], at, out) {
			return nil, fmt.Errorf("%s: %.40q is no cell of the grid with a box of outputs", r.Cells, tasks[i].Name)
		}
		if k := len(cells); k == 0 || cells[k-1].Number != number {
			cells = append(cells, loop.Cell{Number: number})
		}
		last := &cells[len(cells)-1]
		last.Rings = append(last.Rings, loop.Ring{Out: out, P: bounds[i]})
	}
	return cells, nil
}

// boxOf is the box of outputs that a property asks for, everything where it asks for none.
func boxOf(t *property.Task) []arith.Interval {
	out := make([]arith.Interval, len(t.S.Rows)/2)
	for o := range out {
		out[o] = arith.Of(math.Inf(-1), math.Inf(1))
	}
	for _, row := range t.S.Rows {
		for o := range out {
			switch {
			case o >= len(row.CLo):
			case row.CLo[o] == 1:
				out[o].Lo = -row.D
			case row.CLo[o] == -1:
				out[o].Hi = row.D
			}
		}
	}
	return out
}
