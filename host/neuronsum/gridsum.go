package neuronsum

import (
	"cmp"
	"context"
	"slices"

	"psafe/host/measure"
	"psafe/host/property"
)

// weight is a_i as sums at points need it, by coarseness.
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

// pointUp bounds Prob(sum_i X_i + a_0 <= 0) for the stand-ins at one point.
func (n *Sum) pointUp(v []pointNeuron, w *rowWeights, l *lawApprox, rare bool, b *sumBins) float64 {
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
	// Theta are the mixtures whose rows were proved (property.Safe.Mixed), nil if they are the rows
	// of one alternative of S.
	Theta [][]float64
}

// Grids bounds the failure probability on the union of boxes by the sum over the points of grids,
// at most budget, that it chooses by moments, as it does the rows. Where little hope is left, 1
// comes early. The error is ctx's, and then the bound is 1.
func (n *Sum) Grids(ctx context.Context, boxes []property.Box, s *property.Safe, budget int) (GridCover, error) {
	none := GridCover{FailUp: 1}
	for _, b := range boxes {
		if len(b.Lo) != n.hidden.Inputs() {
			return none, nil
		}
	}
	if !n.convex || len(boxes) == 0 {
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
		cover.Cuts = append(cover.Cuts, g.Cuts)
	}
	var err error
	if cover.FailUp, err = n.gridsUp(ctx, choice.grids, choice.rows); err != nil {
		return none, err
	}
	if !(cover.FailUp < 1-LeastTold) {
		return none, nil
	}
	return cover, nil
}

// pointHopeless is how probable S must be at the worst point that is found, for grids to be chosen.
const pointHopeless = 0.3

// gridHopeless is from which sum, by moments, a bound is not worked out.
const gridHopeless = 1.2

// gridsUp is the sum over points and rows; 1 as soon as it is no less. The likeliest failures come
// first.
func (n *Sum) gridsUp(ctx context.Context, grids []Grid, rows []property.Row) (float64, error) {
	b := gridBins()
	var laws []*rowWeights
	for r := range rows {
		w := n.rowWeights(rows[r], b)
		if w == nil {
			return 1, ctx.Err()
		}
		laws = append(laws, w)
	}
	var all []gridPoint
	for g := range grids {
		if !grids[g].valid() {
			return 1, ctx.Err()
		}
		all = append(all, grids[g].points()...)
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
	sum := 0.0
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
		for _, w := range laws {
			if sum = above(sum + n.pointUp(v, w, l, rare, b)); !(sum < 1) {
				return 1, nil
			}
		}
	}
	return sum, nil
}
