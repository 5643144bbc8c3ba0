package engine

import (
	"context"
	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"testing"
	"time"
)

// TestPartOfTheTime: a part ends before the whole and as a limit of the task does, and gives back
// what it does not take; without a limit nothing ends.
func TestPartOfTheTime(t *testing.T) {
	var e Engine
	ctx, end := e.Part(t.Context(), 0.5)
	if ctx != t.Context() || e.timing.within != nil {
		t.Error("a part of no limit ends")
	}
	end()
	whole, done := e.Limit(t.Context(), time.Hour, false)
	defer done()
	outer := e.timing.end
	part, end := e.Part(whole, 0.5)
	inner, endInner := e.Part(part, 0)
	<-inner.Done()
	if inner.Err() != ErrTimeUp || e.timing.over() != ErrTimeUp || !e.Cut(inner.Err()) || !e.timing.stopped {
		t.Errorf("a part that is over: %v", inner.Err())
	}
	late := inner.Err()
	endInner()
	if e.timing.stopped = false; part.Err() != nil || !e.Cut(late) || !e.timing.stopped {
		t.Error("what ended with an inner part ends the outer one")
	}
	if left := time.Until(e.timing.end); left < 25*time.Minute || left > 31*time.Minute || part.Err() != nil || e.timing.over() != nil {
		t.Errorf("half of an hour has %v left", left)
	}
	end()
	if e.timing.end != outer || e.timing.within != whole || e.timing.over() != nil {
		t.Error("the whole limit is not back")
	}
	run, stop := context.WithCancel(t.Context())
	of, done := e.Limit(run, time.Hour, false)
	defer done()
	if stop(); of.Err() != context.Canceled || e.Cut(of.Err()) {
		t.Errorf("the end of a run passes for that of a time limit: %v", of.Err())
	}
}

// TestLateIsTold: work that ends after its time, or after the time of a part of it, may have left
// things out without a word: a result says so, and a group of several is done again.
func TestLateIsTold(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.01, 2)
	e, err := New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	j := &Run{Engines: []*Engine{e}, Tasks: tasks}
	limit := 5 * time.Millisecond
	for what, wait := range map[string]func(ctx context.Context){
		"whole": func(ctx context.Context) { <-ctx.Done() },
		"part": func(ctx context.Context) {
			within, end := e.Part(ctx, 1e-9)
			<-within.Done()
			end()
		},
		"none": func(context.Context) {},
	} {
		g := grouping{Run: j, certify: func(ctx context.Context, _ *Engine, tasks []property.Task) ([]*claim.Result, error) {
			wait(ctx)
			return []*claim.Result{claim.NewResult(&tasks[0], "lbp")}, nil
		}}
		if what != "whole" {
			limit = time.Hour
		} else if _, err := g.within(t.Context(), e, tasks, limit); err != errTooLong {
			t.Errorf("%s: a group: %v", what, err)
		}
		list, err := g.within(t.Context(), e, tasks[:1], limit)
		if err != nil || (list[0].Stopped == claim.TimeLimit) != (what != "none") {
			t.Errorf("%s: %v, stopped: %q", what, err, list[0].Stopped)
		}
		limit = 5 * time.Millisecond
	}
}
