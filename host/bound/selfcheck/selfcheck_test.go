package selfcheck

import (
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
)

// TestSelfJobs: every kind of activation is in some query, and the names differ.
func TestSelfJobs(t *testing.T) {
	names, kinds := map[string]bool{}, map[int]bool{}
	for _, j := range jobs(bound.Float32) {
		if names[j.name] {
			t.Errorf("two jobs are called %q", j.name)
		}
		names[j.name], kinds[int(j.activation.Kind)] = true, true
	}
	for kind := range network.Kind(network.Kinds) {
		if !kinds[int(kind)] {
			t.Errorf("activation kind %d is in no query", kind)
		}
	}
}

// TestUnchecked: an operation that no query calls is an error that names it.
func TestUnchecked(t *testing.T) {
	called := map[string]bool{"affine": true}
	if err := unchecked([]string{"affine"}, called); err != nil {
		t.Error(err)
	}
	if err := unchecked([]string{"affine", "swap"}, called); err == nil || !strings.Contains(err.Error(), "calls swap") {
		t.Error(err)
	}
}

// TestDiffers: the first call that wrote something else is named.
func TestDiffers(t *testing.T) {
	trace := func(hashes ...uint64) Trace {
		var calls []Call
		for i, h := range hashes {
			calls = append(calls, Call{[]string{"affine", "activate", "relax"}[i], h})
		}
		return Trace{"query", calls}
	}
	got := trace(1<<56, 2<<56, 3<<56|5)
	for _, c := range []struct {
		want Trace
		name string
	}{
		{got, ""},
		{trace(9<<56, 8<<56, 7<<56), "affine"},
		{trace(1<<56, 8<<56, 7<<56), "activate"},
		{trace(1<<56, 2<<56, 7<<56), "relax"},
		{trace(1<<56, 2<<56, 3<<56|4), "relax"}, // only the last digits tell
		{trace(1<<56, 2<<56), "relax"},
		{trace(), "affine"},
	} {
		if name := got.Differs(c.want.Digest()); name != c.name {
			t.Errorf("%s beside %s: %q, want %q", got.Digest(), c.want.Digest(), name, c.name)
		}
	}
}
