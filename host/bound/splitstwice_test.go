package bound_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
)

// TestQueryTwice: a query that was asked before, of other rows, is answered as a new one is.
func TestQueryTwice(t *testing.T) {
	c := newAllowCase(rand.New(rand.NewPCG(1, 62)))
	other := c.rows[0]
	other.D, other.DHi = other.D+1, other.DHi+1
	c.rows = append(c.rows, other)
	c.on(t, bound.Float64, func(s *bound.Splits) {
		if _, _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		ask := func(q *bound.SplitQuery) []float64 {
			answer, err := s.Bound(q)
			if err != nil {
				t.Fatal(err)
			}
			return answer.Bound
		}
		q, turned := c.query(), c.query()
		slices.Reverse(turned.Rows)
		first, want := ask(q), ask(turned)
		slices.Reverse(q.Rows)
		if got := ask(q); !slices.Equal(got, want) || slices.Equal(got, first) {
			t.Errorf("rows %v: %v, then the other way round %v; a new query has %v", turned.Rows, first, got, want)
		}
	})
}
