package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/clbp"
	"psafe/host/check/curves"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// Sums of tails over the leaves of trees of phases (docs/theory.md, section 6.5): each leaf has a lower bound of its row
// whose noise is that of concentration LBP, on the event that hidden bounds for all of the box are right.

// LeafProof holds what a record says of the rows of S on one box of T.
type LeafProof struct {
	Open  [][]int `json:"open"`
	Rows  []int   `json:"rows,omitempty"`
	Trees []Tree  `json:"trees"`
}

// rowsOf are the rows whose trees a proof has: those of S if it is a conjunction, else some from which it follows.
func (how *LeafProof) rowsOf(safe *property.Safe) ([]int, error) {
	if rows, conjunction := safe.Conjunction(); conjunction {
		if how.Rows != nil {
			return nil, errors.New("rows: the safe set is a conjunction, which has all of its own")
		}
		return rows, nil
	}
	at := slices.Repeat([]float64{-1}, len(safe.Rows)) // all others are negative
	for _, r := range how.Rows {
		if r < 0 || r >= len(at) || at[r] == 0 {
			return nil, fmt.Errorf("rows: %d is no row, or is there twice", r)
		}
		at[r] = 0
	}
	if !safe.Holds(at) {
		return nil, errors.New("rows: the safe set does not follow from them")
	}
	return how.Rows, nil
}

// TriedUp bounds the sum over boxes of what each fails with, by the least of some tries, until that is enough.
// A try ends as soon as its boxes so far fail with 1, and then there is no other: lines that are chosen in
// another way prove a little more, and a forged record is not worth as much work again.
func TriedUp(boxes int, tries uint64, enough func(fail float64) bool, fails func(b int, try uint64) (float64, error)) (float64, error) {
	least := slices.Repeat([]float64{1}, boxes)
	for try := range tries {
		so := make([]float64, 0, boxes)
		for b := range boxes {
			fail, err := fails(b, try)
			if err != nil {
				return 1, err
			}
			least[b] = min(least[b], fail)
			if so = append(so, fail); law.TotalUp(so) >= 1 {
				return min(1, law.TotalUp(least)), nil
			}
		}
		if enough(law.TotalUp(least)) {
			break
		}
	}
	return min(1, law.TotalUp(least)), nil
}

// CutsOfLeaves are the nodes of all trees that are no leaves.
func CutsOfLeaves(proofs []LeafProof) (cuts int) {
	for _, p := range proofs {
		cuts += CutsOfPhases([]Proof{{Trees: p.Trees}})
	}
	return cuts
}

// LeavesUp bounds the probability that the network leaves S on a cell of T: (62), with (65) where there is
// more than one hidden layer.
func LeavesUp(ctx context.Context, n *clbp.Noisy, safe *property.Safe, cell property.Box, tau float64, how *LeafProof, try uint64) (float64, error) {
	rows, err := how.rowsOf(safe)
	if err != nil {
		return 1, err
	}
	none := make([][]int, len(how.Open))
	for r := range how.Trees {
		if how.Trees[r].Mixtures != nil {
			return 1, fmt.Errorf("row %d: leaves have no mixtures", r)
		}
	}
	shape := Proof{Open: how.Open, Raised: none, Trees: how.Trees}
	if err := shape.shaped(n.Mean, len(rows)); err != nil {
		return 1, err
	}
	p := n.NewCellPass(cell, tau, try+1) // 0 is for bounds that certify does not use here
	fails := []float64{p.BudgetUp()}
	for r, row := range rows {
		fail, err := treeUp(ctx, p, &safe.Rows[row], how.Open, &how.Trees[r])
		if err != nil {
			return 1, fmt.Errorf("row %d: %w", row, err)
		}
		if fails = append(fails, fail); law.TotalUp(fails) >= 1 {
			break
		}
	}
	return min(1, law.TotalUp(fails)), nil
}

// treeUp bounds the probability that a row is negative somewhere on the box and all hidden bounds are right.
func treeUp(ctx context.Context, p *clbp.CellPass, row *property.Row, open [][]int, tree *Tree) (float64, error) {
	leaves, err := leafTails(ctx, p, row, open, tree)
	if err != nil {
		return 1, err
	}
	// With one hidden layer the mean of the last layer's noise is (38), which leaves do not have in common.
	return leavesTailUp(leaves, len(p.Layers) > 2), nil
}

// leafTails returns the tails of the leaves of a row's tree.
func leafTails(ctx context.Context, p *clbp.CellPass, row *property.Row, open [][]int, tree *Tree) (leaves []leafTail, err error) {
	last := len(p.Layers) - 1
	most := clbp.SizesOf(row)
	var own clbp.Noises
	if p.Levels.Noise[last] {
		own.Add(p.Levels.Of[last], p.Deviations[last].OfRow(most, p.ReachInto(last), p.Into(last)))
	}
	s, c := p.Layers[last].Merged(row)
	err = walk(ctx, &p.Pass, open, tree, func(w relax.Way) error {
		f, met := p.NewFall(last, &w), own.Clone()
		lo := p.Down(last, s, c, w)
		for l, a := range f.A {
			if p.Levels.Noise[l] {
				met.Add(p.Levels.Of[l], p.Deviations[l].OfRow(a, p.ReachInto(l), p.Into(l)))
			}
		}
		list := p.Sharp(last, law.SquaresUp(most), f, &met)
		if list == nil {
			return errors.New("its noise is not what leaves need: the box is a point, or nothing deviates")
		}
		leaves = append(leaves, newLeafTail(lo, list))
		return nil
	})
	return leaves, err
}

