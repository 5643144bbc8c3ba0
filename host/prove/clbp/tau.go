package clbp

import (
	"context"
	"maps"
	"math"
	"slices"

	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/internal/fault"
)

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

// judge bounds the failure of cells: with one tau for all, and then with larger ones
// for those where it pays, upwards step by step. A cell of which the first says nothing
// is tried from the largest downwards, since the smaller tau is, the wider are the hidden
// bounds; and so is one whose bound is still not good.
//
// Where that is still not good, bounds of hidden neurons are sharpened.
func (m method) judge(ctx context.Context, cells []*cell) error {
	if err := m.judgePlainly(ctx, cells); err != nil || m.alone() {
		return err
	}
	return m.again(ctx, cells)
}

// firstTau returns what is tried first, and tausUp what is tried after that.
func (m method) firstTau() float64 {
	return min(max(Enough/2/(3*(of(m.e).noisy().MostEvents()/2+1)), leastTau), mostFirstTau)
}

func (m method) tausUp() []float64 {
	taus := []float64{}
	for tau := m.firstTau(); len(taus) < tauSteps && tau < mostTau; {
		tau = min(tau*tauStep, mostTau)
		taus = append(taus, tau)
	}
	return taus
}

// alone reports whether nothing is known but what judgeOnTop says: of weights that depend on each other
// in the last layer alone, of dropout, and of linearised networks.
func (m method) alone() bool {
	return m.linearised() || of(m.e).mask() != nil || of(m.e).onTop() != nil && !m.e.Posterior.Independent()
}

// judgePlainly is judge with hidden neurons bounded by a device alone.
func (m method) judgePlainly(ctx context.Context, cells []*cell) error {
	if m.linearised() {
		return m.judgeLinearised(ctx, cells)
	}
	top := of(m.e).onTop() != nil
	if m.features = top && !m.alone() && !slices.ContainsFunc(cells, func(c *cell) bool { return c.ball != nil }); !m.features && (top || of(m.e).mask() != nil) {
		if err := m.judgeOnTop(ctx, cells); err != nil {
			return err
		}
	}
	if m.alone() {
		return nil
	}
	if err := m.judgeAt(ctx, cells, m.firstTau()); err != nil || top { // no hidden bound can fail, at any tau
		return err
	}
	if err := m.refute(ctx, cells); err != nil {
		return err
	}
	var up, fromTop []*cell
	for _, c := range cells {
		switch {
		case c.refuted:
		case c.fail >= 1:
			fromTop = append(fromTop, c)
		case c.fail > Enough:
			up = append(up, c)
		}
	}
	taus := m.tausUp()
	if err := m.follow(ctx, up, taus); err != nil {
		return err
	}
	// Gains that became small on the way up may be large from the top.
	for _, c := range up {
		if c.fail > worthPolish {
			fromTop = append(fromTop, c)
		}
	}
	slices.Reverse(taus)
	if err := m.follow(ctx, fromTop, taus); err != nil {
		return err
	}
	return m.polish(ctx, cells)
}

// meanDecides says that a bound below 1 of the failure of a cell, or of S at a point, shows what the mean
// network does there: with the mean weights no row is below its m0, so that where it is negative its tail
// is 1 (docs/theory.md, section 3.3). That is so of normal weights in any layers, whatever their covariances.
// Where the last layer alone is random, of dropout and of linearised networks other tails count as well.
func meanDecides(e *engine.Engine) bool {
	return of(e).onTop() == nil && of(e).mask() == nil && e.Posterior.About() == nil
}

// refute attacks the mean network in cells of which nothing is shown yet. Where it leaves S, by more than what
// roundings may be, nothing ever will be, and what comes after is left out: no bound rests on it.
func (m method) refute(ctx context.Context, cells []*cell) error {
	if !meanDecides(m.e) {
		return nil
	}
	open := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.fail < 1 || c.dual || c.refuted })
	net, mean := m.e.Normal.Network(), m.e.Normal.Mean()
	return fault.OnCores(ctx, len(open), func(i int) {
		c := open[i]
		c.refuted = decide.LeavesApprox(ctx, decide.Target{Net: net, Weights: mean, Box: c.box, Safe: &c.task.S}, c.ball)
	})
}

