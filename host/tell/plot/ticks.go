package plot

import (
	"math"
	"slices"
	"strconv"

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

// roundTicks are three to seven multiples of 1, 2 or 5 times a power of ten.
func roundTicks(lo, hi float64) []plot.Tick {
	decade := math.Floor(math.Log10((hi - lo) / 3))
	step := math.Pow(10, decade)
	for _, k := range []float64{5, 2} {
		if k*step <= (hi-lo)/3 {
			step *= k
			break
		}
	}
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', max(0, -int(decade)), 64) }
	if decade < -4 || decade > 4 {
		text = func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	}
	var ticks []plot.Tick
	first := math.Ceil(lo / step)
	for i := range 10 {
		// Adding 0 makes 0 of -0, which would be written as such.
		if v := (first+float64(i))*step + 0; v <= hi {
			ticks = append(ticks, plot.Tick{Value: v, Label: text(v)})
		}
	}
	return ticks
}
