package prove_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// looked are the looks at the time of one run of a method, by the part under way, in the order in which parts began.
type looked struct {
	mu    sync.Mutex
	parts []*engine.Part
	looks []int
	all   int
	// end is asked at each look whether to end a part: look number n of all, and look of part number part.
	end func(n, part, look int, p *engine.Part)
}

func (l *looked) see(p *engine.Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := len(l.parts) - 1
	for at >= 0 && l.parts[at] != p { // parts are few
		at--
	}
	if at < 0 {
		at, l.parts, l.looks = len(l.parts), append(l.parts, p), append(l.looks, 0)
	}
	l.all++
	l.looks[at]++
	if l.end != nil {
		l.end(l.all, at, l.looks[at], p)
	}
}

// timed is a method with what it certifies.
type timed struct {
	name  string
	post  *posterior.Posterior
	cfg   prove.Config
	tasks []property.Task
}

// run certifies all with the time that end leaves.
func (m *timed) run(t *testing.T, end func(n, part, look int, p *engine.Part)) (results []*claim.Result, l *looked, stopped bool, err error) {
	t.Helper()
	e, err := engine.New(fallback.New(bound.Float32), nil, m.post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l = &looked{end: end}
	e.Seen(l.see)
	within, done := e.Limit(t.Context(), time.Hour, false)
	defer done()
	results, err = prove.Certified(within, e, m.cfg, m.tasks)
	return results, l, e.Stopped() || within.Err() != nil, err
}

// timedMethods are all methods that a task's time ends, on every kind of posterior.
func timedMethods(t *testing.T) []timed {
	deep, tasks := provetest.Deep(3, 0.01, 3)
	flat, flatTasks := provetest.Deep(2, 0.01, 3)
	cells := 4
	if testscale.Deep(t) {
		cells = 0
	}
	const draws, confidence = 9, 0.99
	limit := time.Hour
	list := []timed{
		{"auto", deep, prove.Config{Cells: 2, Samples: draws, Confidence: confidence, Derived: true}, tasks[1:2]},
		{"phases", deep, prove.Config{Method: prove.Phases, Cells: 2, Decision: true}, tasks[1:2]},
		{"clbp", deep, prove.Config{Method: prove.CLBP, Cells: cells, Mean: true}, tasks},
		{"statistical", deep, prove.Config{Method: prove.Statistical, Samples: 70, Confidence: confidence, Cells: 4}, tasks},
		{"chernoff", deep, prove.Config{Method: prove.Chernoff}, tasks[:2]},
		{"neuronsum", flat, prove.Config{Method: prove.NeuronSum, Cells: 8}, flatTasks[:2]},
		{"sums", flat, prove.Config{TimeLimit: limit, Cells: 4}, flatTasks},
	}
	r := rand.New(rand.NewPCG(43, 1))
	relu := network.Activation{Kind: network.ReLU}
	linearised, err := sumtest.RandomJoint(r, relu, 0.05, 3, 4, 3).Linearised()
	if err != nil {
		t.Fatal(err)
	}
	for _, post := range []*posterior.Posterior{
		sumtest.RandomSWAG(r, relu, 0.05, 3, 4, 3), sumtest.RandomJoint(r, relu, 0.05, 3, 4, 3), sumtest.RandomCorrelated(r, relu, 0.05, 3, 4, 3),
		sumtest.RandomOnTop(r, relu, 0.05, 3, 4, 3), sumtest.RandomMasked(r, relu, 0, 3, 4, 3), sumtest.RandomMasked(r, relu, 1, 3, 4, 3), linearised, read(t, "samples-2-8-3.npz"),
	} {
		cfg := prove.Config{Cells: 2, Decision: prove.Decides(post) == nil, Mean: prove.HasMean(post) == nil}
		if post.Networks() != nil {
			cfg.Method = prove.Finite
		}
		x := make([]float64, post.Inputs())
		task := safeOn(property.ArgmaxIs(1, 3), provetest.BoxAround(x, 0.1))
		task.Label, task.Inner = 1, task.T
		list = append(list, timed{post.Describe(), post, cfg, []property.Task{task}})
	}
	either := safeOn(property.Safe{Rows: tasks[1].S.Rows[:3], Any: [][]int{{0}, {1, 2}}}, tasks[1].T...)
	ball := around(flatTasks[1].T[0].Lo, 0.02, 2, -9, 9, flatTasks[1].S)
	either.Inner = either.T
	return append(list, timed{"alternatives", deep, prove.Config{Cells: 2, TimeLimit: limit}, []property.Task{either}}, timed{"ball", flat, prove.Config{}, []property.Task{ball}})
}

// TestEndedAtEveryLook: whichever look sees that the time is up, of the task or of a part of it alone, there are
// results, nothing goes on, and what is left out is told.
func TestEndedAtEveryLook(t *testing.T) {
	for _, m := range timedMethods(t) {
		start := time.Now()
		want, whole, stopped, err := m.run(t, nil)
		if err != nil || stopped {
			t.Fatalf("%s: %v, stopped: %v", m.name, err, stopped)
		}
		r := rand.New(rand.NewPCG(43, uint64(len(m.name))))
		ended := func(what string, k int, end func(n, part, look int, p *engine.Part)) {
			got, l, stopped, err := m.run(t, end)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s: %s ended at look %d: %d results of %d, %v", m.name, what, k, len(got), len(want), err)
			}
			if more := l.all - k; what == "all" && more > 500 {
				t.Errorf("%s: %d looks after %d of %d", m.name, more, k, whole.all)
			}
			for i, g := range got {
				w := want[i]
				less := g.Lower() < w.Lower() || g.Upper() > w.Upper()
				if g.Lower() > w.Upper() || g.Upper() < w.Lower() || claim.Contradicts(g) != nil || less && !stopped {
					t.Errorf("%s: %s ended at look %d: %d: %v..%v, stopped: %v, want %v..%v", m.name, what, k, i, g.Lower(), g.Upper(), stopped, w.Lower(), w.Upper())
				}
				if (g.Decision == nil) == m.cfg.Decision || (g.Mean == nil) == m.cfg.Mean || (g.Statistic == nil) == (m.cfg.Samples > 0) {
					t.Errorf("%s: %s ended at look %d: %d lacks what was asked for beside", m.name, what, k, i)
				}
			}
		}
		// Of all looks the first are those of what a method prepares.
		spread := 200 / testscale.Cases(t, 100)
		for k := 1; k <= whole.all; k += 1 + r.IntN(k*spread) {
			ended("all", k, func(n, _, _ int, p *engine.Part) {
				if n == k {
					for p.Of != nil {
						p = p.Of
					}
					p.Expire()
				}
			})
		}
		for part := range whole.looks {
			step := max(1, whole.looks[part]/testscale.Cases(t, 10))
			for k := 1; k <= whole.looks[part]; k += 1 + r.IntN(step) {
				ended("a part", k, func(_, at, look int, p *engine.Part) {
					if at == part && look == k {
						p.Expire()
					}
				})
			}
		}
		t.Log(m.name, whole.all, "looks", len(whole.parts), "parts", whole.looks, time.Since(start))
	}
}
