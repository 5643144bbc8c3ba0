package probability

import (
	"math"
	"math/bits"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// The noise of a network's layers, docs/theory.md, section 3.2: F_l is the least value over T of
// a centred Gaussian process, layer by layer given the layers below, -e_l bounds its
// mean from below and v_l its variance from above. F_l + e_l lies stochastically
// above min(G_l, 0), G_l ~ N(0, v_l) (13a). Section 3.2 proves what follows.

// NoiseTailUp returns an upper bound of Prob(sum_l (F_l + e_l) <= -t), the smallest
// of
//
//	exp(-t^2 / (2 sum v))                                       (13)
//	sum over sets of layers S, not empty, of 2^(|S|-L) Q(t / sqrt(v_S))   (13c)
//	the convolution (13b) by step sums on a grid
//
// for variances v >= 0, and known, an upper bound that the caller has (1 if none). It is known for
// t <= 0 and for NaN.
func NoiseTailUp(t float64, variances []float64, known float64) float64 {
	if !(t > 0) {
		return known
	}
	sum, v := 0.0, make([]float64, 0, len(variances))
	for _, x := range variances {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return known
		}
		if x > 0 {
			v = append(v, x)
			sum = up(sum + x)
		}
	}
	if len(v) == 0 {
		return 0
	}
	p := min(herbstUp(t, sum), subsetsUp(t, sum, v))
	// What is known only says that (13b) cannot help: whether it is tried is decided by the bound
	// itself, so that the least of several is the same in any order.
	if len(v) > 1 && p < 1 && p > worthConvolving && NoiseTailLeast(t, v) < min(p, known) {
		p = min(p, convolutionUp(t, v))
	}
	return min(known, p)
}

// NoiseTailLeast returns what NoiseTailUp is never less than, where nothing is known: Q(t / sqrt(sum
// v)), rounded down: one tail, where (13b) takes 386 for two layers. It says which bounds are not
// worth their time.
//
// Proof: Q(z) <= exp(-z^2/2); the term of (13c) of all layers is Q(t / sqrt(sum v)); and (13b) is at
// least Prob(sum_l min(G_l, 0) <= -t), where min(G_l, 0) <= G_l.
func NoiseTailLeast(t float64, variances []float64) float64 {
	if t <= 0 || math.IsNaN(t) {
		return 1
	}
	sum := 0.0
	for _, x := range variances {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return 1
		}
		sum = max(sum, down(sum+x))
	}
	if sum == 0 {
		return 0
	}
	return gauss.TailDown(ratioUp(t, sum))
}

// worthConvolving is from where on (13b) is tried: it gains a factor of two at most over
// (13c) with two layers, and takes a thousand times as long.
const worthConvolving = 1e-6

// herbstUp returns an upper bound of exp(-t^2/(2v)).
func herbstUp(t, v float64) float64 { return arith.ExpUp(-down(down(t*t) / up(2*v))) }

// mostSubsets is the number of layers up to which (13c) goes through all subsets.
const mostSubsets = 8

// subsetsUp is (13c); for many layers v_S <= v gives a closed form.
//
// Proof: min(G_l, 0) is G_l with probability 1/2 and otherwise 0, independently. With
// S the layers where it is G_l, the sum is at most -t with probability at most
// Prob(G_l < 0 for l in S, 0 elsewhere, sum over S of G_l <= -t) <= 2^(|S|-L)
// Prob(sum over S of G_l <= -t): leaving out that the G_l in S are negative only
// adds. S empty gives nothing, as t > 0.
func subsetsUp(t, sum float64, v []float64) float64 {
	if len(v) == 1 {
		return gauss.TailUp(ratioDown(t, v[0]))
	}
	if len(v) > mostSubsets {
		return min(1, up(layersFactorUp(len(v))*gauss.TailUp(ratioDown(t, sum))))
	}
	p := 0.0
	for set := uint(1); set < 1<<len(v); set++ {
		part := 0.0
		for l, x := range v {
			if set>>l&1 == 1 {
				part = up(part + x)
			}
		}
		p = up(p + up(math.Ldexp(gauss.TailUp(ratioDown(t, part)), bits.OnesCount(set)-len(v))))
	}
	return min(1, p)
}

