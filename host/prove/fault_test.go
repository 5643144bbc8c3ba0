package prove_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

var errLost = errors.New("device lost")

// TestFaults: a device that fails in the middle costs nothing but time: the chunk
// is tried in halves, then on the spare device, which the result names. Without a
// spare device the fault is an error and nothing is emitted.
func TestFaults(t *testing.T) {
	post := read(t, "two-weights.npz")
	task := property.Task{Label: -1, T: []property.Box{interval(-1, 2)}, S: atLeast(-1)}
	for _, cfg := range []prove.Config{
		{Method: prove.CLBP, Cells: 1},
		{Method: prove.IBP, Samples: 100, Gamma: 0.3},
	} {
		want := run(t, bound.Float32, post, cfg, task)[0]
		for _, c := range []struct {
			name  string
			bad   func(call, items int) bool
			spare bool
			fails bool
			named bool
		}{
			{"once", func(call, items int) bool { return call == 3 }, false, false, false},
			{"large batches", func(call, items int) bool { return items > 60 }, false, false, false},
			{"from the second call on", func(call, items int) bool { return call > 1 }, true, false, false},
			{"always", func(call, items int) bool { return true }, true, false, true},
			{"always, no spare", func(call, items int) bool { return true }, false, true, false},
		} {
			dev, calls := devicetest.NewFaulty(fallback.New(bound.Float32)), 0
			dev.Before = func(op bound.Operation) error {
				if a, ok := op.(bound.Affine); ok {
					if calls++; c.bad(calls, a.Items) {
						return errLost
					}
				}
				return nil
			}
			var spare func() bound.Device
			if c.spare {
				spare = func() bound.Device { return fallback.New(bound.Float32) }
			}
			eng, err := engine.New(dev, spare, post, 12)
			if err != nil {
				t.Fatal(err)
			}
			var got []*claim.Result
			err = prove.Run(context.Background(), []*engine.Engine{eng}, cfg, []property.Task{task}, nil, func(r *claim.Result) error {
				got = append(got, r)
				return nil
			})
			if c.fails {
				if !errors.Is(err, errLost) || len(got) > 0 {
					t.Errorf("%v %s: error %v, %d results; want the fault and none", cfg.Method, c.name, err, len(got))
				}
				continue
			}
			if err != nil || len(got) != 1 {
				t.Errorf("%v %s: error %v, %d results", cfg.Method, c.name, err, len(got))
				continue
			}
			if r := got[0]; r.LogP != want.LogP || (c.named && !strings.Contains(r.Device, "on cpu") && !strings.Contains(r.Device, "is dropped")) {
				t.Errorf("%v %s: log p %v on %q, want %v", cfg.Method, c.name, r.LogP, r.Device, want.LogP)
			}
		}
	}
}

// TestSeveralEngines: results do not depend on how many devices share the work,
// and come in order.
func TestSeveralEngines(t *testing.T) {
	post := read(t, "two-weights-product.npz")
	var tasks []property.Task
	n := 20 / testscale.By(t, 4)
	for i := range n {
		tasks = append(tasks, property.Task{Index: i, Label: -1, T: []property.Box{interval(0, 0.5+0.1*float64(i))}, S: atLeast(-1)})
	}
	for _, cfg := range []prove.Config{{Method: prove.CLBP, Cells: 4}, {Method: prove.LBP, Samples: 1400, Gamma: 0.2, Seed: 1}} {
		want := run(t, bound.Float32, post, cfg, tasks...)
		var engines []*engine.Engine
		for range 3 {
			eng, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
			if err != nil {
				t.Fatal(err)
			}
			engines = append(engines, eng)
		}
		n := 0
		err := prove.Run(context.Background(), engines, cfg, tasks, nil, func(r *claim.Result) error {
			if r.Task.Index != n || r.LogP != want[n].LogP || r.Margin != want[n].Margin && !math.IsNaN(r.Margin) {
				t.Errorf("%v result %d: task %d, log p %v, margin %v; want %v, %v", cfg.Method, n, r.Task.Index, r.LogP, r.Margin, want[n].LogP, want[n].Margin)
			}
			n++
			return nil
		})
		if err != nil || n != len(tasks) {
			t.Errorf("%v: %v after %d of %d results", cfg.Method, err, n, len(tasks))
		}
	}
}

// TestCancelled: a cancelled run says so and emits nothing more.
func TestCancelled(t *testing.T) {
	post := read(t, "two-weights.npz")
	eng, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	task := property.Task{Label: -1, T: []property.Box{interval(-1, 2)}, S: atLeast(-1)}
	for _, cfg := range []prove.Config{{Method: prove.CLBP}, {Method: prove.LBP, Samples: 10, Gamma: 1}} {
		err := prove.Run(ctx, []*engine.Engine{eng}, cfg, []property.Task{task}, nil, func(*claim.Result) error {
			t.Error("a result after cancelling")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v, want context.Canceled", cfg.Method, err)
		}
	}
}
