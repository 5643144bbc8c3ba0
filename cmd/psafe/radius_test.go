package main

import (
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
}
