package report

import (
	"cmp"
	"slices"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

// weakest puts records into the order of the page: contradicted ones first, since one of two
// numbers is wrong there; then what is proved unsafe, the surest first; then what is unknown
// and what is safe, the lowest p_lower first. Records that are equal in this keep their order.
// why says of each what contradicts it, if something does.
func weakest(records []record.Placed, contradictions []summary.Contradiction) (sorted []record.Placed, why []string) {
	words := map[string]string{}
	for _, c := range contradictions {
		words[c.A], words[c.B] = c.Words, c.Words
	}
	of := map[*record.Record]string{}
	sorted = slices.Clone(records)
	for i := range sorted {
		if len(words) > 0 {
			of[sorted[i].Record] = words[sorted[i].Place()]
		}
	}
	slices.SortStableFunc(sorted, func(a, b record.Placed) int {
		if c := cmp.Compare(rank(&a, of[a.Record]), rank(&b, of[b.Record])); c != 0 {
			return c
		}
		if a.Verdict == "unsafe" {
			return summary.WeakUpper(a.Record, b.Record)
		}
		return summary.WeakLower(a.Record, b.Record)
	})
	for i := range sorted {
		why = append(why, of[sorted[i].Record])
	}
	return sorted, why
}

// rank is the group of a record, 0 for what is to be looked at first.
func rank(r *record.Placed, contradicted string) int {
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
