package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/read/property"
)

// Sums of tails over the leaves of trees of phases (docs/theory.md, section 6.5): each leaf has a lower bound of its row
// whose noise is that of concentration LBP, on the event that hidden bounds for all of the box are right.

// leafSum holds what a record says of the rows of S on one box of T.
type leafSum struct {
	Open  [][]int     `json:"open"`
	Rows  []int       `json:"rows,omitempty"`
	Trees []phaseTree `json:"trees"`
}

// mostLeafCuts is the greatest number of cuts of all trees of a record, leafTries that of choices of lines.
const mostLeafCuts, leafTries = 1 << 11, 4

// byPhasesOrLeaves proves a lower bound of method phases by what its proof is.
func byPhasesOrLeaves(ctx context.Context, q *question) (chance, error) {
	if q.Proof.Leaves == nil {
		return byPhases(ctx, q)
	}
	return byLeaves(ctx, q)
}

// byLeaves proves a lower bound by sums over leaves of phases.
func byLeaves(ctx context.Context, q *question) (chance, error) {
	n, err := q.held.noisyOf(q.post, q.asked().number("--depth"))
	if err != nil {
		return chance{}, err
	}
	var proofs []leafSum
	if err := strictly(q.Proof.Leaves, &proofs); err != nil {
		return chance{}, fmt.Errorf("proof: leaves: %w", err)
	}
	if q, err = q.withMixtures(); err != nil {
		return chance{}, err
	}
	cells, err := q.cellsOfPhases()
	if err != nil {
		return chance{}, err
	}
	taus, err := tausOf(q.Proof.Tau, len(cells))
	switch {
	case err != nil:
		return chance{}, err
	case slices.Max(taus) != q.Tau || slices.Min(taus) == 0:
		return chance{}, fmt.Errorf("tau: it is %v, the largest of the proof is another, or one is 0", q.Tau)
	case len(proofs) != len(cells):
		return chance{}, fmt.Errorf("proof: leaves: there are %d, T has %d cells", len(proofs), len(cells))
	case !n.splits() || !n.graph.chain:
		return chance{}, errors.New("proof: leaves: the network is no chain of dense layers with ReLU")
	}
	if cuts := cutsOfLeaves(proofs); cuts > mostLeafCuts {
		return chance{}, fmt.Errorf("proof: leaves: there are %d cuts, the limit is %d", cuts, mostLeafCuts)
	}
	fail, err := triedUp(len(proofs), leafTries, q.enough, func(b int, try uint64) (float64, error) {
		fail, err := n.leavesUp(ctx, &q.task.S, cells[b], taus[b], &proofs[b], try)
		if err != nil {
			err = fmt.Errorf("proof: leaves: cell %d: %w", b, err)
		}
		return fail, err
	})
	return complement(fail), err
}

