// Package clbp bounds P_safe by concentration LBP, without weight boxes (docs/theory.md, section 3): from
// below on cells of T (Certify), and from above at one point of T (Uppers).
package clbp

import (
	"context"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Concentration LBP (docs/theory.md, section 3): p_lower = 1 minus an upper bound of the
// probability that some hidden bound fails or some property row does (14).

// radiusShare is how the failure budget is shared: every hidden neuron fails its lower
// bound, and its upper bound, with probability at most tau, and its bound of the
// variation over T with probability at most tau * radiusShare. The variation is
// small and its mean dominates, so a much smaller share costs little width.
const radiusShare = 1.0 / 64

// Enough is the failure probability of a task below which nothing is refined.
const Enough = 1e-6

// method bounds the failure of cells by concentration LBP on an engine; second says that it looks
// for the second time, with sharper bounds of hidden layers and other lower slopes of rows of the
// property, third that rows of hidden layers have these slopes, too (bound.CLBPQuery).
type method struct {
	e             *engine.Engine
	second, third bool
	// pointwise says that bounds are about any one point of a cell, and not about all of it at once: nothing
	// varies, and no radius is paid for.
	pointwise bool
	// balls reports whether the cells at hand are cut to balls: then all rows are kept on the host.
	balls bool
	// features says that the last layer alone is random, and cells are bounded by the tails of
	// judgeOnTop in the same pass.
	features bool
	// even says that cells are cut in their widest coordinate, and not in the one that matters most.
	even bool
}

// sharp reports whether rows of hidden layers are bounded with less noise, too.
func (m method) sharp() bool {
	return m.second && !m.pointwise && m.e.Posterior.Independent() && m.e.Model.Sharpens()
}

// slopes reports whether rows of the property are tried with other lower slopes.
func (m method) slopes() bool { return m.second && of(m.e).noisy().Bends() }

// hiddenSlopes reports whether rows of hidden layers are, too.
func (m method) hiddenSlopes() bool {
	return m.third && !m.balls && m.e.Posterior.Independent() && m.e.Model.BendsHidden()
}

// work names the kind of work.
func (m method) work() string {
	if m.second {
		return "clbp with sharper bounds"
	}
	return "clbp"
}

// Certify bounds each task by concentration LBP. T may be cut into so many cells; 0 leaves it to
// MostCells.
func Certify(ctx context.Context, e *engine.Engine, cells int, tasks []property.Task) ([]*claim.Result, error) {
	roots := make([][]*cell, len(tasks))
	for i := range tasks {
		for _, t := range tasks[i].T {
			roots[i] = append(roots[i], &cell{task: &tasks[i], box: t, ball: tasks[i].Ball, fail: 1})
		}
	}
	if err := (method{e: e}).search(ctx, cells, roots); err != nil && !e.Cut(err) {
		return nil, err
	}
	results := make([]*claim.Result, len(tasks))
	for i := range tasks {
		fail, trees, parts := shownOf(roots[i])
		taus := tausOf(parts)
		r := claim.NewResult(&tasks[i], "clbp")
		r.LogP, r.Cells, r.Tau = arith.LogComplementDown(fail), len(parts), slices.Max(taus)
		r.Proof.Cells, r.Proof.Tau, r.Proof.Lines = claim.UncutCells(trees), sameTau(taus), linesAbove(parts)
		results[i] = r
	}
	return results, nil
}

// search bounds the failure of the cells of tasks, cut into so many each; 0 leaves it to MostCells.
func (m method) search(ctx context.Context, asked int, roots [][]*cell) error {
	if err := of(m.e).prepareNoise(); err != nil {
		return err
	}
	if err := m.judge(ctx, slices.Concat(roots...)); err != nil {
		return err
	}
	boxes := slices.DeleteFunc(slices.Clone(roots), func(r []*cell) bool { return r[0].ball != nil }) // balls are not cut
	return m.refineAll(ctx, asked, boxes)
}

// shownOf returns what the cells of all boxes of a task fail with, their trees and those that it rests on.
func shownOf(roots []*cell) (fail float64, trees []int, parts []*cell) {
	for _, c := range roots {
		fail = c.with(fail, c.best())
		trees, parts = c.leaves(trees, parts)
	}
	return fail, trees, parts
}

// tausOf are the budgets of cells.
func tausOf(cells []*cell) []float64 {
	taus := make([]float64, len(cells))
	for l, c := range cells {
		taus[l] = c.tau
	}
	return taus
}

// linesAbove are the lines above of each cell, nil if no cell has one.
func linesAbove(cells []*cell) (lines [][]int) {
	if !slices.ContainsFunc(cells, func(c *cell) bool { return len(c.above) > 0 }) {
		return nil
	}
	for _, c := range cells {
		lines = append(lines, append([]int{}, c.above...)) // never null
	}
	return lines
}

// looseShare is the share of tau of bounds that only pay for roundings (bound.Events).
const looseShare = 0x1p-20

// budgetUp bounds the probability that a hidden bound of item i fails. Of a cell that is one
// point the variation is 0 for sure.
func (m method) budgetUp(c *cell, n *bound.CLBPMargins, i int, tau float64) float64 {
	if m.e.Chain {
		return ChainBudgetUp(m.e, m.pointwise || slices.Equal(c.box.Lo, c.box.Hi), tau)
	}
	e := n.Events[i]
	return tau * (e.Ends + radiusShare*e.Radii + looseShare*e.Loose) * (1 + 0x1p-50)
}

// ChainBudgetUp is budgetUp for a chain of dense layers, where one point is meant or a box. It is the same
// number, in the order of operations that records of such networks are made in.
func ChainBudgetUp(e *engine.Engine, point bool, tau float64) float64 {
	events := 2 + radiusShare
	if point {
		events = 2
	}
	return tau * events * (of(e).noisy().MostEvents() / 2) * (1 + 0x1p-50)
}

// cellChunk returns how many cells fit the device, and its caches, at a time.
func (m method) cellChunk(rows int) int {
	free := m.e.Budget() - of(m.e).noisy().CLBPBytes()
	most := min(m.e.AtATime(free, of(m.e).noisy().CLBPFootprint(rows), bound.BatchItems(m.e.Device)), of(m.e).noisy().MostCLBP(rows))
	if m.e.Chain {
		most = min(most, int(mostKept/of(m.e).noisy().CLBPKept(rows, m.balls, m.slopes())))
	}
	return max(1, most)
}

// mostKept is how many coefficients of rows are kept on the host at a time: 128 MiB.
const mostKept = 1 << 24

// Quantiles returns what tau stands for, rounded up to the device's precision.
func Quantiles(e *engine.Engine, p bound.Precision, tau float64) bound.Quantiles {
	q := bound.Quantiles{
		Single: p.RoundHi(probability.NoiseQuantileUp(tau, 1)),
		Radius: p.RoundHi(probability.NoiseQuantileUp(tau*radiusShare, 1)),
		Loose:  p.RoundHi(probability.NoiseQuantileUp(tau*looseShare, 1)),
	}
	for k := range e.Normal.Layers {
		q.Many = append(q.Many, p.RoundHi(probability.NoiseQuantileUp(tau, k+1)))
	}
	return q
}

// propagate runs one batch on a model and calls take for each cell, on all cores.
func (m method) propagate(on *bound.Model, cells []*cell, q bound.Quantiles, take func(c *cell, n *bound.CLBPMargins, i int) error) error {
	n, err := m.margins(on, cells, bound.CLBPQuery{Quantiles: q})
	if err != nil {
		return err
	}
	errs := make([]error, len(cells))
	fault.OnCores(context.Background(), len(cells), func(i int) { errs[i] = take(cells[i], n, i) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// margins runs one batch on a model, by the quantiles of q: an item for each cell, of which one may be
// there several times.
func (m method) margins(on *bound.Model, cells []*cell, q bound.CLBPQuery) (*bound.CLBPMargins, error) {
	conc, err := of(m.e).deviationsOn(on)
	if err != nil {
		return nil, err
	}
	on = conc.Model()
	var boxes []property.Box
	var rows [][]property.Row
	var balls []*property.Ball
	for _, c := range cells {
		boxes, rows = append(boxes, c.box), append(rows, c.task.S.Rows)
		if c.ball != nil {
			balls = append(balls, c.ball)
		}
	}
	in, err := m.upload(on, boxes, balls)
	if err != nil {
		return nil, err
	}
	defer on.ReleaseNoisy(in)
	dr, err := on.UploadRows(rows)
	if err != nil {
		return nil, err
	}
	defer on.ReleaseRows(dr)
	q.Inputs, q.Rows = in, dr
	q.Sharp, q.Slopes, q.HiddenSlopes, q.Features = m.sharp(), m.slopes(), m.hiddenSlopes(), m.features
	return conc.PropagateCLBP(q)
}

// upload uploads boxes, or what each has in common with its ball.
func (m method) upload(on *bound.Model, boxes []property.Box, balls []*property.Ball) (*bound.Noisy, error) {
	switch {
	case balls != nil:
		return on.UploadBalls(boxes, balls)
	case m.pointwise:
		return on.UploadPointwise(boxes)
	}
	return on.UploadNoisy(boxes)
}
