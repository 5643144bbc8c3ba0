package grid

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// chooser looks for grids and mixtures with a small sum of failures: by moments, and by drawing
// networks from there (search.go). Whatever it chooses is sound.
type chooser struct {
	n    *sums
	laws *lawsApprox
	s    *property.Safe
	// rows are those that are to hold at each point, as they are and by moments.
	exact []property.Row
	rows  []*rowApprox
	// fails keeps about the probability that one of them fails, by point.
	fails map[string]float64
	ctx   context.Context
}

// choice is a grid for each box, and the rows to prove: those of the mixtures theta or, without
// any, those of one alternative.
type choice struct {
	grids  []Grid
	theta  [][]float64
	rows   []property.Row
	approx float64
	// numbers are Cover.Rows.
	numbers []int
}

// chooseGrids takes at most budget points.
func (n *sums) chooseGrids(ctx context.Context, boxes []property.Box, s *property.Safe, budget int) (choice, bool) {
	c := &chooser{n: n, laws: n.lawsApprox(), s: s, ctx: ctx}
	budget = min(budget, slack.GridPoints)
	var grids []Grid
	for _, b := range boxes {
		g := evenly(b, slices.Repeat([]int{1}, len(b.Lo)))
		if !g.valid() {
			return choice{}, false
		}
		grids = append(grids, g)
	}
	if points(grids) > budget {
		return choice{}, false
	}
	best := choice{approx: math.Inf(1)}
	for range chooseRounds {
		now, ok := c.chooseRows(grids)
		if !ok {
			return choice{}, false
		}
		c.use(now.rows)
		if best.grids == nil {
			grids = c.spread(grids, budget)
			// Again, with the rows that are best there.
			if now, ok = c.chooseRows(grids); !ok {
				return choice{}, false
			}
			c.use(now.rows)
			grids = c.move(grids)
		} else {
			grids = c.move(best.grids)
		}
		if now.grids, now.approx = grids, c.sum(grids); now.approx < best.approx {
			best = now
		}
		if ctx.Err() != nil {
			break
		}
	}
	if best.grids == nil || ctx.Err() != nil {
		return best, best.grids != nil
	}
	c.use(best.rows)
	best.grids = c.search(best.grids, budget)
	return best, true
}

const chooseRounds = 2

// points is the number of points of the grids.
func points(grids []Grid) int {
	sum := 0
	for b := range grids {
		sum += grids[b].Points()
	}
	return sum
}

// use makes rows those that are to hold.
func (c *chooser) use(rows []property.Row) {
	c.exact, c.rows, c.fails = rows, nil, map[string]float64{}
	for r := range rows {
		c.rows = append(c.rows, c.n.rowApprox(&rows[r]))
	}
}

func (c *chooser) fail(l *lawApprox) float64 {
	sum := 0.0
	for _, r := range c.rows {
		sum += r.failApprox(l)
	}
	return sum
}

// sum is about what the grids' bound will be, without a limit of 1.
func (c *chooser) sum(grids []Grid) float64 {
	total := 0.0
	for b := range grids {
		total += c.gridSum(&grids[b])
	}
	return total
}

func (c *chooser) gridSum(g *Grid) float64 {
	points := g.points()
	keys, fails := make([]string, len(points)), make([]float64, len(points))
	var missing []int
	for k := range points {
		p := &points[k]
		keys[k] = fmt.Sprint(p.x, p.beside, p.before, p.after)
		f, known := c.fails[keys[k]]
		if fails[k] = f; !known {
			missing = append(missing, k)
		}
	}
	law.OnCores(len(missing), func(m int) { fails[missing[m]] = c.fail(c.laws.point(&points[missing[m]])) })
	for _, k := range missing {
		c.fails[keys[k]] = fails[k]
	}
	sum := 0.0
	for _, f := range fails {
		sum += f
	}
	return sum
}

