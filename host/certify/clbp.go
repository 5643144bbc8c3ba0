package certify

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Concentration LBP (docs/concentration.md): p_lower = 1 minus an upper bound of the
// probability that some hidden bound fails or some property row does (14).

// radiusShare is how the failure budget is shared: every hidden neuron fails its lower
// bound, and its upper bound, with probability at most tau, and its bound of the
// variation over T with probability at most tau * radiusShare. The variation is
// small and its mean dominates, so a much smaller share costs little width.
const radiusShare = 1.0 / 64

// enough is the failure probability of a task below which nothing is refined.
const enough = 1e-6

// clbp bounds the failure of cells by concentration LBP on an engine; second says that it looks
// for the second time, with sharper bounds of hidden layers and other lower slopes (bound.CLBPJob).
type clbp struct {
	e      *Engine
	second bool
}

// sharp says that rows of hidden layers are bounded with less noise, too.
func (m clbp) sharp() bool { return m.second && m.e.model.Sharpens() }

// slopes says that rows of the property are tried with other lower slopes.
func (m clbp) slopes() bool { return m.second && m.e.model.Bends() }

// concentration bounds each task by concentration LBP.
func concentration(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	method := clbp{e: e}
	roots := make([][]*cell, len(tasks))
	var all []*cell
	for i := range tasks {
		for _, t := range tasks[i].T {
			roots[i] = append(roots[i], &cell{task: &tasks[i], box: t, fail: 1})
		}
		all = append(all, roots[i]...)
	}
	err := method.judge(ctx, all)
	if err == nil {
		err = method.refine(ctx, method.mostCells(&cfg), roots)
	}
	if err != nil && !e.cut(ctx, err) {
		return nil, err
	}
	results := make([]*Result, len(tasks))
	for i := range tasks {
		fail := 0.0
		var trees []int
		var cells []*cell
		for _, c := range roots[i] {
			fail = plusUp(fail, c.best())
			trees, cells = c.leaves(trees, cells)
		}
		taus := make([]float64, len(cells))
		for l, c := range cells {
			taus[l] = c.tau
		}
		r := newResult(&tasks[i], "clbp")
		r.LogP, r.Cells, r.Tau = measure.LogComplementDown(fail), len(cells), slices.Max(taus)
		r.Proof.Cells, r.Proof.Tau = uncutCells(trees), sameTau(taus)
		results[i] = r
	}
	return results, nil
}

// looseShare is the share of tau of bounds that only pay for roundings (bound.Events).
const looseShare = 0x1p-20

// budgetUp bounds the probability that a hidden bound of item i fails. Of a cell that is one
// point the variation is 0 for sure.
func (m clbp) budgetUp(c *cell, n *bound.CLBPMargins, i int, tau float64) float64 {
	if m.e.chain {
		// The same number, in the order of operations that records of such networks are made in.
		events := 2 + radiusShare
		if slices.Equal(c.box.Lo, c.box.Hi) {
			events = 2
		}
		return tau * events * (m.e.model.MostEvents() / 2) * (1 + 0x1p-50)
	}
	e := n.Events[i]
	return tau * (e.Ends + radiusShare*e.Radii + looseShare*e.Loose) * (1 + 0x1p-50)
}

