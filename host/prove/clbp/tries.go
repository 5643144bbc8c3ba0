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
	c *cell
	// rest are the taus that are left, in their order, step is how many have counted.
	rest []float64
	step int
	// climbs says that the rest counts only as long as each tau gains; back, that the rest is then tried
	// from its end, if the cell still fails with much: gains that became small on the way up may be large
	// from the top.
	climbs, back bool
}

// asked are the taus of one pass for a try, and what it and its cell were when they were asked: a recheck
// answers the same when the try is long over.
type asked struct {
	of   *try
	then try
	cell cell
	now  []float64
}

// counts lists what is left after a tau by which the cell fails with after, and not with before.
func (t *try) counts(before, after float64) {
	t.rest = t.rest[1:]
	if t.climbs && !gained(t.step, before, after) {
		if t.rest = slices.Clone(t.rest); t.back && after > worthPolish {
			slices.Reverse(t.rest)
			t.back = false
		} else {
			t.rest = nil
		}
	}
	t.step++
}

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
		tries[i] = &try{c: c, rest: []float64{tau}}
	}
	return m.try(ctx, tries, 1)
}

// mostAhead is up to how many items a pass may have so that those that will not count take no longer than
// the passes that they save, on a device that likes many (bound.Wide).
const mostAhead = 512

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
		rows, longest, cells = max(rows, len(t.c.task.S.Rows)), max(longest, len(t.rest)), append(cells, t.c)
	}
	most := m.cellChunk(rows)
	if m.features {
		most = min(most, m.chunkOnTop(of(m.e).noisy(), of(m.e).topInputs(), cells))
	}
	atOnce = max(1, min(atOnce, longest, most))
	for {
		var open []asked
		for _, t := range tries {
			if len(t.rest) > 0 {
				open = append(open, asked{t, *t, *t.c, t.rest[:min(atOnce, len(t.rest))]})
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
			items, q.Apart, q.Quantiles = append(items, t.of.c), append(q.Apart, known[tau]), known[tau]
		}
	}
	if len(known) == 1 {
		q.Apart = nil
	}
	looked := make([]considered, len(items))
	look := func(n *bound.CLBPMargins) {
		fault.OnCores(context.Background(), len(items), func(i int) { looked[i] = consider(items[i], n, i) })
	}
	q.Wanted = func(n *bound.CLBPMargins) (wanted []int) {
		look(n)
		for i := range looked {
			if looked[i].more {
				wanted = append(wanted, i)
			}
		}
		return wanted
	}
	n, err := m.margins(on, items, q)
	if err != nil {
		return nil, err
	}
	if looked[0].forms == nil { // nothing can be sharpened
		look(n)
	}
	answers, errs := make([]engine.Answer, len(part)), make([]error, len(part))
	fault.OnCores(context.Background(), len(part), func(k int) {
		answers[k], errs[k] = m.answer(on, part[k], n, looked, first[k])
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// answer is what follows for a try from its items of a pass, the first of which is item first.
func (m method) answer(on *bound.Model, a asked, n *bound.CLBPMargins, looked []considered, first int) (engine.Answer, error) {
	var numbers []float64
	has, next := a.cell, a.then
	for len(next.rest) > 0 {
		j := slices.Index(a.now, next.rest[0])
		if j < 0 { // asked for in another pass
			break
		}
		i, before := first+j, has.fail
		if m.features {
			top := ontop.NewCell(n.Features, i, of(m.e).topInputs(), has.box, on.Device().Precision())
			numbers = append(numbers, top.Numbers()...)
			has.take(m.topUp(&has, top), 0)
		}
		// All rows by one tau: tails by another one stand on hidden bounds of their own.
		fail, err := m.failUp(&has, n, i, next.rest[0], looked[i])
		if err != nil {
			return engine.Answer{}, err
		}
		numbers = append(numbers, noisesOf(&has, n, i)...) // with what was sharpened
		has.take(fail, next.rest[0])
		next.counts(before, has.fail)
	}
	return engine.Answer{Numbers: numbers, Take: func() {
		a.of.c.take(has.fail, has.tau)
		*a.of = next
	}}, nil
}
