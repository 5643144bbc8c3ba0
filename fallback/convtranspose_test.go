package fallback

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
)

// TestConvLists: lists that somebody has written, or that are used with others or for other taps, are read
// again.
func TestConvLists(t *testing.T) {
	const places, entries = 3, 6
	r := rand.New(rand.NewPCG(83, 1))
	d := New(bound.Float64).(*Device[float64])
	list := func(v ...float64) *array[float64] { return &array[float64]{v: v} }
	starts, lists := []*array[float64]{list(0, 2, 4, 6), list(0, 1, 5, 6)}, []*array[float64]{list(0, 1, 2, 3, 4, 5), list(5, 3, 1, 0, 2, 4)}
	for range 200 {
		start, entry := starts[r.IntN(2)], lists[r.IntN(2)]
		switch r.IntN(3) {
		case 0:
			v := []float64{0, 0, 0, 0, 0, 0}
			for i := range v {
				v[i] = float64(r.IntN(entries))
			}
			check(t, d.Write(entry, v))
		case 1:
			check(t, d.Write(start, []float64{0, float64(r.IntN(3)), float64(3 + r.IntN(3)), entries}))
		}
		positions := 1 + r.IntN(3)
		for entries%positions != 0 {
			positions++
		}
		a := bound.ConvTranspose{
			A: random[float64](r, positions*9, -1, 1), Start: start, Entry: entry,
			PerBox: 1, P: 1, R: 9, J: places, E: entries, Positions: positions, K: entries / positions, Channels: 1,
		}
		w := random[float64](r, a.K, -1, 1)
		a.W = bound.Interval{Lo: w, Hi: w}
		want := a
		want.Start, want.Entry = list(slices.Clone(start.v)...), list(slices.Clone(entry.v)...)
		a.Out, want.Out = &array[float64]{v: make([]float64, places*9)}, &array[float64]{v: make([]float64, places*9)}
		check(t, d.Do(a))
		check(t, d.Do(want))
		sameBits[float64](t, "Out", a.Out, want.Out)
	}
}
