package phases

import (
	"cmp"
	"context"
	"math"
	"slices"

	"psafe/host/prove/branch"
	"psafe/host/read/property"
)

// node is a leaf of a tree, or what was one: a row of the property where some neurons have phases.
type node struct {
	row int
	// alpha are the lower slopes of the open neurons, in 128ths, and cuts the phases.
	alpha []uint8
	cuts  []cut
	// score is how many standard deviations the row is above 0 with them, tail about the tail that this
	// is, and best the least sum of tails in the tree from here down.
	score, tail, best float64
	parent            *node
	// at is the open neuron that it was cut at, parts are its parts, active first.
	at    int
	parts []*node
	// vain is how many cuts above have gained nothing.
	vain int
}

// cut is a phase of an open neuron, +1 or -1, and its multiplier.
type cut struct {
	at          int
	phase, beta float64
}

// root is the whole box.
func (n *meanNet) root(row int) *node {
	k := &node{row: row, score: math.Inf(-1), tail: 1, best: 1}
	for _, o := range n.open {
		k.alpha = append(k.alpha, branch.SlopeByte(n.layers[o.layer].usual[o.unit]))
	}
	return k
}

// with is the part of a node where an open neuron has this phase.
func (k *node) with(at int, phase float64) *node {
	return &node{row: k.row, alpha: slices.Clone(k.alpha), cuts: append(slices.Clone(k.cuts), cut{at, phase, 0}), score: math.Inf(-1), tail: 1, best: 1, parent: k}
}

// keep takes over slopes, multipliers and the score of row r.
func (k *node) keep(d *descent, r int) {
	for o, n := range d.net.open {
		k.alpha[o] = branch.SlopeByte(d.alpha[n.layer].Data[r*d.alpha[n.layer].Cols+n.unit])
	}
	for i, c := range k.cuts {
		n := d.net.open[c.at]
		k.cuts[i].beta = d.beta[n.layer].Data[r*d.beta[n.layer].Cols+n.unit]
	}
	k.score = d.score[r]
	k.tail = tailApprox(k.score)
}

// tailApprox is about the tail of a row so many standard deviations above 0.
func tailApprox(score float64) float64 {
	if !(score > 0) {
		return 1
	}
	return min(1, math.Erfc(score/math.Sqrt2))
}

// descentOf are nodes on their way down.
func (n *meanNet) descentOf(nodes []*node) *descent {
	rows := make([]int, len(nodes))
	for r, k := range nodes {
		rows[r] = k.row
	}
	d := n.newDescent(rows)
	for r, k := range nodes {
		for o, a := range n.open {
			d.alpha[a.layer].Data[r*d.alpha[a.layer].Cols+a.unit] = float64(k.alpha[o]) * branch.SlopeUnit
		}
		for _, c := range k.cuts {
			a := n.open[c.at]
			d.phase[a.layer].Data[r*d.phase[a.layer].Cols+a.unit] = c.phase
			d.beta[a.layer].Data[r*d.beta[a.layer].Cols+a.unit] = c.beta
		}
	}
	return d
}

const (
	// batch is how many nodes are cut at a time, and candidates how many neurons are tried for each.
	batch, candidates = 16, 8
	// mostVain is how many cuts in a row may gain nothing before a part is left alone, and worthCut the share
	// of the tail that a cut has to leave at most to have gained something.
	mostVain, worthCut = 3, 0.98
	// enough is the share of what is paid anyway below which a node is not cut.
	enough = 0x1p-10
)

// search is a search for trees of all rows.
type search struct {
	net   *meanNet
	trees []*node
	// leaves are the nodes that may be cut.
	leaves []*node
	// nodes is how many there are, budget what is paid beside the tails.
	nodes  int
	budget float64
	// chosen reports whether the rows are some of which the set follows.
	chosen bool
}

// newSearch begins with one leaf for each row.
func (n *meanNet) newSearch(ctx context.Context, rows []int, budget float64) *search {
	s := &search{net: n, budget: budget, nodes: len(rows)}
	for _, r := range rows {
		s.trees = append(s.trees, n.root(r))
	}
	n.climb(ctx, s.trees, rootRounds)
	for _, k := range s.trees {
		k.best = k.tail
	}
	s.leaves = slices.Clone(s.trees)
	return s
}

// searchOf begins a search for the rows of a set: of one with alternatives, for rows from which it follows, those of the
// least tails without phases. Nil: there are none.
func (n *meanNet) searchOf(ctx context.Context, safe *property.Safe, budget float64) *search {
	if rows, conjunction := safe.Conjunction(); conjunction {
		return n.newSearch(ctx, rows, budget)
	}
	all := make([]int, len(safe.Rows))
	for r := range all {
		all[r] = r
	}
	s := n.newSearch(ctx, all, budget)
	cost := make([]float64, len(all))
	for _, k := range s.trees {
		cost[k.row] = k.tail
	}
	rows, ok := safe.Implicant(cost)
	if !ok {
		return nil
	}
	s.trees = slices.DeleteFunc(s.trees, func(k *node) bool { return !slices.Contains(rows, k.row) })
	s.leaves, s.nodes, s.chosen = slices.Clone(s.trees), len(s.trees), true
	return s
}

