package probability

import (
	"math"
	"math/big"
	"testing"

	"psafe/host/arith"
)

// oracleLog10 returns log10 of a big number in float64, to about 1e-13.
func oracleLog10(x *big.Float) float64 {
	m := newBig()
	e := x.MantExp(m)
	f, _ := m.Float64()
	return math.Log10(f) + float64(e)*math.Log10(2)
}

// oracleCeiling returns n (1 - 2Q(gamma))^d exactly.
func oracleCeiling(n int, gamma float64, d int) *big.Float {
	f := newBig().Sub(bigOf(1), newBig().Mul(bigOf(2), oracleTail(bigOf(gamma))))
	p := bigOf(float64(n))
	for ; d > 0; d >>= 1 {
		if d&1 == 1 {
			p.Mul(p, f)
		}
		f.Mul(f, f)
	}
	return p
}

func TestCeilingLog(t *testing.T) {
	for _, c := range []struct {
		n     int
		gamma float64
		d     int
		want  float64 // decimal exponent; NaN: none
	}{
		{10500, 2.5, 7177, -35},
		{300, 2, 269322, -5444},
		{1, 4.3, 7177, math.NaN()},
		{1, 5.3, 1000000, math.NaN()},
		{1000, 0.01, 12, math.NaN()},
		{1, 2.5, 1, math.NaN()},
		{7, 1e-30, 3, math.NaN()},
		{3, 20, 100, math.NaN()},
		{1000003, 38.5, 4, math.NaN()},
	} {
		truth := oracleCeiling(c.n, c.gamma, c.d)
		got := CeilingLog(c.n, c.gamma, c.d)
		// Compare e^got with the truth; e^got > 1 through its reciprocal.
		bound := expOf(-math.Abs(got))
		if got > 0 {
			bound = newBig().Quo(bigOf(1), bound)
		}
		if !isUpper(bound, truth) {
			t.Errorf("%+v: CeilingLog = %v is below the truth", c, got)
		}
		if e := relative(bound, truth); e > 1e-13*(1+float64(c.d)+math.Abs(got)) {
			t.Errorf("%+v: CeilingLog = %v is loose by %g", c, got, e)
		}
		log10 := arith.Log10Up(CeilingLog(c.n, c.gamma, c.d))
		if math.Abs(log10-oracleLog10(truth)) > 1e-9*(1+math.Abs(log10)) {
			t.Errorf("%+v: log10 of CeilingLog = %v, want %v", c, log10, oracleLog10(truth))
		}
		if !math.IsNaN(c.want) && math.Abs(log10-c.want) > 1 {
			t.Errorf("%+v: log10 of CeilingLog = %v, the theorem says %v", c, log10, c.want)
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		n     int
		gamma float64
		d     int
		want  float64
	}{{0, 2, 5, -inf}, {-1, 2, 5, -inf}, {1, 2, 0, 0}, {1, 0, 5, -inf}, {1, -1, 5, -inf}, {1, inf, 5, 0}, {1, nan, 5, 0}, {1, 0, 0, 0}} {
		if got := CeilingLog(c.n, c.gamma, c.d); got != c.want && !(c.want == 0 && got >= 0 && got < 1e-300) {
			t.Errorf("CeilingLog(%d, %v, %d) = %v, want %v", c.n, c.gamma, c.d, got, c.want)
		}
	}
}

// TestCeilingHolds: no box of half-width gamma sd, wherever it is, has more
// mass, so the certified lower bound of any such union stays below.
func TestCeilingHolds(t *testing.T) {
	r := newRand(t, 13)
	const d, n, gamma = 5, 4, 1.5
	for range 200 {
		u := randomUnion(r, n, d)
		for i := range u.lo {
			for j := range u.lo[i] {
				c := u.mean[j] + u.sd[j]*r.NormFloat64()
				u.lo[i][j], u.hi[i][j] = c-gamma*u.sd[j], c+gamma*u.sd[j]
			}
		}
		got, _ := UnionLogDown(u.lo, u.hi, u.mean, u.sd, u.sd)
		// The ends were rounded: 1e-12 is for them.
		if limit := CeilingLog(n, gamma, d); got > limit+1e-12 {
			t.Errorf("union %v above its ceiling %v", got, limit)
		}
	}
}

func TestApproxHelpers(t *testing.T) {
	for _, c := range []struct {
		p    float64
		d    int
		want float64
	}{{0.9, 7177, 4.33}, {0.9, 1000000, 5.30}} {
		g := GammaForMassApprox(c.p, c.d)
		if math.Abs(g-c.want) > 0.02 {
			t.Errorf("GammaForMassApprox(%v, %d) = %v, want %v", c.p, c.d, g, c.want)
		}
		if p := math.Exp(float64(c.d) * centredLogApprox(g)); math.Abs(p-c.p) > 1e-9 {
			t.Errorf("gamma %v gives mass %v, want %v", g, p, c.p)
		}
	}
	if GammaForMassApprox(0, 5) != 0 || GammaForMassApprox(0.5, 0) != 0 || !math.IsInf(GammaForMassApprox(1, 5), 1) || GammaForMassApprox(math.NaN(), 5) != 0 {
		t.Error("corners of GammaForMassApprox")
	}
	if g := GammaForMassApprox(0.6826894921370859, 1); math.Abs(g-1) > 1e-9 {
		t.Errorf("one weight, 68 %%: gamma = %v", g)
	}
}
