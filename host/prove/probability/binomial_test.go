package probability

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestLog1pUp compares with the exponential of the oracle: e^bound >= 1+x.
func TestLog1pUp(t *testing.T) {
	r := newRand(t, 52)
	xs := []float64{0, 0.5, -0.5, tiny, -tiny, 0x1p-1000, -0x1p-1000, 0x1p-899, -0x1p-53, 0x1p-53, 1e-9}
	for range cases(t, 3000) {
		xs = append(xs, math.Copysign(0.5*math.Exp(-30*r.Float64()*r.Float64()), r.Float64()-0.5))
	}
	for _, x := range xs {
		bound := log1pUp(x)
		real := newBig().Add(bigOf(1), bigOf(x))
		// Compared as e^-|bound|, which the oracle can take.
		got, want := oracleExpNeg(bigOf(math.Abs(bound))), real
		sound := isUpper(got, want)
		if bound > 0 {
			want = newBig().Quo(bigOf(1), real)
			sound = isLower(got, want)
		}
		if !sound && math.Abs(x) > 0x1p-180 || bound < x-x*x {
			t.Errorf("log1pUp(%x) = %x is no upper bound", x, bound)
		}
		// A relative error of the logarithm is one of |log| in its exponential.
		if loose := relative(got, want); loose > 1.5e-15*math.Abs(bound)+0x1p-190 {
			t.Errorf("log1pUp(%x) is loose by %.3g of %.3g", x, loose, bound)
		}
	}
}

// oracleStirling is e^-delta(m) = sqrt(2 pi m) (m/e)^m / m!.
func oracleStirling(m int) *big.Float {
	v := newBig().Sqrt(bigOf(float64(m)))
	v.Quo(v, oraclePhi)
	for i := 1; i <= m; i++ {
		v.Mul(v, bigOf(float64(m)))
		v.Quo(v, bigOf(float64(i)))
	}
	return v.Mul(v, oracleExpNeg(bigOf(float64(m))))
}

func TestStirling(t *testing.T) {
	for _, m := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 25, 31, 64, 100, 1000, 20000} {
		hi, lo, want := stirlingUp(float64(m)), stirlingDown(float64(m)), oracleStirling(m)
		if !isLower(oracleExpNeg(bigOf(hi)), want) || !isUpper(oracleExpNeg(bigOf(lo)), want) {
			t.Errorf("delta(%d) is not in [%v, %v]", m, lo, hi)
		}
		if hi-lo > 2e-13 {
			t.Errorf("delta(%d): [%v, %v] is %.2g wide", m, lo, hi, hi-lo)
		}
	}
}

// TestBinomialTail holds the bound of the tail to the oracle at probabilities
// given by either side, below and above the mean, not only at limits.
func TestBinomialTail(t *testing.T) {
	r := newRand(t, 53)
	worst := 0.0
	for range cases(t, 1500) {
		n := 1 + int(math.Exp(9*r.Float64()))
		k := 1 + r.IntN(n)
		if r.IntN(3) == 0 {
			k = max(1, n-r.IntN(4))
		}
		v := oddsNear(r, k, n)
		for _, given := range []givenSide{givenP, givenQ} {
			p, q := bigOf(v), newBig().Sub(bigOf(1), bigOf(v))
			if given == givenQ {
				p, q = q, p
			}
			truth := oracleBinomialTail(k, n, p, q)
			l, ratio := binomialLogTailUp(k, n, chanceOf(v, given))
			if l > 0 || l < 0 && !isUpper(expOf(l), truth) {
				t.Errorf("k %d n %d v %x given %v: e^%v, truth %s", k, n, v, given, l, truth.Text('g', 20))
			}
			if f, _ := truth.Float64(); f < 0.99 && ratio < 1e6 {
				// Of a logarithm l the bound may lose a few places, and of n p - k too.
				loose := relative(expOf(l), truth)
				worst = max(worst, loose/(1+math.Abs(l)))
			}
		}
	}
	t.Logf("worst looseness of the tail, per unit of its logarithm: %.2g", worst)
	if worst > 1e-11 {
		t.Errorf("the tail is loose by %.2g per unit of its logarithm", worst)
	}
}

