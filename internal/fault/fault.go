// Package fault starts goroutines; nothing else does. Go ends a program at a panic that nobody
// recovers, and nobody can recover that of another goroutine; so each recovers its own here, and
// the program ends as it has said that it wants to.
package fault

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

var (
	ending atomic.Pointer[func(what any, trace []byte)]
	caught atomic.Bool
)

// Ends sets how the program ends at a panic: end is called once, by the goroutine that panicked,
// and must not return. A nil end leaves panics to Go, as where nobody has called Ends.
func Ends(end func(what any, trace []byte)) {
	if end == nil {
		ending.Store(nil)
		return
	}
	ending.Store(&end)
}

// mostTrace is the longest trace, in bytes.
const mostTrace = 1 << 20

// Catch is to be deferred by the first function of a goroutine. At a panic it calls what Ends was
// given, with what was panicked and where all goroutines are, this one first. It never returns
// then: what waits for this goroutine must not go on with half of its work. Of several goroutines
// that panic only the first is told of.
func Catch() {
	end := ending.Load()
	if end == nil {
		return
	}
	what := recover()
	if what == nil {
		return
	}
	if !caught.CompareAndSwap(false, true) {
		select {} // until the first has ended the program
	}
	trace := make([]byte, mostTrace)
	(*end)(what, trace[:runtime.Stack(trace, true)])
	select {}
}

// Caught is f for those that start a goroutine themselves, such as time.AfterFunc.
func Caught(f func()) func() {
	return func() {
		defer Catch()
		f()
	}
}

// Go runs f in a goroutine, one of group if that is not nil.
func Go(group *sync.WaitGroup, f func()) {
	if group != nil {
		group.Go(Caught(f))
		return
	}
	go Caught(f)()
}

// parallel is how long OnCores has been at work on several things, n times at once since then.
var parallel struct {
	sync.Mutex
	n     int
	since time.Time
	total time.Duration
}

// Beside counts as OnCores at work on several things until over, which is to be called once.
func Beside() (over func()) {
	inParallel(1)
	return func() { inParallel(-1) }
}

// Parallel returns for how long OnCores, or Gather but for its answers, has been at work on several things at a
// time, from wherever it was called, since the program began.
func Parallel() time.Duration {
	parallel.Lock()
	defer parallel.Unlock()
	if parallel.n == 0 {
		return parallel.total
	}
	return parallel.total + time.Since(parallel.since)
}

// inParallel counts one call of OnCores more, or less.
func inParallel(more int) {
	parallel.Lock()
	defer parallel.Unlock()
	switch parallel.n += more; {
	case more > 0 && parallel.n == 1:
		parallel.since = time.Now()
	case parallel.n == 0:
		parallel.total += time.Since(parallel.since)
	}
}

// OnCores runs f(0) ... f(n-1) on all cores and waits. If ctx ends, that is the error: the last
// ones are left out, and others may have stopped early.
func OnCores(ctx context.Context, n int, f func(i int)) error {
	if n <= 1 { // nothing goes on beside
		if n == 1 && ctx.Err() == nil {
			f(0)
		}
		return ctx.Err()
	}
	inParallel(1)
	defer inParallel(-1)
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		Go(&wait, func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
	return ctx.Err()
}

// Gather runs search(0) ... search(n-1) beside each other and waits. A search that asks waits until all do that have
// not ended; then answer is given what those of the least rank ask, in the order of searches, and these go on. So no
// two answers are given at a time, and none while a search goes on.
func Gather[Q any](n int, search func(i int, ask func(Q)), rank func(Q) int, answer func(asked []Q)) {
	if n == 1 { // nothing to wait for
		search(0, func(q Q) { answer([]Q{q}) })
		return
	}
	inParallel(1)
	defer inParallel(-1)
	type question struct {
		from, rank int
		asked      Q
		answered   chan struct{}
	}
	var mu sync.Mutex
	var waiting []question
	left := n
	turn := func() { // has mu
		if len(waiting) < left || left == 0 {
			return
		}
		slices.SortFunc(waiting, func(a, b question) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.from, b.from)) })
		var asked []Q
		for _, w := range waiting {
			if w.rank == waiting[0].rank {
				asked = append(asked, w.asked)
			}
		}
		inParallel(-1)
		answer(asked)
		inParallel(1)
		for _, w := range waiting[:len(asked)] {
			close(w.answered)
		}
		waiting = slices.Clone(waiting[len(asked):])
	}
	var wait sync.WaitGroup
	for i := range n {
		Go(&wait, func() {
			search(i, func(q Q) {
				answered := make(chan struct{})
				mu.Lock()
				waiting = append(waiting, question{i, rank(q), q, answered})
				turn()
				mu.Unlock()
				<-answered
			})
			mu.Lock()
			defer mu.Unlock()
			left--
			turn()
		})
	}
	wait.Wait()
}
