package clbp

import (
	"context"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/prove/ontop"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Networks that are linearised about the mean (docs/theory.md (99)): their functions are the mean network
// and noise of fixed functions of the input, so that no hidden bound can fail, and tau is 0.

// linearised reports whether the posterior is of KindLinearised: nothing is known of it but what is here.
func (m method) linearised() bool { return m.e.Posterior.About() != nil }

// judgeLinearised bounds the failure of cells by the tails of their rows.
func (m method) judgeLinearised(ctx context.Context, cells []*cell) error {
	if len(cells) == 0 {
		return nil
	}
	features, err := engine.Somewhere(m.e, "preparing the mean network", func(on *bound.Model) ([]*features, error) {
		below, _, err := of(m.e).linearisedOn(on)
		return below, err
	})
	if err != nil {
		return err
	}
	most, free := int64(mostOnTop), m.e.Budget()
	for k, f := range features {
		free -= f.Model.Bytes()
		rows := 2 * m.e.Normal.Layers[k].Outputs()
		most = min(most, int64(f.Model.MostItems(rows)))
	}
	for k, f := range features {
		rows := 2 * m.e.Normal.Layers[k].Outputs()
		_, each := f.Model.Footprint(bound.LBP, rows)
		most = min(most, free/(each+int64(4*rows*rows*m.e.Precision().Bytes())))
	}
	for chunk := range slices.Chunk(cells, int(max(1, most))) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := engine.Guarded(m.e, "linearised networks", chunk, m.linearisedOn); err != nil {
			return err
		}
	}
	return nil
}

// linearisedOn asks a model about some cells.
func (m method) linearisedOn(on *bound.Model, part []*cell) ([]engine.Answer, error) {
	law, err := of(m.e).linearised()
	if err != nil {
		return nil, err
	}
	below, certain, err := of(m.e).linearisedOn(on)
	if err != nil {
		return nil, err
	}
	var boxes []property.Box
	var sets [][]property.Row
	for _, c := range part {
		boxes, sets = append(boxes, c.box), append(sets, c.task.S.Rows)
	}
	features := make([]*bound.InputLines, len(below))
	for k, f := range below {
		units := slices.Repeat([][]property.Row{ontop.UnitRows(m.e.Normal.Layers[k].Outputs())}, len(part))
		if features[k], err = linesOf(f.Model, f.Lines, boxes, units); err != nil {
			return nil, err
		}
	}
	rows, err := linesOf(on, certain.Lines, boxes, sets)
	if err != nil {
		return nil, err
	}
	answers := make([]engine.Answer, len(part))
	err = fault.OnCores(context.Background(), len(part), func(i int) {
		c := part[i]
		known := law.NewLinearisedCell(features, rows, i, c.box, on.Device().Precision())
		if known == nil {
			return
		}
		tails := make([]float64, len(c.task.S.Rows))
		for r := range tails {
			tails[r] = law.TailUp(&c.task.S.Rows[r], r, known)
		}
		if c.dual { // at a witness
			at := law.AtPoint(m.e.Posterior, c.box)
			for r := range tails {
				tails[r] = min(tails[r], at.TailUp(&c.task.S.Rows[r]))
			}
		}
		fail := min(1, rowsUp(c, tails))
		answers[i] = engine.Answer{Numbers: known.Numbers(), Take: func() {
			if c.above = nil; fail < c.fail && !slices.Equal(c.box.Lo, c.box.Hi) { // at a point all lines are alike
				c.above = known.Above
			}
			c.take(fail, 0)
		}}
	})
	for i := range answers {
		if answers[i].Take == nil {
			answers[i].Take = func() {}
		}
	}
	return answers, err
}

// linesOf uploads boxes and rows, and asks for lines below these.
func linesOf(on *bound.Model, lines func(*bound.Inputs, *bound.Rows) (*bound.InputLines, error), boxes []property.Box, sets [][]property.Row) (*bound.InputLines, error) {
	in, rows, release, err := engine.Upload(on, boxes, sets)
	if err != nil {
		return nil, err
	}
	defer release()
	return lines(in, rows)
}
