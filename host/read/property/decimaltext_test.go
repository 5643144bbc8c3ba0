package property

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestDirectedText: the text is on its side of the number, reads back as the number, is a
// JSON number, and none of fewer digits does.
func TestDirectedText(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	values := []float64{0, 1, -1, 0.5, 0.7, 0.9, 1e-7, 1e21, 123456789, 1 - 0x1p-53, 0x1p-1074, 0x1p-1022, math.MaxFloat64, -0.1, 0.69999999999999995559}
	for range 3000 {
		values = append(values, r.Float64(), 1-math.Pow(r.Float64(), 30), -r.ExpFloat64(), math.Float64frombits(r.Uint64()))
	}
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		exact := new(big.Rat).SetFloat64(x)
		for _, side := range []struct {
			text  string
			wrong int
		}{{DecimalDown(x), 1}, {DecimalUp(x), -1}} {
			d, ok := new(big.Rat).SetString(side.text)
			if !ok || d.Cmp(exact) == side.wrong {
				t.Fatalf("%v: %s is on the wrong side", x, side.text)
			}
			if back, err := strconv.ParseFloat(side.text, 64); err != nil || back != x {
				t.Fatalf("%v: %s reads back as %v", x, side.text, back)
			}
			if !json.Valid([]byte(side.text)) {
				t.Fatalf("%v: %s is no JSON", x, side.text)
			}
			if again := jsonNumber(side.text); again != side.text {
				t.Fatalf("%s is written as %s", side.text, again)
			}
			if digits := len(strings.Trim(mantissa(side.text), "-0")); digits > 20 {
				t.Errorf("%v: %s is long", x, side.text)
			}
		}
		// Where the shortest text is exact or on the right side, it is what is written.
		if text, _ := json.Marshal(x); string(text) != DecimalDown(x) && string(text) != DecimalUp(x) {
			if s, _ := NewExact(string(text)); s.String() != DecimalDown(x) && s.String() != DecimalUp(x) {
				t.Errorf("%v: neither %s nor %s is the shortest text %s", x, DecimalDown(x), DecimalUp(x), text)
			}
		}
	}
}

// TestExact: numbers are compared as what is written, and equal ones have one text.
func TestExact(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		order int
	}{
		{"0.7", "0.69999999999999995559", 1}, {"0.70", "+.7", 0}, {"1e-400", "0", 1}, {"7e-1", "0.7", 0}, {"00.5", "0.5", 0}, {"-1", "0", -1}, {"100", "1e2", 0},
	} {
		a, b := MustExact(c.a), MustExact(c.b)
		if a.Cmp(b) != c.order || (c.order == 0) != (a.String() == b.String()) {
			t.Errorf("%s and %s: %d, written %s and %s", c.a, c.b, a.Cmp(b), a, b)
		}
		text, err := json.Marshal(struct{ A Exact }{a})
		var back struct{ A Exact }
		if err != nil || json.Unmarshal(text, &back) != nil || back.A.Cmp(a) != 0 {
			t.Errorf("%s as JSON is %s and comes back as %v", c.a, text, back.A)
		}
	}
	for _, text := range []string{"", "1e999999", "x", "0x1p3", "NaN", "1_0"} {
		if e, err := NewExact(text); err == nil {
			t.Errorf("%q is taken for %v", text, e)
		}
	}
	if (Exact{}).String() != "0" || (Exact{}).Cmp(MustExact("0")) != 0 {
		t.Error("the zero value is not 0")
	}
}
