package sums

import (
	"math"
	"sort"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// outputMoments are about the mean and the covariance of the outputs at the middle of a cell.
// They choose which rows to add up, and enter no bound.
type outputMoments struct {
	mean []float64
	cov  [][]float64
}

func (n *Network) momentsApprox(cell property.Box) *outputMoments {
	outputs, bias := n.output.Outputs(), &n.output.Bias
	m := &outputMoments{mean: make([]float64, outputs), cov: make([][]float64, outputs)}
	for c := range m.mean {
		at := n.output.Dense().BiasOf(c)
		m.mean[c], m.cov[c] = bias.Mean[at], make([]float64, outputs)
		m.cov[c][c] = bias.SdHi[at] * bias.SdHi[at]
	}
	if len(cell.Lo) != n.hidden.Inputs() || len(cell.Hi) != n.hidden.Inputs() {
		return m // for which there will be no bound
	}
	w, u := &n.hidden.Weight, &n.output.Weight
	for i := range n.hidden.Outputs() {
		at := n.hidden.Dense().BiasOf(i)
		mean, variance := n.hidden.Bias.Mean[at], n.hidden.Bias.SdHi[at]*n.hidden.Bias.SdHi[at]
		for j, at := range n.hidden.Dense().Into(i) {
			x := arith.Middle(cell.Lo[j], cell.Hi[j])
			mean += x * w.Mean[at]
			variance += x * w.SdHi[at] * x * w.SdHi[at]
		}
		// The midpoint rule for E s(t) and E s(t)^2.
		first, second := 0.0, 0.0
		const step = 0.25
		for z := -5.0; z <= 5; z += step {
			p := step * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			s := n.act.Approx(mean + math.Sqrt(variance)*z)
			first, second = first+p*s, second+p*s*s
		}
		for c, at := range n.output.Dense().From(i) {
			m.mean[c] += u.Mean[at] * first
			m.cov[c][c] += u.SdHi[at] * u.SdHi[at] * second
			for k, other := range n.output.Dense().From(i) {
				m.cov[c][k] += u.Mean[at] * u.Mean[other] * (second - first*first)
			}
		}
	}
	return m
}

// row is about the mean of row a and its covariance with b.
func (m *outputMoments) row(a, b *property.Row) (mean, cov float64) {
	if len(a.CLo) != len(m.mean) || len(b.CLo) != len(m.mean) {
		return 0, 1 // for which there will be no bound
	}
	mean = a.D
	for c, u := range a.CLo {
		mean += u * m.mean[c]
		for k, v := range b.CLo {
			cov += u * v * m.cov[c][k]
		}
	}
	return mean, cov
}

// notPositiveApprox is about the probability that the row is not positive.
func (m *outputMoments) notPositiveApprox(row *property.Row) float64 {
	mean, variance := m.row(row, row)
	switch {
	case variance > 0:
		return math.Erfc(mean/math.Sqrt(2*variance)) / 2
	case mean > 0:
		return 0
	}
	return 1
}

// plans returns the plans that fail least likely: one, a second one if it is nearly as good, and
// the sum of rows that does, if there is one.
func (m *outputMoments) plans(plans [][]property.Row, rows []property.Row) [][]property.Row {
	mixed := -1
	if mix, ok := m.mix(rows); ok {
		mixed = len(plans)
		plans = append(plans, []property.Row{mix})
	}
	fail := make([]float64, len(plans))
	order := make([]int, len(plans))
	for p := range plans {
		order[p] = p
		for r := range plans[p] {
			fail[p] += m.notPositiveApprox(&plans[p][r])
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return fail[order[i]] < fail[order[j]] })
	var out [][]property.Row
	for k, p := range order {
		if k == 0 || k == 1 && fail[p] < 1.5*fail[order[0]] || p == mixed {
			out = append(out, plans[p])
		}
	}
	return out
}

// mix is sum_j f_j rows[j] with f_j >= 0 that make its mean in standard deviations large:
// they minimise f' Cov f/2 - f' mean, by coordinate descent. False for fewer than two rows.
func (m *outputMoments) mix(rows []property.Row) (property.Row, bool) {
	n := len(rows)
	f, mean, cov := make([]float64, n), make([]float64, n), make([][]float64, n)
	for j := range rows {
		cov[j] = make([]float64, n)
		for k := range rows {
			mean[j], cov[j][k] = m.row(&rows[j], &rows[k])
		}
	}
	for range 100 {
		for j := range f {
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
	used := 0
	for _, x := range f {
		if x > 0 {
			used++
		}
	}
	if used < 2 {
		return property.Row{}, false
	}
	return Mixture(rows, f), true
}

// Mixture is sum_j f[j] rows[j] for f_j >= 0, not all 0: its coefficients enclose those of the sum.
func Mixture(rows []property.Row, f []float64) property.Row {
	n := len(rows[0].CLo)
	mix := property.Row{CLo: make([]float64, n), CHi: make([]float64, n)}
	for j := range rows {
		if f[j] == 0 {
			continue // 0 times what is there is 0
		}
		r := &rows[j]
		mix.D, mix.DHi = arith.SumDown(mix.D, arith.ProductDown(f[j], r.D)), arith.SumUp(mix.DHi, arith.ProductUp(f[j], r.DHi))
		for k := range n {
			mix.CLo[k] = arith.SumDown(mix.CLo[k], arith.ProductDown(f[j], r.CLo[k]))
			mix.CHi[k] = arith.SumUp(mix.CHi[k], arith.ProductUp(f[j], r.CHi[k]))
		}
	}
	return mix
}
