package plot

import (
	"slices"
	"testing"

	"psafe/host/record"
)

// TestRadiiCurves: an input counts as certified up to its certified radius and not beyond, and as
// refuted from its refuted one on; what is not known is neither.
func TestRadiiCurves(t *testing.T) {
	r := RadiiOf{"net", []record.RadiusEnds{
		{Certified: 0.2, Refuted: 0.5, IsCertified: true, IsRefuted: true}, {Certified: 0.1, IsCertified: true}, {}, {Refuted: 0.3, IsRefuted: true},
	}}
	x, y := r.certifiedCurve(1)
	if !slices.Equal(x, []float64{0, 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.2, 1}) || !slices.Equal(y, []float64{1, 1, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25, 0, 0}) {
		t.Errorf("certified: %v, %v", x, y)
	}
	x, y = r.refutedCurve(1)
	if !slices.Equal(x, []float64{0, 0.3, 0.3, 0.5, 0.5, 1}) || !slices.Equal(y, []float64{1, 1, 0.75, 0.75, 0.5, 0.5}) {
		t.Errorf("not refuted: %v, %v", x, y)
	}
	if _, err := DrawRadii([]RadiiOf{r}); err != nil {
		t.Error(err)
	}
	if _, err := DrawRadii([]RadiiOf{{"net", []record.RadiusEnds{{}}}}); err == nil {
		t.Error("a figure of no radius")
	}
}

// TestRadiiParts: a radius on an edge is in the part above it, the largest in the last one, and inputs
// without one in none.
func TestRadiiParts(t *testing.T) {
	r := RadiiOf{"net", []record.RadiusEnds{
		{Certified: 0.15, Refuted: 0.2, IsCertified: true, IsRefuted: true}, {Certified: 0, IsCertified: true}, {}, {Certified: 0.149, Refuted: 0.05, IsCertified: true, IsRefuted: true},
	}}
	certified, refuted, uncertified, unrefuted := r.partsOf(0.2)
	want := [2][]float64{make([]float64, 20), make([]float64, 20)}
	want[0][0], want[0][14], want[0][15], want[1][5], want[1][19] = 1, 1, 1, 1, 1
	if !slices.Equal(certified, want[0]) || !slices.Equal(refuted, want[1]) || uncertified != 1 || unrefuted != 2 {
		t.Errorf("%v, %v, %d without a certified, %d without a refuted one", certified, refuted, uncertified, unrefuted)
	}
	for _, list := range [][]RadiiOf{{r}, {r, r}, {r, r, r, r}} {
		if _, err := DrawRadiiHistogram(list); err != nil {
			t.Error(err)
		}
	}
	if _, err := DrawRadiiHistogram([]RadiiOf{{"net", []record.RadiusEnds{{}}}}); err == nil {
		t.Error("a figure of no radius")
	}
}
