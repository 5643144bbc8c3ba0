package prove_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// laned counts the lanes of a device, and what they have in their hands.
type laned struct {
	bound.Device
	lanes *atomic.Int32
	most  int64
	fault func(bound.Operation) error
}

func (d laned) Lane(n int) bound.Device {
	d.lanes.Add(1)
	f := devicetest.NewFaulty(bound.Lane(d.Device, n))
	if d.fault != nil {
		f.Before = d.fault
	}
	return f
}

func (d laned) MemoryLimit() int64 { return d.most }

// onCores runs on so many cores, as many lanes as the device gives, and says how many there were.
func onCores(t *testing.T, cores int, dev laned, spare func() bound.Device, cfg prove.Config, tasks int) ([]*claim.Result, int, error) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	post, list := provetest.Deep(4, 0.01, tasks)
	dev.Device, dev.lanes = fallback.New(bound.Float32), new(atomic.Int32)
	e, err := engine.New(dev, spare, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var all []*claim.Result
	err = prove.Run(t.Context(), []*engine.Engine{e}, cfg, list, nil, func(r *claim.Result) error {
		all = append(all, r)
		return nil
	})
	return all, int(dev.lanes.Load()), err
}

// TestLanes: tasks that keep one core busy go on beside each other, one for each core, and their results are those of
// one core, in the order of tasks.
func TestLanes(t *testing.T) {
	tasks := 6
	if testscale.Deep(t) {
		tasks = 24
	}
	for _, cfg := range []prove.Config{
		{Method: prove.Phases, Cells: 1}, {Method: prove.Phases, Cells: 6, Samples: 9, Confidence: 0.99}, {Method: prove.Auto, Cells: 4},
	} {
		want, none, err := onCores(t, 1, laned{most: 1 << 30}, nil, cfg, tasks)
		if none != 0 || err != nil {
			t.Fatalf("%v on one core: %d lanes, %v", cfg.Method, none, err)
		}
		for _, cores := range []int{2, 5, 40} {
			got, lanes, err := onCores(t, cores, laned{most: 1 << 30}, nil, cfg, tasks)
			if diff := sameResults(got, want); diff != "" || err != nil || lanes != min(cores, tasks) {
				t.Errorf("%v on %d cores, %d lanes: %v, %s", cfg.Method, cores, lanes, err, diff)
			}
		}
	}
}

// TestNoLanes: there are none where passes keep all cores busy, where a task's time is limited, beside a spare device,
// and beyond what memory holds.
func TestNoLanes(t *testing.T) {
	spare := func() bound.Device { return fallback.New(bound.Float32) }
	for _, c := range []struct {
		cfg   prove.Config
		most  int64
		spare func() bound.Device
		lanes int
	}{
		{prove.Config{Method: prove.Phases, Cells: 1}, 1 << 30, nil, 4},
		{prove.Config{Method: prove.CLBP, Cells: 1}, 1 << 30, nil, 0},
		{prove.Config{Method: prove.Statistical, Samples: 3, Confidence: 0.9}, 1 << 30, nil, 0},
		{prove.Config{Method: prove.Phases, Cells: 1, TimeLimit: time.Minute}, 1 << 30, nil, 0},
		{prove.Config{Method: prove.Phases, Cells: 1}, 1 << 30, spare, 0},
		{prove.Config{Method: prove.Phases, Cells: 1}, 5 << 20, nil, 2},
		{prove.Config{Method: prove.Phases, Cells: 1}, 2 << 20, nil, 0},
	} {
		if got, lanes, err := onCores(t, 4, laned{most: c.most}, c.spare, c.cfg, 4); lanes != c.lanes || len(got) != 4 || err != nil {
			t.Errorf("%v: %d lanes, want %d; %d results, %v", c.cfg, lanes, c.lanes, len(got), err)
		}
	}
}

// TestLaneFails: what fails in one lane ends the job, and nothing is emitted behind it.
func TestLaneFails(t *testing.T) {
	broken := errors.New("broken")
	for _, after := range []int64{0, 100, 1000} {
		var calls atomic.Int64
		dev := laned{most: 1 << 30, fault: func(bound.Operation) error {
			if calls.Add(1) > after {
				return broken
			}
			return nil
		}}
		got, lanes, err := onCores(t, 3, dev, nil, prove.Config{Method: prove.Phases}, 8)
		if lanes != 3 || !errors.Is(err, broken) || len(got) == 8 {
			t.Errorf("after %d calls: %d lanes, %d results, %v", after, lanes, len(got), err)
		}
		for i, r := range got {
			if r.Task.Index != i {
				t.Errorf("after %d calls: result %d is of task %d", after, i, r.Task.Index)
			}
		}
	}
}

// TestLanesEnd: lanes end when the run does, which is told, and leave their engine as it was.
func TestLanesEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	post, tasks := provetest.Deep(4, 0.01, 6)
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, end := context.WithCancel(t.Context())
	n := 0
	phases := func(ctx context.Context) error {
		return prove.Run(ctx, []*engine.Engine{e}, prove.Config{Method: prove.Phases}, tasks, nil, func(*claim.Result) error {
			if n++; n == 2 {
				end()
			}
			return nil
		})
	}
	if err := phases(ctx); !errors.Is(err, context.Canceled) && n < len(tasks) {
		t.Errorf("%d results, %v", n, err)
	}
	if n = len(tasks); phases(t.Context()) != nil || n != 2*len(tasks) { // the engine is as it was
		t.Errorf("%d results of a second run", n-len(tasks))
	}
	boxes := prove.Config{Method: prove.IBP, Samples: 3, Gamma: 1}
	if diff := sameResults(runOn(t, []*engine.Engine{e}, boxes, tasks...), run(t, bound.Float32, post, boxes, tasks...)); diff != "" {
		t.Error(diff)
	}
}