// oddsNear draws a probability of any size, mostly within some deviations of k/n.
func oddsNear(r *rand.Rand, k, n int) float64 {
	if r.IntN(4) == 0 {
		return math.Exp(-40 * r.Float64())
	}
	f := float64(k) / float64(n)
	v := f + 8*r.NormFloat64()*math.Sqrt(f*(1-f)/float64(n)+1e-9)
	if r.IntN(2) == 0 {
		v = 1 - v
	}
	if !(v > 0 && v < 1) {
		return r.Float64()
	}
	return v
}

// TestTailRatio compares the sum of terms, without their logarithms, with the
// oracle: zero tolerance below, and above what its roundings explain.
func TestTailRatio(t *testing.T) {
	r := newRand(t, 55)
	for range cases(t, 1500) {
		n := 1 + int(math.Exp(8*r.Float64()))
		k := 1 + r.IntN(n)
		v := oddsNear(r, k, n)
		given := givenSide(r.IntN(2) == 0)
		p, q := bigOf(v), newBig().Sub(bigOf(1), bigOf(v))
		if given == givenQ {
			p, q = q, p
		}
		truth, term, odds := bigOf(1), bigOf(1), newBig().Quo(p, q)
		for j := k; j < n && term.MantExp(nil) > truth.MantExp(nil)-300; j++ {
			term.Mul(term, bigOf(float64(n-j)))
			term.Mul(term.Quo(term, bigOf(float64(j+1))), odds)
			truth.Add(truth, term)
		}
		got := tailRatioUp(float64(k), float64(n), chanceOf(v, given))
		if math.IsInf(got, 1) {
			if f, _ := truth.Float64(); f < 1e308 {
				t.Errorf("k %d n %d v %x: +Inf for %v", k, n, v, f)
			}
			continue
		}
		if !isUpper(bigOf(got), truth) {
			t.Errorf("k %d n %d v %x given %v: %v is below %s", k, n, v, given, got, truth.Text('g', 20))
		}
		if loose := relative(bigOf(got), truth); loose > 2e-12+float64(n)*2e-15 {
			t.Errorf("k %d n %d v %x given %v: %v is loose by %.2g", k, n, v, given, got, loose)
		}
	}
}

// TestBinomialSteps checks the enclosures that a tail starts from, exactly.
func TestBinomialSteps(t *testing.T) {
	r := newRand(t, 56)
	for range 20000 {
		n := float64(1 + r.IntN(1<<30))
		k := math.Ceil(n * r.Float64())
		v := oddsNear(r, int(k), int(n))
		for _, given := range []givenSide{givenP, givenQ} {
			c := chanceOf(v, given)
			p, q := bigOf(v), newBig().Sub(bigOf(1), bigOf(v))
			if given == givenQ {
				p, q = q, p
			}
			pUp, qDown, qUp := c.bounds()
			if bigOf(pUp).Cmp(p) < 0 || bigOf(qDown).Cmp(q) > 0 || bigOf(qUp).Cmp(q) < 0 || qUp-qDown > 4*unit || qUp > 1+4*unit {
				t.Errorf("v %x given %v: p <= %x, %x <= q <= %x", v, given, pUp, qDown, qUp)
			}
			e := newBig().Sub(newBig().Mul(bigOf(n), p), bigOf(k))
			lo, hi := c.excess(k, n)
			if bigOf(lo).Cmp(e) > 0 || bigOf(hi).Cmp(e) < 0 || hi-lo > 1e-15*math.Abs(lo)+tiny {
				t.Errorf("n %v k %v v %x given %v: n p - k is not in [%x, %x]", n, k, v, given, lo, hi)
			}
		}
	}
}
