package prove_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// waiting is a device that gives no memory before it may, unless the work has to end.
type waiting struct {
	bound.Device
	may  func() bool
	over func() error
}

func (d waiting) Within(over func() error) bound.Device {
	d.over = over
	return d
}

func (d waiting) NewArray(n int) (bound.Array, error) {
	for !d.may() {
		if err := d.over(); err != nil {
			return nil, err
		}
		time.Sleep(100 * time.Microsecond)
	}
	return d.Device.NewArray(n)
}

// ownSpare makes devices of last resort.
func ownSpare() bound.Device { return fallback.New(bound.Float32) }

// withCores are the engine of a device that is not trusted and that of cores beside it. Neither waits before ready.
func withCores(t *testing.T, dev, cores bound.Device, post *posterior.Posterior, recheck engine.Recheck) []*engine.Engine {
	t.Helper()
	var engines []*engine.Engine
	for i, d := range []bound.Device{dev, cores} {
		spare := ownSpare
		if i == 1 {
			spare = nil
		}
		e, err := engine.New(d, spare, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		e.Recheck(recheck)
		e.Beside = i == 1
		engines = append(engines, e)
	}
	return engines
}

var clbpOfCells = prove.Config{Method: prove.CLBP, Cells: 2, Derived: true}

// TestCoresAndDevice: the cores beside a device, whether it is faster, never done, or slower than anything, change no
// result: who has nothing left to do does what the other has not done.
func TestCoresAndDevice(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.01, 12)
	want := run(t, bound.Float32, post, clbpOfCells, tasks...)
	never := func(ready *atomic.Bool) func() bool { return func() bool { return !ready.Load() } }
	for name, make := range map[string]func(ready *atomic.Bool) (dev, cores bound.Device){
		"the device never": func(r *atomic.Bool) (_, _ bound.Device) {
			return waiting{Device: ownSpare(), may: never(r)}, ownSpare()
		},
		"the cores never": func(r *atomic.Bool) (_, _ bound.Device) {
			return ownSpare(), waiting{Device: ownSpare(), may: never(r)}
		},
		"both": func(r *atomic.Bool) (_, _ bound.Device) { // none begins before the other has a group
			var got [2]atomic.Bool
			both := func(i int) func() bool {
				return func() bool {
					if r.Load() {
						got[i].Store(true)
					}
					return !r.Load() || got[0].Load() && got[1].Load()
				}
			}
			return waiting{Device: ownSpare(), may: both(0)}, waiting{Device: ownSpare(), may: both(1)}
		},
	} {
		var ready atomic.Bool
		dev, cores := make(&ready)
		engines := withCores(t, dev, cores, post, engine.Recheck{Share: .01})
		ready.Store(true)
		for range 2 { // the second time with what the first has measured
			got := runOn(t, engines, clbpOfCells, tasks...)
			if diff := sameResults(got, want); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			for _, r := range got {
				if r.Device != "cpu" {
					t.Errorf("%s: device %q", name, r.Device)
				}
			}
		}
		ready.Store(false)
	}
}