// total is about what the trees fail with.
func (s *search) total() float64 {
	sum := s.budget
	for _, k := range s.trees {
		sum += min(1, k.best)
	}
	return sum
}

// grow cuts nodes until there are so many, nothing is left to be gained, or ctx ends.
func (s *search) grow(ctx context.Context, most int) {
	for s.nodes < most && ctx.Err() == nil {
		slices.SortStableFunc(s.leaves, func(a, b *node) int { return cmp.Compare(b.weight(), a.weight()) })
		floor := enough * s.total()
		end := 0
		for end < len(s.leaves) && end < batch && s.leaves[end].weight() > floor {
			end++
		}
		if end == 0 {
			return
		}
		now := slices.Clone(s.leaves[:end])
		s.leaves = append(s.leaves[end:], s.cut(ctx, now)...)
	}
}

// weight tells how much there may be to be gained by cutting a node.
func (k *node) weight() float64 { return math.Ldexp(k.tail, -k.vain) }

// cut cuts nodes in two, each at the neuron whose parts have the least tails of those that promise most,
// and returns the parts that may be cut again.
func (s *search) cut(ctx context.Context, nodes []*node) (parts []*node) {
	d := s.net.descentOf(nodes)
	d.down()
	d.up()
	var tries []*node
	from := make([]int, len(nodes)+1)
	for r, k := range nodes {
		for _, at := range s.promising(d, r, k) {
			tries = append(tries, k.with(at, 1), k.with(at, -1))
		}
		from[r+1] = len(tries)
	}
	if len(tries) == 0 {
		return nil
	}
	s.net.climb(ctx, tries, 0)
	for r, k := range nodes {
		if from[r] == from[r+1] {
			continue
		}
		best := from[r]
		for at := from[r]; at < from[r+1]; at += 2 {
			if sumOf(tries[at:]) < sumOf(tries[best:]) {
				best = at
			}
		}
		k.at, k.parts = tries[best].cuts[len(k.cuts)].at, tries[best:best+2:best+2]
		parts = append(parts, k.parts...)
	}
	s.net.climb(ctx, parts, childRounds)
	s.nodes += len(parts)
	for _, k := range nodes {
		if k.parts == nil {
			continue
		}
		vain := k.vain + 1
		if sumOf(k.parts) < worthCut*k.tail {
			vain = 0
		}
		for _, p := range k.parts {
			p.best, p.vain = p.tail, vain
		}
		for up := k; up != nil; up = up.parent {
			up.best = min(up.tail, up.parts[0].best+up.parts[1].best)
		}
	}
	return slices.DeleteFunc(parts, func(k *node) bool { return k.vain > mostVain || len(k.cuts) == len(s.net.open) })
}

// sumOf is the sum of the tails of two parts, or where both say nothing how little that is.
func sumOf(parts []*node) float64 {
	return parts[0].tail + parts[1].tail - 0x1p-20*(min(parts[0].score, 0)+min(parts[1].score, 0))
}

// promising lists the open neurons without a phase where row r of d loses most.
func (s *search) promising(d *descent, r int, k *node) []int {
	type scored struct {
		at    int
		score float64
	}
	var list []scored
	for o, n := range s.net.open {
		if !slices.ContainsFunc(k.cuts, func(c cut) bool { return c.at == o }) {
			list = append(list, scored{o, d.loss(r, n)})
		}
	}
	slices.SortStableFunc(list, func(x, y scored) int { return cmp.Compare(y.score, x.score) })
	var best []int
	for _, x := range list[:min(candidates, len(list))] {
		best = append(best, x.at)
	}
	return best
}

// loss is about what row r loses at a neuron: the coefficient times the distance of its line from max(t, 0),
// where the gradient has it, and a share of the greatest such distance.
func (d *descent) loss(r int, n neuronAt) float64 {
	l := &d.net.layers[n.layer]
	at := r*l.out + n.unit
	s, lo, hi := d.s[n.layer].Data[at], l.lo[n.unit], l.hi[n.unit]
	t := min(max(d.gradient[n.layer].Data[at], lo), hi)
	const share = 0.1
	more := share * math.Abs(s) * hi * -lo / (hi - lo)
	if s >= 0 {
		return s*(max(t, 0)-d.alpha[n.layer].Data[at]*t) + more
	}
	return -s*(hi/(hi-lo)*(t-lo)-max(t, 0)) + more
}

// prune makes leaves of nodes whose parts are not better than they are.
func (k *node) prune() {
	if k.parts == nil {
		return
	}
	if k.tail <= k.best {
		k.parts = nil
		return
	}
	for _, p := range k.parts {
		p.prune()
	}
}

// leaves appends the leaves of the tree from here down, in preorder.
func (k *node) leaves(list []*node) []*node {
	if k.parts == nil {
		return append(list, k)
	}
	for _, p := range k.parts {
		list = p.leaves(list)
	}
	return list
}
