package grid

import (
	"cmp"
	"context"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// weight is a_i as sums at points need it, by coarseness: number 0 for the fine
// lattice, 1 for the coarse one that is tried first.
type weight struct {
	mean, sd arith.Interval
	neg, pos [2]probability.Split
}

// rowWeights are the weights of one row, and a_0.
type rowWeights struct {
	neurons        []weight
	mean, variance arith.Interval
	approx         *rowApprox
}

func (n *sums) rowWeights(row property.Row, b *sumBins) *rowWeights {
	f := n.Factors(row)
	if f == nil {
		return nil
	}
	w := &rowWeights{mean: f.Mean, variance: f.Variance, neurons: make([]weight, len(f.Neurons)), approx: n.rowApprox(&row)}
	for i := range f.Neurons {
		a := &w.neurons[i]
		a.mean, a.sd = f.Neurons[i].Mean, f.Neurons[i].Sd
		for c := range a.neg {
			a.neg[c], a.pos[c] = b[c][0].signed(a.mean, a.sd)
		}
	}
	return w
}

// pointUp bounds Prob(sum_i X_i + a_0 <= 0, and no neuron large) for the stand-ins at the point p.
func (n *sums) pointUp(p *point, v []pointNeuron, w *rowWeights, large *LargeNeurons, l *lawApprox, rare bool, b *sumBins) float64 {
	mean, variance, lost := w.mean, w.variance, 0.0
	var terms []probability.Product
	for i := range v {
		h, a := &v[i], &w.neurons[i]
		if !(h.lost < 1) {
			return 1
		}
		if !h.constant {
			c := w.approx.coarseWeight(l, i, rare)
			t := probability.Product{Pos: a.pos[c], Low: h.low, Neg: a.neg[c], High: h.high, Lost: h.lost}
			if a.sd.Hi > 0 {
				t.Lost = arith.Up(t.Lost + b[0][0].beyond)
			}
			if large != nil {
				t.Large = n.large(large, p, i, h)
			}
			terms = append(terms, t)
			continue
		}
		mean = mean.Plus(a.mean.Times(h.value))
		variance = variance.Plus(a.sd.Square().Times(h.value.Square()))
		lost = arith.AddUp(lost, h.lost)
	}
	rest := law.Normal(mean, variance.Sqrt())
	if !mean.Finite() || !variance.Finite() {
		return 1
	}
	if len(terms) == 0 {
		return arith.AddUp(rest.BelowUp(0), lost)
	}
	best := probability.ProductsNotPositiveUp(terms, rest, law.OnCores)
	return max(min(1, arith.AddUp(best, lost)), float64(len(terms))*slack.LeastLost)
}

// Plan says which rows of S sums of neurons proved on a cell or at a witness, by their numbers: all
// of them, which ascend, or the sum with Factors >= 0, one for each.
type Plan struct {
	Rows    []int     `json:"rows"`
	Factors []float64 `json:"factors,omitempty"`
}

// Cover is a bound that has one event for each point of a grid.
type Cover struct {
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
	// Rows are the numbers of those, ascending; nil with Theta, and where S has one alternative, which is
	// of rows alone.
	Rows []int
	// Large are, for each box and each row, the neurons that are split off; nil where none are.
	Large [][]*LargeNeurons
}

// sums bounds sums of neurons at the points of grids.
type sums struct{ *law.Net }

// Serves reports whether grids can bound this network on boxes at all.
func Serves(n *law.Net, boxes []property.Box) bool {
	for _, b := range boxes {
		if len(b.Lo) != n.Hidden.Inputs() {
			return false
		}
	}
	return n.Convex && len(boxes) > 0 && !hardlySpread(n.Hidden) && !hardlySpread(n.Output)
}

// Bound bounds the failure probability on the union of boxes by the sum over the points of grids,
// at most budget, that it chooses (chooser), as it does the rows. Where little hope is left, 1
// comes early. The error is ctx's, and then the bound is 1.
func Bound(ctx context.Context, net *law.Net, boxes []property.Box, s *property.Safe, budget int) (Cover, error) {
	n, none := &sums{net}, Cover{FailUp: 1}
	if !Serves(net, boxes) {
		return none, ctx.Err()
	}
	choice, ok := n.chooseGrids(ctx, boxes, s, budget)
	if !ok || !(choice.approx < hopeless) || ctx.Err() != nil {
		return none, ctx.Err()
	}
	cover := Cover{Points: points(choice.grids), Theta: choice.theta, Rows: choice.numbers}
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
	return cover, nil
}

// hardlySpread reports whether some standard deviation is next to nothing, but not 0: psafe check,
// which cuts such weights elsewhere, could not prove again what is claimed.
func hardlySpread(l *posterior.Layer) bool {
	tiny := func(sd float64) bool { return sd > 0 && sd < slack.LeastSpread }
	return slices.ContainsFunc(l.Weight.SdHi, tiny) || slices.ContainsFunc(l.Bias.SdHi, tiny)
}

// hopeless is from which sum, by moments, a bound is not worked out.
const hopeless = 1.2

// gridsUp is the sum over points and rows, and over boxes and rows of what is split off (large, if
// any); 1 as soon as it is no less. The likeliest failures come first.
func (n *sums) gridsUp(ctx context.Context, grids []Grid, rows []property.Row, large [][]*LargeNeurons) (float64, error) {
	b := boundBins()
	var laws []*rowWeights
	for r := range rows {
		w := n.rowWeights(rows[r], b)
		if w == nil {
			return 1, ctx.Err()
		}
		laws = append(laws, w)
	}
	sum, none := 0.0, make([]*LargeNeurons, len(rows))
	var all []point
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
			if !l.valid(n.Hidden.Inputs()) {
				return 1, ctx.Err()
			}
			sum = arith.AddUp(sum, n.largeUp(l, laws[r], b[0][0]))
		}
		for len(off) < len(all) {
			off = append(off, these)
		}
	}
	fails, approx, order := make([]float64, len(all)), n.lawsApprox(), make([]int, len(all))
	law.OnCores(len(all), func(k int) {
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
		v := make([]pointNeuron, n.Hidden.Outputs())
		l, rare := approx.point(&all[k]), fails[k] < total/float64(4*len(all))
		law.OnCores(len(v), func(i int) {
			coarse := 1
			for _, w := range laws {
				coarse = min(coarse, w.approx.coarseValue(l, i, rare))
			}
			v[i] = n.atPoint(&all[k], i, b, coarse)
		})
		for r, w := range laws {
			if sum = arith.AddUp(sum, n.pointUp(&all[k], v, w, off[k][r], l, rare, b)); !(sum < 1) {
				return 1, nil
			}
		}
	}
	return sum, nil
}
