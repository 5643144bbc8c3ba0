//go:build !noopencl && (linux || darwin || windows) && (amd64 || arm64)

package cl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"psafe/internal/testscale"
)

// needsThreads skips the test on Oclgrind, whose calls are not thread-safe
// (github.com/jrprice/Oclgrind/issues/28): its check for uninitialised memory
// crashes when called from another thread than the one that made the context.
func (r *rig) needsThreads() {
	if strings.HasPrefix(r.device.Name(), "Oclgrind") {
		r.t.Skip("Oclgrind must be called from one thread")
	}
}

// TestRealWithCollector runs many commands while the collector runs without
// pause: a pointer that moved or memory that was freed would show as wrong data.
func TestRealWithCollector(t *testing.T) {
	onDevices(t, func(r *rig) {
		r.needsThreads()
		rounds := max(50, testscale.Cases(t, 400))
		var stop atomic.Bool
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			var waste [][]byte
			for !stop.Load() {
				runtime.GC()
				waste = nil
				for range 256 {
					waste = append(waste, make([]byte, 4096))
				}
			}
			runtime.KeepAlive(waste)
		}()
		defer func() {
			stop.Store(true)
			<-stopped
		}()

		const n = 1024
		in, out := r.buffer(4*n), r.buffer(4*n)
		k, err := r.program.CreateKernel("affine")
		r.must(err)
		r.releaseLater(k)
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		for round := 0; round < rounds || now.NumGC < before.NumGC+20; round++ {
			r.must(deep(round%64, func() error { return oneRound(r.queue, k, in, out, n, round) }))
			runtime.ReadMemStats(&now)
		}
		if n := len(r.queue.lib.inFlight); n != 0 {
			t.Errorf("%d transfers in flight at the end", n)
		}
	})
}

// oneRound sends data, computes and reads back, all of it non-blocking.
func oneRound(q *CommandQueue, k *Kernel, in, out *MemObject, n, round int) error {
	// Nothing but the binding refers to the data once it is enqueued.
	if err := q.Write(in, Bytes(ramp(n, round))); err != nil {
		return err
	}
	if err := setArgs(k, out, in, float32(2), int32(round), uint32(n)); err != nil {
		return err
	}
	e, err := q.EnqueueNDRangeKernel(k, n, 64, round%2 == 0)
	if err != nil {
		return err
	}
	y := make([]float32, n)
	if err := errors.Join(q.Read(out, Bytes(y)), q.Finish(), e.Release()); err != nil {
		return err
	}
	for i := range y {
		if want := 2*float32(i+round) + float32(round); y[i] != want {
			return fmt.Errorf("round %d: element %d is %v, want %v", round, i, y[i], want)
		}
	}
	return nil
}

func ramp(n, from int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + from)
	}
	return x
}

// deep calls f with more stack below it, in a goroutine whose stack is new: so
// stacks grow, and move, around the calls.
func deep(depth int, f func() error) error {
	done := make(chan error)
	var dive func(int) (int, error)
	dive = func(d int) (int, error) {
		var pad [512]byte
		pad[d%512] = byte(d)
		if d == 0 {
			return 0, f()
		}
		n, err := dive(d - 1)
		return n + int(pad[d%512]), err
	}
	go func() {
		_, err := dive(depth)
		done <- err
	}()
	return <-done
}

// TestRealParallel uses one context from several goroutines, a queue each.
func TestRealParallel(t *testing.T) {
	onDevices(t, func(r *rig) {
		r.needsThreads()
		const workers, n = 4, 256
		errs := make(chan error, workers)
		for w := range workers {
			go func() { errs <- parallelWorker(r, w, n) }()
		}
		for range workers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

func parallelWorker(r *rig, worker, n int) (err error) {
	q, err := r.context.CreateCommandQueue(r.device, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Release()) }()
	b, err := r.context.CreateEmptyBuffer(MemReadWrite, 4*n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Release()) }()
	for round := range 50 {
		want := ramp(n, 1000*worker+round)
		got := make([]float32, n)
		if err := errors.Join(q.Write(b, Bytes(want)), ReadBuffer(q, b, 0, got), q.Finish()); err != nil {
			return err
		}
		for i := range got {
			if got[i] != want[i] {
				return errors.New("a worker read another's data")
			}
		}
	}
	return nil
}
