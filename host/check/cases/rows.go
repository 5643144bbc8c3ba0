package cases

import (
	"psafe/host/check/law"
	"psafe/host/read/property"
)

// ImpliedUp bounds the probability that S fails, given those of its rows and of what they rest on.
func ImpliedUp(s *property.Safe, tails []float64, more ...float64) float64 {
	rows, ok := Implied(s, tails)
	if !ok {
		return 1
	}
	return unionUp(rows, tails, more)
}

// RefutedUp bounds the probability that S holds, given those of its rows.
func RefutedUp(s *property.Safe, tails []float64, more ...float64) float64 {
	rows, ok := Refuted(s, tails)
	if !ok {
		return 1
	}
	return unionUp(rows, tails, more)
}

// unionUp adds up what happens to one of the rows, and more.
func unionUp(rows []int, tails, more []float64) float64 {
	for _, r := range rows {
		more = append(more, tails[r])
	}
	return min(1, law.TotalUp(more))
}

// NegatedRows is S with each row negated: what is a bound of these rows from below is one of the
// rows from above.
func NegatedRows(s *property.Safe) property.Safe {
	n := property.Safe{Any: s.Any, Gates: s.Gates}
	for r := range s.Rows {
		n.Rows = append(n.Rows, s.Rows[r].Negated())
	}
	return n
}
