package sums

import (
	"slices"

	"psafe/host/read/property"
)

// Implied lists rows from which S follows, few and likely ones by their costs; false if there are
// none. Which they are, property.Safe proposes; that S follows is looked at here.
func Implied(s *property.Safe, cost []float64) (rows []int, ok bool) {
	rows, ok = s.Implicant(cost)
	return rows, ok && follows(s, rows, true)
}

// Refuted lists rows such that S fails where all of them do, chosen in the same way.
func Refuted(s *property.Safe, cost []float64) (rows []int, ok bool) {
	dual := s.Dual()
	rows, ok = dual.Implicant(cost)
	return rows, ok && !follows(s, rows, false)
}

// follows reports whether S holds where these rows do and no others or, unless hold, all others and
// not they.
func follows(s *property.Safe, rows []int, hold bool) bool {
	held, gates := slices.Repeat([]bool{!hold}, len(s.Rows)), make([]bool, 0, len(s.Gates))
	for _, r := range rows {
		held[r] = hold
	}
	count := func(members []int) (n int) {
		for _, m := range members {
			if m >= 0 && held[m] || m < 0 && gates[^m] {
				n++
			}
		}
		return n
	}
	for _, g := range s.Gates {
		gates = append(gates, count(g.Of) >= g.Need)
	}
	return slices.ContainsFunc(s.Any, func(all []int) bool { return count(all) == len(all) })
}
