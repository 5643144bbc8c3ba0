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

// Noise in the last layer alone (docs/theory.md (93)): no hidden bound can fail, so that there is no
// budget, and tau is 0. Dropout has features, too (masked.go).

// mostOnTop is how many cells are bounded at a time, at most, and workOnTop how many products the host
// makes of them until it looks again whether to go on: some seconds.
const (
	mostOnTop = 64
	workOnTop = 4e9
)

// judgeOnTop bounds the failure of cells by the tails of their rows.
func (m method) judgeOnTop(ctx context.Context, cells []*cell) error {
	return m.eachOnTop(ctx, cells, func(c *cell, known *ontop.Cell) func() {
		var fail, tau float64
		if of(m.e).mask() != nil {
			fail, tau = m.maskedUp(c, known)
		} else {
			fail = m.topUp(c, known)
		}
		return func() { c.take(fail, tau) }
	})
}

// topUp bounds the failure of a cell by the tails of its rows.
func (m method) topUp(c *cell, known *ontop.Cell) float64 {
	tails := make([]float64, len(c.task.S.Rows))
	for r := range tails {
		tails[r] = of(m.e).onTop().Row(&c.task.S.Rows[r]).TailUp(known, c.dual)
	}
	return min(1, rowsUp(c, tails))
}

// eachOnTop calls say with what is known of each cell, on all cores, and then what that returns, once the
// device's answers are believed.
func (m method) eachOnTop(ctx context.Context, cells []*cell, say func(c *cell, known *ontop.Cell) func()) error {
	if len(cells) == 0 {
		return nil
	}
	masked := of(m.e).mask()
	if masked != nil && masked.First == 0 {
		return m.eachInputs(ctx, cells, say)
	}
	features, err := engine.Somewhere(m.e, "preparing features", of(m.e).featuresOn)
	if err != nil {
		return err
	}
	n := of(m.e).topInputs()
	if masked != nil {
		n = masked.Inputs()
	}
	rows := ontop.UnitRows(n)
	for chunk := range slices.Chunk(cells, m.chunkOnTop(features.Model, n, cells)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := engine.Guarded(m.e, "noise on top", chunk, func(on *bound.Model, part []*cell) ([]engine.Answer, error) {
			return m.onTop(on, part, rows, say)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chunkOnTop returns how many cells are bounded at a time by what a model says of n features.
func (m method) chunkOnTop(on *bound.Model, n int, cells []*cell) int {
	_, each := on.Footprint(bound.LBP, 2*n)
	each += int64(16 * n * n * m.e.Precision().Bytes())
	work := int64(1) // of the host, of a cell
	for _, c := range cells {
		work = max(work, int64(n)*int64(n)*int64(m.e.Normal.Inputs())*int64(len(c.task.S.Rows)))
	}
	return int(max(1, min((m.e.Budget()-on.Bytes())/each, mostOnTop, workOnTop/work, int64(on.MostItems(2*n)))))
}

// onTop asks a model about some cells.
func (m method) onTop(on *bound.Model, part []*cell, rows []property.Row, say func(c *cell, known *ontop.Cell) func()) ([]engine.Answer, error) {
	features, err := of(m.e).featuresOn(on)
	if err != nil {
		return nil, err
	}
	var boxes []property.Box
	var sets [][]property.Row
	for _, c := range part {
		boxes, sets = append(boxes, c.box), append(sets, rows)
	}
	in, dr, release, err := engine.Upload(features.Model, boxes, sets)
	if err != nil {
		return nil, err
	}
	defer release()
	lines, err := features.Lines(in, dr)
	if err != nil {
		return nil, err
	}
	answers := make([]engine.Answer, len(part))
	err = fault.OnCores(context.Background(), len(part), func(i int) {
		known := ontop.NewCell(lines, i, len(rows)/2, part[i].box, on.Device().Precision())
		answers[i] = engine.Answer{Numbers: known.Numbers(), Take: say(part[i], known)}
	})
	return answers, err
}
