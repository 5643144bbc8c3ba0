package report

import (
	"fmt"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
)

// histogramsOf are the distributions of the bounds.
func histogramsOf(records []record.Placed, result *summary.Result) []histogram {
	var lower, upper []bin
	last := len(result.Histogram) - 1
	for i, b := range result.Histogram {
		words := fmt.Sprintf("%.2f to below %.2f", b.From.Approx(), b.To.Approx())
		if i == last {
			words = fmt.Sprintf("%.2f to 1", b.From.Approx())
		}
		lower, upper = append(lower, bin{words, b.PLower}), append(upper, bin{words, b.PUpper})
	}
	ticks := map[int]string{0: "0", len(lower) / 4: "0.25", len(lower) / 2: "0.5", 3 * len(lower) / 4: "0.75", len(lower): "1"}
	var list []histogram
	if result.WithPLower > 0 {
		list = append(list, drawHistogram("p_lower", "P_safe is at least this: further right is better", "records", lower, ticks), nearOne(records))
	}
	return append(list, drawHistogram("p_upper", "P_safe is at most this: 1 says nothing", "records", upper, ticks))
}

// nearOne counts records by the nines of p_lower, since 0.99 and 0.9999 are one bar elsewhere.
func nearOne(records []record.Placed) histogram {
	texts := []string{"0.5", "0.9", "0.99", "0.999", "0.9999"}
	bins := []bin{{Words: "0: nothing proved"}, {Words: "above 0 to below 0.5"}}
	ticks := map[int]string{0: "= 0", 1: "> 0", len(texts) + 2: "1"}
	var edges []property.Exact
	for i, text := range texts {
		words := text + " to 1"
		if i+1 < len(texts) {
			words = text + " to below " + texts[i+1]
		}
		bins, edges = append(bins, bin{Words: words}), append(edges, property.MustExact(text))
		ticks[i+2] = text
	}
	for i := range records {
		r := records[i].Record
		if r.Method == "statistical" {
			continue // which claims no p_lower
		}
		k := 0
		if r.PLower > 0 {
			for k = 1; k <= len(edges) && atLeast(r.PLower, edges[k-1]); k++ {
			}
		}
		bins[k].Count++
	}
	return drawHistogram("p_lower by nines", "the same records, by how near to 1 they come", "records", bins, ticks)
}

// atLeast compares a bound, as records write it, with a decimal; it has to be asked only where
// the float64s are the same.
func atLeast(p record.Down, edge property.Exact) bool {
	if near := record.Down(edge.Approx()); p != near {
		return p > near
	}
	return p.Exact().Cmp(edge) >= 0
}
