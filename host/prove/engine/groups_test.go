package engine_test

import (
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

func results(t *testing.T, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) []*claim.Result {
	t.Helper()
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var list []*claim.Result
	err = prove.Run(t.Context(), []*engine.Engine{e}, cfg, tasks, nil, func(r *claim.Result) error {
		list = append(list, r)
		return nil
	})
	if err != nil || len(list) != len(tasks) {
		t.Fatalf("%v %v: %d results of %d, %v", cfg.Method, cfg.TimeLimit, len(list), len(tasks), err)
	}
	return list
}

// paced are configurations of all methods whose tasks are grouped.
func paced(t *testing.T) []prove.Config {
	many, all := 6, 4
	if testscale.Deep(t) {
		many, all = 12, 0
	}
	return []prove.Config{
		{Method: prove.Auto, Cells: many}, {Method: prove.CLBP, Cells: all},
		{Method: prove.Statistical, Samples: 70, Confidence: 0.99, Cells: 4},
		{Method: prove.CLBP, Cells: 4, Samples: 9, Confidence: 0.99},
	}
}

// TestGroupsDecideNothing: groups that are given up, all of them or by chance, change no number
// and no order.
func TestGroupsDecideNothing(t *testing.T) {
	few := 4
	if testscale.Deep(t) {
		few = 12
	}
	post, tasks := provetest.Deep(4, 0.01, few)
	defer engine.SetGroupTimes(time.Hour, time.Hour, time.Hour)()
	for _, cfg := range paced(t) {
		engine.SetGroupTimes(time.Hour, time.Hour, time.Hour)
		want := results(t, post, cfg, tasks)
		for _, d := range []time.Duration{1, 2 * time.Millisecond} {
			engine.SetGroupTimes(2*d, d, d)
			for i, r := range results(t, post, cfg, tasks) {
				w := want[i]
				if r.Task.Index != i || r.LogP != w.LogP || r.UnsafeDown != w.UnsafeDown || r.Cells != w.Cells || r.Tau != w.Tau || r.Boxes != w.Boxes || r.Stopped != "" ||
					r.Statistic != nil && *r.Statistic != *w.Statistic {
					t.Fatalf("%v, groups of %v: %d: %+v, want %+v", cfg.Method, d, i, r, w)
				}
			}
		}
	}
}

// TestTimeLimits: whenever the time of a task is up, there is a result, it proves no more than
// a run without a limit, it says that it was stopped if it proves less, and it contradicts
// nothing.
func TestTimeLimits(t *testing.T) {
	layers := 3
	if testscale.Deep(t) {
		layers = 5
	}
	post, tasks := provetest.Deep(layers, 0.01, 4)
	for _, cfg := range paced(t) {
		want := results(t, post, cfg, tasks)
		for limit := time.Nanosecond; limit < 50*time.Millisecond; limit = limit*4 + time.Millisecond/2 {
			cfg.TimeLimit = limit
			stopped := 0
			for i, r := range results(t, post, cfg, tasks) {
				w := want[i]
				less := r.Lower() < w.Lower() || r.Upper() > w.Upper()
				if r.Stopped != "" {
					stopped++
				}
				switch {
				case r.Lower() > w.Upper() || r.Upper() < w.Lower() || claim.Contradicts(r) != nil:
					t.Errorf("%v within %v: %d: %v..%v, without a limit %v..%v", cfg.Method, limit, i, r.Lower(), r.Upper(), w.Lower(), w.Upper())
				case r.Statistic != nil && (r.Statistic.Safe > w.Statistic.Safe || r.Statistic.Unsafe > w.Statistic.Unsafe):
					t.Errorf("%v within %v: %d decides %+v, without a limit %+v", cfg.Method, limit, i, *r.Statistic, *w.Statistic)
				case less && r.Stopped != claim.TimeLimit:
					t.Errorf("%v within %v: %d proves less and says nothing: %+v", cfg.Method, limit, i, r)
				case r.Stopped == "" && (r.LogP != w.LogP || r.UnsafeDown != w.UnsafeDown || r.Cells != w.Cells):
					t.Errorf("%v within %v: %d was not stopped and differs", cfg.Method, limit, i)
				}
			}
			if limit == time.Nanosecond && stopped != len(tasks) {
				t.Errorf("%v: %d of %d were stopped after a nanosecond", cfg.Method, stopped, len(tasks))
			}
		}
	}
}

// slow is a device that takes its time.
type slow struct{ bound.Device }

func (s slow) NewArray(n int) (bound.Array, error) {
	time.Sleep(2 * time.Millisecond)
	return s.Device.NewArray(n)
}

// TestTimeUpInARecheck: where all is asked again, and the time is up while it is, there is
// a result nevertheless.
func TestTimeUpInARecheck(t *testing.T) {
	post, tasks := provetest.Deep(4, 0.01, 3)
	for _, share := range []float64{1, 1e-12} {
		spare := func() bound.Device { return slow{fallback.New(bound.Float32)} }
		e, err := engine.New(fallback.New(bound.Float32), spare, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.Recheck(engine.Recheck{Share: share})
		n := 0
		cfg := prove.Config{Method: prove.CLBP, TimeLimit: 50 * time.Millisecond}
		err = prove.Run(t.Context(), []*engine.Engine{e}, cfg, tasks, nil, func(*claim.Result) error { n++; return nil })
		if err != nil || n != len(tasks) {
			t.Errorf("recheck %v: %d results of %d, %v", share, n, len(tasks), err)
		}
	}
}