// leafTail holds how far the row of a leaf is above 0, less the means of its noise, and the variances of
// the last layer and of those below.
type leafTail struct {
	t, last float64
	below   []float64
}

func newLeafTail(lo float64, list []law.Noise) leafTail {
	var t arith.Sum
	t.Plus(lo)
	var below []float64
	for i, n := range list {
		if t.Plus(-n.Mean); i > 0 {
			below = append(below, n.Variance)
		}
	}
	return leafTail{t.Lo(), list[0].Variance, below}
}

// leavesTailUp bounds the probability that a row is negative in a leaf: by the sum of their tails or, where the
// noise of the last layer is shared, by (65).
func leavesTailUp(leaves []leafTail, shared bool) float64 {
	var tails []float64
	for _, l := range leaves {
		tails = append(tails, law.NoiseTailUp(l.t, append([]float64{l.last}, l.below...)))
	}
	sum := law.TotalUp(tails)
	if shared && len(leaves) > 1 && sum > law.WorthSteps {
		sum = min(sum, sharedTailUp(leaves))
	}
	return sum
}

// sharedSteps is the number of steps of the grid up to the least t, more than certify has, and
// mostSharedSteps up to where a tail counts as 1.
const sharedSteps, mostSharedSteps = 512, 1024

// sharedTailUp is (65): the mean over the last layer's noise g of the least of 1 and the sum of the tails of what is
// below at t + min(g, 0). All leaves have the grid t - k h. Where g is in [-(k+1) h, -k h] the sum is at most what it
// is at its lower end, s_(k+1), so that with H_k = Prob(-g >= k h)
//
//	E <= s_0/2 + sum_k (H_k - H_(k+1)) s_(k+1),   s_k = 1 from some k on
func sharedTailUp(leaves []leafTail) float64 {
	least, last := arith.Inf, 0.0
	for _, l := range leaves {
		least, last = min(least, l.t), max(last, l.last)
		for _, v := range l.below {
			if !(v >= 0 && v <= 0x1p900) { // unknown
				return 1
			}
		}
	}
	h := least / sharedSteps
	if !(h >= 0x1p-900 && h <= 0x1p900 && last > 0 && last <= 0x1p900) {
		return 1
	}
	grids, n := make([][]float64, len(leaves)), mostSharedSteps+1
	for i, l := range leaves {
		grids[i] = belowUp(l, h)
		n = min(n, len(grids[i]))
	}
	s := make([]float64, n)
	for k := range s {
		at := make([]float64, len(grids))
		for i, q := range grids {
			at[i] = q[k]
		}
		s[k] = law.TotalUp(at)
	}
	return meanUp(halfTails(last, h, n), s)
}

// halfTails bounds Prob(-g >= k h) for g of a variance.
func halfTails(v, h float64, n int) []float64 {
	tails := make([]float64, n)
	z := law.Ratio(h, v)
	for k := range tails {
		tails[k] = curves.TailUp(z.Times(arith.DDOf(float64(k))))
	}
	tails[0] = 0.5
	return tails
}

// meanUp is s_0/2 + sum_k (H_k - H_(k+1)) s_(k+1), s being 1 in its last place and after it, in the form
//
//	(s_0 + s_1)/2 + sum_(k>0) H_k (s_(k+1) - s_k)
//
// that bounds of H_k from above serve, s made such that it does not fall. The at most 2^10 terms are positive,
// and each meets three roundings.
func meanUp(tails, s []float64) float64 {
	if len(s) < 2 {
		return 1
	}
	sum, before := (s[0]+max(s[0], s[1]))/2, max(s[0], s[1])
	for k := 1; k < len(s)-1; k++ {
		next := max(before, s[k+1])
		sum += float64(tails[k] * (next - before))
		before = next
	}
	return min(1, sum*(1+0x1p-40)+0x1p-1000)
}

// belowUp bounds the tail of the noise below the last layer at t - k h, up to where it is 1, layer by layer
// as sharedTailUp does it.
func belowUp(l leafTail, h float64) []float64 {
	var v []float64
	for _, x := range l.below {
		if x > 0 {
			v = append(v, x)
		}
	}
	var q []float64
	for k := 0; k < mostSharedSteps; k++ {
		x := arith.SumDown(l.t, -arith.Up(h*float64(k)))
		if !(x > 0) {
			break
		}
		if q = append(q, 0); len(v) > 0 {
			q[k] = curves.TailUp(law.Ratio(x, v[0]))
		}
	}
	q = append(q, 1)
	for i := 1; i < len(v); i++ {
		tails, next := halfTails(v[i], h, len(q)), make([]float64, len(q))
		for k := range next {
			if next[k] = meanUp(tails, q[k:]); k > 0 {
				next[k] = max(next[k], next[k-1])
			}
		}
		q = next
	}
	return q
}
