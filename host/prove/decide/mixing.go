package decide

import (
	"math"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/property"
)

// Rows and slopes that suit one cell. A safe set is an AND of clauses, each an OR of rows; what LBP
// has not proved of a clause by one of its rows may be proved by a mixture of them (31), and by other
// lower slopes than the usual ones (Xu et al. 2021, alpha-CROWN). Both are chosen here, in ordinary
// float64, after the device has bounded the hidden layers of the cell; then the device bounds the
// chosen rows with the chosen slopes (bound.Refinement). The weights are given, so that everything
// may be chosen by them, and whatever is chosen, the bound holds.

const (
	// mixSteps is how many steps are made for a clause.
	mixSteps = 6
	// mixRate is the first step, and mixDecay what the next are multiplied by.
	mixRate, mixDecay = 0.5, 0.7
	// mixEnough is from where on a linear bound is proved in all likelihood.
	mixEnough = 1e-4
	// mostRefined is up to how many clauses of a cell are refined.
	mostRefined = 8
)

// clauseLo is the greatest of the lower bounds of a clause's rows.
func clauseLo(clause []int, lo []float64) float64 {
	best := math.Inf(-1)
	for _, r := range clause {
		if lo[r] > best { // not NaN
			best = lo[r]
		}
	}
	return best
}

// refined holds what is chosen for one cell: which clauses, and for each of them a row and the
// lower slopes by hidden layer.
type refined struct {
	clauses []int
	rows    []property.Row
	slopes  [][][]float64
	// approx is about what their bounds are without rounding.
	approx []float64
}

// refineApprox chooses for all clauses that these lower bounds do not prove.
func refineApprox(pass *network.Pass, net network.Network, box property.Box, s *property.Safe, clauses [][]int, lo []float64, in ranges) refined {
	var of refined
	for c, clause := range clauses {
		if clauseLo(clause, lo) >= 0 {
			continue
		}
		if len(of.clauses) == mostRefined {
			return refined{}
		}
		a := newMixing(pass, net, box, s, clause, in)
		a.climb()
		row, err := s.Rows[clause[0]], error(nil)
		if len(clause) > 1 {
			row, err = s.Mixture(clause, a.bestTheta)
		}
		if err != nil { // rows so large that a mixture of them is not finite
			return refined{}
		}
		of.clauses, of.rows = append(of.clauses, c), append(of.rows, row)
		of.slopes, of.approx = append(of.slopes, a.bestSlopes), append(of.approx, a.best)
	}
	return of
}

// mixing maximises the linear lower bound of a mixture of rows over its factors and over the lower
// slopes of neurons that may be on both sides of their kink. With the lines that a pass takes, the
// bound is the value that the network has, at the corner where it is least, with the lines in the
// place of the activations; so one more pass, forward, gives the bound and its derivatives:
//
//	d/d theta_k = row_k there,    d/d slope_i = max(g_i, 0) zeta_i there
type mixing struct {
	pass *network.Pass
	net  network.Network
	box  property.Box
	// c and d are the clause's rows.
	c [][]float64
	d []float64
	// lo and hi are the pre-activations of hidden layers; slopes and theta are what is tried now, and
	// g the coefficients that it meets neurons with.
	lo, hi, slopes, g [][]float64
	theta             []float64
	mix, corner       []float64

	best       float64
	bestTheta  []float64
	bestSlopes [][]float64
}

func newMixing(pass *network.Pass, net network.Network, box property.Box, s *property.Safe, clause []int, in ranges) *mixing {
	a := &mixing{pass: pass, net: net, box: box, lo: in.lo, hi: in.hi, best: math.Inf(-1),
		theta: make([]float64, len(clause)), mix: make([]float64, net.Outputs()), corner: make([]float64, net.Inputs())}
	for _, r := range clause {
		c := make([]float64, net.Outputs())
		for i := range c {
			c[i] = s.Rows[r].CLo[i]/2 + s.Rows[r].CHi[i]/2
		}
		a.c, a.d = append(a.c, c), append(a.d, s.Rows[r].D)
	}
	for k := range net[:len(net)-1] {
		slopes := make([]float64, len(in.lo[k]))
		for i := range slopes {
			if in.hi[k][i] > -in.lo[k][i] || in.lo[k][i] >= 0 {
				slopes[i] = 1
			}
		}
		a.slopes, a.g = append(a.slopes, slopes), append(a.g, make([]float64, len(slopes)))
	}
	a.start()
	return a
}

