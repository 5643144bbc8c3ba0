package cases

import (
	"fmt"
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

// Chosen are the rows of these numbers, of which all are to hold, in the place of S: those that a
// proof names or, where it names none (nil), those of the only alternative. An error where S does
// not follow from them.
func Chosen(s *property.Safe, numbers []int) ([]property.Row, error) {
	if numbers == nil {
		if len(s.Any) != 1 || slices.ContainsFunc(s.Any[0], func(r int) bool { return r < 0 }) {
			return nil, fmt.Errorf("proof: rows: there are none, and the property has alternatives")
		}
		numbers = slices.Compact(slices.Sorted(slices.Values(s.Any[0])))
	}
	rows := make([]property.Row, 0, len(numbers)) // not nil where S holds without any
	for k, r := range numbers {
		if r < 0 || r >= len(s.Rows) || k > 0 && r <= numbers[k-1] {
			return nil, fmt.Errorf("proof: rows: number %d is %d, the property has %d rows, which ascend", k, r, len(s.Rows))
		}
		rows = append(rows, s.Rows[r])
	}
	if !follows(s, numbers, true) {
		return nil, fmt.Errorf("proof: rows: the property does not follow from %d", numbers)
	}
	return rows, nil
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
