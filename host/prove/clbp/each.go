package clbp

import (
	"context"
	"math"

	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
)

// Each sets what is proved of inf over x in T of Prob(f(x) in S) (docs/theory.md, section 3.8): at least p_lower, and
// where that leaves something to be shown, what the worst cell of T has by the pointwise law. Of dropout, and where
// the last layer alone is random with weights that depend on each other, the worst cell counts that is bounded
// as for P_safe. T may be cut into so many cells; 0 leaves it to MostCells. The box around a ball stands for it.
func Each(ctx context.Context, e *engine.Engine, cells int, results []*claim.Result) error {
	roots, of := [][]*cell(nil), []*claim.Result(nil)
	for _, r := range results {
		r.Each = &claim.Each{Lower: r.Lower()}
		if r.Lower() >= 1-Enough {
			continue
		}
		var boxes []*cell
		for _, b := range r.Task.T {
			boxes = append(boxes, &cell{task: r.Task, box: b, fail: 1, each: true})
		}
		roots, of = append(roots, boxes), append(of, r)
	}
	if len(roots) == 0 {
		return nil
	}
	if err := (method{e: e, pointwise: true}).search(ctx, cells, roots); err != nil && !e.Cut(err) {
		return err
	}
	for i, r := range of {
		fail, trees, parts := shownOf(roots[i])
		if lower := math.Nextafter(1-fail, math.Inf(-1)); lower > r.Each.Lower {
			r.Each.Lower, r.Each.Proof = lower, claim.EachProof{Cells: claim.UncutCells(trees), Tau: sameTau(tausOf(parts))}
			r.Proof.Each = &r.Each.Proof
		}
	}
	return nil
}
