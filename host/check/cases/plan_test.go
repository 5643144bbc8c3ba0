package cases

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/property"
)

// anyFormula is a property of so many rows, half of them with gates, and what it is where some rows
// hold.
func anyFormula(rng *rand.Rand, rows int) (*property.Safe, func(held uint) bool) {
	s := &property.Safe{}
	for range rows {
		s.Rows = append(s.Rows, property.Row{CLo: []float64{1}, CHi: []float64{1}})
	}
	members := func(gates int) (of []int) {
		for range 1 + rng.IntN(3) {
			of = append(of, rng.IntN(rows+gates)-gates)
		}
		return of
	}
	for g := range 2 * rng.IntN(2) {
		of := members(g)
		s.Gates = append(s.Gates, property.Gate{Need: 1 + rng.IntN(len(of)), Of: of})
	}
	for range 1 + rng.IntN(3) {
		s.Any = append(s.Any, members(len(s.Gates)))
	}
	return s, func(held uint) bool {
		var holds func(m int) bool
		count := func(of []int) (n int) {
			for _, m := range of {
				if holds(m) {
					n++
				}
			}
			return n
		}
		holds = func(m int) bool {
			if m >= 0 {
				return held>>m&1 == 1
			}
			return count(s.Gates[^m].Of) >= s.Gates[^m].Need
		}
		return slices.ContainsFunc(s.Any, func(all []int) bool { return count(all) == len(all) })
	}
}

// anyPlan is of some numbers, of which one in ten is of no row, and some factors, most of them
// numbers > 0.
func anyPlan(rng *rand.Rand, rows int) *Plan {
	p := &Plan{Rows: []int{}}
	for r := range rows {
		if rng.IntN(2) == 0 {
			p.Rows = append(p.Rows, r)
		}
	}
	if rng.IntN(10) == 0 {
		p.Rows = append(p.Rows, []int{rows, -1, 1 << 40, 0}[rng.IntN(4)])
	}
	if rng.IntN(2) == 0 {
		for range p.Rows {
			p.Factors = append(p.Factors, 0.5+rng.Float64())
		}
		if rng.IntN(10) == 0 {
			p.Factors = append(p.Factors, 1)
		}
	}
	return p
}

// TestPlansImply: of random formulas and plans exactly those are taken of which a row, or the sum,
// is not positive wherever the property fails, over all ways in which rows hold; or, at a witness,
// wherever it holds. A sum of rows is surely not positive only where all of them fail.
func TestPlansImply(t *testing.T) {
	const rows = 4
	rng := rand.New(rand.NewPCG(44, 2))
	taken, refuted := 0, 0
	for range 20000 {
		s, holds := anyFormula(rng, rows)
		p := anyPlan(rng, rows)
		some := func(all bool, held uint) bool { // whether one of the rows surely is not positive, or the sum
			is := func(r int) bool { return held>>r&1 == 0 }
			if all {
				return !slices.ContainsFunc(p.Rows, func(r int) bool { return !is(r) })
			}
			return slices.ContainsFunc(p.Rows, is)
		}
		fits := !slices.ContainsFunc(p.Rows, func(r int) bool { return r < 0 || r >= rows }) &&
			(p.Factors == nil || len(p.Factors) == len(p.Rows) && len(p.Rows) > 0)
		lower, upper := fits, fits
		for held := range uint(1 << rows) {
			lower = lower && (holds(held) || some(p.Factors != nil, held))
			upper = upper && (!holds(held) || some(p.Factors != nil, ^held))
		}
		if p.Factors == nil && !slices.Equal(p.Rows, slices.Compact(slices.Sorted(slices.Values(p.Rows)))) {
			lower = false // they do not ascend
		}
		got, err := PlansOf(s, []*Plan{p}, 1)
		if (err == nil) != lower {
			t.Fatalf("%+v, %+v: implied is %v, %v", s, p, lower, err)
		}
		if err == nil {
			taken++
			if want := len(p.Rows); p.Factors == nil && len(got[0]) != want || p.Factors != nil && len(got[0]) != 1 {
				t.Fatalf("%+v: %d rows", p, len(got[0]))
			}
		}
		if len(s.Any) > 1 && s.Gates == nil {
			continue // has a plan for each alternative
		}
		if _, err := RefutingOf(s, []*Plan{p}); err == nil {
			refuted++
			if !upper {
				t.Fatalf("%+v, %+v: refutes nothing", s, p)
			}
		}
	}
	if taken < 1000 || refuted < 500 {
		t.Errorf("only %d plans imply and %d refute", taken, refuted)
	}
}

