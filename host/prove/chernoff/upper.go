package chernoff

import (
	"context"
	"errors"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

const (
	// noRoom is a gap between the bounds that is not worth closing.
	noRoom = 0.01
	// hopeful is what part of the known bound exact moments have to promise, to be looked for: they take a
	// second of a wide network. A quarter leaves out what is worth it: of ten images of NoisyAdam 64x2 at three
	// times its spread p_upper is 0.13, and 0.32 with a quarter.
	hopeful = 0.5
	// mostTried is how many rows of an alternative are looked at closely.
	mostTried = 3
)

// Uppers lowers upper bounds, on all cores: for any x of the true T, P_safe <= Prob(f(x) in S). The points are those
// that concentration LBP has bounds at; where the mean network is safe at them, nothing is to be shown.
func Uppers(ctx context.Context, e *engine.Engine, at []clbp.Attacked, results []*claim.Result) error {
	c := newChain(e.Normal)
	errs := make([]error, len(at))
	err := fault.OnCores(ctx, len(at), func(i int) { errs[i] = c.upper(ctx, at[i], results[i]) })
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// upper lowers the upper bound of one result.
func (c *chain) upper(ctx context.Context, w clbp.Attacked, r *claim.Result) error {
	if w.Box.Lo == nil || !nearlyPoint(w.Box) || w.MarginApprox > 0 || len(r.Task.S.Rows) > mostRows || len(r.Task.S.Gates) > 0 || r.Upper()-r.Lower() <= noRoom {
		return nil
	}
	up, proof, err := c.safeUp(ctx, w.Box, &r.Task.S, r.Upper())
	if err != nil {
		return err
	}
	if up = slack.ChernoffUp(up); up < 1 {
		proof.Witness = w.Point
		r.ShowUnsafe(math.Nextafter(1-up, math.Inf(-1)), *proof)
	}
	return nil
}

// safeUp bounds the probability that S holds at a point in the box, and says how; 1 where it seems to be no less than known.
func (c *chain) safeUp(ctx context.Context, box property.Box, s *property.Safe, known float64) (float64, *claim.UpperProof, error) {
	heads := make([]*head, len(s.Rows))
	for r := range s.Rows {
		negated := s.Rows[r].Negated()
		heads[r] = c.head(&negated)
	}
	if !(c.normalApprox(box, heads, s.Any) < known*hopeful) {
		return 1, nil, nil
	}
	p, err := c.newPoint(ctx, box, firstTau)
	if err != nil || p == nil {
		return 1, nil, err
	}
	// In each alternative the row counts that holds least likely.
	var chosen []int
	for _, all := range s.Any {
		row, err := p.leastLikely(ctx, heads, all)
		if err != nil || row < 0 {
			return 1, nil, err
		}
		chosen = append(chosen, row)
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	var guesses []guess
	for _, r := range chosen {
		g := guess{row: r, head: heads[r]}
		if p.rowApprox(&g); g.parts == nil {
			return 1, nil, nil
		}
		guesses = append(guesses, g)
	}
	if !(failApprox(p, guesses) < known) {
		return 1, nil, nil
	}
	proof := &claim.UpperProof{Method: Method, Tau: p.tau, ChernoffProof: *p.proof(len(s.Rows))}
	tails, err := p.prove(ctx, guesses, proof.Rows)
	if err != nil {
		return 1, nil, err
	}
	byRow := slices.Repeat([]float64{1}, len(s.Rows))
	for i, g := range guesses {
		byRow[g.row] = tails[i]
	}
	up := p.budget
	for _, all := range s.Any {
		least := 1.0
		for _, r := range all {
			least = min(least, byRow[r])
		}
		up = arith.Up(up + least)
	}
	return up, proof, ctx.Err()
}

// normalApprox is about what exact moments bound the probability of S by at the middle of the box, were rows normal:
// for each alternative exp(-m^2/2) of the row that fails by the most deviations m.
func (c *chain) normalApprox(box property.Box, heads []*head, any [][]int) float64 {
	x := make([]float64, len(box.Lo))
	for j := range x {
		x[j] = (box.Lo[j] + box.Hi[j]) / 2
	}
	p := &point{chain: c, rects: [][]rect{c.hidden[0].at(x)}}
	for _, l := range c.hidden[1:] {
		p.rects = append(p.rects, make([]rect, l.out))
	}
	about, sum := p.meansApprox(), 0.0
	for _, all := range any {
		most := 0.0
		for _, r := range all {
			mean, variance := heads[r].momentsApprox(about)
			most = max(most, mean/math.Sqrt(variance))
		}
		sum += math.Exp(-most * most / 2)
	}
	return sum
}

// leastLikely is the row of an alternative that holds least likely, of heads of negated rows: about, by means
// and variances, and of the first few of these by their moments; -1 where none seems to fail.
func (p *point) leastLikely(ctx context.Context, heads []*head, all []int) (int, error) {
	sorted := slices.Clone(all)
	about := p.meansApprox()
	deviations := func(r int) float64 {
		mean, variance := heads[r].momentsApprox(about)
		return mean / math.Sqrt(variance)
	}
	slices.SortStableFunc(sorted, func(a, b int) int {
		switch x, y := deviations(a), deviations(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	sorted = slices.DeleteFunc(sorted, func(r int) bool { return !(deviations(r) > 0) })
	if len(sorted) == 0 {
		return -1, nil
	}
	var near []*head
	for _, r := range sorted[:min(len(sorted), mostTried)] {
		near = append(near, heads[r])
	}
	of, err := p.guesses(ctx, near)
	best := 0
	for i := range of {
		if of[i].log < of[best].log {
			best = i
		}
	}
	return sorted[best], err
}
