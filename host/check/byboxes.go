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

// byBoxes proves a lower bound by weight boxes that verify, and what they hold.
func byBoxes(ctx context.Context, q *question) (law.Chance, error) {
	if err := q.post.RequireIndependent(); err != nil {
		return law.Chance{}, fmt.Errorf("posterior: %w", err)
	}
	f, known := relax.Formats[q.Precision]
	if !known {
		return law.Chance{}, fmt.Errorf("precision: %.40q is neither float32 nor float64", q.Precision)
	}
	gamma, err := q.Gamma.Of(len(q.post.Layers))
	if err != nil {
		return law.Chance{}, err
	}
	if q, err = q.withMixtures(); err != nil {
		return law.Chance{}, err
	}
	if q.Boxes == "sampled" {
		return q.bySamples(ctx, &f, gamma)
	}
	root, err := relax.BoxOf(q.post, &f, gamma, nil)
	if err != nil {
		return law.Chance{}, err
	}
	least := 0.0
	if q.Margin != nil { // a property without rows has none
		least = q.Margin.Hi
	}
	v, err := q.verify(ctx, root, least, relax.Tries)
	switch {
	case err != nil:
		return law.Chance{}, err
	case !(v.margin >= least):
		return law.Chance{}, fmt.Errorf("margin: it is %v, proved is %v", q.Margin, v.margin)
	}
	return mass.OfBox(q.post, mass.Freed(q.post, q.task, root, v.dead)), nil
}

// bySamples proves the union of the boxes that the proof lists.
func (q *question) bySamples(ctx context.Context, f *relax.Numbers, gamma []float64) (law.Chance, error) {
	var boxes []*relax.WeightBox
	drawn := map[int]bool{}
	for _, n := range q.Proof.Boxes {
		if n < 0 || n >= q.Samples || drawn[n] {
			return law.Chance{}, fmt.Errorf("proof: box %d is not among %d, or there twice", n, q.Samples)
		}
		drawn[n] = true
		b, err := relax.BoxOf(q.post, f, gamma, func(a, w int) float32 { return arith.Normal(q.Seed, uint64(n), uint32(a), uint32(w)) })
		if err != nil {
			return law.Chance{}, err
		}
		v, err := q.verify(ctx, b, 0, relax.Tries)
		if err != nil {
			return law.Chance{}, err
		}
		if !(v.margin >= 0) {
			return law.Chance{}, fmt.Errorf("proof: box %d is not proved safe, its margin is %v", n, v.margin)
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

// verified holds what is known of a weight box on T.
type verified struct {
	// margin is a lower bound of the least margin: the property holds if it is >= 0.
	margin float64
	// dead says for each hidden layer which neurons are never positive on all of T.
	dead [][]bool
}

// verify bounds the rows of the property for all networks of the box and all of T, until the
// margin is least or so many choices of lines have been tried.
func (q *question) verify(ctx context.Context, b *relax.WeightBox, least float64, tries uint64) (verified, error) {
	n, err := b.Network(q.post)
	if err != nil {
		return verified{}, err
	}
	n.Graph.Depth = q.Asked().Number("--depth")
	if n.Lines = q.Method == "lbp"; !n.Lines {
		tries = min(tries, 1)
	}
	n.Ctx = ctx
	v := verified{margin: math.Inf(1)}
	for _, box := range q.task.T {
		margin, dead := -arith.Inf, [][]bool(nil)
		best := slices.Repeat([]float64{-arith.Inf}, len(q.task.S.Rows))
		for n.By.Try = 0; n.By.Try < tries; n.By.Try++ {
			if ctx.Err() != nil {
				return v, ctx.Err()
			}
			lo, never := n.RowsLo(box, q.task.S.Rows)
			for r := range lo {
				best[r] = max(best[r], lo[r])
			}
			margin = q.task.S.MarginLo(best)
			dead = combined(dead, never, func(a, b bool) bool { return a || b })
			if margin >= least {
				break
			}
		}
		v.margin = min(v.margin, margin)
		v.dead = combined(v.dead, dead, func(a, b bool) bool { return a && b })
		if !(v.margin >= least) {
			break
		}
	}
	return v, nil
}

// combined is a by b, entry for entry; b where a is nil.
func combined(a, b [][]bool, by func(a, b bool) bool) [][]bool {
	if a == nil {
		return b
	}
	for k := range a {
		for i := range a[k] {
			a[k][i] = by(a[k][i], b[k][i])
		}
	}
	return a
}