// TestCoresBesideOpenCL: what an OpenCL device and the cores do together are the results of each.
func TestCoresBesideOpenCL(t *testing.T) {
	list, _ := gpu.List()
	if len(list) == 0 {
		if os.Getenv("PSAFE_REQUIRE_OPENCL") == "1" {
			t.Fatal("PSAFE_REQUIRE_OPENCL=1 and no OpenCL device")
		}
		t.Skip("no OpenCL device")
	}
	dev, err := gpu.OpenInfo(list[0], bound.Float32, gpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	post, tasks := provetest.Deep(3, 0.01, 12)
	var may atomic.Bool
	may.Store(true)
	counted := devicetest.NewFaulty(dev)
	calls := 0
	counted.Before = func(bound.Operation) error {
		if calls++; calls == 40 { // it has a group
			may.Store(true)
		}
		return nil
	}
	engines := withCores(t, counted, waiting{Device: ownSpare(), may: may.Load}, post, engine.Recheck{Share: .01})
	calls = 0
	may.Store(false)
	got := runOn(t, engines, clbpOfCells, tasks...)
	if diff := sameResults(got, run(t, bound.Float32, post, clbpOfCells, tasks...)); diff != "" {
		t.Error(diff)
	}
	if names := dev.Name() + " + cpu"; got[0].Device != names || got[11].Device != names {
		t.Errorf("devices %q and %q, not %q", got[0].Device, got[11].Device, names)
	}
}

// TestCoresBesideFaults: a device that lies or fails beside the cores gets nothing into a result, and they go on.
func TestCoresBesideFaults(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.01, 12)
	want := run(t, bound.Float32, post, clbpOfCells, tasks...)
	dropped := 0
	var mu sync.Mutex
	recheck := engine.Recheck{Share: 1, Tell: func(*engine.Dropped) { mu.Lock(); dropped++; mu.Unlock() }}
	const from = 60
	for i := range testscale.Cases(t, 4) {
		var calls atomic.Int64
		var may atomic.Bool
		may.Store(true)
		liar := &lying{Device: ownSpare()}
		faulty := devicetest.NewFaulty(liar)
		faulty.Before = func(bound.Operation) error {
			if calls.Add(1) < from+int64(i) {
				return nil
			}
			if may.Store(true); i%2 == 0 {
				return errors.New("broken")
			}
			return nil
		}
		liar.lie = func(_ int, v []float64) {
			if i%2 == 1 && may.Load() && calls.Load() >= from {
				dropSigns(v)
			}
		}
		engines := withCores(t, faulty, waiting{Device: ownSpare(), may: may.Load}, post, recheck)
		calls.Store(0)
		may.Store(false)
		if diff := sameResults(runOn(t, engines, clbpOfCells, tasks...), want); diff != "" {
			t.Errorf("case %d: %s", i, diff)
		}
	}
	if dropped == 0 {
		t.Error("no device was dropped")
	}
}

// TestCoresEnd: an interruption ends both, and leaves them as they were.
func TestCoresEnd(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.01, 12)
	engines := withCores(t, ownSpare(), ownSpare(), post, engine.Recheck{Share: .01})
	ctx, end := context.WithCancel(t.Context())
	var got []*claim.Result
	err := prove.Run(ctx, engines, clbpOfCells, tasks, nil, func(r *claim.Result) error {
		if got = append(got, r); len(got) == 3 {
			end()
		}
		return nil
	})
	want := run(t, bound.Float32, post, clbpOfCells, tasks...)
	if diff := sameResults(got, want[:len(got)]); diff != "" || err == nil && len(got) < len(tasks) || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%d results, %v, %s", len(got), err, diff)
	}
	if diff := sameResults(runOn(t, engines, clbpOfCells, tasks...), want); diff != "" {
		t.Error(diff)
	}
}

// TestCoresLeftOut: searches, draws and what has a time limit are a device's alone.
func TestCoresLeftOut(t *testing.T) {
	post, tasks := provetest.Deep(3, 0.01, 2)
	var ready atomic.Bool
	used := false
	cores := waiting{Device: ownSpare(), may: func() bool { used = used || ready.Load(); return true }}
	engines := withCores(t, ownSpare(), cores, post, engine.Recheck{})
	ready.Store(true)
	limited := clbpOfCells
	limited.TimeLimit = time.Minute
	for _, cfg := range []prove.Config{{Method: prove.Phases, Cells: 1}, {Method: prove.IBP, Samples: 3, Gamma: 1}, {Method: prove.Statistical, Samples: 3, Confidence: .9}, limited} {
		if runOn(t, engines, cfg, tasks...); used {
			t.Errorf("%v, limit %v: the cores were used", cfg.Method, cfg.TimeLimit)
		}
	}
	var all []property.Task
	for range 12 {
		all = append(all, tasks...)
	}
	if runOn(t, engines, clbpOfCells, all...); !used {
		t.Error("the cores were not used")
	}
}
