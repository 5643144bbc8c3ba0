package check

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
)

// tries is the number of times that lines are chosen before a box is given up.
const tries = 32

// Rules by which the masses of boxes are added up; chain, de Caen and disjoint pieces are others, of
// unions, of which the best one proves.
const (
	oneBox     = "one box"
	largestBox = "largest box"
	noMass     = "none"
)

// byBoxes proves a lower bound by weight boxes that verify, and what they hold.
func byBoxes(ctx context.Context, q *question) (chance, error) {
	if err := q.post.RequireIndependent(); err != nil {
		return chance{}, fmt.Errorf("posterior: %w", err)
	}
	f, known := formats[q.Precision]
	if !known {
		return chance{}, fmt.Errorf("precision: %.40q is neither float32 nor float64", q.Precision)
	}
	gamma, err := q.Gamma.of(len(q.post.Layers))
	if err != nil {
		return chance{}, err
	}
	if q, err = q.withMixtures(); err != nil {
		return chance{}, err
	}
	if q.Boxes == "sampled" {
		return q.bySamples(ctx, &f, gamma)
	}
	root, err := boxOf(q.post, &f, gamma, nil)
	if err != nil {
		return chance{}, err
	}
	least := 0.0
	if q.Margin != nil { // a property without rows has none
		least = q.Margin.Hi
	}
	v, err := q.verify(ctx, root, least, tries)
	switch {
	case err != nil:
		return chance{}, err
	case !(v.margin >= least):
		return chance{}, fmt.Errorf("margin: it is %v, proved is %v", q.Margin, v.margin)
	}
	return boxMass(q.post, freed(q.post, q.task, root, v.dead)), nil
}

// bySamples proves the union of the boxes that the proof lists.
func (q *question) bySamples(ctx context.Context, f *numbers, gamma []float64) (chance, error) {
	var boxes []*weightBox
	drawn := map[int]bool{}
	for _, n := range q.Proof.Boxes {
		if n < 0 || n >= q.Samples || drawn[n] {
			return chance{}, fmt.Errorf("proof: box %d is not among %d, or there twice", n, q.Samples)
		}
		drawn[n] = true
		b, err := boxOf(q.post, f, gamma, func(a, w int) float32 { return arith.Normal(q.Seed, uint64(n), uint32(a), uint32(w)) })
		if err != nil {
			return chance{}, err
		}
		v, err := q.verify(ctx, b, 0, tries)
		if err != nil {
			return chance{}, err
		}
		if !(v.margin >= 0) {
			return chance{}, fmt.Errorf("proof: box %d is not proved safe, its margin is %v", n, v.margin)
		}
		boxes = append(boxes, b)
	}
	// Certify leaves boxes that add nothing out of the proof: how many more are safe is not
	// checked.
	if n := len(boxes); n == 0 || *q.SafeBoxes < n {
		return chance{}, fmt.Errorf("safe_boxes: %d, the proof has %d", *q.SafeBoxes, n)
	}
	return unionChance(ctx, q.post, boxes, q.Rule, q.claimed), nil
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
func (q *question) verify(ctx context.Context, b *weightBox, least float64, tries uint64) (verified, error) {
	n, err := b.network(q.post)
	if err != nil {
		return verified{}, err
	}
	n.graph.depth = q.asked().number("--depth")
	if n.lines = q.Method == "lbp"; !n.lines {
		tries = min(tries, 1)
	}
	n.ctx = ctx
	v := verified{margin: math.Inf(1)}
	for _, box := range q.task.T {
		margin, dead := -arith.Inf, [][]bool(nil)
		best := slices.Repeat([]float64{-arith.Inf}, len(q.task.S.Rows))
		for n.by.try = 0; n.by.try < tries; n.by.try++ {
			if ctx.Err() != nil {
				return v, ctx.Err()
			}
			lo, never := n.rowsLo(box, q.task.S.Rows)
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
