package probability

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// oracleBinomialTail returns P(Bin(n,p) >= k) for k >= 1, with q = 1-p: all terms
// to relative 2^-230, in 400 bits.
func oracleBinomialTail(k, n int, p, q *big.Float) *big.Float {
	power := func(x *big.Float, m int) *big.Float {
		out, square := bigOf(1), newBig().Set(x)
		for ; m > 0; m >>= 1 {
			if m&1 == 1 {
				out.Mul(out, square)
			}
			square.Mul(square, square)
		}
		return out
	}
	term := newBig().Mul(power(p, k), power(q, n-k))
	for i := 1; i <= min(k, n-k); i++ {
		term.Mul(term, bigOf(float64(n-i+1)))
		term.Quo(term, bigOf(float64(i)))
	}
	sum, odds := newBig().Set(term), newBig().Quo(p, q)
	for j := k; j < n; j++ {
		r := newBig().Quo(bigOf(float64(n-j)), bigOf(float64(j+1)))
		r.Mul(r, odds)
		term.Mul(term, r)
		sum.Add(sum, term)
		if rest := newBig().SetMantExp(term, 230+20); r.Cmp(bigOf(1)) < 0 && rest.Cmp(sum) < 0 {
			break
		}
	}
	return sum
}

// oracleAt is the tail that a limit at v is judged by: of k or more successes of
// probability v, or of n-k or more failures of probability 1-v.
func oracleAt(k, n int, v *big.Float, upper bool) *big.Float {
	w := newBig().Sub(bigOf(1), v)
	if upper {
		return oracleBinomialTail(n-k, n, w, v)
	}
	return oracleBinomialTail(k, n, v, w)
}

type limitCase struct {
	k, n  int
	alpha float64
}

func limitCases(t testing.TB) []limitCase {
	perSize := cases(t, 24)
	cases := []limitCase{
		{99990, 100000, 1e-9}, {1000000, 1000000, 1e-10}, {999999, 1000000, 1e-300}, {1, 1000000, 1e-300}, {500000, 1000000, 0.05},
		{3, 100000000, 1e-9}, {99999997, 100000000, 1e-9}, {1, 1, 1e-300}, {1, 1, 0.5}, {1, 2, 1e-300}, {15, 31, 1e-12}, {16, 32, 1e-12},
		{100000000, 100000000, 1e-300}, {1, 100000000, 0.5}, {1, 2, 0.9}, {300, 1000, 0.95}, {5, 10, 5e-324}, {7, 7, 0.9},
	}
	r := rand.New(rand.NewPCG(51, 1))
	for _, n := range []int{1, 2, 3, 7, 15, 16, 17, 40, 100, 999, 10000} {
		for range perSize {
			k := r.IntN(n + 1)
			if r.IntN(3) == 0 {
				k = min(n, 1+r.IntN(5))
			}
			cases = append(cases, limitCase{k, n, math.Exp(-math.Exp(8.8*r.Float64() - 2.25))})
		}
	}
	return cases
}

// TestClopperPearson holds both limits to their definition, with zero tolerance,
// and to the documented looseness: 1e-9 of the nearer side further in (and at
// least one place), the tail is above alpha.
func TestClopperPearson(t *testing.T) {
	for _, c := range limitCases(t) {
		for _, upper := range []bool{false, true} {
			k := c.k
			if upper {
				k = c.n - c.k
			}
			v, inward := ClopperPearsonDown(k, c.n, c.alpha), 1.0
			if upper {
				v, inward = ClopperPearsonUp(k, c.n, c.alpha), -1
			}
			what := fmt.Sprintf("k %d n %d alpha %g upper %v: %v", k, c.n, c.alpha, upper, v)
			if !(v >= 0 && v <= 1) || v == 0 && !upper && k > 0 {
				t.Errorf("%s", what)
			}
			if k == 0 && !upper || k == c.n && upper {
				continue
			}
			if tail := oracleAt(k, c.n, bigOf(v), upper); !isUpper(bigOf(c.alpha), tail) {
				t.Errorf("%s: the tail is %s", what, tail.Text('g', 20))
			}
			step := max(1e-9*min(v, 1-v), 2*(v-math.Nextafter(v, 0)))
			if tail := oracleAt(k, c.n, newBig().Add(bigOf(v), bigOf(inward*step)), upper); v+inward*step > 0 && tail.Cmp(bigOf(c.alpha)) < 0 {
				t.Errorf("%s is loose: at %g further in the tail is %s", what, step, tail.Text('g', 20))
			}
		}
	}
}

