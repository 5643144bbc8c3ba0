package cases

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/property"
)

// TestMixedRows: the rows of mixtures, clause by clause in lexicographic order, by hand.
func TestMixedRows(t *testing.T) {
	row := func(c0, c1, d float64) property.Row {
		return property.Row{CLo: []float64{c0, c1}, CHi: []float64{c0, c1}, D: d, DHi: d}
	}
	// (r0 and r1) or (r2 and r0): clauses r0|r2, r0|r0, r1|r2, r1|r0.
	s := &property.Safe{Rows: []property.Row{row(1, 0, 0), row(0, 1, 2), row(-1, -1, 4)}, Any: [][]int{{0, 1}, {2, 0}}}
	got, err := Mixed(s, [][]float64{{0.5, 0.5}, {1, 1}, {1, 0}, {0.25, 2}})
	if err != nil {
		t.Fatal(err)
	}
	want := []property.Row{row(0, -0.5, 2), row(2, 0, 0), row(0, 1, 2), row(2, 0.25, 0.5)}
	if len(got.Rows) != 7 || len(got.Any) != 3 || len(got.Any[2]) != 4 {
		t.Fatalf("%d rows, alternatives %v", len(got.Rows), got.Any)
	}
	for c, w := range want {
		if g := got.Rows[got.Any[2][c]]; g.CLo[0] != w.CLo[0] || g.CHi[0] != w.CLo[0] || g.CLo[1] != w.CLo[1] || g.CHi[1] != w.CLo[1] || g.D != w.D || g.DHi != w.D {
			t.Errorf("clause %d: %+v, want %+v", c, g, w)
		}
	}
	if len(s.Rows) != 3 || len(s.Any) != 2 {
		t.Errorf("the safe set itself was changed")
	}
}

// TestMixedEncloses: rows enclose the sums of real numbers, whatever rounds, and where a mixture
// of each clause holds, so does the safe set: on points of the outputs, in rationals.
func TestMixedEncloses(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	held := 0
	for range 200 {
		outputs, rows := 1+rng.IntN(3), 2+rng.IntN(3)
		s := &property.Safe{}
		for range rows {
			r := property.Row{D: rng.NormFloat64()}
			r.DHi = r.D
			for range outputs {
				lo := rng.NormFloat64()
				r.CLo, r.CHi = append(r.CLo, lo), append(r.CHi, lo+float64(rng.IntN(2))*0x1p-40)
			}
			s.Rows = append(s.Rows, r)
		}
		clauses := 1
		for range 2 + rng.IntN(2) {
			all := rng.Perm(rows)[:1+rng.IntN(2)]
			s.Any, clauses = append(s.Any, all), clauses*len(all)
		}
		theta := make([][]float64, clauses)
		for c := range theta {
			for range s.Any {
				theta[c] = append(theta[c], rng.Float64()*float64(rng.IntN(3)))
			}
			theta[c][rng.IntN(len(s.Any))] += 0.1
		}
		got, err := Mixed(s, theta)
		if err != nil {
			t.Fatal(err)
		}
		clause, index := make([]int, len(s.Any)), 0
		var each func(a int)
		each = func(a int) {
			if a < len(s.Any) {
				for _, r := range s.Any[a] {
					clause[a] = r
					each(a + 1)
				}
				return
			}
			r := got.Rows[got.Any[len(s.Any)][index]]
			d := new(big.Rat)
			lo, hi := make([]*big.Rat, outputs), make([]*big.Rat, outputs)
			for k := range lo {
				lo[k], hi[k] = new(big.Rat), new(big.Rat)
			}
			for a, from := range clause {
				f := rat(theta[index][a])
				d.Add(d, new(big.Rat).Mul(f, rat(s.Rows[from].D)))
				for k := range lo {
					lo[k].Add(lo[k], new(big.Rat).Mul(f, rat(s.Rows[from].CLo[k])))
					hi[k].Add(hi[k], new(big.Rat).Mul(f, rat(s.Rows[from].CHi[k])))
				}
			}
			if rat(r.D).Cmp(d) > 0 || rat(r.DHi).Cmp(d) < 0 || r.DHi-r.D > 1e-14 {
				t.Fatalf("offset %v to %v of %v", r.D, r.DHi, d)
			}
			for k := range lo {
				if rat(r.CLo[k]).Cmp(lo[k]) > 0 || rat(r.CHi[k]).Cmp(hi[k]) < 0 || r.CHi[k]-r.CLo[k] > 0x1p-35 {
					t.Fatalf("coefficient %v to %v of %v", r.CLo[k], r.CHi[k], lo[k])
				}
			}
			index++
		}
		each(0)
		for range 100 {
			y := make([]float64, outputs)
			for k := range y {
				y[k] = 2 * rng.NormFloat64()
			}
			least := func(r property.Row) float64 {
				m := r.D
				for k := range y {
					m += min(r.CLo[k]*y[k], r.CHi[k]*y[k])
				}
				return m
			}
			holds := func(any [][]int) bool {
				for _, all := range any {
					ok := true
					for _, r := range all {
						ok = ok && least(got.Rows[r]) >= 1e-9
					}
					if ok {
						return true
					}
				}
				return false
			}
			if holds(got.Any[len(s.Any):]) {
				held++
				// What holds with 1e-9 to spare may be at 0 in a row of the original.
				ok := false
				for _, all := range s.Any {
					each := true
					for _, r := range all {
						each = each && least(s.Rows[r]) >= 0
					}
					ok = ok || each
				}
				if !ok {
					t.Fatalf("all mixtures hold at %v, and no alternative does", y)
				}
			}
		}
	}
	if held == 0 {
		t.Error("no mixtures held anywhere")
	}
}