// layersFactorUp is (3/2)^n - (1/2)^n, the sum of 2^(|S|-n) over sets that are not
// empty, rounded up.
func layersFactorUp(n int) float64 {
	f := 1.0
	for range n {
		f = up(f * 1.5)
	}
	if n <= 50 {
		f = up(f - math.Ldexp(1, -n))
	}
	return f
}

// ratioDown returns a lower bound of t/sqrt(v) for t, v > 0.
func ratioDown(t, v float64) float64 { return down(t / up(math.Sqrt(v))) }

// convolutionSteps is the number of steps of the grid of convolutionUp.
const convolutionSteps = 128

// convolutionUp is (13b): with q_L(t) = Q(t/sqrt(v_L)) for t >= 0 and 1 for t < 0,
// q_l(t) = E q_(l+1)(t + min(G_l, 0)). On the grid x_i = i h, h = t/128: every q
// decreases, so for -G in [x_k, x_(k+1)) the argument x_i + G counts as x_(i-k-1).
//
// t is cut to 40 bits, which makes the grid exact and the tail larger. Sums of 130
// positive terms, each rounded twice, are below (1 + 2^-44) of what is computed.
func convolutionUp(t float64, v []float64) float64 {
	m, e := math.Frexp(t)
	t = math.Ldexp(math.Floor(math.Ldexp(m, 40)), e-40)
	h := t / convolutionSteps
	if !(h > 0x1p-900) {
		return 1
	}
	return convolvedUp(h, v)[convolutionSteps]
}

// convolvedUp is (13b) on the grid: upper bounds of Prob(sum_l min(G_l, 0) <= -i h), at 0 of
// Prob(sum_l min(G_l, 0) < 0), for steps h of which all multiples are exact.
func convolvedUp(h float64, v []float64) (q [convolutionSteps + 1]float64) {
	var next, mass [convolutionSteps + 1]float64
	last := v[len(v)-1]
	for i := range q {
		q[i] = gauss.TailUp(ratioDown(h*float64(i), last))
	}
	for l := len(v) - 2; l >= 0; l-- {
		var above [convolutionSteps + 1]float64 // Prob(-G >= x_i)
		for i := range above {
			above[i] = gauss.TailUp(ratioDown(h*float64(i), v[l]))
		}
		for i := range convolutionSteps {
			mass[i] = max(0, up(above[i]-gauss.TailDown(ratioUp(h*float64(i+1), v[l]))))
		}
		for i := range next {
			s := 0.5*q[i] + above[i]
			for k := range i {
				s += float64(mass[k] * q[i-k-1])
			}
			next[i] = min(1, s*(1+0x1p-44)+0x1p-1000)
		}
		q = next
	}
	return q
}

// ratioUp returns an upper bound of t/sqrt(v) for t, v > 0.
func ratioUp(t, v float64) float64 { return up(t / max(tiny, down(math.Sqrt(v)))) }

// NoiseQuantileUp returns a z with Prob(sum_l (F_l + e_l) <= -z sqrt(sum v_l)) <= tau
// for every choice of the variances of that many layers, close to the smallest one;
// the bounds behind it are (13) and the closed form of (13c). +Inf if tau is not in
// (0, 1).
func NoiseQuantileUp(tau float64, layers int) float64 {
	if !(tau > 0 && tau < 1) || layers < 1 {
		return math.Inf(1)
	}
	factor := 1.0
	if layers > 1 {
		factor = layersFactorUp(layers)
	}
	return leastUp(tau, func(z float64) float64 { return min(up(factor*gauss.TailUp(z)), herbstUp(z, 1)) })
}

// leastUp bisects for the least z with tail(z) <= tau; what it returns has been
// evaluated, so nothing depends on the search.
func leastUp(tau float64, tail func(float64) float64) float64 {
	lo, hi := 0.0, 64.0
	if tail(hi) > tau {
		return math.Inf(1)
	}
	for hi-lo > 0x1p-44*hi {
		if mid := lo + (hi-lo)/2; tail(mid) <= tau {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
