package prove

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Means of outputs over the posterior (docs/theory.md, section 9.8), which are bounded beside P_safe.

// HasMean says in one line why the means of a posterior's outputs cannot be bounded; nil if they can.
func HasMean(p *posterior.Posterior) error {
	const what = "means are bounded for finite sets of networks, and for independent normal weights or dropout in dense layers with ReLU between them"
	if p.Networks() != nil {
		return nil
	}
	for k := range p.Layers {
		below, kinked := p.Layers[k].Activation.Kinked()
		if !kinked || below != map[bool]float64{true: 1}[k == len(p.Layers)-1] {
			return fmt.Errorf("%s; the activation of layer %d is %v", what, k, p.Layers[k].Activation)
		}
	}
	if (p.Independent() || p.Dropout() != nil) && p.Network().Chain() {
		return nil
	}
	return fmt.Errorf("%s; this is %s", what, p.Describe())
}

// meanPieces is how many cells T may be cut into to bound a mean, where there are few inputs and nobody
// says otherwise, and meanRound how many are cut at a time for each end.
const (
	meanPieces    = 1024
	meanPiecesSet = 256
	meanRound     = 8
)

// means bounds the means of each result's task.
func means(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if err := HasMean(e.Posterior); err != nil {
		return err
	}
	most := cfg.Cells
	if most == 0 {
		if most = 1; e.Normal.Inputs() <= decide.FewInputs {
			most = meanPieces
			if e.Posterior.Networks() != nil {
				most = meanPiecesSet
			}
		}
	}
	m := &meaner{e: e}
	for _, r := range results {
		mean, err := m.task(ctx, most, r.Task)
		if err != nil {
			return err
		}
		if cfg.Noise != nil {
			mean.WithNoise(*cfg.Noise)
		}
		r.Mean, r.Proof.Mean = mean, &mean.Proof
	}
	return nil
}

// meaner bounds means on cells.
type meaner struct{ e *engine.Engine }

// byLines reports whether means are those of bounds of each network.
func (m *meaner) byLines() bool { return m.e.Posterior.Networks() != nil }

// meanCell is a cell of T, what is proved of the means there, and its halves.
type meanCell struct {
	box    property.Box
	axis   int
	parts  []*meanCell
	lo, hi []float64
	// sdLo and sdHi are what is claimed of the deviations.
	sdLo, sdHi []float64
}

// task bounds the means on T: the cells that reach furthest are halved.
func (m *meaner) task(ctx context.Context, most int, t *property.Task) (*claim.Mean, error) {
	var roots []*meanCell
	for _, b := range t.T {
		roots = append(roots, m.cellOf(b))
	}
	leaves := slices.Clone(roots)
	err := m.bound(ctx, leaves)
	for err == nil && len(leaves) < most {
		cut := m.furthest(leaves, most-len(leaves))
		if len(cut) == 0 {
			break
		}
		var halves []*meanCell
		for _, p := range cut {
			p.axis = p.box.Widest()
			left, right := p.box.Halves(p.axis)
			halves = append(halves, m.cellOf(left), m.cellOf(right))
		}
		if err = m.bound(ctx, halves); err == nil {
			for i, p := range cut {
				p.parts = halves[2*i : 2*i+2]
			}
			leaves = append(slices.DeleteFunc(leaves, func(p *meanCell) bool { return p.parts != nil }), halves...)
		}
	}
	if err != nil && !m.e.Cut(err) {
		return nil, err
	}
	r := m.hull(roots)
	if err == nil && !claim.HoldsOn(&t.S, r.Lower, r.Upper) {
		err = m.refute(ctx, t, leaves, r)
	}
	if err != nil && !m.e.Cut(err) {
		return nil, err
	}
	return r, nil
}

func (m *meaner) cellOf(b property.Box) *meanCell {
	n := m.e.Posterior.Outputs()
	return &meanCell{box: b, lo: slices.Repeat([]float64{math.Inf(-1)}, n), hi: slices.Repeat([]float64{math.Inf(1)}, n),
		sdLo: make([]float64, n), sdHi: slices.Repeat([]float64{math.Inf(1)}, n)}
}

// worthCutting is the share of the range of a mean that is not worth a cut.
const worthCutting = 2e-4

