package main

import (
	"strings"
	"testing"

	"psafe/host/job/certify"
	"psafe/host/record"
)

// TestMeansOfRadii: the mean of what is certified is rounded down, that of what is refuted up.
func TestMeansOfRadii(t *testing.T) {
	third, two := &record.Record{Eps: "1/3"}, &record.Record{Eps: "2/3"}
	got := meansOfRadii([]*certify.Radius{{Certified: two, Refuted: nil}, {Certified: third, Refuted: two}, {Certified: third}})
	if want := "3 of 3 inputs have a certified radius, of 0.444444 on average over all; 1 a refuted one, of 0.666667 on average over these"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A decision that stays may be to abstain, and is not that of the class in the column label then.
	abstains := &record.Record{Eps: "0.5", Label: new(0), Flags: "--reject 0.9", Decision: &record.Decision{Verdict: record.DecisionSafe, Action: new(2)}}
	got = meansOfRadii([]*certify.Radius{{Certified: abstains}})
	if want := "; the class itself is taken at 0 of the certified radii"; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
