package measure

import (
	"math"
	"math/big"
	"testing"
)

func TestUpDown(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range []float64{0, math.Copysign(0, -1), tiny, -tiny, 0x1p-1022, 1, -1, math.MaxFloat64, -math.MaxFloat64, inf, -inf} {
		if got, want := up(x), math.Nextafter(x, inf); got != want {
			t.Errorf("up(%x) = %x, want %x", x, got, want)
		}
		if got, want := down(x), math.Nextafter(x, -inf); got != want {
			t.Errorf("down(%x) = %x, want %x", x, got, want)
		}
	}
	if !math.IsNaN(up(math.NaN())) || !math.IsNaN(down(math.NaN())) {
		t.Error("NaN must stay")
	}
}

// TestConstants checks every constant whose direction a proof uses.
func TestConstants(t *testing.T) {
	// ln 2 = 2 atanh(1/3).
	ln2, power := newBig(), newBig().Quo(bigOf(2), bigOf(3))
	for i := range 130 {
		ln2.Add(ln2, newBig().Quo(power, bigOf(float64(2*i+1))))
		power.Quo(power, bigOf(9))
	}
	if bigOf(ln2Down).Cmp(ln2) >= 0 || bigOf(ln2Up).Cmp(ln2) <= 0 || up(ln2Down) != ln2Up {
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
	if newBig().Mul(bigOf(log10EDown), ln10).Cmp(one) >= 0 || newBig().Mul(bigOf(log10EUp), ln10).Cmp(one) <= 0 || up(log10EDown) != log10EUp {
		t.Error("log10EDown and log10EUp do not bracket log10 e")
	}
	// e^-0.918... must be at least 1/sqrt(2 pi).
	if oracleExpNeg(bigOf(0.9189385332046727)).Cmp(oraclePhi) < 0 {
		t.Error("-0.9189385332046727 is below ln(1/sqrt(2 pi))")
	}
}

func TestExp(t *testing.T) {
	r := newRand(t, 6)
	ys := []float64{0, tiny, 1e-20, 0.34657, 0.3466, 1, 700, 708.3, 708.5, 744, 744.44, 745, 745.13, 745.2, 746, 800, 801, 802, 1e5}
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
			m, k := expNeg(y)
			if e := relative(newBig().SetMantExp(bigOf(m), -k), truth); e > expErr {
				t.Errorf("expNeg(%x) is wrong by %.3g u", y, e/unit)
			}
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ l, down, up float64 }{
		{0, 1, 1}, {1, 1, 1}, {inf, 1, 1}, {-inf, 0, 0}, {nan, 0, 1}, {-1e4, 0, tiny}, {-800, 0, tiny},
	} {
		if d, u := ExpDown(c.l), ExpUp(c.l); d != c.down || u != c.up {
			t.Errorf("exp(%v): got (%v, %v), want (%v, %v)", c.l, d, u, c.down, c.up)
		}
	}
}

// TestLog checks the confirmed logarithms: e^(logDown x) <= x <= e^(logUp x).
func TestLog(t *testing.T) {
	r := newRand(t, 7)
	xs := []float64{1, math.Nextafter(1, 0), 0.5, math.Nextafter(0.5, 1), 0.25, 1e-300, tiny, 0x1p-1022}
	for range cases(t, 5000) {
		xs = append(xs, r.Float64(), 1-r.Float64()*1e-9, math.Exp(-700*r.Float64()))
	}
	for _, x := range xs {
		lo, hi := logDown(x), logUp(x)
		if !isLower(expOf(lo), bigOf(x)) && x != 1 || lo > 0 {
			t.Errorf("logDown(%x) = %x is above", x, lo)
		}
		if hi < 0 && !isUpper(expOf(hi), bigOf(x)) || hi > 1e-12 {
			t.Errorf("logUp(%x) = %x is below", x, hi)
		}
		if hi-lo > 6e-15+math.Abs(lo)*1.6e-15 {
			t.Errorf("log %x is loose by %g", x, hi-lo)
		}
	}
	// Above 1, where CeilingLog asks for ln n: compare -ln.
	for range 500 {
		x := 1 + math.Floor(1e6*r.Float64())
		inv := newBig().Quo(bigOf(1), bigOf(x))
		if hi := logUp(x); oracleExpNeg(bigOf(max(0, hi))).Cmp(widen(inv, -1)) > 0 && x > 1 || hi > math.Log(x)*(1+1e-14)+3e-15 {
			t.Errorf("logUp(%v) = %x", x, hi)
		}
		if lo := logDown(x); oracleExpNeg(bigOf(max(0, lo))).Cmp(widen(inv, 1)) < 0 && x > 1 {
			t.Errorf("logDown(%v) = %x", x, lo)
		}
	}
	if !math.IsInf(logUp(0), -1) || !math.IsInf(logDown(0), -1) {
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
