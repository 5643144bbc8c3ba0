package property

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestParseDecimalTight(t *testing.T) {
	texts := []string{"0", "-0", "0.0e-5", "1", "+1", ".5", "5.", "0.1", "-0.1", "0.3", "1e22", "1e23", "1e-22", "1e-23",
		"9007199254740993", "9007199254740993e-3", "999999999999999e22", "999999999999999e-22",
		"5e-324", "4.9406564584124654e-324", "2e-324", "-2e-324", "1e-400", "-1e-400", "2.2250738585072011e-308", "2.2250738585072014e-308",
		"1.7976931348623157e308", "-1.7976931348623157E+308", "179769313486231570000e288",
		"0." + strings.Repeat("3", 1000), "0." + strings.Repeat("0", 330) + "7", strings.Repeat("0", 1000) + "7e-400"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var text string
		switch r.IntN(4) {
		case 0: // what data files hold
			text = fmt.Sprintf("%.*f", r.IntN(8), r.NormFloat64()*100)
		case 1: // up to 15 digits, exponents about the fast path's border
			text = fmt.Sprintf("%de%d", r.Int64N(1e15), r.IntN(60)-30)
		case 2: // any float64, written exactly or shortly
			v := math.Float64frombits(r.Uint64())
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			text = strconv.FormatFloat(v, 'e', []int{-1, 16, 17, 25, 800}[r.IntN(5)], 64)
		case 3: // half-way between two float64, and just beside it
			v := math.Abs(r.NormFloat64())
			mid := new(big.Rat).Add(exact(v), exact(up(v)))
			text = mid.Mul(mid, big.NewRat(1, 2)).FloatString(80 + r.IntN(3))
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		lo, hi, err := ParseDecimal(text)
		want, ok := new(big.Rat).SetString(text)
		if err != nil || !ok {
			// Rounding to few digits may step past the largest float64.
			if ok && new(big.Rat).Abs(want).Cmp(exact(math.MaxFloat64)) > 0 {
				continue
			}
			t.Fatalf("%s: %v", text, err)
		}
		tight(t, text, lo, hi, want)
		if lo == 0 && math.Signbit(lo) || hi == 0 && math.Signbit(hi) {
			t.Errorf("%s: negative zero in [%g, %g]", text, lo, hi)
		}
	}
}

func TestParseDecimalRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "not a decimal"}, {"-", "not a decimal"}, {".", "not a decimal"}, {"+.e1", "not a decimal"}, {"1e", "not a decimal"},
		{"1e+", "not a decimal"}, {"1.2.3", "not a decimal"}, {" 1", "not a decimal"}, {"1 ", "not a decimal"}, {"--1", "not a decimal"},
		{"NaN", "not a decimal"}, {"inf", "not a decimal"}, {"-Inf", "not a decimal"}, {"0x10", "not a decimal"}, {"1_000", "not a decimal"},
		{"1/3", "not a decimal"}, {"1,5", "not a decimal"}, {"\n1", `"\n1"`}, {"１", "not a decimal"},
		{"1e401", "exponent"}, {"1e-401", "exponent"}, {"1e999999999", "exponent"}, {"0e99999999999999999999999", "exponent"},
		{strings.Repeat("1", 1201), "1201 characters"},
		{"1e309", "range"}, {"-1e309", "range"}, {"1.7976931348623158e308", "range"}, {"1.7976931348623157e308999", "exponent"},
		{"1" + strings.Repeat("0", 400), "range"}, {"179769313486231580e291", "range"},
	} {
		_, _, err := ParseDecimal(c.text)
		wantError(t, err, c.want)
	}
}

func TestParseDecimalIsCheap(t *testing.T) {
	texts := []string{"1e999999999", "-1e-999999999", strings.Repeat("9", 1<<20)}
	const refusals = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range refusals {
		for _, text := range texts {
			if _, _, err := ParseDecimal(text); err == nil {
				t.Fatal("accepted")
			}
		}
	}
	runtime.ReadMemStats(&after)
	// Nothing as large as the number or the text is made.
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(refusals*len(texts)); each > 1<<16 {
		t.Errorf("a refusal allocates %d bytes", each)
	}
}

func TestParseRatio(t *testing.T) {
	for text, want := range map[string]*big.Rat{"1/255": big.NewRat(1, 255), "0.5": big.NewRat(1, 2), "1e-2/.3": big.NewRat(1, 30)} {
		got, err := parseRatio(text)
		if err != nil || got.Cmp(want) != 0 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"": "not a decimal", "0": "not positive", "-1/2": "not positive", "1/0": "divides by zero",
		"1/2/3": "not a decimal", "1e400": "range", "1/": "not a decimal"} {
		_, err := parseRatio(text)
		wantError(t, err, want)
	}
}

// exactly is the Decimal of a float64.
func exactly(v float64) Decimal { return Decimal{v, v} }

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"0.1", "-1e-400", "5e-324", "1e999999999", ".", "9007199254740993e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lo, hi, err := ParseDecimal(text)
		if err != nil {
			wantError(t, err)
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is accepted, math/big refuses it", text)
		}
		tight(t, text, lo, hi, want)
	})
}
