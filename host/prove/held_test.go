package prove_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
)

// TestNothingAfterAnError: when a result cannot be written, no engine emits another.
func TestNothingAfterAnError(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	var engines []*engine.Engine
	for range 3 {
		e, err := engine.New(&lying{Device: fallback.New(bound.Float32)}, func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.Recheck(engine.Recheck{Share: 1e-12})
		engines = append(engines, e)
	}
	full, calls := errors.New("disk full"), 0
	err := prove.Run(t.Context(), engines, prove.Config{Method: prove.CLBP, Cells: 1}, manyTasks(4, post, 60), nil, func(*claim.Result) error {
		if calls++; calls >= 3 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// TestInterruptedKeepsWhatAgrees: when the context ends, what an honest device has finished
// is emitted, after a recheck, and what a lying one has is not.
func TestInterruptedKeepsWhatAgrees(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	tasks, cfg := inGroups(manyTasks(5, post, 9)), prove.Config{Method: prove.CLBP, Cells: 1}
	for _, honest := range []bool{true, false} {
		dev := &lying{Device: fallback.New(bound.Float32)}
		e, err := engine.New(dev, func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.Recheck(engine.Recheck{Share: 1e-12}) // the first answer and the last
		ctx, cancel := context.WithCancel(t.Context())
		emitted := 0
		progress := func(done int) {
			if done == 1 && !honest {
				dev.lie = after(1, allAre(1e4))
			}
			if done == 5 {
				cancel()
			}
		}
		err = prove.Run(ctx, []*engine.Engine{e}, cfg, tasks, progress, func(*claim.Result) error { emitted++; return nil })
		if want := map[bool]int{true: 5, false: 0}[honest]; !errors.Is(err, context.Canceled) || emitted != want {
			t.Errorf("honest %v: %d results, want %d; %v", honest, emitted, want, err)
		}
	}
}

// TestHeldUntilARecheckAfter: a recheck confirms chunks up to its own, and not the next.
func TestHeldUntilARecheckAfter(t *testing.T) {
	post := read(t, "samples-2-8-3.npz")
	tasks, cfg := inGroups(manyTasks(5, post, 2)), prove.Config{Method: prove.Finite, Cells: 1}
	for i, d := range []float64{1e6, -1e6} { // surely safe, which takes one chunk, and surely unsafe
		for k := range tasks[i].S.Rows {
			tasks[i].S.Rows[k].D, tasks[i].S.Rows[k].DHi = d, d
		}
	}
	honest := &lying{Device: fallback.New(bound.Float32)}
	want, _, err := onLiar(t, honest, false, engine.Recheck{}, post, cfg, tasks)
	if err != nil || want[0].Lower() != 1 || want[1].Upper() != 0 {
		t.Fatalf("%v: p_lower %v, p_upper %v", err, want[0].Lower(), want[1].Upper())
	}
	first := &lying{Device: fallback.New(bound.Float32)}
	if _, _, err := onLiar(t, first, false, engine.Recheck{}, post, cfg, tasks[:1]); err != nil {
		t.Fatal(err)
	}
	// The first group has agreed when the second, one chunk too, has the device say that all networks
	// are safe: everything is compared at the end, and both were computed before.
	dev := &lying{Device: fallback.New(bound.Float32), lie: after(first.reads+1, allAre(1e4))}
	got, dropped, err := onLiar(t, dev, true, engine.Recheck{Share: 1e-12}, post, cfg, tasks)
	if err != nil || len(dropped) != 1 {
		t.Fatalf("%v, dropped %v", err, dropped)
	}
	if diff := sameResults(got, want); diff != "" {
		t.Error(diff)
	}
	for _, r := range got {
		if !strings.HasPrefix(r.Device, "cpu, as ") {
			t.Errorf("device %q", r.Device)
		}
	}
}

// TestHeldBoxes: where a device begins to lie after its boxes for a task agreed, nothing of what it
// said of boxes is kept, and the spare device draws and verifies them all again.
func TestHeldBoxes(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	tasks := manyTasks(8, post, 2)
	cfg := prove.Config{Method: prove.IBP, Samples: 600, Gamma: 0.3, NoUpper: true}
	want := run(t, bound.Float32, post, cfg, tasks...)
	lied := 0
	for _, from := range []int{1, 2, 3, 5} {
		dev := &lying{Device: fallback.New(bound.Float32), lie: after(from, allAre(1e4))}
		got, dropped, err := onLiar(t, dev, true, engine.Recheck{Share: 1e-12}, post, cfg, tasks)
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameResults(got, want); diff != "" {
			t.Errorf("from read %d: %s", from, diff)
		}
		lied += len(dropped)
	}
	if lied == 0 {
		t.Error("no device was dropped")
	}
}
