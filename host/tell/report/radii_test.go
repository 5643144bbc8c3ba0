package report

import (
	"strings"
	"testing"

	"psafe/host/record"
)

// TestRadiiOf: the page of records of psafe radius says radii, and pools nothing of both ends.
func TestRadiiOf(t *testing.T) {
	at := func(index int, eps, verdict string) record.Placed {
		label := 1
		return record.Placed{Record: &record.Record{Index: index, Eps: eps, Verdict: verdict, Label: &label, Property: "argmax_is:1", Flags: "--method auto", Method: "clbp", PUpper: 1,
			InputsSHA256: "b", PosteriorSHA256: "a"}, File: "radii.jsonl", Line: index + 1}
	}
	records := []record.Placed{at(0, "0.2", "safe"), at(0, "0.3", "unsafe"), at(1, "0.1", "safe"), at(2, "0.1", "unsafe")}
	html, _ := Make(records, Options{Inputs: 0})
	for _, words := range []string{"Of 3 inputs, 2 have a certified radius, of at least 0.09999", "2 have a refuted one, of at most 0.20000"} {
		if !strings.Contains(string(html), words) {
			t.Errorf("the page does not say %q: %s", words, radiiOf(records))
		}
	}
	if strings.Contains(string(html), "it is proved that") {
		t.Error("the page says shares of records that were chosen by their verdicts")
	}
}
