package clbp

import (
	"context"
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
	up, down := m.tausUp(), m.tausUp()
	slices.Reverse(down)
	var tries []*try
	for _, c := range cells {
		switch {
		case c.refuted:
		case c.fail >= 1:
			tries = append(tries, &try{c: c, rest: down, climbs: true})
		case c.fail > Enough:
			tries = append(tries, &try{c: c, rest: up, climbs: true, back: true})
		}
	}
	if err := m.follow(ctx, tries); err != nil {
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
	var tries []*try
	var before []float64
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
		tries, before = append(tries, &try{c: c, rest: []float64{tau}}), append(before, c.fail)
	}
	if err := m.try(ctx, tries, 1); err != nil || top {
		return err
	}
	var gained []*cell
	for i, t := range tries {
		if t.c.fail < 0.99*before[i] {
			gained = append(gained, t.c)
		}
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
		var tries []*try
		for _, c := range cells {
			if c.fail > worthPolish && c.fail < 1 {
				tries = append(tries, &try{c: c, rest: []float64{c.tau / factor, c.tau * factor}})
			}
		}
		if err := m.try(ctx, tries, 2); err != nil {
			return err
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
		var tries []*try
		var from []float64
		for _, c := range cells {
			if c.fail > Enough && c.fail < 1 {
				at := math.Log10(c.tau)
				below, above := math.Pow(10, math.Ceil(at-1)), math.Pow(10, math.Floor(at+1))
				tries = append(tries, &try{c: c, rest: []float64{min(below, mostTau), min(above, mostTau)}})
				from = append(from, c.tau)
			}
		}
		if err := m.try(ctx, tries, 2); err != nil {
			return err
		}
		cells = nil
		for i, t := range tries {
			if t.c.tau != from[i] {
				cells = append(cells, t.c)
			}
		}
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
