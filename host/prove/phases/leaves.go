// Package phases bounds P_safe from below by tails over the leaves of trees of phases ((62) and
// (65), docs/theory.md): each row of a safe set has a tree in which neurons are taken to be active
// or not, and a leaf's row has a tail as those of concentration LBP have. Hidden bounds are those
// of concentration LBP, for all of T, and serve all leaves.
//
// Trees, lower slopes and multipliers are found by a search in ordinary arithmetic on the network of the
// means; every bound is the device's and holds, however they were chosen.
package phases

import (
	"context"
	"math"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/branch"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

const (
	// mostNodes is how many nodes the trees of a box may have, mostNodesLimited how many where it is said
	// how long a task may take, and firstNodes how many a tau is chosen by.
	mostNodes, mostNodesLimited, firstNodes = 2048, slack.LeafNodes, 64
	// worthMore is the share of what a search fails with that the same number of nodes again has to
	// take away.
	worthMore = 0.02
	// mostRows is up to how many rows a set may have from some of which it follows.
	mostRows = 1024
	// mostWork is how many nodes times weights there may be unless time is limited.
	mostWork = 1 << 27
	// shareOfSearch is how much of a limited time the search may take; a device needs the rest for a proof.
	shareOfSearch = 0.7
	// moreApprox is by how much a device may find that trees fail more often than the search did.
	moreApprox = 1.1
)

// firstTaus are tried with few nodes; the best is searched with, and then multiplied by otherTaus.
var (
	firstTaus = []float64{1e-4, 1e-5, 1e-6, 1e-7}
	otherTaus = []float64{1.0 / 8, 1.0 / 4, 1.0 / 2, 2, 4}
)

// How says how to search.
type How struct {
	// Limited reports whether each task has a time of its own.
	Limited bool
	// Cells is how many cells T may be cut into; 0 leaves it to clbp.MostCells.
	Cells int
	// Known holds what is proved of each task already, nil for nothing.
	Known []float64
	// Decided, if set, says that the bounds of a result are all that is wanted.
	Decided func(*claim.Result) bool
}

// Certify bounds each task. Of a set with alternatives, rows are chosen from which it follows. Searches of several tasks
// go on beside each other, on all cores, and ask the device one after the other; those of a lane have a core. No result
// depends on it.
func Certify(ctx context.Context, e *engine.Engine, how How, tasks []property.Task) ([]*claim.Result, error) {
	results, errs := make([]*claim.Result, len(tasks)), make([]error, len(tasks))
	var device sync.Mutex
	one := func(i int) {
		lower := 0.0
		if how.Known != nil {
			lower = how.Known[i]
		}
		errs[i] = how.certify(ctx, &cells{e: e, device: &device, task: &tasks[i]}, lower, results[i])
	}
	for i := range tasks {
		results[i] = claim.NewResult(&tasks[i], "phases")
	}
	beside := e.Of() == nil && len(tasks) > 1
	if beside {
		if err := fault.OnCores(ctx, len(tasks), one); err != nil {
			return nil, err
		}
	}
	for i := range tasks {
		if !beside {
			one(i)
		}
		if err := errs[i]; err != nil && !e.Cut(err) {
			return nil, err
		}
	}
	return results, nil
}

// nodes returns how many nodes the trees of a task may have in all, by what drawn networks promise.
func (how *How) nodes(ctx context.Context, e *engine.Engine, t *property.Task, lower float64) int {
	share := promise(ctx, e, t, lower)
	if !(share >= leastPromise) {
		return 0
	}
	if how.Limited {
		return mostNodesLimited
	}
	weights := 0
	for _, l := range e.Normal.Network() {
		weights += l.Weights()
	}
	return int(share * float64(min(mostNodes, mostWork/weights)))
}

// certify has a search bound a task of which lower is proved: the failures of the cells of T add up.
func (how *How) certify(ctx context.Context, c *cells, lower float64, r *claim.Result) error {
	t, e := r.Task, c.e
	net := e.Normal.Network()
	if _, conjunction := t.S.Conjunction(); !bound.CanRefine(net) || !bound.CanSplit(net) || !conjunction && len(t.S.Rows) > mostRows {
		return nil
	}
	c.left, c.most = how.nodes(ctx, e, t, lower), max(clbp.MostCells(e, how.Cells, len(t.T)), len(t.T))
	if len(t.T) == 1 && how.Decided != nil {
		c.enough = func(fail float64) bool {
			so := claim.NewResult(t, "phases")
			so.LogP = arith.LogComplementDown(slack.LeavesUp(min(1, fail)))
			return how.Decided(so)
		}
	}
	roots, err := c.search(ctx)
	if err != nil || roots == nil {
		return err
	}
	fail := 0.0
	var trees []int
	var parts []*cell
	for _, root := range roots {
		fail = math.Nextafter(fail+root.best(), math.Inf(1))
		trees, parts = root.write(trees, parts)
	}
	if !(fail < 1) {
		return nil
	}
	for _, p := range parts {
		r.Proof.Tau, r.Proof.Leaves = append(r.Proof.Tau, p.found.tau), append(r.Proof.Leaves, p.found.proof)
	}
	r.LogP = arith.LogComplementDown(slack.LeavesUp(fail))
	r.Tau = slices.Max(r.Proof.Tau)
	if r.Proof.Cells = claim.UncutCells(trees); r.Proof.Cells != nil {
		r.Cells = len(parts)
	}
	return nil
}

// found holds what is proved of a box: the proof is that of tau.
type found struct {
	failUp, tau float64
	proof       *branch.LeafSum
}

// boxed bounds the failure on one box, by trees of up to most nodes in all, or fewer where what they fail with is
// enough, and says how many there were. It is nil where nothing is shown.
func (c *cells) boxed(ctx context.Context, box property.Box, most int, enough func(fail float64) bool) (*found, int, error) {
	e, t := c.e, c.task
	if slices.Equal(box.Lo, box.Hi) {
		return nil, 0, nil // nothing varies, and concentration LBP has what there is
	}
	q := &question{box: box, rows: t.S.Rows, device: c.device}
	s, tau, err := q.search(ctx, e, &t.S, most, enough)
	if err != nil || s == nil {
		return nil, 0, err
	}
	var leaves []int
	q.open = s.net.open
	for _, k := range s.trees {
		k.prune()
		list := k.leaves(nil)
		leaves, q.nodes = append(leaves, len(list)), append(q.nodes, list...)
	}
	best := &found{failUp: 1, proof: s.proof()}
	for _, factor := range append([]float64{1}, otherTaus...) {
		q.tau = tau * factor
		got, err := q.ask(ctx, e)
		if err != nil {
			if best.failUp < 1 && e.Cut(err) {
				break
			}
			return nil, s.nodes, err
		}
		if fail := math.Nextafter(clbp.ChainBudgetUp(e, false, q.tau)+got.failUp(leaves), math.Inf(1)); fail < best.failUp {
			best.failUp, best.tau = fail, q.tau
		}
	}
	if !(best.failUp < 1) {
		return nil, s.nodes, nil
	}
	return best, s.nodes, nil
}

// search looks for trees of rows and a tau for them, as long as it may take; nil where nothing is to be found.
func (q question) search(ctx context.Context, e *engine.Engine, safe *property.Safe, most int, enough func(fail float64) bool) (s *search, tau float64, err error) {
	ctx, end := e.Part(ctx, shareOfSearch)
	defer end()
	for _, q.tau = range firstTaus {
		root, err := q.ask(ctx, e)
		if s != nil && e.Cut(err) {
			return s, tau, nil
		}
		if err != nil || root == nil {
			return nil, 0, err
		}
		next := newMeanNet(e.Normal, q.box, root.known).searchOf(ctx, safe, clbp.ChainBudgetUp(e, false, q.tau))
		if next == nil {
			continue
		}
		if next.grow(ctx, firstNodes); s == nil || next.total() < s.total() {
			s, tau = next, q.tau
		}
	}
	if s == nil {
		return nil, 0, nil
	}
	for n := 2 * s.nodes; s.nodes < most && !enough(moreApprox*s.total()); n = 2 * s.nodes {
		before, nodes := s.total(), s.nodes
		if s.grow(ctx, min(n, most)); s.nodes == nodes || s.total() > (1-worthMore)*before {
			break
		}
	}
	return s, tau, nil
}
