package engine

import (
	"context"
	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/read/property"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func upTo(most int) func(*Engine) int { return func(*Engine) int { return most } }

// TestQueue: every task is handed out until it is done; groups follow the time that they
// take, and shrink when one is given up.
func TestQueue(t *testing.T) {
	j := &Run{Tasks: make([]property.Task, 1000)}
	e := &Engine{}
	q := newQueue(j, upTo(128), firstWork/4)
	size := func() int {
		s, more := q.take(e)
		if !more {
			t.Fatal("no more tasks")
		}
		q.done(e, s, time.Duration(s.end-s.first)*10*time.Millisecond)
		return s.end - s.first
	}
	if got := []int{size(), size(), size(), size(), size(), size(), size()}; !slices.Equal(got, []int{4, 8, 16, 32, 64, 128, 128}) {
		t.Errorf("groups of %d", got)
	}
	s, _ := q.take(e)
	q.back(e, s)
	again, _ := q.take(e)
	if again.first != s.first || again.end-again.first != 8 {
		t.Errorf("%v was given up, and next is %v", s, again)
	}
	q.done(e, again, 40*time.Second) // five seconds each
	if next, _ := q.take(e); next.first != again.end || next.end-next.first != 1 {
		t.Errorf("after slow tasks: %v", next)
	}
}

// TestQueueOfWide: where a pass takes as long whatever it is of, groups are few.
func TestQueueOfWide(t *testing.T) {
	groups := func(e *Engine) (sizes []int) {
		q := newQueue(&Run{Tasks: make([]property.Task, 10_000)}, upTo(16384), firstWork/7)
		for {
			s, more := q.take(e)
			if !more {
				return sizes
			}
			n := s.end - s.first
			sizes = append(sizes, n)
			q.done(e, s, 60*time.Millisecond+time.Duration(n)*100*time.Microsecond)
		}
	}
	if got := groups(&Engine{Device: wide{fallback.New(bound.Float32)}}); !slices.Equal(got, []int{10_000}) {
		t.Errorf("groups of %d", got)
	}
	first := span{0, 1400}
	if a, b := first.guard(&Engine{Device: wide{fallback.New(bound.Float32)}}), first.guard(&Engine{}); a != wideGuard*b {
		t.Errorf("groups are given up after %v on wide devices, and %v on others", a, b)
	}
	if got := groups(&Engine{}); len(got) < 10 {
		t.Errorf("groups of %d where batches are small", got)
	}
}

// TestWorkThatComesBack: what an engine gives back is done, also if its device is dropped
// after the other engine has found nothing more to do.
func TestWorkThatComesBack(t *testing.T) {
	a, b := &Engine{}, &Engine{}
	left, wait := map[*Engine][]int{a: {1}, b: {0}}, make(chan bool)
	begun := make(chan bool)
	var mu sync.Mutex
	next := func(e *Engine) (i int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(left[e]) == 0 {
			if e == b {
				close(wait)
			}
			return 0, false
		}
		i, left[e] = left[e][0], left[e][1:]
		return i, true
	}
	var done atomic.Int32
	err := Share(t.Context(), []*Engine{a, b}, next, func(_ context.Context, e *Engine, i int) error {
		switch i {
		case 0:
			<-begun
		case 1:
			close(begun)
			<-wait
			mu.Lock()
			left[a] = []int{2, 3}
			mu.Unlock()
		case 2:
			e.recheck.off = &Dropped{}
		}
		done.Add(1)
		return nil
	}, nil)
	if err != nil || done.Load() != 4 {
		t.Errorf("%v, %d of 4 are done", err, done.Load())
	}
}
