package boxes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// piece is a weight box that came from cutting a wider one.
type piece struct {
	box bound.Explicit
	// massApprox orders the work; it is no bound.
	massApprox float64
	at         *cutNode
}

// cutNode is a piece's place in the tree of the box that it was cut from: a leaf, or where
// it was cut in two.
type cutNode struct {
	array, weight int
	where         float64
	parts         []*cutNode
}

// preorder appends the node's tree as Proof.Cuts writes it.
func (n *cutNode) preorder(tree [][]float64) [][]float64 {
	if n.parts == nil {
		return append(tree, []float64{})
	}
	tree = append(tree, []float64{float64(n.array), float64(n.weight), n.where})
	for _, p := range n.parts {
		tree = p.preorder(tree)
	}
	return tree
}

// splitBatch is how many pieces are cut at a time.
const splitBatch = 16

// split tries to prove more than the one box of r: it starts with a wider box
// around the mean, which did not verify, and cuts it, always the likeliest piece
// that is not proved, at the weight whose interval moves the margin most. Pieces
// of one box share at most faces, which have probability 0 (only weights with
// sd > 0 are cut), so the masses of proved pieces add up (docs/theory.md (7)). The largest
// sum replaces the result of r if it is more than r has.
//
// How wide to start is a matter of luck: much wider where few weights matter, a
// little where many do. Each start gets an equal share of the cuts.
func (s centred) split(ctx context.Context, r *claim.Result) error {
	roots := s.roots(r)
	single := slices.Clone(r.Gamma)
	for i, gamma := range roots {
		cuts := s.how.Splits/len(roots) + min(1, max(0, s.how.Splits%len(roots)-i))
		logs, tree, err := s.splitFrom(ctx, r, gamma, cuts)
		if err != nil {
			return err
		}
		if len(logs) == 0 {
			continue
		}
		if sum := measure.DisjointSumLogDown(logs); sum > r.LogP {
			r.LogP, r.SafeBoxes, r.Rule, r.Gamma = sum, len(logs), "disjoint", gamma
			r.Proof.Cuts = tree.preorder(nil)
		}
	}
	if r.Rule != "disjoint" {
		r.Gamma = single
	}
	return nil
}

// fewWeights is up to where starting anywhere but at the widest box is a waste.
const fewWeights = 50

// roots are the half-widths of boxes to start cutting from.
func (s centred) roots(r *claim.Result) [][]float64 {
	widest := s.gammas(math.Min(measure.GammaForMassApprox(1-1e-6, max(1, s.e.Normal.Random())), s.e.Reach))
	roots := [][]float64{widest}
	if r.SafeBoxes > 0 && r.Gamma[0] > 0 && s.e.Normal.Random() > fewWeights {
		for _, factor := range []float64{1.5, 1.2, 1.07} {
			wider := slices.Clone(r.Gamma)
			for k, g := range wider {
				wider[k] = s.e.Device.Precision().Nearest(min(g*factor, s.e.Reach))
			}
			roots = append(roots, wider)
		}
	}
	return roots
}

// splitFrom cuts the box of half-widths gamma and returns the log-masses of the
// pieces that are proved, and how it was cut.
func (s centred) splitFrom(ctx context.Context, r *claim.Result, gamma []float64, cuts int) (logs []float64, tree *cutNode, err error) {
	root, err := s.box(gamma)
	if err != nil {
		return nil, nil, err
	}
	tree = &cutNode{}
	open := []piece{{root, 0, tree}}
	for cuts > 0 && len(open) > 0 {
		slices.SortStableFunc(open, func(a, b piece) int { return cmp.Compare(b.massApprox, a.massApprox) })
		n := min(len(open), splitBatch, cuts)
		var children []piece
		for _, p := range open[:n] {
			if ctx.Err() == nil {
				children = append(children, s.cut(r.Task, p)...)
			}
		}
		cuts -= n
		rest, proved, err := s.tryPieces(ctx, r, children)
		logs = append(logs, proved...)
		if err != nil {
			if s.e.Cut(err) { // what is not proved is in the tree and in no sum
				return logs, tree, nil
			}
			return nil, nil, err
		}
		open = append(slices.Clone(open[n:]), rest...)
	}
	return logs, tree, nil
}

// tryPieces verifies pieces; it returns those that are left to cut and the
// log-masses of those that are proved, some of them if it ends with an error.
func (s centred) tryPieces(ctx context.Context, r *claim.Result, pieces []piece) (rest []piece, logs []float64, err error) {
	var probes []*engine.Probe
	for i := range pieces {
		probes = append(probes, engine.BoxProbe(r.Task, &pieces[i].box))
	}
	err = ctx.Err()
	if err == nil {
		err = s.verify(ctx, probes)
	}
	if err != nil {
		return nil, nil, err
	}
	r.Boxes += len(probes)
	for i, p := range probes {
		if err := ctx.Err(); err != nil {
			return nil, logs, err
		}
		mass := massDown(&s.e.Flat, pieces[i].box)
		if p.Margin >= 0 {
			logs = append(logs, mass)
		} else {
			pieces[i].massApprox = mass
			if hopelessApprox(s.e.Normal, r.Task, &pieces[i].box) {
				pieces[i].massApprox -= hopelessPenalty
			}
			rest = append(rest, pieces[i])
		}
	}
	return rest, logs, nil
}

// cut halves a piece, by probability, at its most sensitive weight; it returns
// nothing if no weight can be cut.
func (s centred) cut(t *property.Task, p piece) []piece {
	array, w := mostSensitive(s.e.Normal, t, &p.box)
	if array < 0 {
		return nil
	}
	g := s.e.Normal.Params()[array]
	lo, hi := p.box.Lo[array][w], p.box.Hi[array][w]
	at := s.e.Device.Precision().Nearest(medianApprox(lo, hi, g.Mean[w], g.SdHi[w]))
	if !(at > lo && at < hi) {
		return nil
	}
	left, right := p, p
	left.at, right.at = &cutNode{}, &cutNode{}
	*p.at = cutNode{array, w, at, []*cutNode{left.at, right.at}}
	left.box.Hi = replaced(p.box.Hi, array, w, at)
	right.box.Lo = replaced(p.box.Lo, array, w, at)
	return []piece{left, right}
}

// replaced copies a list of arrays with one entry changed.
func replaced(arrays [][]float64, array, w int, v float64) [][]float64 {
	out := slices.Clone(arrays)
	out[array] = slices.Clone(arrays[array])
	out[array][w] = v
	return out
}

// medianApprox is about where a normal variable's mass in [lo, hi] is halved.
func medianApprox(lo, hi, mean, sd float64) float64 {
	cdf := func(x float64) float64 { return math.Erfc((mean - x) / (sd * math.Sqrt2)) }
	half := (cdf(lo) + cdf(hi)) / 2
	a, b := lo, hi
	for range 60 {
		if m := (a + b) / 2; cdf(m) < half {
			a = m
		} else {
			b = m
		}
	}
	return (a + b) / 2
}
