package property

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestClauses(t *testing.T) {
	s := ArgmaxIsNever(1, 4)
	if got := s.Mixable(); !reflect.DeepEqual(got, [][]int{{0, 1, 2}}) {
		t.Errorf("an OR of rows is one clause, got %v", got)
	}
	two := Safe{Rows: make([]Row, 4), Any: [][]int{{0, 1}, {2, 3}}}
	if got := two.Mixable(); !reflect.DeepEqual(got, [][]int{{0, 2}, {0, 3}, {1, 2}, {1, 3}}) {
		t.Errorf("clauses of an OR of two ANDs: %v", got)
	}
	is := ArgmaxIs(0, 3)
	if got, all := is.Mixable(), is.Clauses(); got != nil || !reflect.DeepEqual(all, [][]int{{0}, {1}}) {
		t.Errorf("one alternative has no mixtures, got %v of %v", got, all)
	}
	wide := Safe{Rows: make([]Row, 9), Any: [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8}}}
	if got := wide.Clauses(); got != nil {
		t.Errorf("81 clauses are too many, got %d", len(got))
	}
	of4 := topK(2, 0, 5)
	if got := of4.Clauses(); !reflect.DeepEqual(got, [][]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}) {
		t.Errorf("three of four rows: clauses %v", got)
	}
}

// TestMixed: every mixture is at most the real one's value at every y, which is computed
// exactly, and where all mixtures hold S does.
func TestMixed(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 31))
	held := 0
	for range 2000 {
		outputs := 1 + rng.IntN(4)
		s := Safe{Any: [][]int{{0, 1}, {2}, {1, 3}}}
		for range 4 {
			row := Row{CLo: make([]float64, outputs), CHi: make([]float64, outputs), D: rng.NormFloat64()}
			row.DHi = row.D
			for i := range outputs {
				row.CLo[i] = rng.NormFloat64() * math.Ldexp(1, rng.IntN(40)-20)
				row.CHi[i] = row.CLo[i] + float64(rng.IntN(2))*rng.ExpFloat64()
			}
			s.Rows = append(s.Rows, row)
		}
		clauses := s.Mixable()
		var theta [][]float64
		for range clauses {
			theta = append(theta, []float64{rng.Float64(), rng.Float64() * float64(rng.IntN(2)), rng.Float64()})
		}
		mixed, err := s.Mixed(theta)
		if err != nil {
			t.Fatal(err)
		}
		if len(mixed.Any) != 4 || len(mixed.Any[3]) != len(clauses) || len(s.Any) != 3 || len(s.Rows) != 4 {
			t.Fatalf("alternatives %v", mixed.Any)
		}
		for c, clause := range clauses {
			row := mixed.Rows[mixed.Any[3][c]]
			for i := range outputs {
				lo, hi := new(big.Rat), new(big.Rat)
				for a, r := range clause {
					f := new(big.Rat).SetFloat64(theta[c][a])
					lo.Add(lo, new(big.Rat).Mul(f, new(big.Rat).SetFloat64(s.Rows[r].CLo[i])))
					hi.Add(hi, new(big.Rat).Mul(f, new(big.Rat).SetFloat64(s.Rows[r].CHi[i])))
				}
				gotLo, gotHi := new(big.Rat).SetFloat64(row.CLo[i]), new(big.Rat).SetFloat64(row.CHi[i])
				if gotLo.Cmp(lo) > 0 || gotHi.Cmp(hi) < 0 {
					t.Fatalf("clause %d, coefficient %d: [%v, %v] does not hold [%v, %v]", c, i, row.CLo[i], row.CHi[i], lo, hi)
				}
			}
			d := new(big.Rat)
			for a, r := range clause {
				d.Add(d, new(big.Rat).Mul(new(big.Rat).SetFloat64(theta[c][a]), new(big.Rat).SetFloat64(s.Rows[r].D)))
			}
			if new(big.Rat).SetFloat64(row.D).Cmp(d) > 0 || new(big.Rat).SetFloat64(row.DHi).Cmp(d) < 0 {
				t.Fatalf("clause %d: offset [%v, %v] does not hold %v", c, row.D, row.DHi, d)
			}
		}
		// Exact values at one y, in quarters so that float64 sums say enough.
		values := make([]float64, len(s.Rows))
		for r := range values {
			values[r] = rng.NormFloat64()
		}
		all := true
		for c, clause := range clauses {
			sum := 0.0
			for a, r := range clause {
				sum += theta[c][a] * values[r]
			}
			all = all && sum >= 0
		}
		if all {
			held++
			if !s.Holds(values) {
				t.Fatalf("all mixtures hold and S does not: %v", values)
			}
		}
	}
	if held == 0 {
		t.Error("no case in which all mixtures hold")
	}
}

// TestMixedExactly: halves of rows of whole numbers are exact.
func TestMixedExactly(t *testing.T) {
	s := ArgmaxIsNever(2, 3)
	mixed, err := s.Mixed([][]float64{{0.5, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	want := Row{CLo: []float64{0.5, 0.5, -1}, CHi: []float64{0.5, 0.5, -1}}
	if !reflect.DeepEqual(mixed.Rows[2], want) {
		t.Errorf("mixture %v", mixed.Rows[2])
	}
}

func TestMixedRefuses(t *testing.T) {
	s := ArgmaxIsNever(2, 3)
	for _, theta := range [][][]float64{nil, {{1}}, {{0, 0}}, {{1, -1}}, {{1, math.NaN()}}, {{math.Inf(1), 0}}, {{math.MaxFloat64, math.MaxFloat64}}, {{1, 1}, {1, 1}}} {
		if _, err := s.Mixed(theta); err == nil {
			t.Errorf("factors %v are taken", theta)
		}
	}
}