// rowsOf are the rows whose trees a proof has: those of S if it is a conjunction, else some from which it follows.
func (how *leafSum) rowsOf(safe *property.Safe) ([]int, error) {
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

// triedUp bounds the sum over boxes of what each fails with, by the least of some tries, until that is enough.
// A try ends as soon as its boxes so far fail with 1, and then there is no other: lines that are chosen in
// another way prove a little more, and a forged record is not worth as much work again.
func triedUp(boxes int, tries uint64, enough func(fail float64) bool, fails func(b int, try uint64) (float64, error)) (float64, error) {
	least := slices.Repeat([]float64{1}, boxes)
	for try := range tries {
		so := make([]float64, 0, boxes)
		for b := range boxes {
			fail, err := fails(b, try)
			if err != nil {
				return 1, err
			}
			least[b] = min(least[b], fail)
			if so = append(so, fail); totalUp(so) >= 1 {
				return min(1, totalUp(least)), nil
			}
		}
		if enough(totalUp(least)) {
			break
		}
	}
	return min(1, totalUp(least)), nil
}

// cutsOfLeaves are the nodes of all trees that are no leaves.
func cutsOfLeaves(proofs []leafSum) (cuts int) {
	for _, p := range proofs {
		cuts += cutsOfPhases([]phaseProof{{Trees: p.Trees}})
	}
	return cuts
}

// leavesUp bounds the probability that the network leaves S on a cell of T: (62), with (65) where there is
// more than one hidden layer.
func (n *noisy) leavesUp(ctx context.Context, safe *property.Safe, cell property.Box, tau float64, how *leafSum, try uint64) (float64, error) {
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
	shape := phaseProof{Open: how.Open, Raised: none, Trees: how.Trees}
	if err := shape.shaped(n.mean, len(rows)); err != nil {
		return 1, err
	}
	p := n.newCellPass(cell, tau, try+1) // 0 is for bounds that certify does not use here
	fails := []float64{p.budgetUp()}
	for r, row := range rows {
		fail, err := p.treeUp(ctx, &safe.Rows[row], how.Open, &how.Trees[r])
		if err != nil {
			return 1, fmt.Errorf("row %d: %w", row, err)
		}
		if fails = append(fails, fail); totalUp(fails) >= 1 {
			break
		}
	}
	return min(1, totalUp(fails)), nil
}

// treeUp bounds the probability that a row is negative somewhere on the box and all hidden bounds are right.
func (p *cellPass) treeUp(ctx context.Context, row *property.Row, open [][]int, tree *phaseTree) (float64, error) {
	leaves, err := p.leafTails(ctx, row, open, tree)
	if err != nil {
		return 1, err
	}
	// With one hidden layer the mean of the last layer's noise is (38), which leaves do not have in common.
	return leavesTailUp(leaves, len(p.layers) > 2), nil
}

// leafTails returns the tails of the leaves of a row's tree.
func (p *cellPass) leafTails(ctx context.Context, row *property.Row, open [][]int, tree *phaseTree) (leaves []leafTail, err error) {
	last := len(p.layers) - 1
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = abs(row.CLo[i], row.CHi[i])
	}
	var own noises
	if p.levels.noise[last] {
		own.add(p.levels.of[last], p.deviations[last].ofRow(most, p.reachInto(last), p.into(last)))
	}
	s, c := p.layers[last].merged(row)
	err = p.pass.walk(ctx, open, tree, func(by leafLines) error {
		f, met := &fall{a: make([][]float64, last)}, own.clone()
		lo := p.rowLo(s, c, by, f)
		for l, a := range f.a {
			if p.levels.noise[l] {
				met.add(p.levels.of[l], p.deviations[l].ofRow(a, p.reachInto(l), p.into(l)))
			}
		}
		list := p.sharp(last, squaresUp(most), f, &met)
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

func newLeafTail(lo float64, list []noise) leafTail {
	var t arith.Sum
	t.Plus(lo)
	var below []float64
	for i, n := range list {
		if t.Plus(-n.mean); i > 0 {
			below = append(below, n.variance)
		}
	}
	return leafTail{t.Lo(), list[0].variance, below}
}

// leavesTailUp bounds the probability that a row is negative in a leaf: by the sum of their tails or, where the
// noise of the last layer is shared, by (65).
func leavesTailUp(leaves []leafTail, shared bool) float64 {
	var tails []float64
	for _, l := range leaves {
		tails = append(tails, noiseTailUp(l.t, append([]float64{l.last}, l.below...)))
	}
	sum := totalUp(tails)
	if shared && len(leaves) > 1 && sum > worthSteps {
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
		s[k] = totalUp(at)
	}
	return meanUp(halfTails(last, h, n), s)
}

// halfTails bounds Prob(-g >= k h) for g of a variance.
func halfTails(v, h float64, n int) []float64 {
	tails := make([]float64, n)
	z := ratio(h, v)
	for k := range tails {
		tails[k] = gauss.TailOfUp(z.Times(arith.DDOf(float64(k))))
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
			q[k] = gauss.TailOfUp(ratio(x, v[0]))
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
