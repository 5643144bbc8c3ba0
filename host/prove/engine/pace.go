package engine

import (
	"errors"
	"slices"
	"sync"
	"time"

	"psafe/host/bound"
)

// Groups are as large as keeps devices busy and as small as lets records be written every few
// seconds: a group should take groupTime. One that has not ended after groupGuard, or
// fewGuard if it has few tasks, is given up and its tasks are done in groups of a sixteenth, so
// that, of tasks that take less than two seconds, a result comes after ten or so at the
// latest. What was given up was for nothing, so tasks that took long are not soon forgotten.
// How tasks are grouped decides no number.
var (
	groupTime  = 2 * time.Second
	groupGuard = 4 * time.Second
	fewGuard   = 7 * time.Second
)

const (
	// firstWork is how many multiplications the first group may take; wideWork is it on a device of which
	// a pass takes about as long whatever it is of (bound.Wide), wideGuard how many times as long a group
	// may take there until it is given up.
	firstWork, wideWork = 1e8, 1.5e11
	wideGuard           = 6
	// groupGrowth is how many times as large as the last a group may be. It is wideGrowth on a wide
	// device: there tasks of a small group seem to take longer than others will, and that is forgotten at
	// once.
	groupGrowth, wideGrowth = 2, 16
	// groupShrink is how many times smaller it is after one that was given up.
	groupShrink = 16
	// few is how many tasks are worth more patience.
	few = 4
	// forget holds what is left of the time of a slow task after a faster one.
	forget = 0.75
)

// errTooLong reports that a group of several tasks was given up.
var errTooLong = errors.New("prove: a group took too long")

// span is tasks number first to end-1.
type span struct{ first, end int }

// numbers returns the numbers of the tasks.
func (s span) numbers() []int {
	var all []int
	for i := s.first; i < s.end; i++ {
		all = append(all, i)
	}
	return all
}

// guard returns when a group of an engine is given up.
func (s span) guard(e *Engine) time.Duration {
	guard := groupGuard
	if s.end-s.first <= few {
		guard = fewGuard
	}
	if bound.Wide(e.Device) {
		guard *= wideGuard
	}
	return guard
}

// queue hands out the tasks of a job.
type queue struct {
	job *Run
	// cost is about how many multiplications a task takes.
	cost float64

	mu sync.Mutex
	// most is how many tasks a span of an engine may have.
	most func(e *Engine) int
	// rest holds what is not handed out, in order: what was given back before what nobody had.
	rest []span
	// hands are what engines are at, at how many of them are at a task, and did which tasks are done (cores.go).
	hands map[*Engine]*hand
	at    []int
	did   []bool
}

func newQueue(j *Run, most func(e *Engine) int, cost float64) *queue {
	n, devices := len(j.Tasks), 0
	for _, e := range j.Engines {
		if !e.Beside {
			devices++
		}
	}
	share := n
	if len(j.Engines) > 1 { // each gets some
		share = max(1, (n+2*devices-1)/(2*devices))
	}
	known := map[*Engine]int{}
	mostOf := func(e *Engine) int {
		if known[e] == 0 {
			known[e] = max(1, min(most(e), share))
		}
		return known[e]
	}
	return &queue{job: j, most: mostOf, cost: max(1, cost), rest: []span{{0, n}}, hands: map[*Engine]*hand{}, at: make([]int, n), did: make([]bool, n)}
}

// start is how many tasks the first span of an engine has.
func (q *queue) start(e *Engine) int {
	work := firstWork
	if q.job.TimeLimit > 0 {
		return 1 // a first group that is given up would cost as much as an input may
	}
	if bound.Wide(e.Device) {
		work = wideWork
	}
	return int(max(1, min(work/q.cost, float64(q.most(e)))))
}

// take gives an engine what it is to do next.
func (q *queue) take(e *Engine) (s span, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.rest) > 0 && q.rest[0].first == q.rest[0].end {
		q.rest = q.rest[1:]
	}
	if e.timing.next == 0 {
		e.timing.next = q.start(e)
	}
	size := min(e.timing.next, q.most(e), q.fair(e))
	if len(q.rest) > 0 {
		r := &q.rest[0]
		s = span{r.first, r.first + GroupSize(q.job.Tasks[r.first:r.end], size)}
		r.first = s.end
	} else if s, more = q.twice(e, size); !more {
		return span{}, false
	}
	q.hands[e] = &hand{span: s}
	for i := s.first; i < s.end; i++ {
		q.at[i]++
	}
	return s, true
}

// done learns how long an engine took, and returns what of its span nobody had done before.
func (q *queue) done(e *Engine, s span, d time.Duration) []span {
	counts := q.leave(e, true)
	q.mu.Lock()
	defer q.mu.Unlock()
	growth, left := groupGrowth, forget
	if bound.Wide(e.Device) {
		growth, left = wideGrowth, 0
	}
	each := max(d/time.Duration(s.end-s.first), time.Duration(left*float64(e.timing.slow)), 1)
	e.timing.slow = each
	target := groupTime
	if limit := q.job.TimeLimit; limit > 0 {
		target = min(target, limit/4)
	}
	e.timing.next = max(1, min(int(target/each), growth*max(e.timing.next, s.end-s.first), q.most(e)))
	return counts
}

// back takes back what took too long.
func (q *queue) back(e *Engine, s span) {
	left := q.leave(e, false)
	q.mu.Lock()
	defer q.mu.Unlock()
	e.timing.next = max(1, (s.end-s.first)/groupShrink)
	q.rest = slices.Insert(q.rest, 0, left...)
}
