package sums

import (
	"math/big"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/networktest"
)

// exactly is x as a rational number.
func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

var activations = networktest.Activations(1, 0.1)

// anyFail is content with every probability of failure.
func anyFail(float64) bool { return true }

// costs are what rows, each negated where negate says so, fail with in the middle of a box; nothing
// where there is no choice.
func costs(t *testing.T, post *posterior.Posterior, box property.Box, s *property.Safe, negate bool) []float64 {
	t.Helper()
	cost := make([]float64, len(s.Rows))
	if len(s.Rows) < 2 {
		return cost
	}
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	var at []float64
	for j, lo := range box.Lo {
		at = append(at, arith.Middle(lo, box.Hi[j]))
	}
	for r := range cost {
		row := s.Rows[r]
		if negate {
			row = row.Negated()
		}
		cost[r] = n.cellFailUp(t.Context(), property.Box{Lo: at, Hi: at}, []property.Row{row}, n.notPositiveUp)
	}
	return cost
}

// likely are rows from which S follows, with few failures in the middle of a box; none where it is
// empty.
func likely(t *testing.T, post *posterior.Posterior, box property.Box, s *property.Safe) []property.Row {
	t.Helper()
	numbers, ok := cases.Implied(s, costs(t, post, box, s, false))
	if !ok {
		return nil
	}
	slices.Sort(numbers)
	plans, err := cases.PlansOf(s, []*cases.Plan{{Rows: numbers}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

// failUp is FailUp with likely rows for each cell.
func failUp(t *testing.T, post *posterior.Posterior, cells []property.Box, s *property.Safe, enough func(float64) bool) (float64, error) {
	t.Helper()
	var plans [][]property.Row
	for _, c := range cells {
		plans = append(plans, likely(t, post, c, s))
	}
	return FailUp(t.Context(), post, cells, plans, enough)
}

// safeUp is FailUp at a witness, of rows that are likely to fail where S holds.
func safeUp(t *testing.T, post *posterior.Posterior, s *property.Safe, at property.Box) (float64, error) {
	t.Helper()
	cost := costs(t, post, at, s, true)
	var plans []*cases.Plan
	if len(s.Gates) > 0 {
		numbers, _ := cases.Refuted(s, cost)
		plans = []*cases.Plan{{Rows: numbers}}
	} else {
		for _, all := range s.Any {
			best := slices.MinFunc(all, func(a, b int) int { return int(1e9 * (cost[a] - cost[b])) })
			plans = append(plans, &cases.Plan{Rows: []int{best}})
		}
	}
	rows, err := cases.RefutingOf(s, plans)
	if err != nil {
		t.Fatal(err)
	}
	return FailUp(t.Context(), post, []property.Box{at}, [][]property.Row{rows}, anyFail)
}