// again tries once more, with sharper bounds of hidden neurons and other lower slopes, the cells
// whose bound is not good: at the tau that was best, or a large one, and around it where that helps.
//
// What then is between nothing and a good bound is tried a third time, with other lower slopes of rows
// of hidden layers.
func (m method) again(ctx context.Context, cells []*cell) error {
	if m.second = true; !m.sharp() && !m.slopes() {
		return nil
	}
	if err := m.lookAgain(ctx, cells); err != nil {
		return err
	}
	if m.third = true; !m.hiddenSlopes() {
		return nil
	}
	return m.lookAgain(ctx, slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.fail >= 1 }))
}

// lookAgain is again with what m says.
func (m method) lookAgain(ctx context.Context, cells []*cell) error {
	large, top := m.tausUp(), of(m.e).onTop() != nil
	by, before := map[float64][]*cell{}, map[*cell]float64{}
	for _, c := range cells {
		if c.refuted || c.fail <= worthPolish || m.e.Posterior.Independent() && slices.Equal(c.box.Lo, c.box.Hi) {
			continue
		}
		tau := c.tau
		switch {
		case top:
			tau = m.firstTau() // as any
		case c.fail >= 1:
			tau = large[max(0, len(large)-2)] // the largest may be itself the failure
		}
		by[tau], before[c] = append(by[tau], c), c.fail
	}
	var gained []*cell
	for _, tau := range slices.Sorted(maps.Keys(by)) {
		if err := m.judgeAt(ctx, by[tau], tau); err != nil {
			return err
		}
		for _, c := range by[tau] {
			if c.fail < 0.99*before[c] {
				gained = append(gained, c)
			}
		}
	}
	if top {
		return nil
	}
	return m.polish(ctx, gained)
}

// polish tries, for cells whose bound is known but not good, taus between those that
// were tried, on either side of the best.
func (m method) polish(ctx context.Context, cells []*cell) error {
	if !m.e.Chain {
		if err := m.decades(ctx, cells); err != nil {
			return err
		}
	}
	for factor := math.Sqrt(tauStep); factor > 2; factor = math.Sqrt(factor) {
		by := map[float64][]*cell{}
		for _, c := range cells {
			if c.fail > worthPolish && c.fail < 1 {
				by[c.tau] = append(by[c.tau], c)
			}
		}
		for _, tau := range slices.Sorted(maps.Keys(by)) {
			for _, t := range []float64{tau / factor, tau * factor} {
				if err := m.judgeAt(ctx, by[tau], t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// decadeRounds is the number of times that decades goes on from where it gained.
const decadeRounds = 3

// decades tries, for cells whose bound is known but not good, the powers of ten on either side of
// their tau, and goes on as long as that helps: events are many in networks with convolutions, and
// steps of tauStep are far apart.
func (m method) decades(ctx context.Context, cells []*cell) error {
	for range decadeRounds {
		by := map[float64][]*cell{}
		for _, c := range cells {
			if c.fail > Enough && c.fail < 1 {
				by[c.tau] = append(by[c.tau], c)
			}
		}
		cells = nil
		for _, tau := range slices.Sorted(maps.Keys(by)) {
			at := math.Log10(tau)
			for _, t := range []float64{math.Ceil(at - 1), math.Floor(at + 1)} {
				if err := m.judgeAt(ctx, by[tau], min(math.Pow(10, t), mostTau)); err != nil {
					return err
				}
			}
			for _, c := range by[tau] {
				if c.tau != tau {
					cells = append(cells, c)
				}
			}
		}
	}
	return nil
}

// follow tries one tau after the other, each for the cells that gained by the one before.
func (m method) follow(ctx context.Context, cells []*cell, taus []float64) error {
	for step, tau := range taus {
		before := make([]float64, len(cells))
		for i, c := range cells {
			before[i] = c.fail
		}
		if err := m.judgeAt(ctx, cells, tau); err != nil {
			return err
		}
		var gained []*cell
		for i, c := range cells {
			// The first may say nothing because it is itself the failure. Of a cell that fails with
			// much, most by its rows, a step gains little and the next ones as little again.
			if c.fail < 0.9*before[i] || c.fail > worthPolish && c.fail < before[i] || step == 0 && before[i] >= 1 {
				gained = append(gained, c)
			}
		}
		cells = gained
	}
	return nil
}

// sameTau is one tau where all are the same.
func sameTau(taus []float64) []float64 {
	if slices.ContainsFunc(taus, func(tau float64) bool { return tau != taus[0] }) {
		return taus
	}
	return taus[:1]
}