// start mixes mostly the row that is greatest at the centre.
func (a *mixing) start() {
	y := a.pass.Forward(a.box.CentreApprox())
	best := 0
	for k := range a.theta {
		a.theta[k] = 0.3 / float64(len(a.theta))
		if a.at(k, y) > a.at(best, y) {
			best = k
		}
	}
	a.theta[best] += 0.7
	a.keep(math.Inf(-1))
}

// at is row k at outputs y.
func (a *mixing) at(k int, y []float64) float64 {
	v := a.d[k]
	for i, c := range a.c[k] {
		v += c * y[i]
	}
	return v
}

// keep notes what is tried now as the best, with this bound.
func (a *mixing) keep(bound float64) {
	a.best, a.bestTheta, a.bestSlopes = bound, slices.Clone(a.theta), nil
	for _, s := range a.slopes {
		a.bestSlopes = append(a.bestSlopes, slices.Clone(s))
	}
}

// climb makes the steps.
func (a *mixing) climb() {
	rate := mixRate
	for range mixSteps {
		rows, bound := a.evaluate()
		if bound > a.best {
			a.keep(bound)
		}
		if !(bound <= mixEnough) { // or nothing that is a number
			return
		}
		a.stepSlopes(rate)
		stepTheta(a.theta, rows, rate)
		rate *= mixDecay
	}
}

// evaluate gives the rows and their mixture at the corner where the linear bound is least, and
// leaves coefficients in g and pre-activations in the pass.
func (a *mixing) evaluate() (rows []float64, bound float64) {
	clear(a.mix)
	for k, t := range a.theta {
		for i, c := range a.c[k] {
			a.mix[i] += t * c
		}
	}
	back := a.pass.BackLines(a.mix, func(k, i int, g float64) float64 {
		if k == len(a.slopes) {
			return 1
		}
		a.g[k][i] = g
		slope, _ := a.line(k, i)
		return slope
	})
	copy(a.corner, a.box.CentreApprox())
	cornerOf(a.corner, back, a.box)
	y := a.pass.ForwardBy(a.corner, func(k int, z, pre []float64) {
		if k == len(a.slopes) {
			copy(z, pre)
			return
		}
		for i, t := range pre {
			slope, constant := a.line(k, i)
			z[i] = slope*t + constant
		}
	})
	rows = make([]float64, len(a.theta))
	for k, t := range a.theta {
		rows[k] = a.at(k, y)
		bound += t * rows[k]
	}
	return rows, bound
}

// line returns the line of neuron i of layer k: below the activation where the coefficient is not negative.
func (a *mixing) line(k, i int) (slope, constant float64) {
	lo, hi := a.lo[k][i], a.hi[k][i]
	if a.g[k][i] >= 0 || lo >= 0 || hi <= 0 {
		return a.slopes[k][i], 0
	}
	slope = hi / (hi - lo)
	return slope, -slope * lo
}

// stepSlopes moves slopes by the rate where the derivative is an eighth of the greatest or more, and
// by less elsewhere.
func (a *mixing) stepSlopes(rate float64) {
	most := 0.0
	derivative := func(k, i int) float64 {
		if a.lo[k][i] < 0 && a.hi[k][i] > 0 && a.g[k][i] > 0 {
			return a.g[k][i] * a.pass.Pre[k][i]
		}
		return 0
	}
	for k := range a.slopes {
		for i := range a.slopes[k] {
			most = max(most, math.Abs(derivative(k, i)))
		}
	}
	if !(most > 0 && most <= math.MaxFloat64) {
		return
	}
	for k, slopes := range a.slopes {
		for i := range slopes {
			if by := derivative(k, i); by != 0 {
				slopes[i] = min(max(slopes[i]+rate*min(max(8*by/most, -1), 1), 0), 1)
			}
		}
	}
}

// stepTheta moves factors towards rows that are greater, and back to where their sum is 1.
func stepTheta(theta, rows []float64, rate float64) {
	least, most := slices.Min(rows), slices.Max(rows)
	if !(most > least && most-least <= math.MaxFloat64) {
		return
	}
	for k := range theta {
		theta[k] += rate * (rows[k] - least) / (most - least)
	}
	ontoSimplex(theta)
}

// ontoSimplex moves to the nearest point with entries at least 0 and sum 1.
func ontoSimplex(theta []float64) {
	sorted := slices.Clone(theta)
	slices.SortFunc(sorted, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	})
	sum, shift := 0.0, 0.0
	for k, v := range sorted {
		sum += v
		if q := (sum - 1) / float64(k+1); v > q {
			shift = q
		}
	}
	for k, v := range theta {
		theta[k] = max(v-shift, 0)
	}
}
