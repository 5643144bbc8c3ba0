package prove

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// deep is a posterior of so many layers of 6 neurons on 3 inputs, and tasks of which some are
// shown at once, some when T is cut and some never.
func deep(layers int, sd float64, tasks int) (*posterior.Posterior, []property.Task) {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	at := 0
	params := func(n int, size float64) posterior.Params {
		p := posterior.Params{Mean: make([]float64, n), Spread: make([]float64, n), SdLo: make([]float64, n), SdHi: make([]float64, n)}
		for i := range n {
			at++
			p.Mean[i], p.Spread[i], p.SdLo[i], p.SdHi[i] = size*math.Sin(float64(at*at)), sd, sd, sd
		}
		return p
	}
	in := 3
	for k := range layers {
		act := network.Activation{Kind: network.ReLU}
		if k == layers-1 {
			act.Kind = network.Identity
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(in, 6, act), Weight: params(in*6, 0.7), Bias: params(6, 0.1)})
		in = 6
	}
	sets := func(c int) property.Safe { return property.ArgmaxIs(c, 6) }
	var list []property.Task
	for i := range tasks {
		x := []float64{math.Sin(float64(i)), math.Cos(float64(3 * i)), math.Sin(float64(7*i + 1))}
		y := post.LogitsApprox(x)
		label := slices.Index(y, slices.Max(y))
		box := property.Box{}
		for _, v := range x {
			box.Lo, box.Hi = append(box.Lo, v-0.02*float64(i%4)), append(box.Hi, v+0.02*float64(i%4))
		}
		list = append(list, property.Task{Index: i, Label: label, T: []property.Box{box}, Inner: []property.Box{box}, S: sets(label)})
	}
	return post, list
}

