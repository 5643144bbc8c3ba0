package covary

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/relax"
)

// FormUp bounds d'(k + Diag(delta)) d over |d_j| <= reach_j from above (docs/theory.md (92)): by the
// sum of all magnitudes, or by sum_j y_j where Diag(y) - M is surely positive semidefinite, M_ij =
// reach_i k_ij reach_j. Any y will do; a good one is looked for in ordinary numbers.
func (r *TopRow) FormUp(reach []float64) float64 {
	var at []int
	for j, h := range reach {
		if h > 0 {
			at = append(at, j)
		}
	}
	n := len(at)
	m, off := make([]float64, n*n), make([]float64, n)
	var all arith.Sum
	for a, i := range at {
		for b, j := range at {
			k := r.K[i*r.N+j]
			if i == j {
				k = arith.SumUp(k, r.Delta[i])
			}
			m[a*n+b] = float64(float64(reach[i]*k) * reach[j])
			off[a] += math.Abs(m[a*n+b])
		}
		all.Add(off[a], 1+Loose(n)+0x1p-50)
		all.Plus(TopTiny)
	}
	plain := max(0, all.Hi())
	if n < 2 || n > mostForm || !(plain <= TopMost) {
		return plain
	}
	y := balanced(m, n)
	more, found := missing(m, y)
	if !found {
		return plain
	}
	var sum arith.Sum
	for a, v := range y {
		sum.Plus(math.Abs(v))
		sum.Plus(more)
		sum.Add(off[a], 0x1p-50)
		sum.Plus(TopTiny)
	}
	return min(plain, max(0, sum.Hi()))
}

// mostForm is up to how many numbers a y is looked for.
const mostForm = 512

// balanced looks for a y with Diag(y) >= M of a small sum. Unit vectors are turned, one at a time, to
// where the sum of M_ij v_i v_j over all others is greatest; y_i is what vector i then has of it.
func balanced(m []float64, n int) []float64 {
	const rounds = 48
	size := 3 + int(math.Sqrt(2*float64(n)))
	lots := relax.Choice{Try: 7}
	vectors, y := make([][]float64, n), make([]float64, n)
	for i := range vectors {
		for range size {
			vectors[i] = append(vectors[i], lots.Lot())
		}
	}
	pull := make([]float64, size)
	for round := range rounds {
		for i, v := range vectors {
			clear(pull)
			for j, other := range vectors {
				if w := m[i*n+j]; j != i && w != 0 {
					for k, x := range other {
						pull[k] += w * x
					}
				}
			}
			norm := 0.0
			for _, x := range pull {
				norm += x * x
			}
			norm = math.Sqrt(norm)
			y[i] = m[i*n+i] + norm
			if norm > 0 && round < rounds-1 {
				for k, x := range pull {
					v[k] = x / norm
				}
			}
		}
	}
	return y
}

// missing returns what has to be added to every y for Diag(y) - M to be positive semidefinite for sure.
// If Gauss elimination of a symmetric matrix A of n rows meets positive pivots alone, in floating point,
// A is that but for (n+2) u trace(A) (Rump, BIT 46, 2006; Higham, Accuracy and Stability, theorem 10.3).
func missing(m, y []float64) (more float64, found bool) {
	n, trace := len(y), 0.0
	for i, v := range y {
		trace += math.Abs(v) + math.Abs(m[i*n+i])
	}
	for share := -36; share <= -6; share += 2 {
		shift := math.Ldexp(trace, share)
		if triangle(m, y, shift) != nil {
			return arith.Up(shift + arith.Up(float64(n+16)*0x1p-52*float64(n+2)*trace)), true
		}
	}
	return 0, false
}

// triangle is the lower one that Cholesky makes of Diag(y) + shift - M, nil unless its pivots are all positive.
func triangle(m, y []float64, shift float64) [][]float64 {
	n := len(y)
	l := make([][]float64, n)
	for i := range l {
		l[i] = make([]float64, i+1)
	}
	for i := range n {
		for j := range i + 1 {
			s := -m[i*n+j]
			if i == j {
				s = y[i] - m[i*n+i] + shift
			}
			for k := range j {
				s -= float64(l[i][k] * l[j][k])
			}
			switch {
			case i != j:
				l[i][j] = s / l[j][j]
			case !(s > 0 && s <= math.MaxFloat64):
				return nil
			default:
				l[i][i] = math.Sqrt(s)
			}
		}
	}
	return l
}
