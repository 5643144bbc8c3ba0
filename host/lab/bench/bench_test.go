package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
)

// limited is the fallback with limits, and what goes wrong.
type limited struct {
	bound.Device
	live    *int
	affines *int
	copies  error
	affine  error
}

func (l limited) MeasureCopy() (float64, error) { return 20, l.copies }
func (l limited) MeasureFMA() (float64, error)  { return 100, nil }

// Operations counts the runs of affine since the last call.
func (l limited) Operations() ([]Operation, error) {
	n := *l.affines
	*l.affines = 0
	return []Operation{{Name: "affine", Launches: n, Seconds: 1}}, nil
}

func (l limited) NewArray(n int) (bound.Array, error) {
	*l.live++
	return l.Device.NewArray(n)
}

func (l limited) Release(a bound.Array) {
	if a != nil {
		*l.live--
	}
	l.Device.Release(a)
}

func (l limited) Do(op bound.Operation) error {
	if _, is := op.(bound.Affine); is {
		if l.affine != nil {
			return l.affine
		}
		*l.affines++
	}
	return l.Device.Do(op)
}

// idle is the fallback without its slowest operations, for what is not about them.
type idle struct{ bound.Device }

func (d idle) Do(op bound.Operation) error {
	switch op.(type) {
	case bound.BackSubstitute, bound.Affine, bound.MergeRows, bound.DrawBox:
		return nil
	}
	return d.Device.Do(op)
}

// TestRun: the fallback alone, or every device with its limits beside the fallback; every
// workload runs and gives its memory back.
func TestRun(t *testing.T) {
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		cpu, live := idle{fallback.New(p)}, 0
		device := limited{Device: fallback.New(p), live: &live, affines: new(int)}
		var got []*Measured
		j := &Settings{Fallback: cpu, Seconds: 1e-9, Small: true, Each: func(m *Measured) error { got = append(got, m); return nil }}
		if err := j.Run(t.Context()); err != nil || len(got) != 1 || got[0].Limits != nil || got[0].Beside != nil {
			t.Fatalf("%v: fallback alone: %+v, %v", p, got, err)
		}
		j.Devices = []Device{device}
		if err := j.Run(t.Context()); err != nil || len(got) != 2 {
			t.Fatalf("%v: %d devices, %v", p, len(got), err)
		}
		if live != 0 {
			t.Errorf("%v: %d arrays were not released", p, live)
		}
		if m := got[1]; m.Precision != p || *m.Limits != (Limits{20, 100}) || len(m.Beside) != len(m.Rows) {
			t.Errorf("%v: %+v", p, m)
		}
		for i, r := range got[1].Rows {
			if r.Workload != got[0].Rows[i].Workload || !(r.Seconds > 0) || r.Bytes == 0 && r.Flops == 0 {
				t.Errorf("%v: %+v", p, r)
			}
		}
		for _, r := range got[1].Rows {
			// One of each run, the first included, and none of what came before.
			if affine := strings.HasPrefix(r.Workload, "affine"); len(r.Operations) != 1 || affine && r.Operations[0].Launches != 3 || strings.HasPrefix(r.Workload, "backs") && r.Operations[0].Launches != 0 {
				t.Errorf("%s: %+v", r.Workload, r.Operations)
			}
		}
		if convolutions := len(got[1].Rows); convolutions != 10 {
			t.Errorf("%d workloads", convolutions)
		}
		// 4 boxes of 96 x 64 weights, two ends each.
		if r := got[1].Rows[0]; r.Bytes != float64(2*96*64*4*p.Bytes()) || r.Flops != 4*96*64*4 {
			t.Errorf("%v: %+v", p, r)
		}
	}
}

// TestErrors: a device's error is a *certify.DeviceError, an interruption the context's.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	live := 0
	each := func(*Measured) error { return nil }
	device := func(change func(*limited)) *Settings {
		l := limited{Device: idle{fallback.New(bound.Float32)}, live: &live, affines: new(int)}
		change(&l)
		return &Settings{Fallback: l.Device, Devices: []Device{l}, Seconds: 1e-9, Small: true, Each: each}
	}
	for name, j := range map[string]*Settings{
		"broken":                   device(func(l *limited) { l.copies = broken }),
		"affine, many boxes x 1 i": device(func(l *limited) { l.affine = broken }),
	} {
		err := j.Run(t.Context())
		if _, ok := errors.AsType[*certify.DeviceError](err); !ok || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if live != 0 {
		t.Errorf("%d arrays were not released", live)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := device(func(*limited) {}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestBest: one run to warm up and at least two that count.
func TestBest(t *testing.T) {
	runs := 0
	if s, err := best(func() error { runs++; return nil }, 0); err != nil || s < 0 || runs != 3 {
		t.Errorf("%v, %v after %d runs", s, err, runs)
	}
}
