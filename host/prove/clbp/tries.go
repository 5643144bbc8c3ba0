package clbp

import (
	"context"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/prove/ontop"
	"psafe/internal/fault"
)

// try is a cell and the taus that its failure is bounded with. They count one after the other, but what
// a device says of one depends on no other: so several go through it in one pass, each an item with
// quantiles of its own, and which of them count is decided when all are known. How many go at once
// changes no result.
type try struct {
	c    *cell
	taus []float64
	// climbs says that a tau counts only if the one before gained.
	climbs bool
	// step is how many have counted so far, ended says that the last of these gained nothing.
	step  int
	ended bool
}

// asked is a try, and the taus of one pass: a recheck asks for the same when the try is long over.
type asked struct {
	*try
	now []float64
}

// next asks for the taus of the next pass, up to most.
func (t *try) next(most int) asked {
	return asked{t, t.taus[t.step:min(t.step+most, len(t.taus))]}
}

// over reports whether nothing is left to try.
func (t *try) over() bool { return t.ended || t.step == len(t.taus) }

// gained reports whether the tau of a step, by which a cell fails with after and not with before, was
// worth it. The first may say nothing because it is itself the failure. Of a cell that fails with much,
// most by its rows, a step gains little and the next ones as little again.
func gained(step int, before, after float64) bool {
	return after < 0.9*before || after > worthPolish && after < before || step == 0 && before >= 1
}

// judgeAt bounds the failure of cells with one tau.
func (m method) judgeAt(ctx context.Context, cells []*cell, tau float64) error {
	tries := make([]*try, len(cells))
	for i, c := range cells {
		tries[i] = &try{c: c, taus: []float64{tau}}
	}
	return m.try(ctx, tries, 1)
}

// mostAhead is up to how many items a pass may have so that it takes no longer than one of few on a
// device that likes many (bound.Wide).
const mostAhead = 1024

// follow tries one tau after the other, as long as that gains: on devices on which a pass takes about as
// long whatever it is of, several at once.
func (m method) follow(ctx context.Context, tries []*try) error {
	atOnce := 1
	if bound.Wide(m.e.Device) {
		atOnce = max(1, mostAhead/max(1, len(tries)))
	}
	return m.try(ctx, tries, atOnce)
}

// try tries all that there is to try, up to so many taus of a cell in a pass. No cell is in two tries.
func (m method) try(ctx context.Context, tries []*try, atOnce int) error {
	boxes := func(t *try) bool { return t.c.ball == nil }
	if balls := slices.DeleteFunc(slices.Clone(tries), boxes); len(balls) > 0 && len(balls) < len(tries) { // a batch is of one kind
		if err := m.try(ctx, balls, atOnce); err != nil {
			return err
		}
		tries = slices.DeleteFunc(slices.Clone(tries), func(t *try) bool { return !boxes(t) })
	}
	if len(tries) == 0 {
		return nil
	}
	m.balls = tries[0].c.ball != nil
	rows, longest := 0, 0
	var cells []*cell
	for _, t := range tries {
		rows, longest, cells = max(rows, len(t.c.task.S.Rows)), max(longest, len(t.taus)), append(cells, t.c)
	}
	most := m.cellChunk(rows)
	if m.features {
		most = min(most, m.chunkOnTop(of(m.e).noisy(), of(m.e).topInputs(), cells))
	}
	atOnce = max(1, min(atOnce, longest, most))
	for {
		var open []asked
		for _, t := range tries {
			if !t.over() {
				open = append(open, t.next(atOnce))
			}
		}
		if len(open) == 0 {
			return nil
		}
		for chunk := range slices.Chunk(open, most/atOnce) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := engine.Guarded(m.e, m.work(), chunk, m.pass); err != nil {
				return err
			}
		}
	}
}

// pass bounds the cells of some tries with their taus.
func (m method) pass(on *bound.Model, part []asked) ([]engine.Answer, error) {
	var items []*cell
	var q bound.CLBPQuery
	first, known := make([]int, len(part)), map[float64]bound.Quantiles{}
	for k, t := range part {
		first[k] = len(items)
		for _, tau := range t.now {
			if _, made := known[tau]; !made {
				known[tau] = Quantiles(m.e, on.Device().Precision(), tau)
			}
			items, q.Apart, q.Quantiles = append(items, t.c), append(q.Apart, known[tau]), known[tau]
		}
	}
	if len(known) == 1 {
		q.Apart = nil
	}
	n, err := m.margins(on, items, q)
	if err != nil {
		return nil, err
	}
	answers, errs := make([]engine.Answer, len(part)), make([]error, len(part))
	fault.OnCores(context.Background(), len(part), func(k int) {
		answers[k], errs[k] = m.answer(on, part[k], n, first[k])
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// answer is what follows for a try from its items of a pass, the first of which is item i.
func (m method) answer(on *bound.Model, t asked, n *bound.CLBPMargins, i int) (engine.Answer, error) {
	has, step, ended := *t.c, t.step, false
	var numbers []float64
	for _, tau := range t.now {
		numbers = append(numbers, noisesOf(t.c, n, i)...)
		before := has.fail
		if m.features {
			known := ontop.NewCell(n.Features, i, of(m.e).topInputs(), t.c.box, on.Device().Precision())
			numbers = append(numbers, known.Numbers()...)
			has.take(m.topUp(t.c, known), 0)
		}
		if !ended {
			// All rows by one tau: tails by another one stand on hidden bounds of their own.
			fail, err := m.failUp(&has, n, i, tau)
			if err != nil {
				return engine.Answer{}, err
			}
			has.take(fail, tau)
			ended = t.climbs && !gained(step, before, has.fail)
			step++
		}
		i++
	}
	return engine.Answer{Numbers: numbers, Take: func() {
		t.c.take(has.fail, has.tau)
		t.step, t.ended = step, ended
	}}, nil
}
