package loop

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/internal/fault"
)

// guess is about what an output is on each cell: the least and the most of its mean, and its standard deviation.
type guess struct{ lo, hi, sd []float64 }

// draws is how many networks the guesses are of.
const draws = 200

// guessApprox draws networks and looks at the corners of cells: the guesses of each output, in the order of the cells.
func (l *Loop) guessApprox(ctx context.Context, post *posterior.Posterior, tell func(done, total int)) ([]guess, error) {
	outs, n := len(l.Outputs), l.Cells()
	mean, sd, err := l.cornersApprox(ctx, post, tell)
	if err != nil {
		return nil, err
	}
	list := make([]guess, outs)
	for o := range list {
		list[o] = guess{make([]float64, n), make([]float64, n), make([]float64, n)}
	}
	at, corner := make([]int, len(l.State)), make([]int, len(l.State))
	for c := range n {
		l.Cell(c, at)
		for o := range list {
			g := &list[o]
			g.lo[c], g.hi[c] = math.Inf(1), math.Inf(-1)
			for b := range 1 << len(at) {
				for i := range at {
					corner[i] = at[i] + b>>i&1
				}
				k := l.corner(corner)*outs + o
				g.lo[c], g.hi[c], g.sd[c] = min(g.lo[c], mean[k]), max(g.hi[c], mean[k]), max(g.sd[c], sd[k])
			}
			// What the bounds of a cell lose is about a share of what the mean varies by.
			g.sd[c] = max(g.sd[c], (g.hi[c]-g.lo[c])/50, 1e-6*max(1, math.Abs(g.lo[c])))
		}
	}
	return list, nil
}

// corner is the number of a corner of the grid.
func (l *Loop) corner(at []int) int {
	number := 0
	for i, c := range l.State {
		number = number*len(c.Edges) + at[i]
	}
	return number
}

