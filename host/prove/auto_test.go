package prove

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
)

// TestPartOfTheTime: a part ends before the whole and as a limit of the task does, and gives back
// what it does not take; without a limit nothing ends.
func TestPartOfTheTime(t *testing.T) {
	var e Engine
	ctx, end := e.part(t.Context(), 0.5)
	if ctx != t.Context() || e.timing.within != nil {
		t.Error("a part of no limit ends")
	}
	end()
	whole, done := e.timing.limited(t.Context(), time.Hour, false)
	defer done()
	outer := e.timing.end
	part, end := e.part(whole, 0.5)
	inner, endInner := e.part(part, 0)
	<-inner.Done()
	if !isTimeUp(inner, inner.Err()) || e.timing.over() == nil || !e.cut(inner, inner.Err()) || !e.timing.stopped {
		t.Errorf("a part that is over: %v, cause %v", inner.Err(), context.Cause(inner))
	}
	endInner()
	if left := time.Until(e.timing.end); left < 25*time.Minute || left > 31*time.Minute || part.Err() != nil || e.timing.over() != nil {
		t.Errorf("half of an hour has %v left", left)
	}
	end()
	if e.timing.end != outer || e.timing.within != whole || e.timing.over() != nil {
		t.Error("the whole limit is not back")
	}
}

// TestAutoPlan: what auto tries after concentration LBP, cheap methods first; sums of neurons
// of more than two inputs, and grids, only where it is said when to end.
func TestAutoPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 5))
	until := func(*Result) bool { return false }
	for _, c := range []struct {
		sizes []int
		cfg   Config
		rooms []float64
		half  int // how many of them are tried where p_lower is a half
		sums  bool
	}{
		{[]int{2, 3, 2}, Config{}, []float64{noRoom, noRoom}, 2, true},
		{[]int{3, 3, 2}, Config{}, []float64{noRoom}, 1, false},
		{[]int{2, 3, 2}, Config{Decided: until}, []float64{0, 0, 0}, 2, true},
		{[]int{3, 3, 2}, Config{TimeLimit: time.Second}, []float64{noRoom, noRoomDear, noRoomDear}, 3, true},
		{[]int{5, 3, 2}, Config{Decided: until}, []float64{0, 0, 0}, 3, true},
		{[]int{6, 3, 2}, Config{TimeLimit: time.Second, Decided: until}, []float64{0}, 1, false},
		{[]int{2, 3, 3, 2}, Config{TimeLimit: time.Second}, []float64{noRoom}, 1, false},
	} {
		e, err := NewEngine(fallback.New(bound.Float32), nil, randomNet(r, network.ReLU, c.sizes...), 12)
		if err != nil {
			t.Fatal(err)
		}
		var rooms []float64
		half := 0
		for _, g := range rungsOf(e, &c.cfg) {
			rooms = append(rooms, g.room)
			if g.open(&Result{LogP: math.Log(0.5)}) {
				half++
			}
			if !g.open(&Result{LogP: -60}) {
				t.Errorf("%v: a rung is left out where next to nothing is proved", c.sizes)
			}
		}
		rungs, best := rungsOf(e, &c.cfg), []*Result{{LogP: math.Log(0.999999)}, {LogP: math.Log(0.5)}}
		if !wanted(rungs, best) || wanted(rungs, best[:1]) || wanted(rungs[c.half:], best) {
			t.Errorf("%v: which methods are wanted", c.sizes)
		}
		if !slices.Equal(rooms, c.rooms) || half != c.half || autoSums(e, &c.cfg) != c.sums {
			t.Errorf("%v: rooms %v, want %v; %d for a half, want %d; sums %v", c.sizes, rooms, c.rooms, half, c.half, autoSums(e, &c.cfg))
		}
		e.Close()
	}
}
