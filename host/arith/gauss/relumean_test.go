package gauss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func approxQ(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// TestReLUMean: E max(W, 0) is between its bounds, which are near each other; both grow with the mean and
// the deviation.
func TestReLUMean(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 8))
	for range 2000 {
		mean, sd := 3*r.NormFloat64(), math.Exp(2*r.NormFloat64())
		exact := mean*approxQ(-mean/sd) + sd*math.Exp(-mean*mean/sd/sd/2)/math.Sqrt(2*math.Pi)
		lo, hi, off := ReLUMeanDown(mean, sd), ReLUMeanUp(mean, sd), 1e-14*(math.Abs(mean)+sd)
		if lo > exact+off || hi < exact-off || lo > hi || hi-lo > 100*off {
			t.Errorf("mean %v, sd %v: [%v, %v], it is %v", mean, sd, lo, hi, exact)
		}
		square := mean*exact + sd*sd*approxQ(-mean/sd)
		scale := 1e-12 * (mean*mean + sd*sd)
		if lo, hi := ReLUSquareDown(mean, sd), ReLUSquareUp(mean, sd); lo > square+scale/100 || hi < square-scale/100 || lo > hi || hi-lo > scale {
			t.Errorf("mean %v, sd %v: the square is in [%v, %v], it is %v", mean, sd, lo, hi, square)
		}
		v := square - exact*exact
		if lo, hi := ReLUVarianceDown(mean, sd), ReLUVarianceUp(mean, sd); lo > v+scale/100 || hi < v-scale/100 || lo > hi || hi-lo > 4*scale {
			t.Errorf("mean %v, sd %v: the variance is in [%v, %v], it is %v", mean, sd, lo, hi, v)
		}
		more, wider := math.Exp(r.NormFloat64()), 1+r.Float64()
		for _, of := range [][2]float64{{mean + more, sd}, {mean, sd * wider}} { // of which those above are lower bounds
			if ReLUVarianceDown(mean, sd) > ReLUVarianceUp(of[0], of[1]) {
				t.Errorf("mean %v, sd %v: the variance falls to mean %v, sd %v", mean, sd, of[0], of[1])
			}
		}
		if abs := 2*exact - mean; AbsMeanDown(mean, sd) > abs+2*off || AbsMeanDown(mean, sd) < math.Abs(mean) {
			t.Errorf("mean %v, sd %v: E|W| from %v on, it is %v", mean, sd, AbsMeanDown(mean, sd), abs)
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range [][2]float64{{nan, 1}, {inf, 1}, {1, nan}, {1, inf}, {-inf, 1}} {
		if lo, hi := ReLUMeanDown(c[0], c[1]), ReLUMeanUp(c[0], c[1]); lo > 1 || hi < inf {
			t.Errorf("%v: [%v, %v]", c, lo, hi)
		}
		if lo, hi := ReLUVarianceDown(c[0], c[1]), ReLUVarianceUp(c[0], c[1]); lo > 0 || hi < inf {
			t.Errorf("%v: the variance is in [%v, %v]", c, lo, hi)
		}
	}
	if lo, hi := ReLUMeanDown(-2, 0), ReLUMeanUp(-2, 0); lo != 0 || hi > 1e-300 {
		t.Errorf("certainly -2: [%v, %v]", lo, hi)
	}
}

// TestReLUMomentsExactly: the bounds of mean, square and variance hold, with no tolerance.
func TestReLUMomentsExactly(t *testing.T) {
	r := newRand(t, 10)
	for range cases(t, 1000) {
		sd := math.Exp(20 * r.NormFloat64())
		mean := sd * max(-20, min(6*r.NormFloat64(), 20)) // beyond, 400 bits do not tell the mean from W's
		m, s := bigOf(mean), bigOf(sd)
		z := newBig().Quo(m, s)
		phi := oracleExpNeg(newBig().Quo(newBig().Mul(z, z), bigOf(2)))
		phi.Mul(phi, oraclePhi).Mul(phi, s)
		on := oracleTail(newBig().Neg(z))
		first := newBig().Add(newBig().Mul(m, on), phi)
		second := newBig().Add(newBig().Mul(newBig().Add(newBig().Mul(m, m), newBig().Mul(s, s)), on), newBig().Mul(m, phi))
		variance := newBig().Sub(second, newBig().Mul(first, first))
		for _, c := range []struct {
			what   string
			lo, hi float64
			truth  *big.Float
		}{
			{"mean", ReLUMeanDown(mean, sd), ReLUMeanUp(mean, sd), first},
			{"square", ReLUSquareDown(mean, sd), ReLUSquareUp(mean, sd), second},
			{"variance", ReLUVarianceDown(mean, sd), ReLUVarianceUp(mean, sd), variance},
		} {
			if bigOf(c.lo).Cmp(c.truth) > 0 || bigOf(c.hi).Cmp(c.truth) < 0 {
				t.Fatalf("mean %x, sd %x: the %s is in [%v, %v], it is %s", mean, sd, c.what, c.lo, c.hi, c.truth.Text('g', 25))
			}
		}
	}
}

// TestAbsMean: an upper bound of the mean of |W|, and a tight one.
func TestAbsMean(t *testing.T) {
	r := newRand(t, 9)
	for range cases(t, 3000) {
		mean, sd := r.NormFloat64()*math.Exp(3*r.NormFloat64()), math.Exp(3*r.NormFloat64())
		truth := oracleAbsMean(mean, sd)
		got := AbsMeanUp(mean, sd)
		if !isUpper(bigOf(got), truth) {
			t.Fatalf("AbsMeanUp(%x, %x) = %x, truth %s", mean, sd, got, truth.Text('g', 25))
		}
		if relative(bigOf(got), truth) > 1e-12 {
			t.Errorf("AbsMeanUp(%v, %v) = %v, truth %s", mean, sd, got, truth.Text('g', 25))
		}
	}
	for _, c := range [][3]float64{{-3, 0, 3}, {0, 0, 0}, {math.NaN(), 1, math.Inf(1)}, {1, math.Inf(1), math.Inf(1)}, {1, -1, math.Inf(1)}} {
		if got := AbsMeanUp(c[0], c[1]); got != c[2] {
			t.Errorf("AbsMeanUp(%v, %v) = %v", c[0], c[1], got)
		}
	}
}

// oracleAbsMean is E|W| = 2 sd phi(z) + a (1 - 2 Q(z)), a = |mean|, z = a/sd.
func oracleAbsMean(mean, sd float64) *big.Float {
	a, s := bigOf(math.Abs(mean)), bigOf(sd)
	z := newBig().Quo(a, s)
	half := newBig().Mul(z, z)
	phi := oracleExpNeg(half.Quo(half, bigOf(2)))
	phi.Mul(phi.Mul(phi, oraclePhi), bigOf(2))
	one := newBig().Sub(bigOf(1), newBig().Mul(bigOf(2), oracleTail(z)))
	return phi.Add(phi.Mul(phi, s), one.Mul(one, a))
}
