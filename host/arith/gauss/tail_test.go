package gauss

import (
	"math"
	"math/big"
	"testing"
)

// tailPoints is a grid, random points, region borders with neighbours, corners.
func tailPoints(t testing.TB) []float64 {
	var zs []float64
	for i := -1000; i <= 4000; i += 7 * 1000 / cases(t, 1000) {
		zs = append(zs, float64(i)/100)
	}
	r := newRand(t, 3)
	for range cases(t, 600) {
		zs = append(zs, r.Float64()*5, -r.Float64()*9, r.Float64()*39)
	}
	for _, c := range []float64{0, 0.5, 1, seriesEnd, 4, 7, 30, 37, 37.5, 38, 38.4, 38.5, 38.6, 39, TailEnd, 1e-8, 1e-160, 0x1p-1022, tiny, 8.2, 8.3} {
		for _, z := range []float64{c, math.Nextafter(c, 99), math.Nextafter(c, -99)} {
			zs = append(zs, z, -z)
		}
	}
	return append(zs, math.Copysign(0, -1))
}

func TestTailBounds(t *testing.T) {
	for _, z := range tailPoints(t) {
		truth := oracleTail(bigOf(z))
		if lo := TailDown(z); !isLower(bigOf(lo), truth) || lo >= 1 || math.Signbit(lo) {
			t.Errorf("TailDown(%x) = %x, truth %s", z, lo, truth.Text('g', 25))
		}
		if hi := TailUp(z); !isUpper(bigOf(hi), truth) && hi != 1 || hi > 1 {
			t.Errorf("TailUp(%x) = %x, truth %s", z, hi, truth.Text('g', 25))
		}
	}
}

// TestTailLooseness holds TailUp and TailDown to the documented 4e-13.
func TestTailLooseness(t *testing.T) {
	const budget = 4e-13
	worstUp, worstDown := 0.0, 0.0
	for _, z := range tailPoints(t) {
		if z < -8 || z > 37 {
			continue
		}
		truth := oracleTail(bigOf(z))
		up, down := relative(bigOf(TailUp(z)), truth), relative(bigOf(TailDown(z)), truth)
		if up > budget || down > budget {
			t.Errorf("z = %x: loose by %.2g up, %.2g down", z, up, down)
		}
		worstUp, worstDown = max(worstUp, up), max(worstDown, down)
	}
	t.Logf("worst looseness: up %.2g, down %.2g", worstUp, worstDown)
}

func TestTailCorners(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ z, up, down float64 }{
		{nan, 1, 0},
		{inf, tiny, 0},
		{-inf, 1, math.Nextafter(1, 0)},
		{1e300, tiny, 0},
		{-1e300, 1, math.Nextafter(1, 0)},
	} {
		if up, down := TailUp(c.z), TailDown(c.z); up != c.up || down != c.down {
			t.Errorf("z = %v: got (%v, %v), want (%v, %v)", c.z, up, down, c.up, c.down)
		}
	}
}

// TestEvaluationErrors compares central and convergent, which are not bounds,
// with their proved relative errors. The convergents' own truncation is left
// out by comparing with the same convergent in 400 bits.
func TestEvaluationErrors(t *testing.T) {
	r := newRand(t, 4)
	for range cases(t, 1000) {
		z := seriesEnd * r.Float64()
		truth := newBig().Sub(bigOf(0.5), oracleTail(bigOf(z)))
		if e := relative(bigOf(central(z)), truth); e > centralErr-2*unit {
			t.Errorf("central(%x) is wrong by %.3g u", z, e/unit)
		}
	}
	orders := [3][2]int{{51, 50}, {27, 26}, {15, 14}}
	for range cases(t, 1000) {
		z := seriesEnd + (37-seriesEnd)*r.Float64()*r.Float64()
		tier := 0
		for tier < 2 && z >= tierEnd[tier] {
			tier++
		}
		for parity := range 2 {
			m, y, k := convergent(z, parity)
			f := newBig()
			for n := orders[tier][parity] - 1; n > 0; n-- {
				f.Quo(bigOf(float64(n)), f.Add(f, bigOf(z)))
			}
			x := newBig().Mul(bigOf(z), bigOf(z))
			truth := oracleExpNeg(x.SetMantExp(x, -1))
			truth.Mul(truth, oraclePhi)
			truth.Quo(truth, f.Add(f, bigOf(z)))
			got := newBig().SetMantExp(bigOf(m), -k)
			if e := relative(got, truth); e > convergentErr-4*unit+y*unit {
				t.Errorf("convergent(%x, %d) is wrong by %.3g u", z, parity, e/unit)
			}
			// The parity decides the side: no slack at all.
			q := oracleTail(bigOf(z))
			if side := truth.Cmp(q); parity == 0 && side < 0 || parity == 1 && side > 0 {
				t.Errorf("convergent of parity %d at %x lies on the wrong side", parity, z)
			}
		}
	}
}

// TestCentralSteps: the central part of what is far is what tails leave, rounded to its side.
func TestCentralSteps(t *testing.T) {
	exact := func(terms ...float64) *big.Float {
		sum := new(big.Float).SetPrec(2400)
		for _, x := range terms {
			sum.Add(sum, big.NewFloat(x))
		}
		return sum
	}
	r := newRand(t, 23)
	for range 5000 {
		z := max(9*r.Float64(), seriesEnd)
		if exact(CentralDown(z)).Cmp(exact(0.5, -TailUp(z))) > 0 || exact(CentralUp(z)).Cmp(exact(0.5, -TailDown(z))) < 0 {
			t.Errorf("central part of %x: [%x, %x]", z, CentralDown(z), CentralUp(z))
		}
	}
}

// benchGammas are the arguments the certifier asks for.
var benchGammas = []float64{2.5, 3.1, 4.3, 4.33, 5.3, 2.2, 3.9, 4.7}

func BenchmarkTailUp(b *testing.B) {
	s := 0.0
	for i := range b.N {
		s += TailUp(benchGammas[i&7])
	}
	sink = s
}

func BenchmarkTailDown(b *testing.B) {
	s := 0.0
	for i := range b.N {
		s += TailDown(benchGammas[i&7])
	}
	sink = s
}

var sink float64
