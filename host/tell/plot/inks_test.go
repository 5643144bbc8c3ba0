package plot

import (
	"image/color"
	"math"
	"testing"
)

// TestInksInGrey: in grey, colours of lines are apart, and none is near the paper; and no two lines of a
// figure have the same colour and mark.
func TestInksInGrey(t *testing.T) {
	grey := func(c color.Color) float64 { return float64(color.GrayModel.Convert(c).(color.Gray).Y) }
	for i, a := range inks {
		if grey(a) > 190 {
			t.Errorf("ink %d is %v of 255 in grey", i, grey(a))
		}
		for j, b := range inks[:i] {
			if math.Abs(grey(a)-grey(b)) < 25 {
				t.Errorf("inks %d and %d are %v and %v in grey", i, j, grey(a), grey(b))
			}
		}
	}
	seen := map[[2]int]bool{}
	for i := range mostSeries {
		of := [2]int{i % len(inks), i % len(filled)}
		if seen[of] {
			t.Errorf("line %d looks like another", i)
		}
		seen[of] = true
	}
}

// TestBins: every number is in one part, 1 in the last.
func TestBins(t *testing.T) {
	got := bins([]float64{0, 0.049, 0.05, 0.5, 0.9999, 1})
	if got[0] != 2 || got[1] != 1 || got[10] != 1 || got[19] != 2 {
		t.Errorf("%v", got)
	}
}
