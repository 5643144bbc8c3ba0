package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove/claim"
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
	next := q.devicesFirst()
	at, counted := make([]*turn, len(paces)), make([]bool, n)
	p.done, p.groups = make([]int, len(paces)), make([]int, len(paces))
	for {
		first := -1
		for k, e := range job.Engines {
			if at[k] != nil && at[k].within.Err() != nil { // all is done elsewhere
				if left := q.leave(e, false); len(left) > 0 {
					t.Fatalf("engine %d was stopped at %v", k, left)
				}
				at[k] = nil
			}
			if at[k] == nil {
				s, more := next(e)
				if !more {
					continue
				}
				within, _ := q.begin(t.Context(), e)
				at[k] = &turn{s, within, p.took, p.took + paces[k].once + time.Duration(s.end-s.first)*paces[k].each}
			}
			if first < 0 || at[k].ends < at[first].ends {
				first = k
			}
		}
		if first < 0 {
			break
		}
		a := at[first]
		p.took, at[first] = a.ends, nil
		p.groups[first]++
		for _, part := range q.done(job.Engines[first], a.span, a.ends-a.begun) {
			for i := part.first; i < part.end; i++ {
				if counted[i] {
					t.Fatalf("task %d counts twice", i)
				}
				counted[i] = true
				p.done[first]++
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
		{[]pace{{33 * us, 0}, {100 * us, 0}}, 1.06},
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

// TestShortJob: what a device takes at once the cores leave alone where nothing is known of them, and a device does
// what they are late with.
func TestShortJob(t *testing.T) {
	for n, groups := range map[int]int{1: 0, 2: 2} {
		if p := play(t, n, []pace{{time.Second, 0}, {time.Millisecond, 0}}); p.groups[1] != groups {
			t.Errorf("of %d tasks the cores take %d groups", n, p.groups[1])
		}
	}
	if p := play(t, 2, []pace{{time.Second, 0}, {time.Hour, 0}}); p.took != 2*time.Second {
		t.Errorf("slow cores: %v", p.took)
	}
}

// TestDoneBeforeBegun: a span that the cores have done before its device begins ends at once; engines of one kind do
// nothing again.
func TestDoneBeforeBegun(t *testing.T) {
	device, cores, second := &Engine{Device: wide{fallback.New(bound.Float32)}}, &Engine{Beside: true}, &Engine{}
	q := newQueue(&Run{Tasks: make([]property.Task, 20), Engines: []*Engine{device, cores}}, upTo(10), firstWork/10)
	next := q.devicesFirst()
	for range 2 {
		s, more := next(cores)
		_, end := q.begin(t.Context(), cores)
		if end(); !more || cores.timing.over() != nil || len(q.done(cores, s, time.Second)) != 1 {
			t.Fatalf("the cores get %v, %v; %v", s, more, cores.timing.over())
		}
	}
	s, more := next(device)
	if within, _ := q.begin(t.Context(), device); !more || s.first != 0 || context.Cause(within) != errElsewhere || len(q.leave(device, true)) != 0 {
		t.Errorf("the device begins with %v: %v", s, within.Err())
	}
	q = newQueue(&Run{Tasks: make([]property.Task, 2), Engines: []*Engine{device, second}}, upTo(10), firstWork)
	q.take(device)
	if s, more := q.take(second); !more || s.first != 1 {
		t.Errorf("a second device gets %v", s)
	}
	q.leave(second, true)
	if s, more := q.take(second); more {
		t.Errorf("a second device does %v again", s)
	}
}

// TestGivenUpTwice: what one engine gives up while another is at it comes back only when that gives it up too.
func TestGivenUpTwice(t *testing.T) {
	device, cores := &Engine{Device: wide{fallback.New(bound.Float32)}}, &Engine{Beside: true}
	q := newQueue(&Run{Tasks: make([]property.Task, 20), Engines: []*Engine{device, cores}}, upTo(10), firstWork/10)
	first, _ := q.take(device)
	s, _ := q.take(cores)
	q.done(cores, s, time.Second)
	if s, _ = q.take(cores); s != first {
		t.Fatalf("the cores do %v again, not %v", s, first)
	}
	if q.back(cores, s); len(q.rest) > 0 && q.rest[0] == first {
		t.Errorf("%v is back, and the device is at it", first)
	}
	if q.back(device, first); q.rest[0] != first {
		t.Errorf("nobody is at %v, and it is not back", first)
	}
}

// TestLieInParts: of a span of which others have done the middle, nothing leaves if the device turns out to lie.
func TestLieInParts(t *testing.T) {
	e, lie, honest := &Engine{}, &claim.Result{}, &claim.Result{}
	e.recheck.launched, e.recheck.works = 1, []*work{{since: 1, again: func() error { return e.dropFor(&Dropped{}) }}}
	order := newOrder(&Run{Tasks: make([]property.Task, 3), Progress: func(int) {}, Emit: func(r *claim.Result) error {
		if r == lie {
			t.Error("a lie is written")
		}
		return nil
	}})
	c := &careful{order, func(_ context.Context, _ *team, tasks []int) ([]*claim.Result, error) {
		return []*claim.Result{honest}, nil
	}}
	done := []held{{tasks: []int{0}, results: []*claim.Result{lie}}, {tasks: []int{2}, results: []*claim.Result{lie}}}
	err := errors.Join(c.hold(t.Context(), newTeam(e), done, nil), order.put([]int{1}, []*claim.Result{honest}))
	if failed := order.wait(); err != nil || failed != nil || order.next != 3 {
		t.Errorf("%v, %v, %d are written", err, failed, order.next)
	}
}