// judgeAt bounds the failure of cells with one tau.
func (m clbp) judgeAt(ctx context.Context, cells []*cell, tau float64) error {
	if len(cells) == 0 {
		return nil
	}
	rows := 0
	for _, c := range cells {
		rows = max(rows, len(c.task.S.Rows))
	}
	for chunk := range slices.Chunk(cells, m.cellChunk(rows)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := guarded(m.e, "clbp", chunk, func(on *bound.Model, part []*cell) (answers []answer, err error) {
			err = m.propagate(on, part, m.quantiles(on.Device().Precision(), tau), func(c *cell, n *bound.CLBPMargins, i int) {
				fail := m.failUp(c, n, i, tau)
				answers = append(answers, answer{noisesOf(c, n, i), func() {
					// All rows by one tau: tails by another one stand on hidden bounds of their own.
					if fail < c.fail {
						c.fail, c.tau = fail, tau
					}
				}})
			})
			return answers, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cellChunk is how many cells fit the device at a time.
func (m clbp) cellChunk(rows int) int {
	free := m.e.budget() - m.e.model.CLBPBytes()
	most := min(free/m.e.model.CLBPFootprint(rows), 1024, int64(m.e.model.MostCLBP(rows)))
	if m.e.chain {
		most = min(most, mostKept/m.e.model.CLBPKept(rows, m.sharp(), m.slopes()))
	}
	return int(max(1, most))
}

// mostKept is how many coefficients of rows are kept on the host at a time: 128 MiB.
const mostKept = 1 << 24

// quantiles are what tau stands for, rounded up to the device's precision.
func (m clbp) quantiles(p bound.Precision, tau float64) bound.Quantiles {
	q := bound.Quantiles{
		Single: p.RoundHi(measure.NoiseQuantileUp(tau, 1)),
		Radius: p.RoundHi(measure.NoiseQuantileUp(tau*radiusShare, 1)),
		Loose:  p.RoundHi(measure.NoiseQuantileUp(tau*looseShare, 1)),
	}
	for k := range m.e.normal.Layers {
		q.Many = append(q.Many, p.RoundHi(measure.NoiseQuantileUp(tau, k+1)))
	}
	return q
}

// propagate runs one batch on a model and calls take for each cell.
func (m clbp) propagate(on *bound.Model, cells []*cell, q bound.Quantiles, take func(c *cell, n *bound.CLBPMargins, i int)) error {
	conc, err := m.e.deviationsOn(on)
	if err != nil {
		return err
	}
	var boxes []property.Box
	var rows [][]property.Row
	for _, c := range cells {
		boxes, rows = append(boxes, c.box), append(rows, c.task.S.Rows)
	}
	in, err := on.UploadNoisy(boxes)
	if err != nil {
		return err
	}
	defer on.ReleaseNoisy(in)
	dr, err := on.UploadRows(rows)
	if err != nil {
		return err
	}
	defer on.ReleaseRows(dr)
	n, err := conc.PropagateCLBP(bound.CLBPJob{Inputs: in, Rows: dr, Quantiles: q, Sharp: m.sharp(), Slopes: m.slopes()})
	if err != nil {
		return err
	}
	for i, c := range cells {
		take(c, n, i)
	}
	return nil
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
func (m clbp) failUp(c *cell, n *bound.CLBPMargins, i int, tau float64) float64 {
	tails := make([]float64, len(c.task.S.Rows))
	for r := range tails {
		tails[r] = rowTailUp(n, i*n.Rows+r, measure.NoiseTailUp)
	}
	rows := rowsUp(c, tails)
	if rows > worthSharpening {
		n.Sharpen(i)
		for _, o := range n.Others {
			o.Sharpen(i)
		}
		for r := range tails {
			tails[r] = min(tails[r], sharpTailUp(n, i, r, measure.NoiseTailUp), othersTailUp(n, i, r, measure.NoiseTailUp))
		}
		rows = rowsUp(c, tails)
	}
	return min(1, plusUp(rows, m.budgetUp(c, n, i, tau)))
}

// worthSharpening is how much the rows of a cell fail by if their noise is computed once more.
const worthSharpening = enough / 100

// rowsUp is by how much the rows of the alternative fail that fails least; of a dual cell, by how
// much S may hold.
func rowsUp(c *cell, tails []float64) float64 {
	if c.dual {
		return dualUp(&c.task.S, tails)
	}
	least := 1.0
	for _, all := range c.task.S.Any {
		sum := 0.0
		for _, r := range all {
			sum = plusUp(sum, tails[r])
		}
		least = min(least, sum)
	}
	return least
}

// plusUp is a + b for probabilities of failures, rounded up: what cannot fail adds nothing.
func plusUp(a, b float64) float64 {
	if a == 0 && b == 0 {
		return 0
	}
	return math.Nextafter(a+b, math.Inf(1))
}

// noisesOf lists all numbers that say something of cell i, the rows one after the other.
func noisesOf(c *cell, n *bound.CLBPMargins, i int) []float64 {
	var all []float64
	for _, by := range n.Others {
		all = append(all, noisesOf(c, by, i)...)
	}
	for r := range c.task.S.Rows {
		for _, form := range []*bound.Noises{&n.ByIntervals, &n.ByLines} {
			if form.Lo == nil {
				continue
			}
			lo, mean, variance := form.At(i*n.Rows + r)
			all = append(append(append(all, lo), mean...), variance...)
		}
		_, mean, variance := n.Sharp(i, r)
		if levels := n.SharpLevels(i); mean == nil { // as many numbers, whatever they are
			mean, variance = make([]float64, levels), make([]float64, levels)
		}
		all = append(append(all, mean...), variance...)
	}
	return all
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
		if len(mean) == 0 && lo >= 0 {
			return 0 // no noise: the row is at least lo for sure
		}
		best = min(best, formTailUp(lo, mean, variance, tail))
	}
	return best
}

// formTailUp is the tail of a bound less the noise of some layers.
func formTailUp(lo float64, mean, variance []float64, tail func(t float64, variances []float64) float64) float64 {
	e := 0.0
	for _, m := range mean {
		e = math.Nextafter(e+m, math.Inf(1))
	}
	return tail(math.Nextafter(lo-e, math.Inf(-1)), variance)
}

// sharpTailUp is rowTailUp with what the host says of the noise, 1 where it says nothing.
func sharpTailUp(n *bound.CLBPMargins, i, r int, tail func(t float64, variances []float64) float64) float64 {
	lo, mean, variance := n.Sharp(i, r)
	if len(mean) == 0 {
		return 1
	}
	return formTailUp(lo, mean, variance, tail)
}

// worthTail is the share of the best score of other lower slopes from which on their tail is
// computed: how variances are shared among layers counts too, but little.
const worthTail = 1 - 0x1p-6

// othersTailUp is rowTailUp with the lower slopes, and the noise, that put the row about the most
// standard deviations above 0, 1 if none does: which they are depends on no weight.
func othersTailUp(n *bound.CLBPMargins, i, r int, tail func(t float64, variances []float64) float64) float64 {
	type form struct {
		lo, score      float64
		mean, variance []float64
	}
	var forms []form
	most := 0.0
	for _, o := range n.Others {
		lo, mean, variance := o.ByLines.At(i*n.Rows + r)
		_, sharpMean, sharpVariance := o.Sharp(i, r)
		for _, f := range []form{{lo, 0, mean, variance}, {lo, 0, sharpMean, sharpVariance}} {
			// Where there is no noise there is nothing to choose, and no Sharp to believe.
			if f.score = scoreApprox(f.lo, f.mean, f.variance); len(f.mean) > 0 && f.score > 0 {
				forms, most = append(forms, f), max(most, f.score)
			}
		}
	}
	best := 1.0
	for _, f := range forms {
		if f.score >= most*worthTail {
			best = min(best, formTailUp(f.lo, f.mean, f.variance, tail))
		}
	}
	return best
}

// scoreApprox is by how many standard deviations of the noise a bound is above 0.
func scoreApprox(lo float64, mean, variance []float64) float64 {
	v := 0.0
	for l, m := range mean {
		lo -= m
		v += variance[l]
	}
	return lo / math.Sqrt(v)
}
