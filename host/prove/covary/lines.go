package covary

import (
	"math"

	"psafe/host/arith"
	"psafe/host/prove/slack"
)

// OverLinesUp bounds d'(k + Diag(delta)) d from above for all d = sum_i s_i T_i with |s_i| <= 1
// (docs/theory.md (92f)). The columns T_i are slope_.i radius_i, of each input i of the network, and
// half_j e_j; d is 0 for the bias. slope is [N][inputs], nil where there is none. It is +Inf where nothing is known.
func (r *Row) OverLinesUp(slope [][]float64, radius, half []float64) float64 {
	var inputs, live []int
	for i, x := range radius {
		if x != 0 {
			inputs = append(inputs, i)
		}
	}
	for j, h := range half {
		moves := h != 0
		for _, i := range inputs {
			moves = moves || slope[j] != nil && slope[j][i] != 0
		}
		if moves {
			live = append(live, j)
		}
	}
	n := len(live)
	if n < 2 || n > mostDual {
		return math.Inf(1)
	}
	l := r.rootUp(live)
	if l == nil {
		return math.Inf(1)
	}
	// turned = l'T, and size_i >= |turned_ai| even with all signs lost.
	columns := len(inputs) + n
	turned, size, column := make([]float64, n*columns), make([]float64, columns), make([]float64, columns)
	for b, j := range live {
		clear(column)
		for at, i := range inputs {
			if slope[j] != nil {
				column[at] = float64(slope[j][i] * radius[i])
			}
		}
		column[len(inputs)+b] = half[j]
		long := 0.0
		for a, v := range l[b*n : b*n+b+1] {
			AddTimes(turned[a*columns:(a+1)*columns], v, column)
			long += float64(v * v)
		}
		long = math.Sqrt(long) * Grow(n)
		for at, x := range column {
			size[at] += float64(long * math.Abs(x))
		}
	}
	y, lost := weigh(turned, size, n)
	sum := 0.0
	for _, w := range y {
		sum += w
	}
	form := float64(sum*largestUp(turned, n, lost)) * Grow(columns)
	if !(form <= Most*Most) {
		return math.Inf(1)
	}
	return slack.FormUp(form)
}

// rootUp is a lower triangular l with l l' >= k + Diag(delta) over some coordinates; nil if none was found. That of
// Cholesky, as computed, is off from its matrix A by at most g/(1-g) tr A (provedMore), which is on the diagonal.
func (r *Row) rootUp(live []int) []float64 {
	n, trace := len(live), 0.0
	m := make([]float64, n*n)
	for a, i := range live {
		for b, j := range live {
			m[a*n+b] = 0 - r.K[i*(r.N+1)+j]
		}
		m[a*n+a] = 0 - arith.Up(r.K[i*(r.N+1)+i]+r.Delta[i])
		trace += math.Abs(m[a*n+a])
	}
	zero := make([]float64, n)
	for share := -36; share <= -12; share += 4 {
		shift := float64(trace*(1+float64(n)))*(float64(n+8)*0x1p-52) + math.Ldexp(trace, share) + Tiny
		if l := factor(m, zero, shift); l != nil {
			return l
		}
	}
	return nil
}

// weigh divides each column of turned by the root of its weight y_i > 0, about its length, and returns the weights,
// 0 of columns of zeros, and what an entry of the product of the result and its transpose, as computed, is off by at
// most if entry ai of turned is a sum of n products that size_i bounds with all signs lost.
func weigh(turned, size []float64, n int) (y []float64, lost float64) {
	columns := len(size)
	y, long := make([]float64, columns), make([]float64, columns)
	for a := range n {
		for i, x := range turned[a*columns : (a+1)*columns] {
			long[i] += float64(x * x)
		}
	}
	for i, s := range size {
		if long[i] = math.Sqrt(long[i]); s != 0 {
			y[i] = max(long[i], float64(s*0x1p-40), Tiny)
			lost += float64(s / y[i] * s)
			long[i] = 1 / math.Sqrt(y[i])
		}
	}
	for a := range n {
		row := turned[a*columns : (a+1)*columns]
		for i := range row {
			row[i] *= long[i]
		}
	}
	return y, float64(lost*Grow(columns))*(4*Unit(2*n+columns)) + Tiny
}

// largestUp is at least the largest eigenvalue of u u' for u [n x columns], each entry of which is off by at most
// lost: +Inf if it was not found.
func largestUp(u []float64, n int, lost float64) float64 {
	columns := len(u) / n
	m := make([]float64, n*n)
	for a := range n {
		for b := range a + 1 {
			sum := 0.0
			for i, x := range u[a*columns : (a+1)*columns] {
				sum += float64(x * u[b*columns+i])
			}
			m[a*n+b], m[b*n+a] = sum, sum
		}
	}
	y := make([]float64, n)
	top := largestApprox(m, n) * (1 + 0x1p-10)
	for a := range y {
		y[a] = top
	}
	more, known := provedMore(m, y)
	if !known {
		return math.Inf(1)
	}
	// A symmetric matrix with entries of at most lost has no eigenvalue above n lost.
	return (top + more + float64(float64(n)*lost)) * Grow(2)
}

// largestApprox is about the largest eigenvalue of a positive semidefinite matrix, by powers of it.
func largestApprox(m []float64, n int) float64 {
	v, next, top := make([]float64, n), make([]float64, n), 0.0
	for i := range v {
		v[i] = 1 + 1/float64(i+2)
	}
	for range 100 {
		length := 0.0
		for i := range next {
			next[i] = 0
			for j, x := range m[i*n : (i+1)*n] {
				next[i] += float64(x * v[j])
			}
			length += float64(next[i] * next[i])
		}
		before := 0.0
		for _, x := range v {
			before += float64(x * x)
		}
		if top = math.Sqrt(length / before); !(length > 0) {
			break
		}
		for i, x := range next {
			v[i] = x / math.Sqrt(length)
		}
	}
	return top
}
