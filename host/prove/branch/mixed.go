package branch

import (
	"math"
	"slices"
)

// Mixtures of the rows of a clause. The bound of a mixture is, at the lines and the corner where it was
// found, the sum of theta_i times the values of the rows there: so those are its gradient in theta, and
// factors of the rows that are greatest there are multiplied by the most.

// mixtures hold the mixtures of an ascent, by row of the query; theta has the factors of a clause
// before they are rounded, best those of the greatest bound.
type mixtures struct {
	knots                      []*knot
	theta, best, first, second [][]float64
}

const (
	// thetaStep is how much longer steps of logarithms of factors are than those of slopes; leastTheta is
	// what a factor is at least, as those that are 0 never grow.
	thetaStep, leastTheta = 1, 1e-4
	// thetaUnit is the step of factors that a proof can say.
	thetaUnit = 0x1p-15
)

// withMixtures has the rows of a query be mixtures of the clauses of sub-problems, of n rows in all.
func (a *ascent) withMixtures(knots []*knot, n int) {
	a.mixtures.knots = knots
	for c, k := range knots {
		a.mixtures.theta = append(a.mixtures.theta, slices.Clone(k.theta))
		a.mixtures.best = append(a.mixtures.best, slices.Clone(k.theta))
		a.mixtures.first = append(a.mixtures.first, make([]float64, len(k.theta)))
		a.mixtures.second = append(a.mixtures.second, make([]float64, len(k.theta)))
		a.q.Theta = append(a.q.Theta, make([]float64, n))
		a.mix(c)
	}
}

// mix has row c of the query be the mixture of its factors.
func (a *ascent) mix(c int) {
	k := a.mixtures.knots[c]
	for i, f := range toThetas(a.mixtures.theta[c]) {
		a.q.Theta[c][k.clause[i]] = f
	}
}

// toThetas are the nearest factors that a proof can say.
func toThetas(theta []float64) []float64 {
	rounded := make([]float64, len(theta))
	for i, f := range theta {
		rounded[i] = math.Round(f/thetaUnit) * thetaUnit
	}
	return rounded
}

// keepMixture keeps the factors of row c.
func (a *ascent) keepMixture(c int) {
	if a.q.Theta == nil {
		return
	}
	for i, r := range a.mixtures.knots[c].clause {
		a.mixtures.best[c][i] = a.q.Theta[c][r]
	}
}

// moveMixture moves the factors of row c along the gradient, as logarithms.
func (a *ascent) moveMixture(c int, by func(first, second *float64, gradient float64) float64) {
	m, clause, r := &a.mixtures, a.mixtures.knots[c].clause, len(a.q.Rows)
	if len(clause) == 1 {
		return
	}
	theta, mean := m.theta[c], 0.0
	for at, i := range clause {
		mean += theta[at] * a.rows[i*r+c]
	}
	sum := 0.0
	for at, i := range clause {
		g := finiteOr(theta[at]*(a.rows[i*r+c]-mean), 0)
		theta[at] = max(theta[at]*math.Exp(thetaStep*by(&m.first[c][at], &m.second[c][at], g)), leastTheta)
		sum += theta[at]
	}
	for at := range theta {
		theta[at] /= sum
	}
	a.mix(c)
}
