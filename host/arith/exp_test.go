package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testkit/oracle"
)

// TestConstants checks every constant whose direction a proof uses.
func TestConstants(t *testing.T) {
	// ln 2 = 2 atanh(1/3).
	ln2, power := newBig(), newBig().Quo(bigOf(2), bigOf(3))
	for i := range 130 {
		ln2.Add(ln2, newBig().Quo(power, bigOf(float64(2*i+1))))
		power.Quo(power, bigOf(9))
	}
	if bigOf(ln2Down).Cmp(ln2) >= 0 || bigOf(ln2Up).Cmp(ln2) <= 0 || Up(ln2Down) != ln2Up {
		t.Error("ln2Down and ln2Up do not bracket ln 2")
	}
	split := newBig().Sub(ln2, bigOf(ln2Hi))
	split.Sub(split, bigOf(ln2Lo))
	if split.Abs(split).Cmp(bigOf(0x1p-86)) >= 0 {
		t.Error("ln2Hi + ln2Lo is further than 2^-86 from ln 2")
	}
	if math.Float64bits(ln2Hi)&(1<<21-1) != 0 {
		t.Error("ln2Hi has no 21 trailing zeros")
	}
	// 10^(1/ln 10) = e: e^(-c ln 10) against e^-1 with ln 10 = ln 1.25 + 3 ln 2.
	ln10, power := newBig(), newBig().Quo(bigOf(2), bigOf(9))
	for i := range 70 {
		ln10.Add(ln10, newBig().Quo(power, bigOf(float64(2*i+1))))
		power.Quo(power, bigOf(81))
	}
	ln10.Add(ln10, newBig().Mul(bigOf(3), ln2))
	one := bigOf(1)
	if newBig().Mul(bigOf(log10EDown), ln10).Cmp(one) >= 0 || newBig().Mul(bigOf(log10EUp), ln10).Cmp(one) <= 0 || Up(log10EDown) != log10EUp {
		t.Error("log10EDown and log10EUp do not bracket log10 e")
	}
	// e^-0.918... must be at least 1/sqrt(2 pi).
	if oracleExpNeg(bigOf(0.9189385332046727)).Cmp(oraclePhi) < 0 {
		t.Error("-0.9189385332046727 is below ln(1/sqrt(2 pi))")
	}
}

