package page

import (
	"fmt"

	"psafe/host/report"
)

// histogramsOf are the distributions of the bounds.
func histogramsOf(records []report.Placed) []histogram {
	const bins = 20
	lower, upper := make([]bin, bins), make([]bin, bins)
	for i := range lower {
		words := fmt.Sprintf("%.2f to below %.2f", float64(i)/bins, float64(i+1)/bins)
		if i == bins-1 {
			words = "0.95 to 1"
		}
		lower[i].Words, upper[i].Words = words, words
	}
	// Edges are doubles next to multiples of 1/20: a picture needs no more.
	at := func(p float64) int { return min(bins-1, int(p*bins)) }
	claims := false
	for i := range records {
		r := &records[i]
		upper[at(float64(r.PUpper))].Count++
		if r.Method != "statistical" {
			claims = true
			lower[at(float64(r.PLower))].Count++
		}
	}
	ticks := map[int]string{0: "0", 5: "0.25", 10: "0.5", 15: "0.75", 20: "1"}
	var list []histogram
	if claims {
		list = append(list, drawHistogram("p_lower", "P_safe is at least this: further right is better", lower, ticks), nearOne(records))
	}
	return append(list, drawHistogram("p_upper", "P_safe is at most this: 1 says nothing", upper, ticks))
}

// nearOne counts records by the nines of p_lower, since 0.99 and 0.9999 are one bar elsewhere.
func nearOne(records []report.Placed) histogram {
	edges := []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999}
	texts := []string{"0", "0.5", "0.9", "0.99", "0.999", "0.9999"}
	bins := []bin{{Words: "0: nothing proved"}}
	for i := range edges {
		words := fmt.Sprintf("%s to below %s", texts[i], append(texts, "1")[i+1])
		switch i {
		case 0:
			words = "above 0 to below 0.5"
		case len(edges) - 1:
			words = "0.9999 to 1"
		}
		bins = append(bins, bin{Words: words})
	}
	for i := range records {
		p, k := float64(records[i].PLower), 0
		for k < len(edges) && (p > edges[k] || k > 0 && p == edges[k]) {
			k++
		}
		if records[i].Method != "statistical" {
			bins[k].Count++
		}
	}
	ticks := map[int]string{0: "=0", 1: ">0"}
	for i, text := range texts[1:] {
		ticks[i+2] = text
	}
	return drawHistogram("p_lower by nines", "the same records, on a scale that shows how near to 1 they come", bins, ticks)
}
