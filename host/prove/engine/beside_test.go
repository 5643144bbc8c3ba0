package engine

import (
	"errors"
	"math"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove/claim"
)

// TestEmittedBeside: results are emitted in their order while others are put in, all of them before
// wait returns, and none after an error.
func TestEmittedBeside(t *testing.T) {
	const n, bad = 40, 25
	failure := errors.New("full")
	var got []*claim.Result
	all := make([]*claim.Result, n)
	for i := range all {
		all[i] = &claim.Result{}
	}
	o := &order{results: make([]*claim.Result, n), emit: func(r *claim.Result) error {
		time.Sleep(time.Millisecond)
		if r == all[bad] {
			return failure
		}
		got = append(got, r)
		return nil
	}}
	for i := range n {
		at := i ^ 1 // each pair the other way round
		if err := o.put([]int{at}, all[at:at+1]); err != nil && !errors.Is(err, failure) {
			t.Fatal(err)
		}
	}
	if err := o.wait(); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if len(got) != bad {
		t.Fatalf("%d emitted", len(got))
	}
	for i, r := range got {
		if r != all[i] {
			t.Errorf("result %d is another", i)
		}
	}
}

// wide is a device that likes batches as large as its memory.
type wide struct{ bound.Device }

func (d wide) PreferredBatchBytes() int64 { return d.MemoryLimit() }

// TestAtATime: what memory holds, and no more than a few where more gain nothing.
func TestAtATime(t *testing.T) {
	dev := fallback.New(bound.Float32)
	for _, c := range []struct {
		dev        bound.Device
		free, each int64
		want       int
	}{{dev, 1000, 10, 8}, {dev, 50, 10, 5}, {wide{dev}, 1000, 10, 100}, {wide{dev}, math.MaxInt64, 1, mostAtATime}, {dev, -5, 10, 1}} {
		if got := (&Engine{Device: c.dev}).AtATime(c.free, c.each, 8); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