func TestExp(t *testing.T) {
	r := newRand(t, 6)
	ys := []float64{0, Eta, 1e-20, 0.34657, 0.3466, 1, 700, 708.3, 708.5, 744, 744.44, 745, 745.13, 745.2, 746, 800, 801, 802, 1e5}
	for range cases(t, 4000) {
		ys = append(ys, r.Float64(), r.Float64()*20, r.Float64()*760)
	}
	for _, y := range ys {
		truth := oracleExpNeg(bigOf(y))
		if lo := ExpDown(-y); !isLower(bigOf(lo), truth) && y != 0 || lo > 1 {
			t.Errorf("ExpDown(-%x) = %x is above", y, lo)
		}
		if hi := ExpUp(-y); !isUpper(bigOf(hi), truth) && hi != 1 || hi > 1 {
			t.Errorf("ExpUp(-%x) = %x is below", y, hi)
		}
		if y < 700 {
			if e := max(relative(bigOf(ExpDown(-y)), truth), relative(bigOf(ExpUp(-y)), truth)); e > 3e-15 {
				t.Errorf("e^-%x is loose by %g", y, e)
			}
		}
		if y <= expNegMax {
			m, k := ExpNeg(y)
			if e := relative(newBig().SetMantExp(bigOf(m), -k), truth); e > ExpNegErr {
				t.Errorf("ExpNeg(%x) is wrong by %.3g u", y, e/Unit)
			}
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ l, down, up float64 }{
		{0, 1, 1}, {1, 1, 1}, {inf, 1, 1}, {-inf, 0, 0}, {nan, 0, 1}, {-1e4, 0, Eta}, {-800, 0, Eta},
	} {
		if d, u := ExpDown(c.l), ExpUp(c.l); d != c.down || u != c.up {
			t.Errorf("exp(%v): got (%v, %v), want (%v, %v)", c.l, d, u, c.down, c.up)
		}
	}
}

// TestLog checks the confirmed logarithms: e^(logDown x) <= x <= e^(logUp x).
func TestLog(t *testing.T) {
	r := newRand(t, 7)
	xs := []float64{1, math.Nextafter(1, 0), 0.5, math.Nextafter(0.5, 1), 0.25, 1e-300, Eta, 0x1p-1022}
	for range cases(t, 5000) {
		xs = append(xs, r.Float64(), 1-r.Float64()*1e-9, math.Exp(-700*r.Float64()))
	}
	for _, x := range xs {
		lo, hi := LogDown(x), LogUp(x)
		if !isLower(expOf(lo), bigOf(x)) && x != 1 || lo > 0 {
			t.Errorf("LogDown(%x) = %x is above", x, lo)
		}
		if hi < 0 && !isUpper(expOf(hi), bigOf(x)) || hi > 1e-12 {
			t.Errorf("LogUp(%x) = %x is below", x, hi)
		}
		if hi-lo > 6e-15+math.Abs(lo)*1.6e-15 {
			t.Errorf("log %x is loose by %g", x, hi-lo)
		}
	}
	// Above 1, where CeilingLog asks for ln n: compare -ln.
	for range 500 {
		x := 1 + math.Floor(1e6*r.Float64())
		inv := newBig().Quo(bigOf(1), bigOf(x))
		if hi := LogUp(x); oracleExpNeg(bigOf(max(0, hi))).Cmp(widen(inv, -1)) > 0 && x > 1 || hi > math.Log(x)*(1+1e-14)+3e-15 {
			t.Errorf("LogUp(%v) = %x", x, hi)
		}
		if lo := LogDown(x); oracleExpNeg(bigOf(max(0, lo))).Cmp(widen(inv, 1)) < 0 && x > 1 {
			t.Errorf("LogDown(%v) = %x", x, lo)
		}
	}
	if !math.IsInf(LogUp(0), -1) || !math.IsInf(LogDown(0), -1) {
		t.Error("ln 0 must be -Inf")
	}
}

func TestLog10(t *testing.T) {
	r := newRand(t, 8)
	// log10 e to 60 digits.
	log10E, _, _ := big.ParseFloat("0.434294481903251827651128918916605082294397005803666566114454", 10, oraclePrec, big.ToNearestEven)
	for range 3000 {
		l := -math.Exp(20*r.Float64() - 10)
		for _, l := range []float64{l, -l} {
			truth := newBig().Mul(bigOf(l), log10E)
			if bigOf(Log10Down(l)).Cmp(truth) >= 0 || bigOf(Log10Up(l)).Cmp(truth) <= 0 {
				t.Errorf("log10 of %x: %x, %x do not bracket", l, Log10Down(l), Log10Up(l))
			}
			if e := (Log10Up(l) - Log10Down(l)) / math.Abs(l); e > 1e-15 {
				t.Errorf("log10 of %x loose by %g", l, e)
			}
		}
	}
	inf := math.Inf(1)
	if Log10Down(math.NaN()) != -inf || Log10Up(math.NaN()) != inf || Log10Down(-inf) != -inf || Log10Up(-inf) != -inf || Log10Down(0) != 0 {
		t.Error("corners of Log10")
	}
}

func TestLogComplement(t *testing.T) {
	for _, p := range []float64{Eta, 1e-300, 1e-17, 1e-10, 0x1p-30, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-9, math.Nextafter(1, 0)} {
		got := LogComplementDown(p)
		truth := newBig().SetPrec(2000).Sub(newBig().SetPrec(2000).SetInt64(1), bigOf(p))
		if sound := p > 1e-40 && isLower(expOf(got), truth) || p <= 1e-40 && got < -p; !sound {
			t.Errorf("LogComplementDown(%v) = %v: too large", p, got)
		}
		if want := math.Log1p(-p); got < want-1e-9*math.Abs(want)-1e-14 {
			t.Errorf("LogComplementDown(%v) = %v, about %v", p, got, want)
		}
		up, want := LogComplementUp(p), math.Log1p(-p)
		if sound := p > 1e-40 && isUpper(expOf(up), truth) || p <= 1e-40 && up >= -p; !sound || up > 0 {
			t.Errorf("LogComplementUp(%v) = %v: too small", p, up)
		}
		if up > want+1e-9*math.Abs(want)+1e-14 {
			t.Errorf("LogComplementUp(%v) = %v, about %v", p, up, want)
		}
	}
	for _, c := range [][2]float64{{0, 0}, {-1, 0}, {1, math.Inf(-1)}, {2, math.Inf(-1)}, {math.NaN(), math.Inf(-1)}} {
		if got := LogComplementDown(c[0]); got != c[1] {
			t.Errorf("LogComplementDown(%v) = %v", c[0], got)
		}
	}
	for _, c := range [][2]float64{{0, 0}, {-1, 0}, {1, math.Inf(-1)}, {2, math.Inf(-1)}, {math.NaN(), 0}} {
		if got := LogComplementUp(c[0]); got != c[1] {
			t.Errorf("LogComplementUp(%v) = %v", c[0], got)
		}
	}
}

// TestLnScaled: ln(m 2^e) for exponents whose share rounds.
func TestLnScaled(t *testing.T) {
	r := newRand(t, 24)
	ln2 := bigLn2
	for range 6000 {
		// e ln 2 just below a power of two, where the last digits are smallest
		// beside the errors of ln2Down and ln2Up.
		e := int(math.Ldexp(1, 1+r.IntN(40))/math.Ln2) - r.IntN(3)
		if r.IntN(2) == 0 {
			e = 1 + r.IntN(1<<(1+r.IntN(30)))
		}
		if r.IntN(2) == 0 {
			e = -e
		}
		m := 0.5 + 0.5*r.Float64()
		if r.IntN(3) == 0 {
			m = 1 - 0x1p-40*r.Float64()
		}
		share := newBig().Mul(bigOf(float64(e)), ln2)
		// l <= ln m + e ln 2, as e^(l - e ln 2) <= m.
		at := func(l float64) *big.Float { return oracle.Exp(newBig().Sub(bigOf(l), share)) }
		if lo, hi := LnScaledDown(m, e), LnScaledUp(m, e); !isLower(at(lo), bigOf(m)) || !isUpper(at(hi), bigOf(m)) {
			t.Errorf("ln(%x 2^%d) is not in [%x, %x]", m, e, lo, hi)
		}
	}
}

// TestExpNegUp: above the exact number by no more than two float64.
func TestExpNegUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		y := math.Ldexp(rng.Float64(), rng.IntN(20)-10)
		exact, got := oracleExpNeg(bigOf(y)), ExpNegUp(DDOf(y))
		if !isUpper(bigOf(got), exact) || y < 700 && bigOf(Down(Down(got))).Cmp(exact) > 0 {
			t.Errorf("exp(-%v): %v, oracle %.20g", y, got, exact)
		}
	}
}
