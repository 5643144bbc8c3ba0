package law

import (
	"math"
	"math/bits"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// Tails of the noise (docs/theory.md, section 3.2). Of layer l, F_l + e_l lies
// stochastically above min(G_l, 0), G_l ~ N(0, v_l), independently (13a).

// NoiseTailUp is at least Prob(sum_l (F_l + e_l) <= -t) for variances v_l: the least of
// (13), (13b) and (13c). It is 1 for t <= 0 and for what is no variance.
func NoiseTailUp(t float64, variances []float64) float64 {
	if !(t > 0) {
		return 1
	}
	var v []float64
	for _, x := range variances {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return 1
		}
		if x > 0 {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return 0
	}
	z := Ratio(t, v...)
	p := min(arith.ExpNegUp(z.Times(z).Scaled(-1)), subsetsUp(t, v))
	if len(v) > 1 && p > WorthSteps {
		p = min(p, stepsUp(t, v)[Steps])
	}
	return p
}

// WorthSteps is below 10^-6, where certify leaves (13b) out, by more than what it gains.
const WorthSteps = 1e-7

// Ratio is t / sqrt(sum of v) for t > 0 and variances that are not all 0, within 2^-98.
func Ratio(t float64, v ...float64) arith.DD {
	most := 0.0
	for _, x := range v {
		most = max(most, x)
	}
	_, e := math.Frexp(most)
	e += e & 1 // the root of 2^e is a power of 2, and what underflows is nothing beside most
	sum := arith.DDOf(0)
	for _, x := range v {
		sum = sum.Plus(arith.DDOf(math.Ldexp(x, -e)))
	}
	m, f := math.Frexp(t)
	z := arith.DDOf(m).Quotient(sum.Root())
	return z.Scaled(min(max(f-e/2, -200), 200))
}

// subsetsUp is (13c): sum over sets S of layers, not empty, of 2^(|S|-L) Q(t / sqrt(v_S)). For
// many layers the second form serves, with v_S <= v.
func subsetsUp(t float64, v []float64) float64 {
	if len(v) > 8 {
		return min(1, arith.Up(layersFactorUp(len(v))*gauss.TailOfUp(Ratio(t, v...))))
	}
	var p []float64
	for set := uint(1); set < 1<<len(v); set++ {
		var part []float64
		for l, x := range v {
			if set>>l&1 == 1 {
				part = append(part, x)
			}
		}
		p = append(p, timesPow2Up(gauss.TailOfUp(Ratio(t, part...)), bits.OnesCount(set)-len(v)))
	}
	return TotalUp(p)
}

// timesPow2Up is p 2^e for p >= 0, rounded up where that is subnormal.
func timesPow2Up(p float64, e int) float64 {
	v := math.Ldexp(p, e)
	if math.Ldexp(v, -e) < p {
		v = arith.Up(v)
	}
	return v
}

// layersFactorUp is (3/2)^n - (1/2)^n, rounded up.
func layersFactorUp(n int) float64 {
	f := arith.DDOf(1)
	for range n {
		f = f.Times(arith.DDOf(1.5))
	}
	return f.Minus(arith.DDOf(math.Ldexp(1, -n))).RoundUp(0x1p-80)
}

// Steps is the number of steps of the grid of stepsUp.
const Steps = 128

// stepsUp is (13b) on the grid x_i = i t/128, layer by layer:
//
//	q_L(x) = Q(x / sqrt(v_L)),   q_l(x) = E q_(l+1)(x - |G_l|) if G_l < 0, else q_(l+1)(x)
//
// Each q falls, and is 1 below 0, so for |G_l| in [x_k, x_(k+1)) the argument x_i - |G_l| counts
// as x_(i-k-1). With H_k = Prob(-G_l >= x_k), H_0 = 1/2, summation by parts gives
//
//	q_l(x_i) <= (q(x_i) + q(x_(i-1)))/2 + sum_(0<k<i) H_k (q(x_(i-k-1)) - q(x_(i-k))) + H_i (1 - q(x_0))
//
// with q(x_-1) = 1, in which every factor of an H_k is >= 0: bounds of H_k and q from above give such bounds.
// What comes back are all q_1(x_i); at 0 it is the probability that any G_l is negative.
func stepsUp(t float64, v []float64) []float64 {
	q := tailsUp(t, v[len(v)-1])
	for l := len(v) - 2; l >= 0; l-- {
		h, next := tailsUp(t, v[l]), make([]float64, len(q))
		next[0] = arith.Up(0.5 + 0.5*q[0])
		for i := 1; i < len(q); i++ {
			var s arith.Sum
			s.Add(0.5, q[i])
			s.Add(0.5, q[i-1])
			for k := 1; k < i; k++ {
				s.Add(h[k], q[i-k-1])
				s.Add(-h[k], q[i-k])
			}
			s.Plus(h[i])
			s.Add(-h[i], q[0])
			next[i] = min(next[i-1], s.Hi())
		}
		q = next
	}
	return q
}

// tailsUp are bounds of Q(x_i / sqrt(v)) on the grid, none above the one before.
func tailsUp(t, v float64) []float64 {
	z, q := Ratio(t, v), make([]float64, Steps+1)
	q[0] = 0.5
	for i := 1; i < len(q); i++ {
		q[i] = min(q[i-1], gauss.TailOfUp(z.Times(arith.DDOf(float64(i)/Steps))))
	}
	return q
}

// NoiseQuantileUp is the least float64 z with Prob(sum_l (F_l + e_l) <= -z sqrt(sum v_l)) <= tau
// by (13) and the second form of (13c), for any variances of that many layers; +Inf if tau is
// not in (0, 1).
func NoiseQuantileUp(tau float64, layers int) float64 {
	if !(tau > 0 && tau < 1) {
		return arith.Inf
	}
	factor := 1.0
	if layers > 1 {
		factor = layersFactorUp(layers)
	}
	enough := func(z float64) bool {
		q := gauss.TailOfUp(arith.DDOf(z))
		if factor > 1 {
			q = arith.Up(factor * q)
		}
		return min(q, arith.ExpNegUp(arith.DDOf(z).Times(arith.DDOf(z)).Scaled(-1))) <= tau
	}
	lo, hi := 0.0, 64.0
	if !enough(hi) {
		return arith.Inf
	}
	for {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			return hi
		}
		if enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
}

// TotalUp is the sum of probabilities, rounded up, at most 1; 0 if all are. They are scaled so that nothing of
// them underflows in a sum.
func TotalUp(list []float64) float64 {
	const scale = 100
	var s arith.Sum
	for _, p := range list {
		if p != 0 {
			s.Add(p, 1<<scale)
		}
	}
	if s.N == 0 {
		return 0
	}
	return min(1, timesPow2Up(s.Hi(), -scale))
}

// FormTailUp bounds the probability that lo plus the noise of these layers is at most 0.
func FormTailUp(lo float64, layers []Noise) float64 {
	if len(layers) == 0 && lo >= 0 {
		return 0
	}
	var t arith.Sum
	t.Plus(lo)
	variances := make([]float64, len(layers))
	for l, n := range layers {
		t.Plus(-n.Mean)
		variances[l] = n.Variance
	}
	return NoiseTailUp(t.Lo(), variances)
}

// TailDown is at most Q(t/sqrt(v)) for t, v > 0.
func TailDown(t, v float64) float64 { return gauss.TailOfDown(Ratio(t, v)) }
