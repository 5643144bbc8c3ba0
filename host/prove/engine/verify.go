package engine

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/read/property"
)

// Verify returns the margin of each weight box, given by its end-points, for a task: the least over the
// task's input boxes of Safe.MarginLo, by a method. A box is safe exactly if its margin is >= 0; nothing
// is before a device has answered.
func (e *Engine) Verify(ctx context.Context, by bound.Propagation, t *property.Task, boxes []bound.Explicit) ([]float64, error) {
	margins := slices.Repeat([]float64{math.Inf(-1)}, len(boxes))
	numbers := make([]int, len(boxes))
	for i := range numbers {
		numbers[i] = i
	}
	rows, per := len(t.S.Rows), len(t.T)
	perBox, perItem := e.Model.Footprint(by, rows)
	size := max(1, min(e.BoxesAtATime(perBox+perItem*int64(per)), e.Model.MostItems(rows)/per))
	for chunk := range slices.Chunk(numbers, size) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := Guarded(e, by.String()+" of weight boxes by their ends", chunk, func(m *bound.Model, part []int) ([]Answer, error) {
			var list []bound.Explicit
			for _, i := range part {
				list = append(list, boxes[i])
			}
			uploaded, err := m.Upload(list)
			if err != nil {
				return nil, err
			}
			defer m.ReleaseBoxes(uploaded)
			lo, err := RowLowers(m, by, uploaded, t.T, t.S.Rows, &t.S)
			if err != nil {
				return nil, err
			}
			answers := make([]Answer, len(part))
			for k, i := range part {
				answers[k] = Answer{lo[k], func() { margins[i] = LeastMargin(lo[k], &t.S, per) }}
			}
			return answers, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return margins, nil
}

// RowLowers are lower bounds of the rows, those of a safe set first, on each of the input boxes t, in turn, for
// each weight box of a model. Where the set is proved no better ones are looked for.
func RowLowers(m *bound.Model, by bound.Propagation, boxes *bound.Boxes, t []property.Box, rows []property.Row, s *property.Safe) ([][]float64, error) {
	per, list := len(t), make([][]float64, boxes.Count())
	in, dr, release, err := Upload(m, t, slices.Repeat([][]property.Row{rows}, per))
	if err != nil {
		return nil, err
	}
	defer release()
	margins, err := m.Propagate(bound.Query{Propagation: by, Boxes: boxes, Inputs: in, Rows: dr, Batch: bound.Batch{Items: len(list) * per, PerBox: per, Inputs: per}, Enough: func(_ int, lo []float64) bool {
		return s.MarginLo(lo[:len(s.Rows)]) >= 0
	}})
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = Lowers(margins, len(rows), i*per, per)
	}
	return list, nil
}

// Upload copies input boxes, and rows for each, to a model's device.
func Upload(m *bound.Model, regions []property.Box, rows [][]property.Row) (in *bound.Inputs, dr *bound.Rows, release func(), err error) {
	if in, err = m.UploadInputs(regions); err != nil {
		return nil, nil, nil, err
	}
	if dr, err = m.UploadRows(rows); err != nil {
		m.ReleaseInputs(in)
		return nil, nil, nil, err
	}
	return in, dr, func() { m.ReleaseRows(dr); m.ReleaseInputs(in) }, nil
}

// Lowers are the lower bounds of so many rows for each of per items from item first on.
func Lowers(m *bound.Margins, rows, first, per int) []float64 {
	var lo []float64
	for i := range per {
		lo = append(lo, m.Lo(first + i)[:rows]...)
	}
	return lo
}

// LeastMargin is the least margin over per items that have these lower bounds, as many of each:
// those of the rows of s first.
func LeastMargin(lo []float64, s *property.Safe, per int) float64 {
	each, n := len(lo)/per, len(s.Rows)
	least := s.MarginLo(lo[:n])
	for i := 1; i < per; i++ {
		least = min(least, s.MarginLo(lo[i*each:i*each+n]))
	}
	return least
}
