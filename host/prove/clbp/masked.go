package clbp

import (
	"context"

	"psafe/host/prove/ontop"
	"psafe/host/prove/slack"
	"psafe/internal/fault"
)

// Dropout (docs/posteriors.md, section 4): hidden neurons above the lowest layer of which inputs are dropped
// have bounds that may fail. Where there are none, tau is 0.

// maskedTaus are tried for each cell, and then maskedStep to both sides of the best, as long as that helps.
var maskedTaus = []float64{1e-6, 1e-5, 1e-4, 1e-3}

const maskedStep = 2

// judgeInputs bounds the failure of cells of which the network's inputs themselves are dropped.
func (m method) judgeInputs(ctx context.Context, cells []*cell) error {
	err := fault.OnCores(ctx, len(cells), func(i int) {
		if c := cells[i]; ctx.Err() == nil {
			fail, tau := m.maskedUp(c, ontop.InputCell(c.box))
			c.take(fail, tau)
		}
	})
	if err != nil {
		return err
	}
	return ctx.Err()
}

// take keeps a bound that is better.
func (c *cell) take(fail, tau float64) {
	if fail < c.fail {
		c.fail, c.tau = fail, tau
	}
}

// maskedUp is (14) for dropout, with the tau that is best.
func (m method) maskedUp(c *cell, known *ontop.Cell) (fail, tau float64) {
	masked := m.e.Masked()
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
	fail = 1
	take := func(at float64) bool {
		f := try(at, true)
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
	if fail == 1 {
		return fail, tau
	}
	if fail >= Enough {
		for at := tau * maskedStep; take(at); at *= maskedStep {
		}
		for at := tau / maskedStep; take(at); at /= maskedStep {
		}
	}
	return slack.MasksUp(min(fail, try(tau, false))), tau
}