// TestClopperPearsonTabulated compares with closed forms and with mpmath's digits
// where a published incomplete beta function fails.
func TestClopperPearsonTabulated(t *testing.T) {
	for _, c := range []struct {
		got, want, tolerance float64
	}{
		{ClopperPearsonDown(1, 1, 0.05), 0.05, 1e-15},
		{ClopperPearsonDown(1, 2, 0.19), 0.1, 5e-15}, // 1-(1-p)^2 = 0.19
		{ClopperPearsonUp(0, 2, 0.25), 0.5, 5e-15},
		{ClopperPearsonDown(1000000, 1000000, 1e-10), 0.99997697441416293, 1e-15},
		{ClopperPearsonUp(0, 1000000, 1e-10), 1 - 0.99997697441416293, 1e-15},
		{ClopperPearsonDown(99990, 100000, 1e-9), 0.99956, 1e-5},
		{ClopperPearsonDown(0, 10, 0.1), 0, 0},
		{ClopperPearsonUp(10, 10, 0.1), 1, 0},
		{ClopperPearsonDown(0, 0, 0.1), 0, 0},
		{ClopperPearsonUp(0, 0, 0.1), 1, 0},
	} {
		if !(math.Abs(c.got-c.want) <= c.tolerance) {
			t.Errorf("got %.17g, want %.17g", c.got, c.want)
		}
	}
	for _, alpha := range []float64{0, -1, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if lo, hi := ClopperPearsonDown(5, 9, alpha), ClopperPearsonUp(5, 9, alpha); lo != 0 || hi != 1 {
			t.Errorf("alpha %v gives [%v, %v]", alpha, lo, hi)
		}
	}
	for _, c := range [][2]int{{-1, 3}, {4, 3}, {0, -1}, {1, maxTrials + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %d of %d", c[0], c[1])
				}
			}()
			ClopperPearsonDown(c[0], c[1], 0.1)
		}()
	}
}

// TestClopperPearsonCoverage simulates: an interval of two limits of alpha/2 misses
// p with probability at most alpha, and where p is moderate not much less often.
// So many misses that chance explains them once in 10^6 are a failure.
func TestClopperPearsonCoverage(t *testing.T) {
	const runs = 20000
	for _, c := range []struct {
		p, alpha float64
		n        int
	}{{0.001, 0.05, 1000}, {0.001, 0.2, 300}, {0.3, 0.05, 300}, {0.3, 0.01, 50}, {0.9, 0.1, 200}, {0.999, 0.05, 1000}, {0.5, 0.001, 400}} {
		r := rand.New(rand.NewPCG(54, uint64(c.n)))
		covers := map[int]bool{}
		misses := 0
		for range runs {
			k := 0
			for range c.n {
				if r.Float64() < c.p {
					k++
				}
			}
			hit, known := covers[k]
			if !known {
				hit = ClopperPearsonDown(k, c.n, c.alpha/2) <= c.p && c.p <= ClopperPearsonUp(k, c.n, c.alpha/2)
				covers[k] = hit
			}
			if !hit {
				misses++
			}
		}
		alpha := bigOf(c.alpha)
		if misses > 0 && oracleBinomialTail(misses, runs, alpha, newBig().Sub(bigOf(1), alpha)).Cmp(bigOf(1e-6)) < 0 {
			t.Errorf("p %v n %d alpha %v: %d misses of %d", c.p, c.n, c.alpha, misses, runs)
		}
		if moderate := c.p > 0.1 && c.p < 0.95; moderate && float64(misses) < c.alpha/10*runs {
			t.Errorf("p %v n %d alpha %v: only %d misses of %d", c.p, c.n, c.alpha, misses, runs)
		}
		t.Logf("p %v n %d alpha %v: misses %.4f", c.p, c.n, c.alpha, float64(misses)/runs)
	}
}

func TestClopperPearsonSpeed(t *testing.T) {
	// A tail has about sqrt(n) terms; MOST is far below what n of them would cost.
	limits := func(k, n int, alpha float64) func() {
		return func() { sink = ClopperPearsonDown(k, n, alpha) + ClopperPearsonUp(k, n, alpha) }
	}
	for _, c := range []struct {
		k, n  int
		alpha float64
		most  float64
	}{{500000, 1000000, 0.05, 200}, {900000, 1000000, 1e-300, 200}, {50000000, 100000000, 1e-9, 2000}} {
		ratio := testscale.Ratio(limits(c.k, c.n, c.alpha), limits(500, 1000, 0.05), c.most)
		t.Logf("both limits of %d of %d at %g: %.3g times those of 500 of 1000", c.k, c.n, c.alpha, ratio)
		if ratio > c.most {
			t.Errorf("both limits of %d of %d at %g take %.3g times as long as those of 500 of 1000", c.k, c.n, c.alpha, ratio)
		}
	}
}

var sink float64