func results(t *testing.T, post *posterior.Posterior, cfg Config, tasks []property.Task) []*Result {
	t.Helper()
	e, err := NewEngine(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var list []*Result
	err = Run(t.Context(), []*Engine{e}, cfg, tasks, nil, func(r *Result) error {
		list = append(list, r)
		return nil
	})
	if err != nil || len(list) != len(tasks) {
		t.Fatalf("%v %v: %d results of %d, %v", cfg.Strategy, cfg.TimeLimit, len(list), len(tasks), err)
	}
	return list
}

// paced are configurations of all strategies whose tasks are grouped.
func paced(t *testing.T) []Config {
	many, all := 6, 4
	if testscale.Deep(t) {
		many, all = 12, 0
	}
	return []Config{
		{Strategy: Auto, Method: bound.LBP, Cells: many}, {Strategy: CLBP, Cells: all}, {Strategy: Centred, Method: bound.LBP},
		{Strategy: Centred, Method: bound.IBP, Splits: 40}, {Strategy: Statistical, Samples: 70, Confidence: 0.99, Cells: 4},
		{Strategy: CLBP, Cells: 4, Samples: 9, Confidence: 0.99},
	}
}

// TestGroupsDecideNothing: groups that are given up, all of them or by chance, change no number
// and no order.
func TestGroupsDecideNothing(t *testing.T) {
	few := 4
	if testscale.Deep(t) {
		few = 12
	}
	post, tasks := deep(4, 0.01, few)
	defer func(a, b, c time.Duration) { groupTime, groupGuard, fewGuard = a, b, c }(groupTime, groupGuard, fewGuard)
	for _, cfg := range paced(t) {
		groupTime, groupGuard, fewGuard = time.Hour, time.Hour, time.Hour
		want := results(t, post, cfg, tasks)
		for _, d := range []time.Duration{1, 2 * time.Millisecond} {
			groupTime, groupGuard, fewGuard = 2*d, d, d
			for i, r := range results(t, post, cfg, tasks) {
				w := want[i]
				if r.Task.Index != i || r.LogP != w.LogP || r.UnsafeDown != w.UnsafeDown || r.Cells != w.Cells || r.Tau != w.Tau || r.Boxes != w.Boxes || r.Stopped != "" ||
					r.Statistic != nil && *r.Statistic != *w.Statistic {
					t.Fatalf("%v, groups of %v: %d: %+v, want %+v", cfg.Strategy, d, i, r, w)
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
	post, tasks := deep(layers, 0.01, 4)
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
				case r.Lower() > w.Upper() || r.Upper() < w.Lower() || contradiction(r) != nil:
					t.Errorf("%v within %v: %d: %v..%v, without a limit %v..%v", cfg.Strategy, limit, i, r.Lower(), r.Upper(), w.Lower(), w.Upper())
				case r.Statistic != nil && (r.Statistic.Safe > w.Statistic.Safe || r.Statistic.Unsafe > w.Statistic.Unsafe):
					t.Errorf("%v within %v: %d decides %+v, without a limit %+v", cfg.Strategy, limit, i, *r.Statistic, *w.Statistic)
				case less && r.Stopped != TimeLimit:
					t.Errorf("%v within %v: %d proves less and says nothing: %+v", cfg.Strategy, limit, i, r)
				case r.Stopped == "" && (r.LogP != w.LogP || r.UnsafeDown != w.UnsafeDown || r.Cells != w.Cells):
					t.Errorf("%v within %v: %d was not stopped and differs", cfg.Strategy, limit, i)
				}
			}
			if limit == time.Nanosecond && stopped != len(tasks) {
				t.Errorf("%v: %d of %d were stopped after a nanosecond", cfg.Strategy, stopped, len(tasks))
			}
		}
	}
}

// TestUndecidedInTime: a network that was not decided when the time was up is undecided.
func TestUndecidedInTime(t *testing.T) {
	post, tasks := deep(5, 0.01, 4)
	e, err := NewEngine(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, end := e.timing.limited(t.Context(), time.Nanosecond, false)
	defer end()
	<-ctx.Done()
	rulings, err := decide(ctx, e, []drawn{post.Mean(), post.Mean()}, tasks, 8)
	if err != nil || len(rulings) != 8 || !e.timing.stopped {
		t.Fatalf("%v, %d rulings, stopped: %v", err, len(rulings), e.timing.stopped)
	}
	for i, r := range rulings {
		if r.ruling != undecided {
			t.Errorf("%d: ruling %v in no time", i, r.ruling)
		}
	}
}

// TestQueue: every task is handed out until it is done; groups follow the time that they
// take, and shrink when one is given up.
func TestQueue(t *testing.T) {
	j := &job{tasks: make([]property.Task, 1000)}
	e := &Engine{}
	q := &queue{job: j, most: 128, start: 4, rest: []span{{0, 1000}}}
	size := func() int {
		s, more := q.take(e)
		if !more {
			t.Fatal("no more tasks")
		}
		q.done(e, s, time.Duration(s.end-s.first)*10*time.Millisecond)
		return s.end - s.first
	}
	if got := []int{size(), size(), size(), size(), size(), size(), size()}; !slices.Equal(got, []int{4, 8, 16, 32, 64, 128, 128}) {
		t.Errorf("groups of %d", got)
	}
	s, _ := q.take(e)
	q.back(e, s)
	again, _ := q.take(e)
	if again.first != s.first || again.end-again.first != 8 {
		t.Errorf("%v was given up, and next is %v", s, again)
	}
	q.done(e, again, 40*time.Second) // five seconds each
	if next, _ := q.take(e); next.first != again.end || next.end-next.first != 1 {
		t.Errorf("after slow tasks: %v", next)
	}
}

// TestHopelessCells: where nothing can be shown, that takes few passes, not hundreds.
func TestHopelessCells(t *testing.T) {
	post, tasks := deep(10, 0.2, 4)
	counted := &counting{Device: fallback.New(bound.Float32)}
	e, err := NewEngine(counted, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := concentration(t.Context(), e, Config{}, tasks[1:2])
	if err != nil || list[0].Lower() > 0 {
		t.Fatalf("%v, %v", list, err)
	}
	if passes := counted.merged; passes > 20 {
		t.Errorf("%d cells were bounded", passes)
	}
}

// TestUpperWhereOpen: an upper bound is looked for where p_lower leaves it something to say.
func TestUpperWhereOpen(t *testing.T) {
	for _, sd := range []float64{1e-6, 0.3} {
		post, tasks := deep(2, sd, 1)
		passes := func(cfg Config) (n int, lower float64) {
			counted := &counting{Device: fallback.New(bound.Float32)}
			e, err := NewEngine(counted, nil, post, 12)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			cfg.Strategy = CLBP
			err = Run(t.Context(), []*Engine{e}, cfg, tasks, nil, func(r *Result) error { lower = r.Lower(); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return counted.merged, lower
		}
		without, lower := passes(Config{NoUpper: true})
		with, _ := passes(Config{})
		if nearly := lower >= 1-enough; nearly != (sd < 0.1) || nearly != (with == without) {
			t.Errorf("deviation %v: p_lower %v, %d items bounded for it and %d with p_upper", sd, lower, without, with)
		}
	}
}

// counting counts the items whose property rows are bounded.
type counting struct {
	bound.Device
	merged int
}

func (c *counting) MergeRows(m bound.MergeRows) error {
	c.merged += m.Items
	return c.Device.MergeRows(m)
}

// TestWorkThatComesBack: what an engine gives back is done, also if its device is dropped
// after the other engine has found nothing more to do.
func TestWorkThatComesBack(t *testing.T) {
	a, b := &Engine{}, &Engine{}
	left, wait := map[*Engine][]int{a: {1}, b: {0}}, make(chan bool)
	begun := make(chan bool)
	var mu sync.Mutex
	next := func(e *Engine) (i int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(left[e]) == 0 {
			if e == b {
				close(wait)
			}
			return 0, false
		}
		i, left[e] = left[e][0], left[e][1:]
		return i, true
	}
	var done atomic.Int32
	err := share(t.Context(), []*Engine{a, b}, next, func(_ context.Context, e *Engine, i int) error {
		switch i {
		case 0:
			<-begun
		case 1:
			close(begun)
			<-wait
			mu.Lock()
			left[a] = []int{2, 3}
			mu.Unlock()
		case 2:
			e.recheck.off = &Dropped{}
		}
		done.Add(1)
		return nil
	}, nil)
	if err != nil || done.Load() != 4 {
		t.Errorf("%v, %d of 4 are done", err, done.Load())
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
	post, tasks := deep(4, 0.01, 3)
	for _, share := range []float64{1, 1e-12} {
		spare := func() bound.Device { return slow{fallback.New(bound.Float32)} }
		e, err := NewEngine(fallback.New(bound.Float32), spare, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.Recheck(Recheck{Share: share})
		n := 0
		cfg := Config{Strategy: Centred, Method: bound.LBP, TimeLimit: 50 * time.Millisecond}
		err = Run(t.Context(), []*Engine{e}, cfg, tasks, nil, func(*Result) error { n++; return nil })
		if err != nil || n != len(tasks) {
			t.Errorf("recheck %v: %d results of %d, %v", share, n, len(tasks), err)
		}
	}
}
