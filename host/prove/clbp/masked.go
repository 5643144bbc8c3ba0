package clbp

import (
	"cmp"
	"context"

	"psafe/host/prove/ontop"
	"psafe/host/prove/slack"
	"psafe/internal/fault"
)

// Dropout (docs/theory.md, section 5.4): hidden neurons above the lowest layer of which inputs are dropped
// have bounds that may fail. Where there are none, tau is 0.

// maskedTaus are tried for each cell, and then maskedStep to both sides of the best, as long as that helps.
var maskedTaus = []float64{1e-6, 1e-5, 1e-4, 1e-3}

const maskedStep = 2

// eachInputs is eachOnTop where the network's inputs themselves are dropped.
func (m method) eachInputs(ctx context.Context, cells []*cell, say func(c *cell, known *ontop.Cell) func()) error {
	takes := make([]func(), len(cells))
	err := fault.OnCores(ctx, len(cells), func(i int) {
		if ctx.Err() == nil {
			takes[i] = say(cells[i], ontop.InputCell(cells[i].box))
		}
	})
	for _, take := range takes {
		if take != nil {
			take()
		}
	}
	return cmp.Or(err, ctx.Err())
}

// take keeps a bound that is better.
func (c *cell) take(fail, tau float64) {
	if fail < c.fail {
		c.fail, c.tau = fail, tau
	}
}

// maskedUp is (14) for dropout, with the tau that is best.
func (m method) maskedUp(c *cell, known *ontop.Cell) (fail, tau float64) {
	masked := of(m.e).mask()
	pass, events := masked.On(known), float64(masked.Events())
	try := func(at float64, coarse bool) float64 {
		budget := at * events * (1 + 0x1p-50)
		if budget >= 1 {
			return 1
		}
		return min(1, plusUp(rowsUp(c, pass.Tails(c.task.S.Rows, at, coarse)), budget))
	}
	if events == 0 {
		return try(0, false), 0
	}
	fail, tau = bestMaskedTau(func(at float64) float64 { return try(at, true) })
	if fail == 1 {
		return fail, tau
	}
	return slack.MasksUp(min(fail, try(tau, false))), tau
}

// bestMaskedTau looks for the tau with the least failure up, from slack.LeastTau on.
func bestMaskedTau(failUp func(tau float64) float64) (fail, tau float64) {
	fail = 1
	take := func(at float64) bool {
		f := failUp(at)
		if f < fail {
			fail, tau = f, at
			return true
		}
		return false
	}
	for _, at := range maskedTaus {
		if !take(at) && fail < 1 {
			break
		}
	}
	if fail >= Enough && fail < 1 {
		for at := tau * maskedStep; take(at); at *= maskedStep {
		}
		for at := tau / maskedStep; at >= slack.LeastTau && take(at); at /= maskedStep {
		}
	}
	return fail, tau
}

// decideMasked bounds the decision on cells by the laws of rows, with the taus of several budgets, the best
// of which counts.
func (d *decider) decideMasked(ctx context.Context, cells []*cell) error {
	masked := of(d.e).mask()
	budgets, events := decisionBudgets, float64(masked.Events())
	if events == 0 {
		budgets, events = []float64{0}, 1
	}
	return d.eachOnTop(ctx, cells, func(c *cell, known *ontop.Cell) func() {
		pass := masked.On(known)
		var best *shown
		at := 0.0
		for _, budget := range budgets {
			tau := budget / events
			laws, tails := pass.Laws(c.task.S.Rows, tau)
			if found := d.shown(c, laws, tails, tau*events*(1+0x1p-50)); best == nil || found.LeastGap() > best.LeastGap() {
				best, at = found, tau
			}
		}
		return func() {
			if best.LeastGap() > d.known[c].LeastGap() {
				d.known[c], c.tau = best, at
			}
		}
	})
}
