package plot_test

import (
	"image/color"
	"testing"

	"psafe/host/tell/plot"
)

// TestMap: a cell has the colour of its verdict; where shadows lie on one another, the worst is seen, in whatever
// order the cells are.
func TestMap(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing is slow under the race detector, and nothing of it runs at the same time: not with -short")
	}
	whole := func(verdict string) plot.MapCell { return plot.MapCell{Hi: [2]float64{1, 1}, Verdict: verdict} }
	seen := func(cells ...plot.MapCell) color.Color {
		t.Helper()
		f, err := plot.DrawMap(&plot.Map{Title: "t", Axes: [2]string{"a", "b"}, Cells: cells, Safe: "s", Unsafe: "u", Unknown: "k"})
		if err != nil {
			t.Fatal(err)
		}
		img := decode(t, f)
		size := img.Bounds().Size()
		// The most frequent colour of a part in the middle: hatching has lines.
		count := map[color.Color]int{}
		var most color.Color
		for x := range 60 {
			for y := range 60 {
				c := img.At(size.X/2+x, size.Y/2+y-60)
				if count[c]++; most == nil || count[c] > count[most] {
					most = c
				}
			}
		}
		return most
	}
	alone := map[string]color.Color{}
	apart := map[color.Color]bool{}
	for _, verdict := range []string{"safe", "unsafe", "unknown", ""} {
		alone[verdict] = seen(whole(verdict))
		apart[alone[verdict]] = true
	}
	if len(apart) != 4 {
		t.Errorf("colours of verdicts: %v", alone)
	}
	for _, c := range []struct{ a, b, want string }{{"unsafe", "safe", "unsafe"}, {"unknown", "safe", "unknown"}, {"unsafe", "unknown", "unsafe"}} {
		if got := seen(whole(c.a), whole(c.b)); got != alone[c.want] {
			t.Errorf("%q under %q: %v, want that of %q, %v", c.a, c.b, got, c.want, alone[c.want])
		}
	}
}

// TestMapRefused: what cannot be shown is an error.
func TestMapRefused(t *testing.T) {
	for _, cells := range [][]plot.MapCell{nil, {{Hi: [2]float64{1, 1}, Verdict: "certified"}}, {{Hi: [2]float64{1, 0}, Verdict: "safe"}}} {
		if _, err := plot.DrawMap(&plot.Map{Cells: cells}); err == nil {
			t.Errorf("%v is drawn", cells)
		}
	}
}
