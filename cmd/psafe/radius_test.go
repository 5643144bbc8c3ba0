package main

import (
	"strings"
	"testing"

	"psafe/host/record"
)

// TestMeansOfRadii: the mean of what is certified is rounded down, that of what is refuted up.
func TestMeansOfRadii(t *testing.T) {
	at := func(end, eps, verdict string) *record.Record {
		return &record.Record{RadiusEnd: end, Eps: eps, Verdict: verdict}
	}
	var found record.FoundRadii
	for _, r := range []*record.Record{at("certified", "2/3", "safe"), at("refuted", "1", "safe"), at("certified", "1/3", "safe"), at("refuted", "2/3", "unsafe"), at("certified", "1/3", "safe"), at("refuted", "1", "unknown")} {
		found.Add(r)
	}
	var decided record.Decisions
	got := meansOfRadii(&found, &decided)
	if want := "3 of 3 inputs have a certified radius, of 0.444444 on average over all; 1 a refuted one, of 0.666667 on average over these"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A decision that stays may be to abstain, and is not that of the class in the column label then.
	decided.Add(&record.Record{Eps: "0.5", Label: new(0), Flags: "--reject 0.9", Decision: &record.Decision{Verdict: record.DecisionSafe, Action: new(2)}})
	got = meansOfRadii(&found, &decided)
	if want := "; the class itself is taken at 0 of the certified radii"; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
