package cases

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/read/property"
)

// randomSafe is a set with gates of all kinds.
func randomSafe(r *rand.Rand) *property.Safe {
	s := &property.Safe{Rows: make([]property.Row, 1+r.IntN(5))}
	members := func() (list []int) {
		for m := range len(s.Rows) + len(s.Gates) {
			if r.IntN(2) == 0 {
				continue
			} else if m < len(s.Rows) {
				list = append(list, m)
			} else {
				list = append(list, ^(m - len(s.Rows)))
			}
		}
		return list
	}
	for range r.IntN(4) {
		if of := members(); len(of) > 0 {
			s.Gates = append(s.Gates, property.Gate{Need: 1 + r.IntN(len(of)), Of: of})
		}
	}
	for range 1 + r.IntN(2) {
		s.Any = append(s.Any, members())
	}
	return s
}

// TestImplied: S follows from the rows of Implied and fails without those of Refuted, which is
// looked at with another evaluation, and rows that say nothing of the kind are found out.
func TestImplied(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	implied, refuted, follow := 0, 0, 0
	for range 2000 {
		s := randomSafe(r)
		cost := make([]float64, len(s.Rows))
		for i := range cost {
			cost[i] = r.Float64()
		}
		holds := func(rows []int, hold bool) bool {
			lo := make([]float64, len(s.Rows))
			for i := range lo {
				if lo[i] = -1; !hold {
					lo[i] = 1
				}
			}
			for _, i := range rows {
				lo[i] = -lo[i]
			}
			return s.Holds(lo)
		}
		if rows, ok := Implied(s, cost); ok {
			if implied++; !holds(rows, true) {
				t.Fatalf("%v: %v do not imply it", s, rows)
			}
		}
		if rows, ok := Refuted(s, cost); ok {
			if refuted++; holds(rows, false) {
				t.Fatalf("%v: %v do not refute it", s, rows)
			}
		}
		some := r.Perm(len(s.Rows))[:r.IntN(len(s.Rows)+1)]
		for _, hold := range []bool{true, false} {
			if follows(s, some, hold) != holds(some, hold) {
				t.Fatalf("%v with %v: %v", s, some, hold)
			} else if holds(some, hold) {
				follow++
			}
		}
	}
	if implied < 1500 || refuted < 1000 || follow < 1000 || follow > 3000 {
		t.Errorf("%d implied, %d refuted, %d followed", implied, refuted, follow)
	}
}

// TestChosen: rows that a proof names are taken where S follows from them, and no others.
func TestChosen(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	taken := 0
	for range 2000 {
		s := randomSafe(r)
		some := r.Perm(len(s.Rows))[:1+r.IntN(len(s.Rows))]
		slices.Sort(some)
		rows, err := Chosen(s, some)
		if err == nil != follows(s, some, true) || err == nil && len(rows) != len(some) {
			t.Fatalf("%v by %v: %d rows, %v", s, some, len(rows), err)
		}
		if err == nil {
			taken++
		}
		if _, err := Chosen(s, nil); err == nil && (len(s.Any) != 1 || !follows(s, s.Any[0], true)) {
			t.Fatalf("%v goes without saying", s)
		}
		for _, wrong := range [][]int{{len(s.Rows)}, {-1}, append(some, some[0])} {
			if _, err := Chosen(s, wrong); err == nil {
				t.Fatalf("%v by %v is taken", s, wrong)
			}
		}
	}
	if taken < 300 || taken > 1700 {
		t.Errorf("%d of 2000 are taken", taken)
	}
}
