// Package chernoff bounds rows of a network at a point of T by Chernoff's bound, with exact moments of ReLU
// neurons in the place of relaxations ((51) and (52), docs/theory.md): given the layer below, the neurons of
// a layer are independent normal numbers at one x. Where the spread is large, a neuron's own noise costs
// nothing then. On a box, a row is bounded by its middle and a difference ((53) and (54); box.go).
//
// It works on the host, in float64. Rates and planes are found by a search in ordinary arithmetic; every
// bound holds, however they were chosen.
package chernoff

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

const (
	// firstTau is the failure budget of a statement that a row is first looked at with, leastTau and
	// mostTau are between which another is chosen, so that statements fail with budgetShare of all.
	firstTau, leastTau, mostTau = 1e-6, 1e-12, 1e-4
	budgetShare                 = 1.0 / 128
	// tauStep is by what tau grows as long as that helps a box that fails with more than dearFail.
	tauStep, dearFail = 16, 0.02
	// mostRadius is from which radius on a box is no point: what is bounded there is only its middle.
	mostRadius = 0x1p-30
	// mostRows is how many rows a safe set may have.
	mostRows = 256
	// doubtful is by how much the tail of a row in parts may exceed what the search made of it: what planes prove
	// badly is bounded without parts.
	doubtful = 1.5
)

// Certify bounds each task whose boxes are points, or nearly so. Others are left at 0.
func Certify(ctx context.Context, e *engine.Engine, tasks []property.Task) ([]*claim.Result, error) {
	c := newChain(e.Normal)
	results := make([]*claim.Result, len(tasks))
	for i := range tasks {
		results[i] = claim.NewResult(&tasks[i], Method)
		if err := c.certify(ctx, results[i]); err != nil && !e.Cut(err) {
			return nil, err
		}
	}
	return results, nil
}

// Method is the word of records.
const Method = "chernoff"

// certify bounds a task: the failures of the boxes of T add up.
func (c *chain) certify(ctx context.Context, r *claim.Result) error {
	t, fail := r.Task, 0.0
	if len(t.S.Rows) > mostRows || len(t.S.Any) == 0 || len(t.S.Gates) > 0 || !slices.ContainsFunc(t.T, nearlyPoint) {
		return nil
	}
	var proofs []*claim.ChernoffProof
	var taus []float64
	for _, box := range t.T {
		if !nearlyPoint(box) {
			return nil
		}
		f, err := c.boxed(ctx, box, &t.S)
		if err != nil || f == nil {
			return err
		}
		if fail = arith.Up(fail + f.failUp); !(fail < 1) {
			return nil
		}
		proofs, taus = append(proofs, f.proof), append(taus, f.tau)
	}
	r.LogP = arith.LogComplementDown(slack.ChernoffUp(fail))
	if r.Lower() > 0 {
		r.Tau, r.Proof.Tau, r.Proof.Chernoff = slices.Max(taus), taus, proofs
	}
	return nil
}

// nearlyPoint says that what a row varies by over a box is next to nothing.
func nearlyPoint(box property.Box) bool {
	for j, lo := range box.Lo {
		if !(box.Hi[j]-lo <= 2*mostRadius) {
			return false
		}
	}
	return true
}

// found is what is proved of a box.
type found struct {
	failUp, tau float64
	proof       *claim.ChernoffProof
}

// guess is what the search makes of a row.
type guess struct {
	row   int
	head  *head
	log   float64 // about that of its tail
	rate  float64
	parts []part
	plain [][]slopes // the planes of the one part that there is without parts
}

// boxed bounds the probability that the network leaves S in a box; nil where nothing is shown.
func (c *chain) boxed(ctx context.Context, box property.Box, s *property.Safe) (*found, error) {
	heads := make([]*head, len(s.Rows))
	for r := range s.Rows {
		heads[r] = c.head(&s.Rows[r])
	}
	p, guesses, err := c.looked(ctx, box, heads, s.Any)
	if err != nil || guesses == nil {
		return nil, err
	}
	return p.proved(ctx, guesses, len(s.Rows))
}

