package neuronsum

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/neuronsum/grid"
	"psafe/host/read/property"
)

// CellFailUp returns an upper bound, at most 1, of Prob( f(x) is outside of S for some x in cell ):
// the least that one alternative gives, adding over its rows, and, if every alternative is a single
// row, that of a sum of rows with positive factors: where all of them fail, the sum fails. Which it
// was, the plan says; a bound of 1 has none.
func (n *Sum) CellFailUp(cell property.Box, s *property.Safe) (float64, *grid.Plan) {
	view := n.view(cell)
	if view == nil {
		return 1, nil
	}
	about := n.aboutApprox(cell)
	likely := make([]float64, len(s.Rows))
	for r := range likely {
		likely[r] = about.failApprox(&s.Rows[r])
	}
	rows, some := s.Implicant(likely)
	best := math.Inf(1)
	if some {
		best = 0
		for _, r := range rows {
			best += likely[r]
		}
	}
	mix, mixed := about.disjunction(s)
	if mixed != nil {
		best = min(best, about.failApprox(&mix))
	}
	if !some || best > lostApprox {
		return 1, nil
	}
	plan := &grid.Plan{Rows: slices.Sorted(slices.Values(rows))}
	bound := n.rowsFailUp(view, s, rows, about)
	if mixed != nil && bound > 0 {
		if up := n.failUp(view, mix); up < bound {
			bound, plan = up, mixed
		}
	}
	return min(bound, 1), plan
}

// lostApprox is how probable failure has to be at the middle of a cell, by the moments
// alone, for its bound to be left at 1: a convolution of seconds could say little more.
const lostApprox = 0.95

// rowsFailUp bounds the probability that one of rows fails, by the sum: the likeliest
// failures first, and where they sum up to 1, that is the answer.
func (n *Sum) rowsFailUp(view []vertex, s *property.Safe, rows []int, about *moments) float64 {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b int) int {
		return cmp.Compare(about.failApprox(&s.Rows[b]), about.failApprox(&s.Rows[a]))
	})
	bound := 0.0
	for _, r := range rows {
		if bound = arith.Up(bound + n.failUp(view, s.Rows[r])); !(bound < 1) {
			break
		}
	}
	return bound
}

// disjunction is a sum of rows of S that fails where S does, if there is one of
// several rows.
func (m *moments) disjunction(s *property.Safe) (property.Row, *grid.Plan) {
	var numbers []int
	for _, all := range s.Any {
		if len(all) != 1 || all[0] < 0 {
			return property.Row{}, nil
		}
		numbers = append(numbers, all[0])
	}
	return m.mixed(s.Rows, numbers)
}

// SafeUp returns an upper bound, at most 1, of Prob( f(x) is in S ) for any single point x of the
// box point, hence of P_safe(T, S) if that x lies in T. Over the alternatives it adds the least
// that a row of it, or a sum of its rows with positive factors, gives: where all of them hold, the
// sum holds. Of a set with gates it adds what rows give that all fail where S does, and of those
// only where it does. There is a plan of negated rows for each alternative, and one alone of a set
// with gates; none with a bound of 1.
func (n *Sum) SafeUp(point property.Box, s *property.Safe) (float64, []*grid.Plan) {
	view := n.view(point)
	if view == nil {
		return 1, nil
	}
	about, bound := n.aboutApprox(point), 0.0
	if len(s.Gates) > 0 {
		return n.gatesSafeUp(view, s, about)
	}
	negated := negatedRows(s)
	var plans []*grid.Plan
	for _, all := range s.Any {
		best, least := -1, math.Inf(1)
		for _, r := range all {
			if p := about.failApprox(&negated[r]); p < least {
				best, least = r, p
			}
		}
		if best < 0 {
			return 1, nil
		}
		up, plan := n.failUp(view, negated[best]), &grid.Plan{Rows: []int{best}}
		if mix, mixed := about.mixed(negated, all); mixed != nil {
			if p := n.failUp(view, mix); p < up {
				up, plan = p, mixed
			}
		}
		plans = append(plans, plan)
		if bound = arith.Up(bound + up); !(bound < 1) {
			return 1, nil
		}
	}
	return bound, plans
}

// negatedRows are the rows of S, each negated.
func negatedRows(s *property.Safe) []property.Row {
	rows := make([]property.Row, len(s.Rows))
	for r := range rows {
		rows[r] = s.Rows[r].Negated()
	}
	return rows
}

// gatesSafeUp is SafeUp of a set with gates: S fails where certain rows do, an implicant of its dual.
func (n *Sum) gatesSafeUp(view []vertex, s *property.Safe, about *moments) (float64, []*grid.Plan) {
	d, likely := s.Dual(), make([]float64, len(s.Rows))
	d.Rows = negatedRows(s)
	for r := range likely {
		likely[r] = about.failApprox(&d.Rows[r])
	}
	rows, some := d.Implicant(likely)
	if !some {
		return 1, nil
	}
	return min(1, n.rowsFailUp(view, &d, rows, about)), []*grid.Plan{{Rows: slices.Sorted(slices.Values(rows))}}
}

