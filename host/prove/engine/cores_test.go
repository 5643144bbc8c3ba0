package engine

import (
	"context"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/read/property"
)

// pace is how long an engine takes for a group: so long for each of its tasks, and once.
type pace struct{ each, once time.Duration }

// played is a run of a queue in which no time passes but that of the engines' paces.
type played struct {
	took time.Duration
	// done counts the tasks of each engine that count, and groups its groups.
	done, groups []int
}

// play has engines of these paces, cores beside devices last, do n tasks.
func play(t *testing.T, n int, paces []pace) (p played) {
	job := &Run{Tasks: make([]property.Task, n)}
	for i := range paces {
		e := &Engine{Device: wide{fallback.New(bound.Float32)}, Beside: i == len(paces)-1}
		if e.Beside {
			e.Device = fallback.New(bound.Float32)
		}
		job.Engines = append(job.Engines, e)
	}
	q := newQueue(job, func(e *Engine) int {
		if e.Beside {
			return 128
		}
		return 8192
	}, firstWork/7)
	type turn struct {
		span
		within context.Context
		begun  time.Duration
		ends   time.Duration
	}
	at, counted := make([]*turn, len(paces)), make([]bool, n)
	p.done, p.groups = make([]int, len(paces)), make([]int, len(paces))
	for {
		next := -1
		for k, e := range job.Engines {
			if at[k] != nil && at[k].within.Err() != nil { // all is done elsewhere
				if left := q.leave(e, false); len(left) > 0 {
					t.Fatalf("engine %d was stopped at %v", k, left)
				}
				at[k] = nil
			}
			if at[k] == nil {
				s, more := q.take(e)
				if !more {
					continue
				}
				within, _ := q.begin(t.Context(), e)
				at[k] = &turn{s, within, p.took, p.took + paces[k].once + time.Duration(s.end-s.first)*paces[k].each}
			}
			if next < 0 || at[k].ends < at[next].ends {
				next = k
			}
		}
		if next < 0 {
			break
		}
		a := at[next]
		p.took, at[next] = a.ends, nil
		p.groups[next]++
		for _, part := range q.done(job.Engines[next], a.span, a.ends-a.begun) {
			for i := part.first; i < part.end; i++ {
				if counted[i] {
					t.Fatalf("task %d counts twice", i)
				}
				counted[i] = true
				p.done[next]++
			}
		}
	}
	for i, c := range counted {
		if !c {
			t.Fatalf("task %d is not done", i)
		}
	}
	return p
}

// TestCoresBeside: a device and the cores end together, whichever is faster and by how much; the faster does
// most, and no task counts twice.
func TestCoresBeside(t *testing.T) {
	const n = 10_000
	us := time.Microsecond
	for _, c := range []struct {
		paces []pace
		// most is how many times as long it may take as if nothing were done twice or waited for.
		most float64
	}{
		{[]pace{{100 * us, 50_000 * us}, {110 * us, 0}}, 1.25},
		{[]pace{{100 * us, 0}, {10_000 * us, 0}}, 1.1},
		{[]pace{{10_000 * us, 0}, {100 * us, 0}}, 1.1},
		{[]pace{{10 * us, 0}, {1_000_000 * us, 0}}, 1.1},
		{[]pace{{1_000_000 * us, 0}, {100 * us, 0}}, 1.1},
		{[]pace{{100 * us, 0}, {200 * us, 0}, {100 * us, 0}}, 1.25},
	} {
		rate := 0.0
		for _, p := range c.paces {
			rate += 1 / p.each.Seconds()
		}
		p := play(t, n, c.paces)
		if ideal := n/rate + c.paces[0].once.Seconds(); p.took.Seconds() > c.most*ideal {
			t.Errorf("%v: %v, %.3f s at best: %d tasks in %d groups", c.paces, p.took, ideal, p.done, p.groups)
		}
		for k, done := range p.done {
			if share := float64(done) / n; share > 1.3/c.paces[k].each.Seconds()/rate+.02 || share < .6/c.paces[k].each.Seconds()/rate-.02 {
				t.Errorf("%v: %d tasks in %d groups", c.paces, p.done, p.groups)
			}
		}
	}
}