// proof is one of so many rows, which are still to come.
func (p *point) proof(n int) *claim.ChernoffProof {
	proof := p.stated
	proof.Rows = make([]claim.ChernoffRow, n)
	return &proof
}

// proved bounds what an alternative of n rows of the property fails with; nil where that is not below 1.
func (p *point) proved(ctx context.Context, guesses []guess, n int) (*found, error) {
	f := &found{p.budget, p.tau, p.proof(n)}
	tails, err := p.prove(ctx, guesses, f.proof.Rows)
	for _, tail := range tails {
		f.failUp = arith.Up(f.failUp + tail)
	}
	if err != nil || !(f.failUp < 1) {
		return nil, err
	}
	return f, nil
}

// prove bounds the tails of rows that were looked at, on all cores, and says how.
func (p *point) prove(ctx context.Context, guesses []guess, rows []claim.ChernoffRow) ([]float64, error) {
	tails := make([]float64, len(guesses))
	err := fault.OnCores(ctx, len(guesses), func(i int) {
		g := &guesses[i]
		if tails[i] = p.partsUp(g, g.parts); tails[i] > doubtful*math.Exp(g.log) && len(g.parts) > 1 {
			one := []part{*whole(g.rate, g.plain)}
			if tail := p.partsUp(g, one); tail < tails[i] {
				tails[i], g.parts = tail, one
			}
		}
		rows[g.row] = rowOfParts(g.rate, g.parts, len(p.hidden)-1)
	})
	return tails, err
}

// partsUp bounds the tail of a row: the sum over its parts.
func (p *point) partsUp(g *guess, parts []part) float64 {
	tail := 0.0
	for _, of := range parts {
		tail = arith.Up(tail + arith.ExpUp(p.tailUp(g.head, g.rate, &of)))
	}
	return tail
}

// looked looks at the rows of all alternatives, and chooses one, and a tau. There is none where no alternative
// seems to be bounded.
func (c *chain) looked(ctx context.Context, box property.Box, heads []*head, any [][]int) (p *point, guesses []guess, err error) {
	least := 1.0
	look := func(tau float64) (budget float64, better bool, err error) {
		next, err := c.newPoint(ctx, box, tau)
		if err != nil || next == nil {
			return 0, false, err
		}
		of, err := next.guesses(ctx, heads)
		if err != nil {
			return 0, false, err
		}
		for _, all := range any {
			var these []guess
			for _, r := range all {
				these = append(these, of[r])
			}
			if fail := failApprox(next, these); fail < least {
				p, guesses, least, better = next, these, fail, true
			}
		}
		return next.budget, better, nil
	}
	tau := firstTau
	budget, better, err := look(tau)
	if err != nil || !(budget > 0) {
		return p, guesses, err
	}
	// The budget is in proportion to tau.
	if wanted := min(max(tau*budgetShare*least/budget, leastTau), mostTau); better && !(wanted > tau/4 && wanted < 4*tau) {
		budget, tau = budget*wanted/tau, wanted
		if _, better, err = look(tau); err != nil {
			return nil, nil, err
		}
	}
	// Where much is left, or all, statements that say more may be worth their budget.
	for ; (better || guesses == nil) && least > dearFail && tauStep*budget < 0.5; budget *= tauStep {
		tau *= tauStep
		if _, better, err = look(tau); err != nil {
			return nil, nil, err
		}
	}
	return p, guesses, nil
}

// failApprox is about what an alternative of these rows fails with.
func failApprox(p *point, rows []guess) float64 {
	sum := p.budget
	for _, g := range rows {
		sum += math.Exp(min(0, g.log))
	}
	return sum
}

// guesses looks at each row, on all cores.
func (p *point) guesses(ctx context.Context, heads []*head) ([]guess, error) {
	of := make([]guess, len(heads))
	err := fault.OnCores(ctx, len(heads), func(r int) {
		of[r] = guess{row: r, head: heads[r]}
		p.rowApprox(&of[r])
	})
	return of, err
}
