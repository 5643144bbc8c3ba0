package neuronsum

import (
	"cmp"
	"context"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// weight is a_i as sums at points need it, by coarseness: number 0 for the fine
// lattice, 1 for the coarse one that is tried first.
type weight struct {
	mean, sd ival
	neg, pos [2]measure.Split
}

// rowWeights are the weights of one row, and a_0.
type rowWeights struct {
	neurons        []weight
	mean, variance ival
	approx         *rowApprox
}

func (n *Sum) rowWeights(row property.Row, b *sumBins) *rowWeights {
	f := n.factors(row)
	if f == nil {
		return nil
	}
	w := &rowWeights{mean: f.mean, variance: f.variance, neurons: make([]weight, len(f.neurons)), approx: n.rowApprox(&row)}
	for i := range f.neurons {
		a := &w.neurons[i]
		a.mean, a.sd = f.neurons[i].mean, f.neurons[i].sd
		for c := range a.neg {
			a.neg[c], a.pos[c] = b[c][0].signed(a.mean, a.sd)
		}
	}
	return w
}

// pointUp bounds Prob(sum_i X_i + a_0 <= 0, and no neuron large) for the stand-ins at the point p.
func (n *Sum) pointUp(p *gridPoint, v []pointNeuron, w *rowWeights, large *LargeNeurons, l *lawApprox, rare bool, b *sumBins) float64 {
	mean, variance, lost := w.mean, w.variance, 0.0
	var terms []measure.Product
	for i := range v {
		h, a := &v[i], &w.neurons[i]
		if !(h.lost < 1) {
			return 1
		}
		if !h.constant {
			c := w.approx.coarseWeight(l, i, rare)
			t := measure.Product{Pos: a.pos[c], Low: h.low, Neg: a.neg[c], High: h.high, Lost: h.lost}
			if a.sd.hi > 0 {
				t.Lost = above(t.Lost + b[0][0].beyond)
			}
			if large != nil {
				t.Large = n.large(large, p, i, h)
			}
			terms = append(terms, t)
			continue
		}
		mean = mean.plus(a.mean.times(h.value))
		variance = variance.plus(a.sd.square().times(h.value.square()))
		lost = sumUp(lost, h.lost)
	}
	rest := asNormal(mean, variance.sqrt())
	if !mean.finite() || !variance.finite() {
		return 1
	}
	if len(terms) == 0 {
		return sumUp(rest.BelowUp(0), lost)
	}
	best := measure.ProductsNotPositiveUp(terms, rest, parallel)
	return max(min(1, sumUp(best, lost)), float64(len(terms))*leastLost)
}

// GridCover is a bound that has one event for each point of a grid.
type GridCover struct {
	// FailUp is an upper bound, at most 1, of Prob(f(x) is outside of S for some x in T).
	FailUp float64
	// Points is how many points there are.
	Points int
	// Cuts are the grids' planes, for each box and each axis (Grid.Cuts).
	Cuts [][][]float64
	// Centres are, for each box and axis, the coordinates of the points of cells whose signs count,
	// one between each two planes.
	Centres [][][]float64
	// Theta are the mixtures whose rows were proved (property.Safe.Mixed), nil if they are the rows
	// of one alternative of S.
	Theta [][]float64
	// Large are, for each box and each row, the neurons that are split off; nil where none are.
	Large [][]*LargeNeurons
}

// Grids bounds the failure probability on the union of boxes by the sum over the points of grids,
// at most budget, that it chooses (chooser), as it does the rows. Where little hope is left, 1
// comes early. The error is ctx's, and then the bound is 1.
func (n *Sum) Grids(ctx context.Context, boxes []property.Box, s *property.Safe, budget int) (GridCover, error) {
	n, none := n.Until(ctx), GridCover{FailUp: 1}
	for _, b := range boxes {
		if len(b.Lo) != n.hidden.Inputs() {
			return none, nil
		}
	}
	if !n.convex || len(boxes) == 0 || hardlySpread(n.hidden) || hardlySpread(n.output) {
		return none, ctx.Err()
	}
	for _, b := range boxes {
		if ctx.Err() != nil || n.SafeApprox(n.PointApprox(b, s), s) < pointHopeless {
			return none, ctx.Err()
		}
	}
	choice, ok := n.chooseGrids(ctx, boxes, s, budget)
	if !ok || !(choice.approx < gridHopeless) || ctx.Err() != nil {
		return none, ctx.Err()
	}
	cover := GridCover{Points: points(choice.grids), Theta: choice.theta}
	for _, g := range choice.grids {
		centres := make([][]float64, len(g.Cuts))
		for j := range centres {
			centres[j] = g.centres(j)
		}
		cover.Cuts, cover.Centres = append(cover.Cuts, g.Cuts), append(cover.Centres, centres)
	}
	var err error
	if choice.theta != nil {
		cover.Large = n.chooseLarge(ctx, choice.grids, choice.rows)
	}
	if cover.FailUp, err = n.gridsUp(ctx, choice.grids, choice.rows, cover.Large); err != nil {
		return none, err
	}
	if !(cover.FailUp < 1-LeastTold) {
		return none, nil
	}
	return cover, nil
}

// hardlySpread says that some standard deviation is next to nothing, but not 0: psafe check, which
// cuts such weights elsewhere, could not prove again what is claimed.
func hardlySpread(l *posterior.Layer) bool {
	tiny := func(sd float64) bool { return sd > 0 && sd < 0x1p-500 }
	return slices.ContainsFunc(l.Weight.SdHi, tiny) || slices.ContainsFunc(l.Bias.SdHi, tiny)
}

// pointHopeless is how probable S must be at the worst point that is found, for grids to be chosen.
const pointHopeless = 0.3

// gridHopeless is from which sum, by moments, a bound is not worked out.
const gridHopeless = 1.2

// gridsUp is the sum over points and rows, and over boxes and rows of what is split off (large, if
// any); 1 as soon as it is no less. The likeliest failures come first.
func (n *Sum) gridsUp(ctx context.Context, grids []Grid, rows []property.Row, large [][]*LargeNeurons) (float64, error) {
	b := gridBins()
	var laws []*rowWeights
	for r := range rows {
		w := n.rowWeights(rows[r], b)
		if w == nil {
			return 1, ctx.Err()
		}
		laws = append(laws, w)
	}
	sum, none := 0.0, make([]*LargeNeurons, len(rows))
	var all []gridPoint
	var off [][]*LargeNeurons // by points
	for g := range grids {
		if !grids[g].valid() {
			return 1, ctx.Err()
		}
		all = append(all, grids[g].points()...)
		these := none
		if large != nil {
			these = large[g]
		}
		for r, l := range these {
			if l == nil {
				continue
			}
			if !l.valid(n.hidden.Inputs()) {
				return 1, ctx.Err()
			}
			sum = sumUp(sum, n.largeUp(l, laws[r], b[0][0]))
		}
		for len(off) < len(all) {
			off = append(off, these)
		}
	}
	fails, approx, order := make([]float64, len(all)), n.lawsApprox(), make([]int, len(all))
	parallel(len(all), func(k int) {
		l := approx.point(&all[k])
		for _, w := range laws {
			fails[k] += w.approx.failApprox(l)
		}
	})
	total := 0.0
	for k := range order {
		order[k] = k
		total += fails[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fails[b], fails[a]) })
	for _, k := range order {
		if err := ctx.Err(); err != nil {
			return 1, err
		}
		v := make([]pointNeuron, n.hidden.Outputs())
		l, rare := approx.point(&all[k]), fails[k] < total/float64(4*len(all))
		parallel(len(v), func(i int) {
			coarse := 1
			for _, w := range laws {
				coarse = min(coarse, w.approx.coarseValue(l, i, rare))
			}
			v[i] = n.atPoint(&all[k], i, b, coarse)
		})
		for r, w := range laws {
			if sum = sumUp(sum, n.pointUp(&all[k], v, w, off[k][r], l, rare, b)); !(sum < 1) {
				return 1, nil
			}
		}
	}
	return sum, nil
}
