package property

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomTree writes an expression over the rows y_k >= 0, k < outputs, and
// returns its value for given signs of the y_k.
func randomTree(r *rand.Rand, outputs, depth int) (text string, holds func(y []bool) bool) {
	if depth == 0 || r.IntN(4) == 0 {
		k := r.IntN(outputs)
		coef := make([]string, outputs)
		for i := range coef {
			coef[i] = "0"
		}
		coef[k] = []string{"1", "1.0", "10e-1"}[r.IntN(3)]
		return `{"row": [` + strings.Join(coef, ",") + `]}`, func(y []bool) bool { return y[k] }
	}
	n := 1 + r.IntN(3)
	texts := make([]string, n)
	parts := make([]func([]bool) bool, n)
	for i := range n {
		texts[i], parts[i] = randomTree(r, outputs, depth-1)
	}
	op := []string{"and", "or"}[r.IntN(2)]
	return fmt.Sprintf(`{"%s": [%s]}`, op, strings.Join(texts, ",")), func(y []bool) bool {
		for _, p := range parts {
			if p(y) != (op == "and") {
				return op == "or"
			}
		}
		return op == "and"
	}
}

// The expansion must mean what the tree means, for every sign of every row.
func TestExpansionIsTheTree(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const outputs = 7
	expanded := 0
	for range 3000 {
		text, holds := randomTree(r, outputs, 3)
		n, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := parseSafe(n, outputs)
		if err != nil {
			if !strings.Contains(err.Error(), "limit") {
				t.Fatal(err)
			}
			continue
		}
		expanded++
		if len(s.Rows) > outputs {
			t.Fatalf("%d rows for %d different ones", len(s.Rows), outputs)
		}
		for mask := range 1 << outputs {
			y := make([]bool, outputs)
			for k := range y {
				y[k] = mask>>k&1 == 1
			}
			margins := make([]float64, len(s.Rows))
			for i, row := range s.Rows {
				for k, c := range row.CLo {
					if c == 1 && y[k] {
						margins[i] = r.Float64()
					} else if c == 1 {
						margins[i] = -1 - r.Float64()
					}
				}
			}
			if s.Holds(margins) != holds(y) || (s.MarginLo(margins) >= 0) != holds(y) {
				t.Fatalf("%s at %b: expanded %v, tree %v", text, mask, s.Holds(margins), holds(y))
			}
		}
	}
	if expanded < 2500 {
		t.Errorf("only %d trees within the cap", expanded)
	}
}

// product is the conjunction of n disjunctions of two rows each, with the
// coefficients +-first, +-(first+1), ...: 2^n alternatives.
func product(n, first int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`{"or": [{"row": [%d]}, {"row": [-%d]}]}`, first+i, first+i)
	}
	return `{"and": [` + strings.Join(parts, ",\n") + `]}`
}

func TestExpansionCaps(t *testing.T) {
	expand := func(text string) (Safe, error) {
		t.Helper()
		n, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := parseSafe(n, 1)
		return s, err
	}
	if s, err := expand(product(12, 1)); err != nil || len(s.Any) != 4096 || len(s.Rows) != 24 {
		t.Errorf("%d alternatives of %d rows, %v", len(s.Any), len(s.Rows), err)
	}
	_, err := expand(product(13, 1))
	wantError(t, err, "line 13", "8192 alternatives", "limit is 4096")
	many := func(op string, n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(`{"row": [%d]}`, i)
		}
		return `{"` + op + `": [` + strings.Join(parts, ",") + `]}`
	}
	for op, alternatives := range map[string]int{"and": 1, "or": 4096} {
		if s, err := expand(many(op, 4096)); err != nil || len(s.Any) != alternatives || len(s.Rows) != 4096 {
			t.Errorf("%s: %d alternatives of %d rows, %v", op, len(s.Any), len(s.Rows), err)
		}
		_, err = expand(many(op, 4097))
		wantError(t, err, "more than 4096 different rows")
	}
	// Alternatives beyond the cap from fewer rows.
	_, err = expand(`{"or": [` + product(12, 1) + `,` + product(11, 50) + `]}`)
	wantError(t, err, "limit is 4096")
	// The count of steps is what keeps the refusal cheap.
	_, err = expand(`{"and": [` + product(12, 1) + `,` + many("and", 4000) + `]}`)
	wantError(t, err, "steps to expand")
}