// cornersApprox is the mean and the deviation of each output at each corner of the grid, over drawn networks.
func (l *Loop) cornersApprox(ctx context.Context, post *posterior.Posterior, tell func(done, total int)) (mean, sd []float64, err error) {
	corners := 1
	for _, c := range l.State {
		corners *= len(c.Edges)
	}
	outs := len(l.Outputs)
	mean, sd = make([]float64, corners*outs), make([]float64, corners*outs)
	w, net := post.NewWeights(), post.Network()
	const most = 4096 // corners that a core takes at a time
	for d := range draws {
		tell(d, draws)
		post.Draw(0, d, w)
		err := fault.OnCores(ctx, (corners+most-1)/most, func(part int) {
			x, pass := make([]float64, len(l.Inputs)), net.NewPass(w)
			for k := part * most; k < min((part+1)*most, corners); k++ {
				l.cornerInput(k, x)
				for o, y := range pass.Forward(post.Input.NormaliseApprox(x)) {
					mean[k*outs+o] += y
					sd[k*outs+o] += y * y
				}
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	tell(draws, draws)
	for k := range mean {
		mean[k] /= draws
		sd[k] = math.Sqrt(max(0, sd[k]/draws-mean[k]*mean[k]))
	}
	return mean, sd, nil
}

// cornerInput sets x to the network's input at a corner.
func (l *Loop) cornerInput(corner int, x []float64) {
	for i := len(l.State) - 1; i >= 0; i-- {
		edges := l.State[i].Edges
		for j, of := range l.Inputs {
			if of == i {
				x[j] = edges[corner%len(edges)]
			}
		}
		corner /= len(edges)
	}
}

// out is the box of outputs of kappa deviations around the guesses, with ends of few bits, which are exact in decimals.
func out(g []guess, cell int, kappa float64) []arith.Interval {
	box := make([]arith.Interval, len(g))
	for o := range g {
		sd := g[o].sd[cell]
		_, exp := math.Frexp(sd)
		unit := math.Ldexp(1, max(exp-8, -60))
		box[o] = arith.Of(math.Floor((g[o].lo[cell]-kappa*sd)/unit)*unit, math.Ceil((g[o].hi[cell]+kappa*sd)/unit)*unit)
	}
	return box
}

// tailApprox is about how likely an output is beyond the box of kappa deviations.
func tailApprox(outs int, kappa float64) float64 {
	return float64(outs) * math.Erfc(kappa/math.Sqrt2)
}

// widest is the largest number of deviations that is asked for.
const widest = 9

// Plan chooses the cells and boxes of outputs that are asked for; P of a ring is what is expected. It is empty where nothing
// is expected to be proved. tell hears how many networks have been drawn. The error is that of the context.
func (l *Loop) Plan(ctx context.Context, post *posterior.Posterior, tell func(done, total int)) ([]Cell, error) {
	if len(l.start) == 0 || l.StartOutside() {
		return nil, nil
	}
	g, err := l.guessApprox(ctx, post, tell)
	if err != nil {
		return nil, err
	}
	if l.Fresh {
		return l.planEachStep(g), ctx.Err()
	}
	var best []Cell
	least := math.Inf(1)
	closed := slices.Clone(l.safe)
	for _, kappa := range []float64{2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7} {
		if ctx.Err() != nil {
			break
		}
		cells, fail, ok := l.planOnce(g, kappa, closed)
		if !ok { // nor with wider boxes
			break
		}
		if fail < least {
			best, least = cells, fail
		}
	}
	return best, ctx.Err()
}

// planOnce finds the cells that are closed if each is asked for boxes of kappa deviations, and then the widest box
// of each with which they still are. It returns about how likely that fails; ok is false where the start set leads out of
// them. in has the cells that are closed with smaller boxes, and is set to those of these: wider boxes close no others.
func (l *Loop) planOnce(g []guess, kappa float64, in []bool) (cells []Cell, fail float64, ok bool) {
	images := make([]Image, l.Cells())
	for c := range in {
		if in[c] {
			images[c] = l.Image(c, out(g, c, kappa))
			in[c] = images[c].Inside()
		}
	}
	ranks := l.keep(images, in)
	reach, why := l.reachable(images, in)
	if why != "" {
		return nil, 0, false
	}
	// Boxes may be wider within all of the closed set, but then more cells count. Cells deep inside hardly
	// count; so it is the smaller set unless much is lost by it.
	all := make([]int, 0, len(in))
	for c := range in {
		if in[c] {
			all = append(all, c)
		}
	}
	cells, fail = l.widen(g, kappa, reach, ranks)
	if more, less := l.widen(g, kappa, all, ranks); fail > 1e-6 && less < fail/2 {
		cells, fail = more, less
	}
	return cells, fail, true
}

// widen asks each cell of a closed set for the widest box of outputs with which it is closed.
func (l *Loop) widen(g []guess, kappa float64, set, ranks []int) (cells []Cell, fail float64) {
	in := make([]bool, l.Cells())
	for _, c := range set {
		in[c] = true
	}
	for _, c := range set {
		if l.reached[c] {
			continue
		}
		fits := func(kappa float64) bool {
			m := l.Image(c, out(g, c, kappa))
			return m.Inside() && l.each(m, func(to int) bool { return in[to] && (ranks == nil || ranks[to] < ranks[c]) })
		}
		lo, hi := kappa, float64(widest)
		if fits(hi) {
			lo = hi
		}
		for lo < hi-0.02 {
			if m := (lo + hi) / 2; fits(m) {
				lo = m
			} else {
				hi = m
			}
		}
		p := tailApprox(len(g), lo)
		fail += p
		cells = append(cells, Cell{c, []Ring{{out(g, c, lo), 1 - p}}})
	}
	return cells, fail
}

// planEachStep chooses for each cell that the start set may lead to the rings that its value gains by.
func (l *Loop) planEachStep(g []guess) []Cell {
	kappas := []float64{1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7}
	var cells []Cell
	for c := range l.safe {
		if !l.safe[c] || l.reached[c] {
			continue
		}
		cell := Cell{Number: c}
		for _, kappa := range kappas {
			cell.Rings = append(cell.Rings, Ring{out(g, c, kappa), 1 - tailApprox(len(g), kappa)})
		}
		cells = append(cells, cell)
	}
	values := l.EachStep(cells).Values
	var kept []Cell
	seen := l.followed(cells, values)
	for _, c := range cells {
		if c.Rings = l.gaining(c, values); seen[c.Number] && len(c.Rings) > 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// followed are the cells that the start set leads to by way of cells that are worth something.
func (l *Loop) followed(cells []Cell, values []float64) []bool {
	of := map[int]*Cell{}
	for i := range cells {
		of[cells[i].Number] = &cells[i]
	}
	seen := make([]bool, l.Cells())
	list := slices.Clone(l.start)
	for _, c := range list {
		seen[c] = true
	}
	for i := 0; i < len(list); i++ {
		c := of[list[i]]
		if c == nil || values[c.Number] < 1e-3 {
			continue
		}
		if steps := l.steps(c); len(steps) > 0 {
			l.each(steps[len(steps)-1].to, func(to int) bool {
				if !seen[to] {
					seen[to], list = true, append(list, to)
				}
				return true
			})
		}
	}
	return seen
}

// gaining are the rings of a cell without which its value would be less, by values of cells that are expected.
func (l *Loop) gaining(c Cell, values []float64) (rings []Ring) {
	before := 0.0
	var steps []step
	for j := len(c.Rings) - 1; j >= 0; j-- {
		if steps = l.steps(&Cell{c.Number, c.Rings[j : j+1]}); len(steps) == 0 {
			continue
		}
		least := math.Inf(1)
		l.each(steps[0].to, func(to int) bool { least = min(least, values[to]); return least > 0 })
		if least > before+1e-6 {
			rings = append(rings, c.Rings[j])
			before = least
		}
	}
	slices.Reverse(rings)
	return rings
}
