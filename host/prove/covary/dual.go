package covary

import (
	"math"
	"math/rand/v2"

	"psafe/host/arith"
	"psafe/host/prove/slack"
)

// mostDual is up to how many inputs the dual of a quadratic form is looked for, by sweeps.
const (
	mostDual = 512
	sweeps   = 24
)

// OverBoxUp bounds d'(k + Diag(delta)) d for all |d_j| <= reach_j, d = 0 for the bias, from above: the
// dual of (92), sum_j y_j for any y with Diag(y) >= M, M_ij = reach_i K_ij reach_j, and at first
// y_j = sum_i |M_ij|.
func (r *Row) OverBoxUp(reach []float64) float64 {
	n := r.N + 1
	var live []int
	for j, h := range reach {
		if h > 0 {
			live = append(live, j)
		}
	}
	m, rows := make([]float64, len(live)*len(live)), make([]float64, len(live))
	total := 0.0
	for a, i := range live {
		for b, j := range live {
			k := r.K[i*n+j]
			if i == j {
				k = arith.Up(k + r.Delta[i])
			}
			m[a*len(live)+b] = float64(float64(reach[i]*k) * reach[j])
			rows[a] += math.Abs(m[a*len(live)+b])
		}
		total += rows[a]
	}
	g := Grow(2 * len(live))
	simple := total*g + float64(len(live))*Tiny
	if len(live) < 2 || len(live) > mostDual || !(simple <= Most) {
		return simple
	}
	y := dualApprox(m, len(live))
	more, known := provedMore(m, y)
	if !known {
		return simple
	}
	sum := 0.0
	for a, v := range y {
		// Each entry of m is off by two roundings, which are on the diagonal.
		sum += math.Abs(v) + more + float64(rows[a]*0x1p-50)
	}
	return min(simple, slack.FormUp(sum*g+float64(len(live))*Tiny))
}

// dualApprox looks for a y with Diag(y) >= M of about the least sum: the largest ascent of
// sum_ij M_ij v_i v_j over unit vectors v_i, coordinate by coordinate (Wang, Chang, Kolter 2017), at
// the end of which y_i = M_ii + |sum_j M_ij v_j| over j other than i.
func dualApprox(m []float64, n int) []float64 {
	rank := int(math.Sqrt(float64(2*n))) + 2
	random := rand.New(rand.NewPCG(1, uint64(n)))
	v := make([]float64, n*rank)
	for i := range v {
		v[i] = random.NormFloat64()
	}
	y, sum := make([]float64, n), make([]float64, rank)
	for s := range sweeps + 1 {
		for i := range n {
			clear(sum)
			for j := range n {
				if j != i {
					AddTimes(sum, m[i*n+j], v[j*rank:(j+1)*rank])
				}
			}
			length := 0.0
			for _, x := range sum {
				length += float64(x * x)
			}
			length = math.Sqrt(length)
			if y[i] = m[i*n+i] + length; s < sweeps && length > 0 {
				for k, x := range sum {
					v[i*rank+k] = x / length
				}
			}
		}
	}
	return y
}

// provedMore is a number e for which Diag(y) + e I - M is surely positive semidefinite; false where no
// small one was found. If the Cholesky factor of a symmetric matrix A of n rows can be computed in
// floating point, A + e I is positive semidefinite for e = g/(1-g) tr A, g = (n+1) u/(1 - (n+1) u), and
// what products that underflow leave out (Rump, "Verification of positive definiteness", BIT 46, 2006).
// y is enlarged until that succeeds.
func provedMore(m, y []float64) (float64, bool) {
	n, trace := len(y), 0.0
	for i := range y {
		trace += math.Abs(y[i]) + math.Abs(m[i*n+i])
	}
	for share := -30; share <= -6; share += 2 {
		shift := math.Ldexp(trace, share)
		if factorises(m, y, shift) {
			// The diagonal is rounded twice, by less than trace 2^-52.
			e := shift + float64(trace*(1+float64(n)))*(float64(n+8)*0x1p-52)
			return e + Tiny, e <= trace
		}
	}
	return 0, false
}

// factorises reports whether Cholesky of Diag(y) + shift - M runs to its end.
func factorises(m, y []float64, shift float64) bool { return factor(m, y, shift) != nil }

// factor is the lower triangle that Cholesky of Diag(y) + shift - M makes; nil if it does not run to its end.
func factor(m, y []float64, shift float64) []float64 {
	n := len(y)
	l := make([]float64, n*n)
	for j := range n {
		own := l[j*n : j*n+j]
		for i := j; i < n; i++ {
			sum := 0 - m[i*n+j]
			if i == j {
				sum = y[j] - m[j*n+j] + shift
			}
			for k, v := range own {
				sum -= float64(l[i*n+k] * v)
			}
			if i == j {
				if !(sum > 0) || sum > math.MaxFloat64 {
					return nil
				}
				l[j*n+j] = math.Sqrt(sum)
			} else {
				l[i*n+j] = sum / l[j*n+j]
			}
		}
	}
	return l
}
