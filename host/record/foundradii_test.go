package record

import (
	"testing"

	"psafe/host/read/property"
)

// TestFoundRadii: medians, means and shares are those of the radii, where one that is not certified is 0
// and one that is not refuted is none.
func TestFoundRadii(t *testing.T) {
	var f FoundRadii
	if f.MedianCertified().Sign() != 0 || f.MedianRefuted() != nil || f.MeanCertified().Sign() != 0 {
		t.Errorf("of nothing: %+v", f)
	}
	for _, r := range []struct{ end, eps, verdict string }{
		{"certified", "0", "unknown"}, {"certified", "0", "safe"}, {"certified", "0.1", "safe"}, {"certified", "0.25", "safe"}, {"certified", "0.3", "safe"}, {"", "9", "safe"},
		{"refuted", "0.5", "unknown"}, {"refuted", "0.2", "unsafe"}, {"refuted", "0.4", "unsafe"}, {"refuted", "0.5", "safe"}, {"refuted", "0.5", "unknown"},
	} {
		f.Add(&Record{RadiusEnd: r.end, Eps: r.eps, Verdict: r.verdict})
	}
	if f.Inputs() != 5 || f.RefutedOf() != 5 || f.Certified() != 4 || f.Refuted() != 2 {
		t.Errorf("%+v", f)
	}
	if mean, median := DecimalDown(f.MeanCertified(), 4), DecimalDown(f.MedianCertified(), 4); mean != "0.1300" || median != "0.1000" {
		t.Errorf("certified: mean %s, median %s", mean, median)
	}
	if mean := DecimalUp(f.MeanRefuted(), 4); mean != "0.3000" || f.MedianRefuted() != nil {
		t.Errorf("refuted: mean %s, median %v", mean, f.MedianRefuted())
	}
	for eps, want := range map[string]string{"0.1": "0.6 1.0", "0.2": "0.4 0.8", "0.3": "0.2 0.8", "0.31": "0.0 0.8", "0.4": "0.0 0.6"} {
		lower, upper := f.ShareAt(property.MustExact(eps))
		if got := DecimalDown(lower, 1) + " " + DecimalUp(upper, 1); got != want {
			t.Errorf("share at %s: %s, want %s", eps, got, want)
		}
	}
	f.Add(&Record{RadiusEnd: "refuted", Eps: "0.1", Verdict: "unsafe"})
	if r := f.MedianRefuted(); r == nil || DecimalUp(r, 2) != "0.40" {
		t.Errorf("median of three of six: %v", r)
	}
	third := property.MustExact("1/3").Rat()
	if DecimalDown(third, 3) != "0.333" || DecimalUp(third, 3) != "0.334" || DecimalUp(property.Exact{}.Rat(), 2) != "0.00" {
		t.Errorf("%s %s", DecimalDown(third, 3), DecimalUp(third, 3))
	}
}

// TestWanted: what is wanted is the decision or the means where these were asked for.
func TestWanted(t *testing.T) {
	for _, c := range []struct {
		r    Record
		want int
	}{
		{Record{Verdict: "safe"}, 1}, {Record{Verdict: "unsafe"}, -1}, {Record{Verdict: "unknown"}, 0},
		{Record{Verdict: "safe", Decision: &Decision{Verdict: DecisionUnsafe}}, -1},
		{Record{Verdict: "unsafe", OutputMean: &OutputMean{Verdict: "mean_safe"}}, 1},
		{Record{Verdict: "safe", Flags: "--method clbp --target mean"}, 0},
	} {
		if got := c.r.Wanted(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.r, got, c.want)
		}
	}
}