// TestPlansRefused: plans of other numbers of cells or alternatives, without rows, of rows of other
// alternatives, and with factors that are no numbers >= 0, or overflow.
func TestPlansRefused(t *testing.T) {
	row := func(c float64) property.Row { return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: 1, DHi: 1} }
	s := &property.Safe{Rows: []property.Row{row(1), row(2), row(3)}, Any: [][]int{{0}, {1}, {2}}}
	both := func(f ...float64) *Plan { return &Plan{Rows: []int{0, 2}, Factors: f} }
	if rows, err := PlansOf(s, []*Plan{both(2, 1), {Rows: []int{1}}}, 2); err != nil || len(rows[0]) != 1 || rows[0][0].CLo[0] != 5 || rows[0][0].D != 3 || rows[1][0].CLo[0] != 2 {
		t.Errorf("%+v, %v", rows, err)
	}
	for what, plans := range map[string][]*Plan{
		"none": nil, "one": {both(1, 1)}, "three": {both(1, 1), both(1, 1), both(1, 1)}, "null": {nil, both(1, 1)}, "no rows": {{}, both(1, 1)},
		"NaN": {both(1, math.NaN()), both(1, 1)}, "negative": {both(1, -1), both(1, 1)}, "infinite": {both(1, math.Inf(1)), both(1, 1)},
		"all 0": {both(0, 0), both(1, 1)}, "overflow": {both(1, 1), both(1e308, 1e308)}, "few": {both(1), both(1, 1)},
		"no factor of none": {{Rows: []int{}, Factors: []float64{}}, both(1, 1)},
	} {
		if rows, err := PlansOf(s, plans, 2); err == nil || !strings.Contains(err.Error(), "proof: ") {
			t.Errorf("%s: %+v, %v", what, rows, err)
		}
	}
	all := &property.Safe{Rows: s.Rows, Any: [][]int{{0, 1, 2}}}
	if rows, err := PlansOf(all, nil, 2); err != nil || len(rows) != 2 || len(rows[1]) != 3 {
		t.Errorf("of the only alternative: %+v, %v", rows, err)
	}
	if rows, err := PlansOf(all, []*Plan{{}}, 1); err == nil {
		t.Errorf("a plan of no rows: %+v", rows)
	}
	two := &property.Safe{Rows: s.Rows, Any: [][]int{{0, 1}, {2}}}
	if rows, err := RefutingOf(two, []*Plan{{Rows: []int{0, 1}, Factors: []float64{1, 1}}, {Rows: []int{2}}}); err != nil || len(rows) != 2 || rows[0].CLo[0] != -3 || rows[1].CLo[0] != -3 || rows[0].D != -2 {
		t.Errorf("refuting: %+v, %v", rows, err)
	}
	one := &Plan{Rows: []int{2}}
	for what, plans := range map[string][]*Plan{
		"none": nil, "few": {one}, "null": {nil, one}, "of another": {one, one}, "two rows": {{Rows: []int{0, 1}}, one}, "no rows": {{}, one},
		"negative": {{Rows: []int{-1}}, one}, "no row": {{Rows: []int{3}}, one}, "NaN": {{Rows: []int{0}, Factors: []float64{math.NaN()}}, one},
		"more": {{Rows: []int{0}}, one, one}, "all 0": {{Rows: []int{0}, Factors: []float64{0}}, one},
	} {
		if rows, err := RefutingOf(two, plans); err == nil {
			t.Errorf("%s: %+v", what, rows)
		}
	}
}
