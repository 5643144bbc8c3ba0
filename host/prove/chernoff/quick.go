package chernoff

import (
	"context"
	"errors"
	"math"
	"time"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// A look at points that takes a tenth of a second or two, for whoever wants to know whether Certify is worth its time.

const (
	// mostQuickWork is about how many products a look may take, mostQuickTime of processor, where a neuron in a row is as
	// many as neuronWork of them, and a weight in statements as many as stateWork.
	mostQuickWork, neuronWork, stateWork = 1 << 20, 200, 6
	mostQuickTime                        = time.Second / 2
	// quickRounds are rounds of planes, mostHalved is how often a rate is halved whose moment is infinite.
	quickRounds, mostHalved = 3, 30
	// quickLeast holds what a look claims less than it has found, of what fails: Certify chooses by what planes
	// are thought to cost, which their proofs may exceed.
	quickLeast = 1.0 / 16
	// mostRough is the most that planes are proved to.
	mostRough = 16
)

// QuickTime is about how long QuickDown takes on one processor. It is an error if Fits refuses the posterior, or if that is
// longer than a look may take.
func QuickTime(post *posterior.Posterior, t *property.Task) (time.Duration, error) {
	if err := Fits(post); err != nil {
		return 0, err
	}
	work := newChain(post).quickWork(len(t.S.Rows)) * len(t.T)
	if work > mostQuickWork {
		return 0, errors.New("exact moments would take long")
	}
	return mostQuickTime * time.Duration(work) / mostQuickWork, nil
}

// QuickDown bounds P_safe of a task at points from below by exact moments, as Certify does, but by a search of few rates and
// budgets; 0 where it finds nothing. It is an error if QuickTime refuses the posterior, if ctx has less time than that, or if it ends.
func QuickDown(ctx context.Context, post *posterior.Posterior, t *property.Task) (float64, error) {
	takes, err := QuickTime(post, t)
	if err != nil {
		return 0, err
	}
	if until, limited := ctx.Deadline(); limited && takes > time.Until(until) {
		return 0, context.DeadlineExceeded
	}
	if len(t.S.Rows) > mostRows || len(t.S.Any) == 0 || len(t.S.Gates) > 0 || t.Ball != nil {
		return 0, nil
	}
	c := newChain(post)
	c.quick = true
	fail := 0.0
	for _, box := range t.T {
		if !nearlyPoint(box) {
			return 0, nil
		}
		f, err := c.quickUp(ctx, box, &t.S)
		if err != nil {
			return 0, err
		}
		if fail = arith.Up(fail + f); !(fail < 1) {
			return 0, nil
		}
	}
	fail = slack.ChernoffUp(arith.Up(fail * (1 + quickLeast)))
	return max(0, arith.ExpDown(arith.LogComplementDown(fail))), nil
}

// quickWork is about how many products a look at so many rows takes, and at statements about a third layer and above.
func (c *chain) quickWork(rows int) (work int) {
	below := 0
	for k, l := range c.hidden {
		each := neuronWork * l.out
		if !l.relu {
			each *= pieceWork
		}
		if k > 0 {
			each += len(l.mean)
			work += stateWork * len(l.mean)
		}
		if work += rows * each; k > 1 {
			work += events * below * each
		}
		below += l.out
	}
	return work
}

// quickUp bounds the probability that the network leaves S in a box: 1 where nothing is found.
func (c *chain) quickUp(ctx context.Context, box property.Box, s *property.Safe) (float64, error) {
	heads := make([]*head, len(s.Rows))
	for r := range s.Rows {
		heads[r] = c.head(&s.Rows[r])
	}
	var p *point
	var guesses []guess
	least, tau, rates := 1.0, firstTau, make([]float64, len(heads))
	for {
		next, err := c.newPoint(ctx, box, tau)
		if err != nil {
			return 1, err
		}
		better := false
		if next != nil {
			if least, better = next.quickApprox(heads, s.Any, rates, least, &guesses); better {
				p = next
			}
		}
		// As Certify does, which so seldom finds less, and then hardly.
		if p != nil && (!better || least <= dearFail) || len(c.hidden) == 1 || next != nil && !(tauStep*next.budget < 0.5) || tau > mostTau {
			break
		}
		tau *= tauStep
	}
	if p == nil {
		return 1, ctx.Err()
	}
	roughen(guesses)
	f, err := p.proved(ctx, guesses, len(s.Rows))
	if err != nil || f == nil {
		return 1, err
	}
	return f.failUp, nil
}

// roughen has the planes of each row proved only so nearly that its tail grows by about quickLeast of what all rows fail with: most
// rows fail so much less than the worst one that a first look at their planes is enough.
func roughen(guesses []guess) {
	all := 0.0
	for _, g := range guesses {
		all += math.Exp(g.log)
	}
	for _, g := range guesses {
		tol := math.Log1p(quickLeast * all / math.Exp(g.log))
		if !(tol < mostRough) { // NaN where both are 0
			tol = mostRough
		}
		for k := range g.parts {
			g.parts[k].tol = max(fine, tol)
		}
	}
}

// quickApprox looks for an alternative that fails with less than least, and says whether there is one. It begins with
// rates, one for each row, where these are not 0, and leaves those that it found.
func (p *point) quickApprox(heads []*head, any [][]int, rates []float64, least float64, guesses *[]guess) (fail float64, better bool) {
	of, outputs := make([]guess, len(heads)), p.meansApprox()
	for r, row := range heads {
		of[r] = guess{row: r, head: row}
		of[r].log, of[r].rate, of[r].plain = p.quickRowApprox(row, outputs, rates[r])
		of[r].parts = []part{*whole(of[r].rate, of[r].plain)}
		rates[r] = of[r].rate
	}
	for _, all := range any {
		var these []guess
		for _, r := range all {
			these = append(these, of[r])
		}
		if fail := failApprox(p, these); fail < least {
			*guesses, least, better = these, fail, true
		}
	}
	return least, better
}

// quickRowApprox is rowApprox with few rates: that one, or if it is 0, from the one on that is best for a normal number, as
// long as a factor helps, of 2^(1/2), then of 2^(1/4). Where the variance varies much, the best one is close below those with
// infinite moments, which take no time.
func (p *point) quickRowApprox(row *head, outputs outline, rate float64) (log, h float64, planes [][]slopes) {
	log = math.Inf(1)
	try := func(at float64) bool {
		t, _ := p.momentApprox(row, at, arith.Up(at*at)/2, p.lossUp(row), quickRounds)
		if !(t.log < log) { // NaN, too
			return false
		}
		log, h, planes = t.log, at, t.planes
		return true
	}
	if rate > 0 && try(rate) {
		return log, h, planes
	}
	mean, variance := row.momentsApprox(outputs)
	if !(mean > 0 && variance > 0) {
		return log, h, planes
	}
	at := mean / variance
	for range mostHalved {
		if try(at) {
			break
		}
		at /= 2
	}
	for _, factor := range []float64{math.Sqrt2, math.Sqrt(math.Sqrt2)} {
		from := h
		for _, by := range []float64{factor, 1 / factor} {
			for at := from * by; h == from || h == at/by; at *= by {
				if log < nothing || !try(at) {
					break
				}
			}
		}
	}
	return log, h, planes
}