// spread cuts every box evenly, into as many cells along each axis as lowers the sum: from the best
// of numbers in the proportion of how far hidden neurons move along the axes, by one more or one
// fewer cell along an axis, or both along two.
func (c *chooser) spread(grids []Grid, budget int) []Grid {
	now := slices.Clone(grids)
	for b := range now {
		most := budget - points(now) + now[b].Points()
		now[b] = c.spreadOne(&now[b], most)
	}
	return now
}

func (c *chooser) spreadOne(g *Grid, budget int) Grid {
	d := len(g.Cuts)
	cells, best, least := make([]int, d), *g, math.Inf(1)
	try := func(k []int) bool {
		h := evenly(g.Box, k)
		h.CentreAt = g.CentreAt
		if h.axesCut() > slack.GridAxes || h.Points() > budget || !h.valid() || c.ctx.Err() != nil {
			return false
		}
		f := c.gridSum(&h) * cost(h.Points())
		if f < least {
			best, least = h, f
			copy(cells, k)
			return true
		}
		return false
	}
	size := c.n.axesApprox(g.Box)
	largest := slices.Max(size)
	for k := 1; k <= min(budget, 40); k += 1 + k/3 {
		for _, power := range []float64{1, 2} {
			count, points := make([]int, d), 1
			for j := range count {
				count[j] = 1
				if size[j] > 0 {
					count[j] = max(1, int(float64(k)*math.Pow(size[j]/largest, power)+0.5))
					points *= count[j] + 1
				}
			}
			if points <= budget {
				try(count)
			}
		}
	}
	for moved := true; moved; {
		moved = false
		for a := range d {
			for b := range d {
				for _, step := range []int{-1, 1} {
					k := slices.Clone(cells)
					k[a] += step
					if b != a {
						k[b] -= step
					}
					if size[a] > 0 && size[b] > 0 && min(k[a], k[b]) > 0 && try(k) {
						moved = true
					}
				}
			}
		}
	}
	return best
}

// pointWorth is the number of points that may cost as much as a sum twice as large: each takes seconds.
const pointWorth = 1000

func cost(points int) float64 { return 1 + float64(points)/pointWorth }

// evenly cuts a box into so many cells along each axis.
func evenly(box property.Box, cells []int) Grid {
	g := Grid{box, make([][]float64, len(cells)), slices.Repeat([]float64{0.5}, len(cells))}
	for j, k := range cells {
		g.Cuts[j] = []float64{}
		for i := 1; i < k; i++ {
			part := float64(i) / float64(k)
			g.Cuts[j] = append(g.Cuts[j], box.Lo[j]*(1-part)+box.Hi[j]*part)
		}
	}
	return g
}

// axesApprox returns how far hidden neurons move along each axis of the box.
func (n *sums) axesApprox(box property.Box) []float64 {
	size := make([]float64, len(box.Lo))
	w := &n.Hidden.Weight
	for j := range size {
		for _, at := range n.Hidden.Dense().From(j) {
			size[j] += w.Mean[at]*w.Mean[at] + w.SdHi[at]*w.SdHi[at]
		}
		size[j] = math.Sqrt(size[j]) * (box.Hi[j] - box.Lo[j])
	}
	return size
}

// move moves planes as long as that lowers the sum.
func (c *chooser) move(grids []Grid) []Grid {
	now := slices.Clone(grids)
	for _, step := range []float64{0.3, 0.12} {
		for b := range now {
			for j := range now[b].Cuts {
				for k := range now[b].Cuts[j] {
					now[b] = c.moveOne(now[b], j, k, step)
				}
			}
			now[b] = c.moveCentres(now[b])
		}
	}
	return now
}

// moveCentres moves the points of all cells along an axis.
func (c *chooser) moveCentres(g Grid) Grid {
	least := c.gridSum(&g)
	for j := range g.Cuts {
		for _, step := range []float64{1. / 16, -1. / 16} {
			for c.ctx.Err() == nil {
				h := Grid{g.Box, g.Cuts, slices.Clone(g.CentreAt)}
				h.CentreAt[j] += step
				f := math.Inf(1)
				if h.valid() && g.Box.Lo[j] < g.Box.Hi[j] {
					f = c.gridSum(&h)
				}
				if f >= least {
					break
				}
				g, least = h, f
			}
		}
	}
	return g
}

