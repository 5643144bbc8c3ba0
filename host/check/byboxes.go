package check

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/mass"
	"psafe/host/check/record"
	"psafe/host/check/relax"
)

// byBoxes proves the union of the boxes that the proof lists, which are drawn again.
func byBoxes(ctx context.Context, q *question) (law.Chance, error) {
	if err := q.post.RequireIndependent(); err != nil {
		return law.Chance{}, fmt.Errorf("posterior: %w", err)
	}
	f := relax.Formats[q.Precision]
	q, err := q.withMixtures()
	if err != nil {
		return law.Chance{}, err
	}
	var boxes []*relax.WeightBox
	drawn := map[int]bool{}
	for _, n := range q.Proof.Boxes {
		if n < 0 || n >= q.Samples || drawn[n] {
			return law.Chance{}, fmt.Errorf("proof: box %d is not among %d, or there twice", n, q.Samples)
		}
		drawn[n] = true
		b, err := relax.BoxOf(q.post, &f, q.Gamma, func(a, w int) float32 { return arith.Normal(q.Seed, uint64(n), uint32(a), uint32(w)) })
		if err != nil {
			return law.Chance{}, err
		}
		margin, err := q.marginOn(ctx, b, relax.Tries)
		if err != nil {
			return law.Chance{}, err
		}
		if !(margin >= 0) {
			return law.Chance{}, fmt.Errorf("proof: box %d is not proved safe, its margin is %v", n, margin)
		}
		boxes = append(boxes, b)
	}
	// Certify leaves boxes that add nothing out of the proof: how many more are safe is not
	// checked.
	if n := len(boxes); n == 0 || *q.SafeBoxes < n {
		return law.Chance{}, fmt.Errorf("safe_boxes: %d, the proof has %d", *q.SafeBoxes, n)
	}
	return mass.OfUnion(ctx, q.post, boxes, q.Rule == record.LargestBox, q.claimed), nil
}

// marginOn is at most the margin of the property, for all networks of the box and all of T, which
// holds if it is >= 0, until it is or so many choices of lines have been tried.
func (q *question) marginOn(ctx context.Context, b *relax.WeightBox, tries uint64) (float64, error) {
	n, err := b.Network(q.post)
	if err != nil {
		return 0, err
	}
	n.Graph.Depth = q.Asked().Number("--depth")
	if n.Lines = q.Method == "lbp"; !n.Lines {
		tries = min(tries, 1)
	}
	n.Ctx = ctx
	least := math.Inf(1)
	for _, box := range q.task.T {
		margin, best := -arith.Inf, slices.Repeat([]float64{-arith.Inf}, len(q.task.S.Rows))
		for n.By.Try = 0; n.By.Try < tries && !(margin >= 0); n.By.Try++ {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			for r, lo := range n.RowsLo(box, q.task.S.Rows) {
				best[r] = max(best[r], lo)
			}
			margin = q.task.S.MarginLo(best)
		}
		if least = min(least, margin); !(least >= 0) {
			break
		}
	}
	return least, nil
}
