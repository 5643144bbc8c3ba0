package probability

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
)

// bigFraction is sum u e / sum e for e = e^x.
func bigFraction(u, x []float64) *big.Float {
	num, den := arith.NewBig(), arith.NewBig()
	for k := range u {
		if !math.IsInf(x[k], -1) {
			e := bigExp(x[k])
			den.Add(den, e)
			num.Add(num, arith.NewBig().Mul(e, arith.NewBig().SetFloat64(u[k])))
		}
	}
	return num.Quo(num, den)
}

// TestFractionExactly: no choice of ends, and none far beyond what is open above, has a fraction below the
// bound, to the last digit, and the least of them is near it.
func TestFractionExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 21))
	for c := range 150 {
		n := 2 + c%4
		u, lo, hi := make([]float64, n), make([]float64, n), make([]float64, n)
		for k := range n {
			u[k] = r.NormFloat64()
			lo[k] = r.NormFloat64() * math.Exp(2*r.NormFloat64())
			hi[k] = lo[k] + math.Exp(2*r.NormFloat64())
			if k > 0 && r.IntN(5) == 0 {
				lo[k] = math.Inf(-1)
			}
			if k > 0 && r.IntN(5) == 0 {
				hi[k] = math.Inf(1)
			}
		}
		lo[0], hi[0] = 0, 0
		got, least := FractionDown(u, lo, hi), math.Inf(1)
		for ends := range 1 << n {
			x := slices.Clone(lo)
			for k := range x {
				if ends>>k&1 == 1 {
					x[k] = min(hi[k], 60)
				}
			}
			exact := bigFraction(u, x)
			if exact.Cmp(arith.NewBig().SetFloat64(got)) < 0 {
				t.Errorf("%d: %v, with the ends %b it is %v", c, got, ends, exact)
			}
			least = min(least, toFloat(exact))
		}
		if got < least-1e-13 {
			t.Errorf("%d: %v, the least is %v", c, got, least)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	u := []float64{0.5, -1, 0.2}
	for _, c := range [][2][]float64{{{0, nan, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, nan}}, {{0, inf, 0}, {0, inf, 0}}, {{0, -inf, 0}, {0, inf, 0}}} {
		if z := FractionDown(u, c[0], c[1]); z != -1 {
			t.Errorf("%v says %v", c, z)
		}
	}
}

// TestContrastDown: whatever differences of outputs have to do with each other, and whatever happens where
// hidden bounds fail, the mean of the sum is no less; it is near where there are two classes, or little
// noise.
func TestContrastDown(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 22))
	const n = 400
	for c := range 60 {
		classes := 2 + c%3
		s := &SoftmaxLaw{R: r.IntN(classes), Below: make([]*MarginLaw, classes), Above: make([]*MarginLaw, classes), Budget: []float64{0, 0.01, 0.2}[c%3]}
		top, sd := make([]float64, classes), make([]float64, classes)
		orders := make([][]int, classes)
		for k := range classes {
			if orders[k] = r.Perm(n); c%2 == 0 {
				slices.Sort(orders[k])
			}
			if k != s.R {
				top[k], sd[k] = 2*r.NormFloat64(), []float64{0.1, 1}[c/3%2]*math.Exp(r.NormFloat64()/2)
				v := []float64{sd[k] * sd[k]}
				s.Below[k], s.Above[k] = NewMarginLaw(top[k], v), NewMarginLaw(-top[k], v)
			}
		}
		u := make([]float64, classes)
		for k := range u {
			u[k] = float64(r.IntN(9)-4) / 4
		}
		mean := 0.0
		for i := range n {
			sum, weight := 0.0, 0.0
			for k := range classes {
				e := 1.0
				if k != s.R { // f_r - f_k is normal: both laws are below it
					e = math.Exp(-top[k] - sd[k]*math.Sqrt2*math.Erfinv(2*(float64(orders[k][i])+0.5)/n-1))
				}
				sum, weight = sum+u[k]*e, weight+e
			}
			mean += sum / weight / n
		}
		mean = (1-s.Budget)*mean + s.Budget*slices.Min(u)
		got := s.ContrastDown(u)
		if got > mean+1e-3*(slices.Max(sd)) { // of the midpoint rule
			t.Errorf("%d: %v, it may be %v", c, got, mean)
		}
		if most := 0.05 + 0.5*slices.Max(sd); (classes == 2 || c/3%2 == 0) && got < mean-most {
			t.Errorf("%d: %v, it is at least %v of deviations %v", c, got, mean, sd)
		}
	}
	// Two classes that both help: one alone does not show it, both do.
	s := &SoftmaxLaw{R: 0, Below: []*MarginLaw{nil, NewMarginLaw(0, []float64{1e-4}), NewMarginLaw(0, []float64{1e-4})},
		Above: []*MarginLaw{nil, NewMarginLaw(0, []float64{1e-4}), NewMarginLaw(0, []float64{1e-4})}, Budget: 1e-3}
	if got := s.ContrastDown([]float64{0.5, 0.45, -0.75}); !(got > 0.04) {
		t.Errorf("two that help: %v", got)
	}
	if got := s.ContrastDown([]float64{0, 0.75, 0.75}); !(got > 0.45) {
		t.Errorf("the others help: %v", got)
	}
}
