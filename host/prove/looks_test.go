package prove

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
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
	c.end(errTimeUp)
	return context.DeadlineExceeded
}

// TestEndedAtEveryLook: whichever look sees that the time is up, nothing goes on, and what is
// left out is told.
func TestEndedAtEveryLook(t *testing.T) {
	post, tasks := deep(4, 0.01, 3)
	cfgs := append(paced(t)[1:], Config{Strategy: NeuronSums, Cells: 8})
	for _, cfg := range cfgs {
		of, on := tasks, post
		if cfg.Strategy == NeuronSums {
			on, of = deep(2, 0.01, 3)
		}
		e, err := NewEngine(fallback.New(bound.Float32), nil, on, 12)
		if err != nil {
			t.Fatal(err)
		}
		s, err := cfg.Strategy.entry()
		if err != nil {
			t.Fatal(err)
		}
		do := func(ctx *lookedAt) ([]*Result, error) {
			e.timing = timing{within: ctx, end: time.Now().Add(time.Hour)}
			return s.run.(groups).full(ctx, &job{&taskRun{engines: []*Engine{e}, tasks: of}, s, cfg}, e, of)
		}
		whole := newLookedAt(t, math.MaxInt64)
		want, err := do(whole)
		if err != nil || e.timing.stopped {
			t.Fatalf("%v: %v, stopped: %v", cfg.Strategy, err, e.timing.stopped)
		}
		all := whole.looks.Load()
		for k := range int64(testscale.Cases(t, 40)) {
			few := (k*2654435761 + 1) % all
			ctx := newLookedAt(t, few)
			got, err := do(ctx)
			if err != nil {
				t.Fatalf("%v: %d of %d looks: %v", cfg.Strategy, few, all, err)
			}
			if more := ctx.looks.Load() - few; more > 500 {
				t.Errorf("%v: %d looks after %d of %d", cfg.Strategy, more, few, all)
			}
			for i, r := range got {
				w := want[i]
				less := r.Lower() < w.Lower() || r.Upper() > w.Upper()
				if r.Lower() > w.Upper() || r.Upper() < w.Lower() || less && !e.timing.stopped {
					t.Errorf("%v: %d of %d looks: %d: %v..%v, stopped: %v, want %v..%v", cfg.Strategy, few, all, i, r.Lower(), r.Upper(), e.timing.stopped, w.Lower(), w.Upper())
				}
			}
		}
		e.Close()
	}
}

// TestLateIsTold: work that ends after its time, or after the time of a part of it, may have left
// things out without a word: a result says so, and a group of several is done again.
func TestLateIsTold(t *testing.T) {
	post, tasks := deep(3, 0.01, 2)
	e, err := NewEngine(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	j := &taskRun{engines: []*Engine{e}, tasks: tasks}
	limit := 5 * time.Millisecond
	for what, wait := range map[string]func(ctx context.Context){
		"whole": func(ctx context.Context) { <-ctx.Done() },
		"part": func(ctx context.Context) {
			within, end := e.part(ctx, 1e-9)
			<-within.Done()
			end()
		},
		"none": func(context.Context) {},
	} {
		g := grouping{j, func(ctx context.Context, _ *Engine, tasks []property.Task) ([]*Result, error) {
			wait(ctx)
			return []*Result{newResult(&tasks[0], "lbp")}, nil
		}}
		if what != "whole" {
			limit = time.Hour
		} else if _, err := g.within(t.Context(), e, tasks, limit); err != errTooLong {
			t.Errorf("%s: a group: %v", what, err)
		}
		list, err := g.within(t.Context(), e, tasks[:1], limit)
		if err != nil || (list[0].Stopped == TimeLimit) != (what != "none") {
			t.Errorf("%s: %v, stopped: %q", what, err, list[0].Stopped)
		}
		limit = 5 * time.Millisecond
	}
}

// TestAttackLooks: an attack looks at each step whether to go on, and ends with its best point.
func TestAttackLooks(t *testing.T) {
	post, tasks := deep(3, 0.01, 1)
	looks, most := 0, math.MaxInt
	how := effort{steps: 20, starts: 3, thorough: true, over: func() bool { looks++; return looks > most }}
	at := target{post.Network(), post.Mean(), tasks[0].T[0], &tasks[0].S}
	if _, margin := attackApprox(at, how); looks < 10 || math.IsNaN(margin) {
		t.Errorf("%d looks, margin %v", looks, margin)
	}
	for _, most = range []int{0, 1, 7} {
		looks = 0
		x, margin := attackApprox(at, how)
		if looks > most+10 || math.IsNaN(margin) || !(x[0] >= at.box.Lo[0] && x[0] <= at.box.Hi[0]) {
			t.Errorf("after %d looks: %d more, %v at %v", most, looks-most, margin, x)
		}
	}
}

// TestMomentsLook: preparing the posterior for concentration LBP can be stopped, and is begun anew.
func TestMomentsLook(t *testing.T) {
	post := forked(2, 0.1, network.Activation{})
	looks := 0
	if _, err := noiseMoments(post, func() error { looks++; return nil }); err != nil || looks < len(post.Layers)/2 {
		t.Errorf("%d looks, %v", looks, err)
	}
	if _, err := noiseMoments(post, func() error { return errTimeUp }); err != errTimeUp {
		t.Error(err)
	}
}
