package page

import (
	"cmp"
	"slices"

	"psafe/host/report"
)

// weakest puts records into the order of the page: contradicted ones first, since one of two
// numbers is wrong there; then what is proved unsafe, the surest first; then what is unknown
// and what is safe, the lowest p_lower first. Records that are equal in this keep their order.
func weakest(records []report.Placed, contradicted map[int]string) []int {
	order := make([]int, len(records))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &records[i], &records[j]
		if c := cmp.Compare(rank(a, contradicted[i]), rank(b, contradicted[j])); c != 0 {
			return c
		}
		lower := cmp.Or(cmp.Compare(a.PLower, b.PLower), compareLogs(a.Log10PLower, b.Log10PLower))
		upper := cmp.Compare(a.PUpper, b.PUpper)
		if a.Verdict == "unsafe" {
			return cmp.Or(upper, lower)
		}
		return cmp.Or(lower, upper)
	})
	return order
}

// rank is the group of a record, 0 for what is to be looked at first.
func rank(r *report.Placed, contradicted string) int {
	switch {
	case contradicted != "":
		return 0
	case r.Verdict == "unsafe":
		return 1
	case r.Verdict == "safe":
		return 3
	}
	return 2
}

// compareLogs compares logarithms, of which nil is -Inf.
func compareLogs(a, b *report.Down) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}
