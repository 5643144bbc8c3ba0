package report

import (
	"slices"

	"gonum.org/v1/plot"
)

// roomy makes ticks at x with their texts; a text that would touch another is left
// out, its tick stays. The two ends come first, then the rest from left to right.
// width is a text's, in units of the axis.
func roomy(x []float64, texts map[float64]string, width func(string) float64) []plot.Tick {
	x = slices.Clone(x)
	slices.Sort(x)
	order := append([]float64{x[0], x[len(x)-1]}, x...)
	shown := map[float64]bool{}
	for _, v := range order {
		free := true
		for w := range shown {
			free = free && max(v-w, w-v) >= (width(texts[v])+width(texts[w]))/2
		}
		if free {
			shown[v] = true
		}
	}
	var ticks []plot.Tick
	for _, v := range x {
		t := plot.Tick{Value: v}
		if shown[v] {
			t.Label = texts[v]
		}
		ticks = append(ticks, t)
	}
	return ticks
}
