package certify

import (
	"context"
	"maps"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Concentration LBP (theory section 6): p_lower = 1 minus an upper bound of the
// probability that some hidden bound fails or some property row does (14).

// radiusShare is how the failure budget is shared: every hidden neuron fails its lower
// bound, and its upper bound, with probability at most tau, and its bound of the
// variation over T with probability at most tau * radiusShare. The variation is
// small and its mean dominates, so a much smaller share costs little width.
const radiusShare = 1.0 / 64

// The tau tried first is one whose budget is half of enough, at most mostFirstTau:
// where the rows hold with room to spare, as they mostly do, that is the end of it.
// From there steps of tauStep up as long as that helps, at most tauSteps of them.
const (
	mostFirstTau = 1e-6
	tauStep      = 30
	tauSteps     = 4
	leastTau     = 1e-14
	mostTau      = 1e-2
	// worthPolish is a failure probability from which on more taus are tried.
	worthPolish = 1e-3
)

// enough is the failure probability of a task below which nothing is refined.
const enough = 1e-6

// cell is an input box of a task, and what is known of it.
type cell struct {
	task *property.Task
	box  property.Box
	// fail bounds the probability that some x of the box is unsafe, from above; if the
	// cell is dual, its rows are negated and fail bounds the probability that S holds
	// on all of the box.
	fail float64
	dual bool
	// tau is the failure budget that gave it.
	tau float64
	// parts are what the box was cut into.
	parts []*cell
}

// best bounds the cell's failure by itself or by its parts, from above: if the box
// is unsafe, then one of its parts is.
func (c *cell) best() float64 {
	if len(c.parts) == 0 {
		return c.fail
	}
	sum := 0.0
	for _, p := range c.parts {
		sum = math.Nextafter(sum+p.best(), math.Inf(1))
	}
	return min(c.fail, sum)
}

// leaves lists the cells that best rests on.
func (c *cell) leaves() []*cell {
	if len(c.parts) == 0 || c.fail <= c.best() {
		return []*cell{c}
	}
	var all []*cell
	for _, p := range c.parts {
		all = append(all, p.leaves()...)
	}
	return all
}

// clbp bounds each task by concentration LBP.
func (e *Engine) clbp(ctx context.Context, cfg Config, tasks []property.Task) ([]*Result, error) {
	roots := make([][]*cell, len(tasks))
	var all []*cell
	for i := range tasks {
		for _, t := range tasks[i].T {
			roots[i] = append(roots[i], &cell{task: &tasks[i], box: t, fail: 1})
		}
		all = append(all, roots[i]...)
	}
	if err := e.judge(ctx, all); err != nil {
		return nil, err
	}
	if err := e.refine(ctx, cfg.mostCells(e.normal.Inputs()), roots); err != nil {
		return nil, err
	}
	results := make([]*Result, len(tasks))
	for i := range tasks {
		fail, cells := 0.0, 0
		tau := 0.0
		for _, c := range roots[i] {
			fail = math.Nextafter(fail+c.best(), math.Inf(1))
			leaves := c.leaves()
			cells += len(leaves)
			for _, l := range leaves {
				tau = max(tau, l.tau)
			}
		}
		results[i] = newResult(&tasks[i], "clbp")
		results[i].LogP, results[i].Cells, results[i].Tau = measure.LogComplementDown(fail), cells, tau
	}
	return results, nil
}

// mostCells is how many cells a task's T may be cut into: as many as asked for, or
// some where inputs are few enough for that to pay.
func (c *Config) mostCells(inputs int) int {
	switch {
	case c.Cells > 0:
		return c.Cells
	case inputs <= 8:
		return 128
	}
	return 1
}

// judge bounds the failure of cells: with one tau for all, and then with larger ones
// for those where it pays, upwards step by step. A cell of which the first says nothing
// is tried from the largest downwards, since the smaller tau is, the wider are the hidden
// bounds; and so is one whose bound is still not good.
func (e *Engine) judge(ctx context.Context, cells []*cell) error {
	least := min(max(enough/2/(3*float64(e.hiddenNeurons()+1)), leastTau), mostFirstTau)
	if err := e.judgeAt(ctx, cells, least); err != nil {
		return err
	}
	var up, fromTop []*cell
	for _, c := range cells {
		switch {
		case c.fail >= 1:
			fromTop = append(fromTop, c)
		case c.fail > enough:
			up = append(up, c)
		}
	}
	taus := []float64{}
	for tau := least; len(taus) < tauSteps && tau < mostTau; {
		tau = min(tau*tauStep, mostTau)
		taus = append(taus, tau)
	}
	if err := e.follow(ctx, up, taus); err != nil {
		return err
	}
	// Gains that became small on the way up may be large from the top.
	for _, c := range up {
		if c.fail > worthPolish {
			fromTop = append(fromTop, c)
		}
	}
	slices.Reverse(taus)
	if err := e.follow(ctx, fromTop, taus); err != nil {
		return err
	}
	return e.polish(ctx, cells)
}

// polish tries, for cells whose bound is known but not good, taus between those that
// were tried, on either side of the best.
func (e *Engine) polish(ctx context.Context, cells []*cell) error {
	for factor := math.Sqrt(tauStep); factor > 2; factor = math.Sqrt(factor) {
		by := map[float64][]*cell{}
		for _, c := range cells {
			if c.fail > worthPolish && c.fail < 1 {
				by[c.tau] = append(by[c.tau], c)
			}
		}
		for _, tau := range slices.Sorted(maps.Keys(by)) {
			for _, t := range []float64{tau / factor, tau * factor} {
				if err := e.judgeAt(ctx, by[tau], t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// follow tries one tau after the other, each for the cells that gained by the one before.
func (e *Engine) follow(ctx context.Context, cells []*cell, taus []float64) error {
	for step, tau := range taus {
		before := make([]float64, len(cells))
		for i, c := range cells {
			before[i] = c.fail
		}
		if err := e.judgeAt(ctx, cells, tau); err != nil {
			return err
		}
		var gained []*cell
		for i, c := range cells {
			// The first may say nothing because it is itself the failure.
			if c.fail < 0.9*before[i] || step == 0 && before[i] >= 1 {
				gained = append(gained, c)
			}
		}
		cells = gained
	}
	return nil
}

// hiddenNeurons counts the neurons whose bounds may fail.
func (e *Engine) hiddenNeurons() int {
	neurons := 0
	for _, l := range e.normal.Layers[:len(e.normal.Layers)-1] {
		neurons += l.Outputs()
	}
	return neurons
}

// budgetUp bounds the probability that a hidden bound fails: of a cell that is one
// point the variation is 0 for sure.
func (e *Engine) budgetUp(c *cell, tau float64) float64 {
	events := 2 + radiusShare
	if slices.Equal(c.box.Lo, c.box.Hi) {
		events = 2
	}
	return tau * events * float64(e.hiddenNeurons()) * (1 + 0x1p-50)
}

// judgeAt bounds the failure of cells with one tau.
func (e *Engine) judgeAt(ctx context.Context, cells []*cell, tau float64) error {
	if len(cells) == 0 {
		return nil
	}
	rows := 0
	for _, c := range cells {
		rows = max(rows, len(c.task.S.Rows))
	}
	for chunk := range slices.Chunk(cells, e.cellChunk(rows)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := guarded(e, chunk, func(m *bound.Model, part []*cell) error {
			return e.clbpOn(m, part, e.quantiles(m.Device().Precision(), tau), func(c *cell, n *bound.CLBPMargins, i int) {
				if fail := e.failUp(c, n, i, tau); fail < c.fail {
					c.fail, c.tau = fail, tau
				}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cellChunk is how many cells fit the device at a time.
func (e *Engine) cellChunk(rows int) int {
	free := e.budget() - e.model.CLBPBytes()
	return int(max(1, min(free/e.model.CLBPFootprint(rows), 1024, int64(e.model.MostCLBP(rows)))))
}

// quantiles are what tau stands for, rounded up to the device's precision.
func (e *Engine) quantiles(p bound.Precision, tau float64) bound.Quantiles {
	q := bound.Quantiles{
		Single: p.RoundHi(measure.NoiseQuantileUp(tau, 1)),
		Radius: p.RoundHi(measure.NoiseQuantileUp(tau*radiusShare, 1)),
	}
	for k := range e.normal.Layers {
		q.Many = append(q.Many, p.RoundHi(measure.NoiseQuantileUp(tau, k+1)))
	}
	return q
}

// clbpOn runs one batch and calls take for each cell.
func (e *Engine) clbpOn(m *bound.Model, cells []*cell, q bound.Quantiles, take func(c *cell, n *bound.CLBPMargins, i int)) error {
	conc, err := e.deviationsOn(m)
	if err != nil {
		return err
	}
	var boxes []property.Box
	var rows [][]property.Row
	for _, c := range cells {
		boxes, rows = append(boxes, c.box), append(rows, c.task.S.Rows)
	}
	in, err := m.UploadNoisy(boxes)
	if err != nil {
		return err
	}
	defer m.ReleaseNoisy(in)
	dr, err := m.UploadRows(rows)
	if err != nil {
		return err
	}
	defer m.ReleaseRows(dr)
	n, err := conc.PropagateCLBP(bound.CLBPJob{Inputs: in, Rows: dr, Quantiles: q})
	if err != nil {
		return err
	}
	for i, c := range cells {
		take(c, n, i)
	}
	return nil
}

// deviationsOn prepares the posterior on a model once.
func (e *Engine) deviationsOn(m *bound.Model) (*bound.Deviations, error) {
	if c := e.deviations[m]; c != nil {
		return c, nil
	}
	c, err := m.NewDeviations(e.normal, NoiseMoments(e.normal))
	if err != nil {
		return nil, err
	}
	if e.deviations == nil {
		e.deviations = map[*bound.Model]*bound.Deviations{}
	}
	e.deviations[m] = c
	return c, nil
}

// NoiseMoments are what bound.NewDeviations wants to know of a posterior of
// independent normal weights.
func NoiseMoments(post *posterior.Posterior) bound.Moments {
	var m bound.Moments
	for _, l := range post.Layers {
		v := make([]float64, len(l.Weight.Mean))
		for j, mean := range l.Weight.Mean {
			v[j] = measure.AbsMeanUp(mean, l.Weight.SdHi[j])
		}
		m.AbsMean = append(m.AbsMean, v)
	}
	return m
}

// failUp is (14): the budget of the hidden bounds, and the rows of the alternative
// of S that fails least.
func (e *Engine) failUp(c *cell, n *bound.CLBPMargins, i int, tau float64) float64 {
	tails := make([]float64, len(c.task.S.Rows))
	for r := range tails {
		tails[r] = rowTailUp(n, i*n.Rows+r, measure.NoiseTailUp)
	}
	least := 1.0
	if c.dual {
		least = dualUp(&c.task.S, tails)
		return min(1, math.Nextafter(least+e.budgetUp(c, tau), math.Inf(1)))
	}
	for _, all := range c.task.S.Any {
		sum := 0.0
		for _, r := range all {
			sum = math.Nextafter(sum+tails[r], math.Inf(1))
		}
		least = min(least, sum)
	}
	return min(1, math.Nextafter(least+e.budgetUp(c, tau), math.Inf(1)))
}

// rowTailUp bounds the probability that a row is negative somewhere in the cell. Of
// the two bounds of the row, one whose noise is that of the last layer and one with
// that of all layers, the better counts: which it is depends on no weight.
func rowTailUp(n *bound.CLBPMargins, at int, tail func(t float64, variances []float64) float64) float64 {
	best := 1.0
	for _, form := range []*bound.Noises{&n.ByIntervals, &n.ByLines} {
		if form.Lo == nil {
			continue
		}
		lo, mean, variance := form.At(at)
		e := 0.0
		for _, m := range mean {
			e = math.Nextafter(e+m, math.Inf(1))
		}
		t := math.Nextafter(lo-e, math.Inf(-1))
		best = min(best, tail(t, variance))
	}
	return best
}
