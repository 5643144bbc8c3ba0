package chernoff

import (
	"context"
	"math"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// A look at points that takes a tenth of a second or two, for whoever wants to know whether Certify is worth its time.

const (
	// mostQuickWork is about how many products a look may take, a second of processor, where a neuron in a row is as
	// many as neuronWork of them, and a weight in statements as many as stateWork.
	mostQuickWork, neuronWork, stateWork = 1 << 20, 200, 6
	// quickRounds are rounds of planes, mostHalved is how often a rate is halved whose moment is infinite.
	quickRounds, mostHalved = 3, 30
	// quickLeast holds what a look claims less than it has found, of what fails: Certify chooses by what planes
	// are thought to cost, which their proofs may exceed.
	quickLeast = 1.0 / 16
)

// QuickDown bounds P_safe of a task at points from below by exact moments, as Certify does, but by a search of few rates and
// budgets; 0 where it finds nothing, where Fits refuses the posterior, or where a look takes long. It is an error if ctx ends.
func QuickDown(ctx context.Context, post *posterior.Posterior, t *property.Task) (float64, error) {
	if Fits(post) != nil || len(t.S.Rows) > mostRows || len(t.S.Any) == 0 || len(t.S.Gates) > 0 || t.Ball != nil {
		return 0, nil
	}
	c := newChain(post)
	if c.quickWork(len(t.S.Rows))*len(t.T) > mostQuickWork {
		return 0, nil
	}
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
	f, err := p.proved(ctx, guesses, len(s.Rows))
	if err != nil || f == nil {
		return 1, err
	}
	return f.failUp, nil
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