func (c *chooser) moveOne(g Grid, j, k int, step float64) Grid {
	least := c.gridSum(&g)
	for range 3 {
		best := -1
		var moved [2]Grid
		for side := range moved {
			if c.ctx.Err() != nil {
				return g
			}
			p := g.planes(j)
			to := p[k+2*side]
			x := p[k+1] + step*(to-p[k+1])
			if !(p[k] < x && x < p[k+2]) || x == p[k+1] {
				continue
			}
			h := Grid{g.Box, slices.Clone(g.Cuts), g.CentreAt}
			h.Cuts[j] = slices.Clone(h.Cuts[j])
			h.Cuts[j][k] = x
			moved[side] = h
			if f := c.gridSum(&h); f < least {
				least, best = f, side
			}
		}
		if best < 0 {
			break
		}
		g = moved[best]
	}
	return g
}

// chooseRows takes the mixtures with the least sum on the grids or, where there are none, the
// alternative.
func (c *chooser) chooseRows(grids []Grid) (to choice, ok bool) {
	var laws []*lawApprox
	for b := range grids {
		points := grids[b].points()
		more := make([]*lawApprox, len(points))
		law.OnCores(len(points), func(k int) { more[k] = c.laws.point(&points[k]) })
		laws = append(laws, more...)
	}
	sum := func(row *property.Row) float64 {
		r, total := c.n.rowApprox(row), 0.0
		for _, l := range laws {
			total += r.failApprox(l)
		}
		return total
	}
	if clauses := c.s.Mixable(); clauses != nil {
		for _, clause := range clauses {
			to.theta = append(to.theta, c.mix(clause, sum))
		}
		if mixed, err := c.s.Mixed(to.theta); err == nil {
			for _, r := range mixed.Any[len(mixed.Any)-1] {
				to.rows = append(to.rows, mixed.Rows[r])
			}
			return to, true
		}
	}
	sums := make([]float64, len(c.s.Rows))
	for r := range sums {
		sums[r] = sum(&c.s.Rows[r])
	}
	chosen, ok := c.s.Implicant(sums)
	to = choice{}
	for _, r := range chosen {
		to.rows = append(to.rows, c.s.Rows[r])
	}
	if len(c.s.Any) > 1 || len(c.s.Gates) > 0 {
		to.numbers = slices.Sorted(slices.Values(chosen))
	}
	return to, ok
}

// mix looks for the mixture of a clause with the least sum: it begins with the best row and moves
// weight from one row to another, a fraction at a time.
func (c *chooser) mix(clause []int, sum func(*property.Row) float64) []float64 {
	try := func(theta []float64) float64 {
		row := property.Row{CLo: make([]float64, len(c.s.Rows[clause[0]].CLo))}
		for a, f := range theta {
			r := &c.s.Rows[clause[a]]
			row.D += f * r.D
			for k, v := range r.CLo {
				row.CLo[k] += f * v
			}
		}
		row.CHi = row.CLo
		return sum(&row)
	}
	best, least := make([]float64, len(clause)), math.Inf(1)
	for a := range clause {
		one := make([]float64, len(clause))
		one[a] = 1
		if f := try(one); f < least {
			best, least = one, f
		}
	}
	for part := 0.5; part >= 1./32; part /= 2 {
		for moved := true; moved && c.ctx.Err() == nil; {
			moved = false
			for a := range clause {
				for b := range clause {
					if a == b || best[a] < part {
						continue
					}
					theta := slices.Clone(best)
					theta[a] -= part
					theta[b] += part
					if f := try(theta); f < least*(1-1e-6) {
						best, least, moved = theta, f, true
					}
				}
			}
		}
	}
	return best
}
