package probability

import (
	"math"
	"math/big"
	"runtime"
	"testing"
)

// productValue returns m 2^e e^-sum.
func productValue(p product) *big.Float {
	v := newBig().SetMantExp(bigOf(p.m), p.e)
	return v.Mul(v, oracleExpNeg(bigOf(p.sum)))
}

func scaledValue(s scaled) *big.Float { return newBig().SetMantExp(bigOf(s.m), s.e) }

// TestProduct multiplies exact factors, so that nothing hides the rounding of
// the product itself: one operation rounded to nearest fails it.
func TestProduct(t *testing.T) {
	r := newRand(t, 9)
	for trial := range 3000 {
		lower, upper, truth := one, one, bigOf(1).SetPrec(1400) // 1400 bits: exact
		n := 1 + r.IntN(12)
		kind := trial % 4
		for range n {
			if kind == 0 || kind == 2 && r.IntN(2) == 0 {
				q := smallTail * math.Exp(-20*r.Float64()*float64(r.IntN(2)))
				if r.IntN(20) == 0 {
					q = 0
				}
				lower.timesOneMinusDown(q)
				upper.timesOneMinusUp(q)
				truth.Mul(truth, newBig().Sub(bigOf(1), bigOf(q)))
			} else {
				f := r.Float64()
				if kind == 3 && r.IntN(3) == 0 {
					f = math.Ldexp(f, -r.IntN(1080))
				}
				lower.timesDown(f)
				upper.timesUp(f)
				truth.Mul(truth, bigOf(f))
			}
		}
		checkProduct(t, lower, upper, truth, float64(n))
	}
}

// brackets is lower <= truth <= upper; where a value is exact, so is the
// comparison.
func brackets(lower, upper, truth *big.Float, lowerExact, upperExact bool) bool {
	return (lowerExact && lower.Cmp(truth) <= 0 || isLower(lower, truth)) &&
		(upperExact && upper.Cmp(truth) >= 0 || isUpper(upper, truth))
}

// checkProduct checks a product, its scaled form and its logarithm, and their
// looseness: 2^-50 per factor.
func checkProduct(t *testing.T, lower, upper product, truth *big.Float, n float64) {
	t.Helper()
	if truth.Sign() == 0 {
		return
	}
	if !brackets(productValue(lower), productValue(upper), truth, lower.sum == 0, upper.sum == 0) {
		t.Errorf("product %+v, %+v does not bracket %s", lower, upper, truth.Text('g', 20))
	}
	if !brackets(scaledValue(lower.scaledDown()), scaledValue(upper.scaledUp()), truth, lower.sum == 0, upper.sum == 0) {
		t.Errorf("scaled product of %+v, %+v does not bracket", lower, upper)
	}
	if lower.m == 0 {
		return
	}
	if lo := lower.logDown(); !isLower(expOf(lo), truth) && lo != 0 {
		t.Errorf("logDown of %+v is above", lower)
	}
	if hi := upper.logUp(); !isUpper(expOf(hi), truth) && hi != 0 {
		t.Errorf("logUp of %+v is below", upper)
	}
	l, _ := newBig().SetMantExp(truth, -truth.MantExp(nil)).Float64()
	size := math.Abs(math.Log(l) + float64(truth.MantExp(nil))*math.Ln2)
	if gap := upper.logUp() - lower.logDown(); gap > (n+4)*0x1p-50*(1+size/4) {
		t.Errorf("product of %v factors, ln %g, is loose by %g", n, size, gap)
	}
}

func TestScaledLongSum(t *testing.T) {
	for _, s := range []float64{511, 512, 513, 1024, 1500.25, 9000.125} {
		p := product{m: 0.75, e: -3, sum: s}
		if truth := productValue(p); !isLower(scaledValue(p.scaledDown()), truth) || !isUpper(scaledValue(p.scaledUp()), truth) ||
			relative(scaledValue(p.scaledDown()), truth) > 1e-13 || relative(scaledValue(p.scaledUp()), truth) > 1e-13 {
			t.Errorf("scaled form of %+v", p)
		}
	}
}

func TestScaledOver(t *testing.T) {
	for _, c := range []struct {
		s        scaled
		base     int
		down, up float64
	}{
		{scaled{0.75, -18000}, -18000, 0.75, 0.75},
		{scaled{0.75, -1073 - 9}, -9, tiny, 2 * tiny}, // 1.5 eta
		{scaled{0.5, -1000000000}, 0, 0, tiny},
		{scaled{}, 5, 0, 0},
	} {
		if d, u := c.s.over(c.base, -1), c.s.over(c.base, 1); d > c.down || u < c.up || c.down == 0.75 && (d != 0.75 || u != 0.75) {
			t.Errorf("%+v over 2^%d = [%x, %x]", c.s, c.base, d, u)
		}
	}
}

// TestChunksAreDeterministic runs the same long product on 1 to 4 processors.
func TestChunksAreDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	r := newRand(t, 10)
	b := randomBox(r, 5*chunk+17)
	var first float64
	for procs := 1; procs <= 4; procs++ {
		runtime.GOMAXPROCS(procs)
		got := LogMassDown(b.lo, b.hi, b.mean, b.sdLo, b.sdHi)
		if procs == 1 {
			first = got
		}
		if got != first || math.IsInf(got, 0) {
			t.Errorf("%d processors: %x, one processor: %x", procs, got, first)
		}
	}
}
