package neuronsum

import (
	"cmp"
	"context"
	"math"
	"slices"

	"psafe/host/measure"
	"psafe/host/property"
)

// pointUp is vertexUp by Fourier transforms of 2^log points.
func (n *Sum) pointUp(v vertex, f *factors, log int) float64 {
	mean, variance, lost := f.mean, f.variance, 0.0
	var random []int
	for i := range v {
		h, a := &v[i], &f.neurons[i]
		if !h.constant {
			if len(h.low.X) == 0 || len(h.high.X) == 0 {
				return 1
			}
			random = append(random, i)
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
	if len(random) == 0 {
		return sumUp(rest.BelowUp(0), lost)
	}
	// Where a few neurons with heavy tails make up most of the sum, the circle must be wider.
	best, sd := 1.0, sdApprox(v, f, random, rest)
	for span := 24.; span < 200; span *= 2 {
		step := measure.CircleStepApprox(sd, span, log)
		terms := make([]*measure.Lattice, len(random))
		parallel(len(random), func(k int) { terms[k] = f.neurons[random[k]].term(&v[random[k]], step) })
		sum := measure.SumOnCircle(terms, log, parallel)
		best = min(best, sumUp(sum.NotPositiveUp(rest), lost))
		if !(sum.Lost() > max(1e-6, best/32)) {
			break
		}
	}
	return max(best, float64(len(random))*leastLost)
}

// sdApprox is about the standard deviation of the sum.
func sdApprox(v vertex, f *factors, random []int, rest measure.Normal) float64 {
	variance, size := rest.SdHi*rest.SdHi, 0.0
	for _, i := range random {
		a, h := &f.neurons[i], &v[i]
		p1, p2 := momentsApprox(a.pos.Lo, a.pos.P)
		n1, n2 := momentsApprox(a.neg.Lo, a.neg.P)
		l1, l2 := momentsApprox(h.low.X, h.low.P)
		h1, h2 := momentsApprox(h.high.X, h.high.P)
		mean := p1*l1 + n1*h1
		variance += max(0, p2*l2+n2*h2-mean*mean)
		size += math.Abs(mean)
	}
	return max(math.Sqrt(variance), 1e-4*size)
}

// gridFine is how finely the laws at the points of grids are cut, gridLog how long the transforms are.
var gridFine = quality{factors: 512, nodes: 1024, narrow: 0x1p-20}

const gridLog = 16

// GridCover is a bound that has one event for each point of a grid.
type GridCover struct {
	// FailUp is an upper bound, at most 1, of Prob(f(x) is outside of S for some x in T).
	FailUp float64
	// Points is how many points there are.
	Points int
	// Cuts are the grids' planes, for each box and each axis (Grid.Cuts).
	Cuts [][][]float64
	// Theta are the mixtures whose rows were proved (property.Safe.Mixed), nil if they are the rows of
	// one alternative of S.
	Theta [][]float64
}

// Grids bounds the failure probability on the union of boxes by the sum over the points of grids, at most
// budget, that it chooses by moments, as it does the rows. Where little hope is left, 1 comes early.
// The error is ctx's, and then the bound is 1.
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

// gridsUp is the sum over points and rows; 1 as soon as it is no less. The likeliest failures come first.
func (n *Sum) gridsUp(ctx context.Context, grids []Grid, rows []property.Row) (float64, error) {
	m := n.withQuality(gridFine)
	var laws []*factors
	var about []*rowApprox
	for r := range rows {
		f := m.factors(rows[r])
		if f == nil {
			return 1, ctx.Err()
		}
		laws, about = append(laws, f), append(about, n.rowApprox(&rows[r]))
	}
	var all []gridPoint
	for b := range grids {
		if !grids[b].valid() {
			return 1, ctx.Err()
		}
		all = append(all, grids[b].points()...)
	}
	fails, approx, order := make([]float64, len(all)), n.lawsApprox(), make([]int, len(all))
	parallel(len(all), func(k int) {
		l := approx.point(&all[k])
		for _, r := range about {
			fails[k] += r.failApprox(l)
		}
	})
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fails[b], fails[a]) })
	z, sum := quantileGrid(m.q.nodes), 0.0
	for _, k := range order {
		if err := ctx.Err(); err != nil {
			return 1, err
		}
		v := make(vertex, n.hidden.Outputs())
		parallel(len(v), func(i int) { v[i] = m.atPoint(&all[k], i, z) })
		for _, f := range laws {
			if sum = above(sum + m.pointUp(v, f, gridLog)); !(sum < 1) {
				return 1, nil
			}
		}
	}
	return sum, nil
}
