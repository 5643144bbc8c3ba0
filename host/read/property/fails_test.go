package property

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFailsSurely compares with the definition on exact rows: S fails exactly if
// no alternative holds, and the strict bound of a closed set sees it.
func TestFailsSurely(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := make([]Row, 3)
	for _, c := range []struct {
		any   [][]int
		neg   []float64
		fails bool
	}{
		{[][]int{{0, 1}}, []float64{-1, 1, -1}, true},
		{[][]int{{0, 1}}, []float64{-1, 0, 1}, false}, // row 1 may be 0, which is safe
		{[][]int{{0}, {1}}, []float64{1, -1, 1}, false},
		{[][]int{{0}, {1}}, []float64{1, 5e-324, -1}, true},
		{[][]int{{0}, {1, 2}}, []float64{1, nan, 1}, true},
		{[][]int{{0}}, []float64{nan, 1, 1}, false},
		{[][]int{{0}}, []float64{inf, 1, 1}, false},
		{[][]int{{0}}, []float64{-inf, 1, 1}, false},
		{[][]int{{0}, {}}, []float64{1, 1, 1}, false},
		{nil, []float64{nan, nan, nan}, true},
	} {
		s := Safe{Rows: rows, Any: c.any}
		if got := s.FailsSurely(c.neg); got != c.fails {
			t.Errorf("%v of %v: %v", c.any, c.neg, got)
		}
	}
	wantPanic(t, func() { s := Safe{Rows: rows}; s.FailsSurely([]float64{1}) }, "1 bounds for 3 rows")
	r := rand.New(rand.NewPCG(62, 1))
	for range 5000 {
		y := make([]float64, 2+r.IntN(4))
		for i := range y {
			y[i] = float64(r.IntN(3))
		}
		c := r.IntN(len(y))
		for _, s := range []Safe{ArgmaxIs(c, len(y)), ArgmaxIsNever(c, len(y))} {
			neg := Safe{Any: s.Any}
			for _, row := range s.Rows {
				neg.Rows = append(neg.Rows, row.Negated())
			}
			if got := s.FailsSurely(values(neg, y)); got == s.Holds(values(s, y)) {
				t.Errorf("%v at %v: fails %v and holds %v", s.Any, y, got, !got)
			}
		}
	}
}

// rowText is a random row with decimal offset and coefficients of either sign.
func rowText(r *rand.Rand) (text string, c []string, d string) {
	number := func() string { return fmt.Sprintf("%.*f", r.IntN(4), 4*r.Float64()-2) }
	c, d = []string{number(), number()}, number()
	if r.IntN(4) == 0 {
		d = "1e-400"
	}
	return fmt.Sprintf(`{"row": [%s, %s], "offset": %s}`, c[0], c[1], d), c, d
}

// least is the least value of the row, with its offset D, over its coefficients.
func least(row Row, y []float64) *big.Rat {
	sum := exact(row.D)
	for i, v := range y {
		a, b := new(big.Rat).Mul(exact(row.CLo[i]), exact(v)), new(big.Rat).Mul(exact(row.CHi[i]), exact(v))
		if a.Cmp(b) > 0 {
			a = b
		}
		sum.Add(sum, a)
	}
	return sum
}

// TestRowsBothWays: the stored row is at most the written one and the negated
// stored row at most the negated written one, for rows and for output boxes, with
// no tolerance; and both are near.
func TestRowsBothWays(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 1))
	near := exact(1e-14)
	check := func(what string, row Row, real *big.Rat, y []float64) {
		t.Helper()
		minus := new(big.Rat).Neg(real)
		neg := row.Negated()
		for i := range y {
			if !ordered(neg.CLo[i], neg.CHi[i]) {
				t.Errorf("%s: negated coefficient from %v to %v", what, neg.CLo[i], neg.CHi[i])
			}
		}
		for _, c := range []struct {
			got, want *big.Rat
		}{{least(row, y), real}, {least(neg, y), minus}} {
			if c.got.Cmp(c.want) > 0 {
				t.Errorf("%s at %v: %s is above %s", what, y, c.got.FloatString(25), c.want.FloatString(25))
			}
			if new(big.Rat).Sub(c.want, c.got).Cmp(near) > 0 {
				t.Errorf("%s at %v is loose", what, y)
			}
		}
		if back := neg.Negated(); !slices.Equal(back.CLo, row.CLo) || !slices.Equal(back.CHi, row.CHi) || back.D != row.D || back.DHi != row.DHi {
			t.Errorf("%s: negated twice it is %v", what, back)
		}
	}
	for range 3000 {
		y := []float64{r.NormFloat64(), r.NormFloat64()}
		text, c, d := rowText(r)
		n, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseSafe(n, 2, new(memory))
		if err != nil {
			t.Fatal(err)
		}
		real := ratOf(d)
		for i := range y {
			real.Add(real, new(big.Rat).Mul(ratOf(c[i]), exact(y[i])))
		}
		check(text, s.Rows[0], real, y)
		if s, _, err = ParseSpec("output_box:["+d+",],[,"+d+"]", 2); err != nil {
			t.Fatal(err)
		}
		check("at least "+d, s.Rows[0], new(big.Rat).Sub(exact(y[0]), ratOf(d)), y)
		check("at most "+d, s.Rows[1], new(big.Rat).Sub(ratOf(d), exact(y[1])), y)
	}
	wantPanic(t, func() { (&Row{D: 1}).Negated() }, "from 1 to 0")
	wantPanic(t, func() { (&Row{D: 1, DHi: math.NaN()}).Negated() }, "NaN")
}

// TestRowsOfOneOffset: rows that differ only in the upper end of their offset are
// different rows.
func TestRowsOfOneOffset(t *testing.T) {
	n, err := parseJSON([]byte(`{"and": [{"row": [1], "offset": 0.125}, {"row": [1], "offset": 0.12500000000000000000001}, {"row": [1], "offset": 0.125}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSafe(n, 1, new(memory))
	if err != nil || len(s.Rows) != 2 || s.Rows[0].DHi != 0.125 || s.Rows[1].DHi != up(0.125) || s.Rows[1].D != 0.125 {
		t.Errorf("%+v, %v", s.Rows, err)
	}
}
