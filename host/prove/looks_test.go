package prove

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/lab/testkit/provetest"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/internal/testscale"
)

// lookedAt is the context of a task whose time is up at a look, and not at a time.
type lookedAt struct {
	context.Context
	end context.CancelCauseFunc
	// looks is how many there were, of which the first few see no end.
	looks, few atomic.Int64
}

func newLookedAt(t *testing.T, few int64) *lookedAt {
	c := &lookedAt{}
	c.Context, c.end = context.WithCancelCause(t.Context())
	c.few.Store(few)
	return c
}

func (c *lookedAt) Err() error {
	if c.looks.Add(1) <= c.few.Load() {
		return nil
	}
	c.end(engine.ErrTimeUp)
	return context.DeadlineExceeded
}

// TestEndedAtEveryLook: whichever look sees that the time is up, nothing goes on, and what is
// left out is told.
func TestEndedAtEveryLook(t *testing.T) {
	post, tasks := provetest.Deep(4, 0.01, 3)
	all := 4
	if testscale.Deep(t) {
		all = 0
	}
	cfgs := []Config{
		{Method: CLBP, Cells: all}, {Method: LBP}, {Method: IBP, Splits: 40},
		{Method: Statistical, Samples: 70, Confidence: 0.99, Cells: 4}, {Method: CLBP, Cells: 4, Samples: 9, Confidence: 0.99},
		{Method: NeuronSum, Cells: 8},
	}
	for _, cfg := range cfgs {
		of, on := tasks, post
		if cfg.Method == NeuronSum {
			on, of = provetest.Deep(2, 0.01, 3)
		}
		e, err := engine.New(fallback.New(bound.Float32), nil, on, 12)
		if err != nil {
			t.Fatal(err)
		}
		s, err := cfg.way()
		if err != nil {
			t.Fatal(err)
		}
		do := func(ctx *lookedAt) ([]*claim.Result, error) {
			e.Until(ctx, time.Now().Add(time.Hour))
			return s.run.(groups).full(ctx, &job{&engine.Run{Engines: []*engine.Engine{e}, Tasks: of}, s, cfg}, e, of)
		}
		whole := newLookedAt(t, math.MaxInt64)
		want, err := do(whole)
		if err != nil || e.Stopped() {
			t.Fatalf("%v: %v, stopped: %v", cfg.Method, err, e.Stopped())
		}
		every := whole.looks.Load()
		for k := range int64(testscale.Cases(t, 40)) {
			few := (k*2654435761 + 1) % every
			ctx := newLookedAt(t, few)
			got, err := do(ctx)
			if err != nil {
				t.Fatalf("%v: %d of %d looks: %v", cfg.Method, few, every, err)
			}
			if more := ctx.looks.Load() - few; more > 500 {
				t.Errorf("%v: %d looks after %d of %d", cfg.Method, more, few, every)
			}
			for i, r := range got {
				w := want[i]
				less := r.Lower() < w.Lower() || r.Upper() > w.Upper()
				if r.Lower() > w.Upper() || r.Upper() < w.Lower() || less && !e.Stopped() {
					t.Errorf("%v: %d of %d looks: %d: %v..%v, stopped: %v, want %v..%v", cfg.Method, few, every, i, r.Lower(), r.Upper(), e.Stopped(), w.Lower(), w.Upper())
				}
			}
		}
		e.Close()
	}
}