// furthest are the cells that reach furthest, for each end of each mean: those that reach clearly
// beyond what some cell has for sure.
func (m *meaner) furthest(leaves []*meanCell, room int) []*meanCell {
	chosen := map[*meanCell]bool{}
	var list []*meanCell
	take := func(reach func(p *meanCell) float64, sure float64) {
		sorted := slices.Clone(leaves)
		slices.SortStableFunc(sorted, func(a, b *meanCell) int {
			switch x, y := reach(a), reach(b); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		for _, p := range sorted[:min(len(sorted), meanRound)] {
			if len(list) < room && !chosen[p] && reach(p) < sure && !slices.Equal(p.box.Lo, p.box.Hi) {
				chosen[p] = true
				list = append(list, p)
			}
		}
	}
	for i := range m.e.Posterior.Outputs() {
		low, high, first, last := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
		for _, p := range leaves {
			low, high, first, last = min(low, p.hi[i]), max(high, p.lo[i]), min(first, p.lo[i]), max(last, p.hi[i])
		}
		more := 0.0
		if w := last - first; w <= math.MaxFloat64 {
			more = worthCutting * w
		}
		take(func(p *meanCell) float64 { return p.lo[i] }, low-more)
		take(func(p *meanCell) float64 { return -p.hi[i] }, -high-more)
	}
	return list
}

// hull returns what the cells of all boxes of T show, a little less than that.
func (m *meaner) hull(roots []*meanCell) *claim.Mean {
	outputs := m.e.Posterior.Outputs()
	r := &claim.Mean{Lower: slices.Repeat([]float64{math.Inf(1)}, outputs), Upper: slices.Repeat([]float64{math.Inf(-1)}, outputs),
		DeviationLower: slices.Repeat([]float64{math.Inf(1)}, outputs), DeviationUpper: make([]float64, outputs)}
	var trees []int
	var add func(p *meanCell)
	add = func(p *meanCell) {
		if p.parts != nil {
			trees = append(trees, p.axis)
			for _, half := range p.parts {
				add(half)
			}
			return
		}
		trees = append(trees, claim.Leaf)
		for i := range outputs {
			r.Lower[i], r.Upper[i] = min(r.Lower[i], p.lo[i]), max(r.Upper[i], p.hi[i])
			r.DeviationLower[i], r.DeviationUpper[i] = min(r.DeviationLower[i], p.sdLo[i]), max(r.DeviationUpper[i], p.sdHi[i])
		}
	}
	for _, p := range roots {
		add(p)
	}
	for i := range outputs {
		r.Lower[i], r.Upper[i] = slack.Mean(r.Lower[i], r.Upper[i], m.byLines())
	}
	r.Proof.Cells = claim.UncutCells(trees)
	return r
}

// refute looks among the centres of cells for a point where the mean is surely not in S.
func (m *meaner) refute(ctx context.Context, t *property.Task, leaves []*meanCell, r *claim.Mean) error {
	var at []claim.Witness
	var points []*meanCell
	for _, p := range leaves {
		x := p.box.CentreApprox()
		for b := range t.T {
			if t.T[b].Contains(x) {
				if w, around := claim.NewWitness(t, b, x); around.Lo != nil {
					at, points = append(at, w), append(points, m.cellOf(around))
				}
				break
			}
		}
	}
	if err := m.bound(ctx, points); err != nil {
		return err
	}
	for k, p := range points {
		for i := range p.lo {
			p.lo[i], p.hi[i] = slack.Mean(p.lo[i], p.hi[i], m.byLines())
		}
		if claim.FailsOn(&t.S, p.lo, p.hi) {
			r.Refuted, r.Proof.Witness = true, &at[k]
			return nil
		}
	}
	return nil
}

// bound bounds the means on cells.
func (m *meaner) bound(ctx context.Context, cells []*meanCell) error {
	if !m.byLines() {
		return fault.OnCores(ctx, len(cells), func(i int) { m.boundMoments(cells[i]) })
	}
	if len(cells) == 0 {
		return nil
	}
	var boxes []property.Box
	for _, p := range cells {
		boxes = append(boxes, p.box)
	}
	list, err := decide.MomentsOfSet(ctx, m.e, boxes)
	for i, is := range list {
		p := cells[i]
		p.lo, p.hi = is.Lower, is.Upper
		for o := range p.lo {
			p.sdLo[o], p.sdHi[o] = slack.DeviationOfSet(is.DeviationDown[o], is.DeviationUp[o], max(math.Abs(p.lo[o]), math.Abs(p.hi[o])))
		}
	}
	return err
}

// boundMoments bounds the means and deviations on a cell, of independent normal weights or dropout.
func (m *meaner) boundMoments(p *meanCell) {
	for i, y := range moments(m.e.Posterior, p.box) {
		if math.IsNaN(y.mean.Lo) || math.IsNaN(y.mean.Hi) {
			y.mean = arith.Of(math.Inf(-1), math.Inf(1))
		}
		p.lo[i], p.hi[i] = y.mean.Lo, y.mean.Hi
		size := y.square.Hi
		if math.IsNaN(size) || math.IsNaN(y.variance.Lo) || math.IsNaN(y.variance.Hi) {
			y.variance, size = arith.Of(0, math.Inf(1)), math.Inf(1)
		}
		p.sdLo[i], p.sdHi[i] = slack.Deviation(y.variance.Lo, y.variance.Hi, size)
	}
}