// TestMixedRefuses: what does not fit is refused in a line that says where.
func TestMixedRefuses(t *testing.T) {
	nan, many := math.NaN(), property.ArgmaxIs(0, 40)
	never := property.ArgmaxIsNever(0, 3) // two alternatives of one row: one clause
	two := property.Safe{Rows: many.Rows, Any: [][]int{many.Any[0], {0, 1}}}
	for _, c := range []struct {
		s     *property.Safe
		theta [][]float64
		words string
	}{
		{&never, [][]float64{{0.7, -0.3}}, "clause 0: factor 1 is -0.3"},
		{&never, [][]float64{{nan, 0.3}}, "factor 0 is NaN"},
		{&never, [][]float64{{math.Inf(1), 0}}, "factor 0 is +Inf"},
		{&never, [][]float64{{0, 0}}, "all factors are 0"},
		{&never, [][]float64{{math.MaxFloat64, math.MaxFloat64}}, "not finite"},
		{&never, [][]float64{{1}}, "1 factors for 2 rows"},
		{&never, [][]float64{{1, 1, 1}}, "3 factors"},
		{&never, [][]float64{{1, 1}, {1, 1}}, "there are 2, the property has 1"},
		{&never, nil, "there are 0"},
		{&many, [][]float64{{1}}, "no alternatives"},
		{&two, [][]float64{{1, 1}}, "more than 64 clauses"},
	} {
		if _, err := Mixed(c.s, c.theta); err == nil || !strings.Contains(err.Error(), c.words) || !strings.HasPrefix(err.Error(), "proof: mixtures: ") {
			t.Errorf("%v: %v, want %q", c.theta, err, c.words)
		}
	}
}

// TestClausesOf: the AND of the clauses is the set, for all signs of its rows, and they are those that the
// records of certify have factors for.
func TestClausesOf(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	some, none, long := 0, 0, 0
	for range 1000 {
		s := &property.Safe{Rows: make([]property.Row, 2+r.IntN(5))}
		members := func() (list []int) {
			for _, m := range r.Perm(len(s.Rows) + len(s.Gates))[:1+r.IntN(4)%(len(s.Rows)+len(s.Gates))] {
				if m >= len(s.Rows) {
					m = ^(m - len(s.Rows))
				}
				list = append(list, m)
			}
			return list
		}
		for range r.IntN(4) {
			of := members()
			s.Gates = append(s.Gates, property.Gate{Need: 1 + r.IntN(len(of)), Of: of})
		}
		for range 1 + r.IntN(3) {
			s.Any = append(s.Any, members())
		}
		clauses := ClausesOf(s)
		if len(clauses) == 0 {
			none++
			continue
		}
		some++
		for mask := range 1 << len(s.Rows) {
			lo := make([]float64, len(s.Rows))
			for i := range lo {
				lo[i] = float64(mask>>i&1) - 0.5
			}
			all := true
			for _, c := range clauses {
				all = all && slices.ContainsFunc(c, func(i int) bool { return lo[i] >= 0 })
			}
			if all != s.Holds(lo) {
				t.Fatalf("%v at %b: %v, clauses %v", s, mask, s.Holds(lo), clauses)
			}
		}
		if mixable := s.Mixable(); mixable != nil {
			if long++; !reflect.DeepEqual(mixable, clauses) {
				t.Fatalf("%v: %v, certify has %v", s, clauses, mixable)
			}
		}
	}
	if some < 700 || none < 20 || long < 500 {
		t.Errorf("%d sets with clauses, %d without, %d with mixtures", some, none, long)
	}
}
