//go:build !noopencl && (linux || darwin) && (amd64 || arm64)

package cl

import (
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"

	"psafe/internal/fpcontrol"
	"psafe/internal/testscale"
)

// TestForeignRounding: a library leaves every thread that calls it with another rounding
// mode, for longer than the runtime waits before it takes the thread's work elsewhere. No
// goroutine is ever run in such a thread, nor in one that was made from it, whether it is called by
// reflection or without.
func TestForeignRounding(t *testing.T) {
	f := openFake(t)
	var roundUp func(microseconds uint32) int32
	var direct func(microseconds uintptr) int32
	addr, err := dlsym(f.handle, "fake_round_up")
	if err != nil {
		t.Fatal(err)
	}
	register(&roundUp, addr)
	register(&direct, addr)
	const callers, watchers = 24, 8
	calls := max(60, testscale.Cases(t, 600))
	var seen, wrong atomic.Int64
	var stop atomic.Bool
	watch := func() {
		seen.Add(1)
		if fpcontrol.Get() != fpcontrol.Default {
			wrong.Add(1)
		}
	}
	var calling, watching sync.WaitGroup
	for range watchers {
		watching.Go(func() {
			for !stop.Load() {
				watch()
				runtime.Gosched()
			}
		})
	}
	for c := range callers {
		calling.Go(func() {
			for i := range calls {
				if n := i * (c + 7) % 97; i%2 == 0 {
					roundUp(uint32(n))
				} else {
					direct(uintptr(n))
				}
				watch()
				if i%20 == 19 { // the thread ends with its goroutine, and another is made
					calling.Go(func() {
						runtime.LockOSThread()
						watch()
					})
				}
			}
		})
	}
	calling.Wait()
	stop.Store(true)
	watching.Wait()
	if err := fpcontrol.Err(); err != nil || wrong.Load() > 0 {
		t.Errorf("%d of %d looks found another word: %v", wrong.Load(), seen.Load(), err)
	}
	t.Logf("%d looks, %d threads made", seen.Load(), pprof.Lookup("threadcreate").Count())
}
