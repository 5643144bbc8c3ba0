package property

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
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

// A set must mean what the tree means, for every sign of every row: by all that is asked of it.
func TestSafeIsTheTree(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const outputs = 7
	gates, clauses := 0, 0
	for range 2000 {
		text, holds := randomTree(r, outputs, 3)
		n, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseSafe(n, outputs, new(memory))
		if err == nil {
			err = s.check(outputs)
		}
		if err != nil || len(s.Rows) > outputs {
			t.Fatalf("%s: %v, %d rows for %d different ones", text, err, len(s.Rows), outputs)
		}
		if len(s.Gates) > 0 {
			gates++
		}
		if meansTree(t, r, text, &s, holds) {
			clauses++
		}
	}
	if gates < 300 || clauses < 1500 {
		t.Errorf("only %d sets with gates, %d with clauses", gates, clauses)
	}
}

// meansTree compares a set with a tree for all signs of its rows, and says whether it has clauses.
func meansTree(t *testing.T, r *rand.Rand, text string, s *Safe, holds func(y []bool) bool) (clauses bool) {
	t.Helper()
	outputs := len(s.Rows[0].CLo)
	dual, cnf, cost := s.Dual(), s.Clauses(), make([]float64, len(s.Rows))
	for i := range cost {
		cost[i] = float64(r.IntN(4))
	}
	rows, some := s.Implicant(cost)
	refuting, _ := dual.Implicant(cost)
	least := math.Inf(1)
	for mask := range 1 << outputs {
		y := make([]bool, outputs)
		for k := range y {
			y[k] = mask>>k&1 == 1
		}
		margins, negated, held := make([]float64, len(s.Rows)), make([]float64, len(s.Rows)), make([]bool, len(s.Rows))
		for i, row := range s.Rows {
			k := slices.IndexFunc(row.CLo, func(c float64) bool { return c != 0 })
			held[i], margins[i], negated[i] = y[k], 1+r.Float64(), -1-r.Float64()
			if !y[k] {
				margins[i], negated[i] = -1-r.Float64(), 1+r.Float64()
			}
		}
		all := func(of []int, is bool) bool {
			return !slices.ContainsFunc(of, func(i int) bool { return held[i] != is })
		}
		want := holds(y)
		margin, decides := s.Decides(margins)
		if s.Holds(margins) != want || s.MarginLo(margins) != margin || margin != margins[decides] || (margin >= 0) != want {
			t.Fatalf("%s at %b: %v, margin %v of row %d, the tree %v", text, mask, s.Holds(margins), margin, decides, want)
		}
		if s.FailsSurely(negated) == want || dual.Holds(negated) == want {
			t.Fatalf("%s at %b: fails %v, its dual %v, the tree %v", text, mask, s.FailsSurely(negated), dual.Holds(negated), want)
		}
		if some && all(rows, true) && !want || all(refuting, false) && want {
			t.Fatalf("%s at %b: the tree is %v, rows %v imply and %v refute it", text, mask, want, rows, refuting)
		}
		if cnf != nil && want == slices.ContainsFunc(cnf, func(c []int) bool { return all(c, false) }) {
			t.Fatalf("%s at %b: the tree is %v, clauses %v", text, mask, want, cnf)
		}
		sum := 0.0
		for i, h := range held {
			if h {
				sum += cost[i]
			}
		}
		if want {
			least = min(least, sum)
		}
	}
	sum := 0.0
	for _, i := range rows {
		sum += cost[i]
	}
	if sum < least || len(s.Gates) == 0 && sum > least {
		t.Fatalf("%s: rows %v cost %v, the least is %v", text, rows, sum, least)
	}
	return cnf != nil
}

// TestTopKIsCounting: a class is among the K largest just where fewer than K others are above it.
func TestTopKIsCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	for n := 2; n <= 8; n++ {
		for k := 1; k < n; k++ {
			s := topK(k, 0, n)
			if err := s.check(n); err != nil {
				t.Fatal(err)
			}
			if rows, ok := s.Implicant(make([]float64, n-1)); !ok || len(rows) != n-k {
				t.Fatalf("top %d of %d: %v are to imply it", k, n, rows)
			}
			for mask := range 1 << (n - 1) {
				margins, above := make([]float64, n-1), 0
				for i := range margins {
					if margins[i] = r.Float64(); mask>>i&1 == 1 {
						margins[i], above = -1, above+1
					}
				}
				if s.Holds(margins) != (above < k) {
					t.Fatalf("top %d of %d, %d above: %v", k, n, above, s.Holds(margins))
				}
			}
		}
	}
}

// TestManyRows: 10^5 rows in nested ANDs and ORs take time and memory in proportion to them.
func TestManyRows(t *testing.T) {
	const groups, each = 1000, 100
	parts := make([]string, groups)
	for g := range parts {
		rows := make([]string, each)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"row":[%d]}`, g*each+i+1)
			if i%10 == 0 {
				rows[i] = fmt.Sprintf(`{"and":[%s,{"row":[-%d]}]}`, rows[i], g*each+i+1)
			}
		}
		parts[g] = `{"or":[` + strings.Join(rows, ",") + `]}`
	}
	n, err := parseJSON([]byte(`{"and":[` + strings.Join(parts, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSafe(n, 1, new(memory))
	if err != nil || len(s.Rows) != groups*each*11/10 || len(s.Gates) != groups*each/10+groups || len(s.Any) != 1 {
		t.Fatalf("%d rows, %d gates, %d alternatives, %v", len(s.Rows), len(s.Gates), len(s.Any), err)
	}
	began := time.Now()
	values := make([]float64, len(s.Rows))
	for i, row := range s.Rows {
		values[i] = row.CLo[0]
	}
	if margin := s.MarginLo(values); margin != each {
		t.Errorf("margin %v", margin)
	}
	if rows, ok := s.Implicant(make([]float64, len(s.Rows))); !ok || len(rows) != groups {
		t.Errorf("%d rows imply it", len(rows))
	}
	if took := time.Since(began); took > 5*time.Second { // milliseconds on an idle machine
		t.Errorf("took %v", took)
	}
	if s.Clauses() != nil {
		t.Error("2^10 clauses a group")
	}
}