// mixed is sum_j f_j of[numbers[j]] with factors f_j >= 0, chosen to make its mean in
// standard deviations large; no plan for fewer than two positive factors.
func (m *moments) mixed(of []property.Row, numbers []int) (property.Row, *grid.Plan) {
	rows := make([]property.Row, len(numbers))
	for j, r := range numbers {
		rows[j] = of[r]
	}
	f := m.factorsApprox(rows)
	plan := &grid.Plan{}
	var d arith.Interval
	c := make([]arith.Interval, len(m.mean))
	for j, row := range rows {
		if !(f[j] > 0) {
			continue
		}
		plan.Rows, plan.Factors = append(plan.Rows, numbers[j]), append(plan.Factors, f[j])
		d = d.Plus(arith.Exactly(f[j]).Times(arith.Exactly(row.D)))
		for k := range c {
			c[k] = c[k].Plus(arith.Exactly(f[j]).Times(arith.Of(row.CLo[k], row.CHi[k])))
		}
	}
	out := property.Row{D: d.Lo}
	for _, v := range c {
		out.CLo, out.CHi = append(out.CLo, v.Lo), append(out.CHi, v.Hi)
	}
	if len(plan.Rows) < 2 {
		return out, nil
	}
	return out, plan
}

// moments are the mean and the covariance of the outputs at one point, nearly:
// they choose rows and points, and enter no bound.
type moments struct {
	mean []float64
	cov  [][]float64
	// of is whose they are, which may have to stop: they grow with the square of the outputs.
	of *Sum
}

func (m *moments) over() bool { return m.of != nil && m.of.over() }

// aboutApprox gives the moments at the middle of the cell.
func (n *Sum) aboutApprox(cell property.Box) *moments {
	x := make([]float64, len(cell.Lo))
	for j := range x {
		x[j] = cell.Lo[j]/2 + cell.Hi[j]/2
	}
	return n.momentsApprox(x)
}

func (n *Sum) momentsApprox(x []float64) *moments {
	m := &moments{mean: append([]float64(nil), n.net.Output.Bias.Mean...), of: n}
	for c := range m.mean {
		m.cov = append(m.cov, make([]float64, len(m.mean)))
		m.cov[c][c] = n.net.Output.Bias.SdHi[c] * n.net.Output.Bias.SdHi[c]
	}
	for i := 0; i < n.net.Hidden.Outputs() && !n.over(); i++ {
		first, second := n.valueApprox(i, x)
		for c, at := range n.net.Output.Dense().From(i) {
			u, sd := n.net.Output.Weight.Mean[at], n.net.Output.Weight.SdHi[at]
			m.mean[c] += u * first
			m.cov[c][c] += sd * sd * second
			for k, other := range n.net.Output.Dense().From(i) {
				m.cov[c][k] += u * n.net.Output.Weight.Mean[other] * (second - first*first)
			}
		}
	}
	return m
}

// valueApprox gives about E s(t_i(x)) and E s(t_i(x))^2, by the midpoint rule.
func (n *Sum) valueApprox(i int, x []float64) (first, second float64) {
	mean, variance := n.net.Hidden.Bias.Mean[i], n.net.Hidden.Bias.SdHi[i]*n.net.Hidden.Bias.SdHi[i]
	for j, at := range n.net.Hidden.Dense().Into(i) {
		v := x[j]
		mean += v * n.net.Hidden.Weight.Mean[at]
		variance += v * v * n.net.Hidden.Weight.SdHi[at] * n.net.Hidden.Weight.SdHi[at]
	}
	sd := math.Sqrt(variance)
	for k, z := range midpointsApprox {
		s := n.net.Act.Approx(mean + sd*z)
		first += s * midpointWeightsApprox[k]
		second += s * s * midpointWeightsApprox[k]
	}
	return first, second
}

// midpointsApprox and their weights integrate against the normal density.
var midpointsApprox, midpointWeightsApprox = func() (z, w []float64) {
	const step = 0.25
	for x := -5.0; x <= 5; x += step {
		z, w = append(z, x), append(w, step*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	}
	return z, w
}()

// rowApprox is the mean of a row and its covariance with another one.
func (m *moments) rowApprox(a, b *property.Row) (mean, cov float64) {
	mean = a.D
	for c, u := range a.CLo {
		mean += u * m.mean[c]
		for k, v := range b.CLo {
			cov += u * v * m.cov[c][k]
		}
	}
	return mean, cov
}

// failApprox is about Prob(row <= 0).
func (m *moments) failApprox(row *property.Row) float64 {
	if m.over() {
		return 1
	}
	mean, variance := m.rowApprox(row, row)
	return gauss.TailUp(mean / math.Sqrt(variance))
}

// factorsApprox minimises f' Cov f / 2 - f' mean over f >= 0, a multiple of the
// f with the largest mean in standard deviations, by coordinate descent.
func (m *moments) factorsApprox(rows []property.Row) []float64 {
	n := len(rows)
	f, mean, cov := make([]float64, n), make([]float64, n), make([][]float64, n)
	for j := range rows {
		cov[j] = make([]float64, n)
		for k := range rows {
			if m.over() {
				return f
			}
			mean[j], cov[j][k] = m.rowApprox(&rows[j], &rows[k])
		}
	}
	for range 100 {
		for j := range f {
			if m.over() {
				return make([]float64, n)
			}
			g := mean[j]
			for k := range f {
				if k != j {
					g -= cov[j][k] * f[k]
				}
			}
			if f[j] = max(0, g/cov[j][j]); !(f[j] <= math.MaxFloat64) {
				f[j] = 0
			}
		}
	}
	return f
}
