package prove_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// lieConfigs are ways to certify that together ask devices for every kind of answer.
func lieConfigs(post *posterior.Posterior) []prove.Config {
	return append(faultConfigs(post), prove.Config{Method: prove.Statistical, Samples: 12, Confidence: .9})
}

var liePosteriors = []string{"two-weights.npz", "tiny-2-3-2-tanh.npz", "samples-2-8-3.npz"}

// TestEveryAnswerCompared: with all answers computed again no lie of any kind gets into a
// result: results are those of the spare device, every number of them.
func TestEveryAnswerCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	found, runs := 0, 0
	for range testscale.Cases(t, 10) {
		for _, file := range liePosteriors {
			post := read(t, file)
			tasks := manyTasks(r.Uint64(), post, 4/testscale.By(t, 2))
			for _, cfg := range lieConfigs(post) {
				honest := &lying{Device: fallback.New(bound.Float32)}
				want, _, err := onLiar(t, honest, false, engine.Recheck{}, post, cfg, tasks)
				if err != nil {
					t.Fatal(err)
				}
				from := 1 + r.IntN(max(1, honest.reads))
				liars := map[string]*lying{
					"drops signs":          {lie: after(from, dropSigns)},
					"drops signs once":     {lie: once(from, dropSigns)},
					"flips bits":           {lie: after(1, flips(r, .002))},
					"drops signs at times": {lie: func(n int, v []float64) { once(n-n%7, dropSigns)(n, v) }},
					"wrong in a lane":      {lie: after(from, lane)},
					"wrong in the last":    {lie: after(honest.reads, dropSigns)},
					"reads nothing as NaN": {lie: after(from, allAre(math.NaN()))},
				}
				op := bound.Operations()[r.IntN(len(bound.Operations()))]
				liars["wrong "+op] = &lying{of: op, spoil: after(1+r.IntN(4), dropSigns)}
				for name, dev := range liars {
					dev.Device = fallback.New(bound.Float32)
					got, dropped, err := onLiar(t, dev, true, engine.Recheck{Share: 1, Seed: r.Uint64()}, post, cfg, tasks)
					if err != nil {
						t.Errorf("%s %+v, %s: %v", file, cfg, name, err)
						continue
					}
					if diff := sameResults(got, want); diff != "" {
						t.Errorf("%s %+v, %s (from %d of %d): %s", file, cfg, name, from, honest.reads, diff)
					}
					if len(dropped) > 1 {
						t.Errorf("%s %+v, %s: dropped %d times", file, cfg, name, len(dropped))
					}
					found += len(dropped)
					runs++
				}
			}
		}
	}
	if t.Logf("%d runs, in %d of them the device was dropped", runs, found); found < runs/3 {
		t.Error("the test tests little")
	}
}

// lastingCase is a random job of some groups that takes a moment.
func lastingCase(t *testing.T, r *rand.Rand) (what string, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) {
	cfgs := lieConfigs
	switch k := r.IntN(len(liePosteriors) + 2); {
	case k < len(liePosteriors):
		what, post = liePosteriors[k], read(t, liePosteriors[k])
	case k == len(liePosteriors):
		what, post = "convolution", convtest.Random(r, convtest.Shape{Blocks: 1, Spread: .1, Outputs: 2})
	default: // where cutting T proves little, and phases of ReLUs are tried
		what, post = "nine inputs", chainOf(r, 9, 6, 5, 2)
		cfgs = func(*posterior.Posterior) []prove.Config {
			return []prove.Config{{Method: prove.CLBP}, {Method: prove.Statistical, Samples: 2, Confidence: .9}}
		}
	}
	list := cfgs(post)
	cfg = list[r.IntN(len(list))]
	return fmt.Sprintf("%s by %v", what, cfg.Method), post, cfg, inGroups(manyTasks(r.Uint64(), post, 8))
}

// chainOf is a random network with ReLU and little noise.
func chainOf(r *rand.Rand, sizes ...int) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := 1; k < len(sizes); k++ {
		params := func(n int) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for i := range mean {
				mean[i], sd[i] = r.NormFloat64()/2, .02
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], network.Activation{Kind: network.ReLU}), Weight: params(sizes[k-1] * sizes[k]), Bias: params(sizes[k])}
		if k == len(sizes)-1 {
			l.Activation = network.Activation{}
		}
		p.Layers = append(p.Layers, l)
	}
	return p
}

// TestLastingLie: a device that is wrong for good from some moment on, in all that is read or in
// one kernel, gets nothing into a result however few rechecks there are: neither too good a bound
// nor one that is weaker than it should be.
func TestLastingLie(t *testing.T) {
	// The first of these got past rechecks of one kind of work for all, and of answers alone.
	cases := []int{6, 31, 49, 54, 57, 75, 99, 116, 206, 243, 250, 289}
	for i := range 300 {
		if testscale.Deep(t) && !slices.Contains(cases, i) {
			cases = append(cases, i)
		}
	}
	runs, found := 0, 0
	for _, i := range cases {
		r := rand.New(rand.NewPCG(28, uint64(i)))
		what, post, cfg, tasks := lastingCase(t, r)
		honest := &lying{Device: fallback.New(bound.Float32)}
		want, _, err := onLiar(t, honest, false, engine.Recheck{}, post, cfg, tasks)
		if err != nil {
			t.Fatal(err)
		}
		if honest.reads == 0 {
			continue
		}
		from, lie := 1+r.IntN(honest.reads), "thousands"
		dev := &lying{Device: fallback.New(bound.Float32), lie: after(from, wrongs[lie])}
		if name := slices.Sorted(maps.Keys(honest.launched))[r.IntN(len(honest.launched))]; r.IntN(4) > 0 {
			from, lie = 1+r.IntN(honest.launched[name]), slices.Sorted(maps.Keys(wrongs))[r.IntN(len(wrongs))]
			dev = &lying{Device: dev.Device, of: name, spoil: after(from, wrongs[lie]), output: r.IntN(8)}
		}
		what = fmt.Sprintf("case %d, %s: %q gives %s from %d on", i, what, dev.of, lie, from)
		share := []float64{1e-12, .005, .5}[r.IntN(3)]
		got, dropped, err := onLiar(t, dev, true, engine.Recheck{Share: share, Seed: r.Uint64()}, post, cfg, tasks)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := sameResults(got, want); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		runs++
		if found += len(dropped); len(dropped) > 1 || dev.of == "" && len(dropped) != 1 {
			t.Fatalf("%s: dropped %d times", what, len(dropped))
		}
		if len(dropped) == 0 {
			continue
		}
		line := dropped[0].Error()
		if !strings.HasPrefix(line, "device liar is dropped: ") || strings.Contains(line, "\n") {
			t.Errorf("%s: line %q", what, line)
		}
		if last := got[len(got)-1].Device; last != "cpu, as "+line && last != "host" {
			t.Errorf("%s: device %q after %q", what, last, line)
		}
	}
	if t.Logf("%d runs, in %d of them the device was dropped", runs, found); found < runs*3/4 {
		t.Error("the test tests little")
	}
}

// inGroups gives every second task another number of input boxes, so that each is a group.
func inGroups(tasks []property.Task) []property.Task {
	for i := 1; i < len(tasks); i += 2 {
		tasks[i].T, tasks[i].Inner = append(tasks[i].T, tasks[i].T[0]), append(tasks[i].Inner, tasks[i].Inner[0])
	}
	return tasks
}

// TestHonestDevice: no number and no name depends on how much is computed again.
func TestHonestDevice(t *testing.T) {
	for _, file := range liePosteriors {
		post := read(t, file)
		tasks := manyTasks(7, post, 6/testscale.By(t, 3))
		for _, cfg := range lieConfigs(post) {
			var want []*claim.Result
			for _, share := range testscale.Few(t, []float64{0, 1e-12, .01, .3, 1}, 2) {
				got, dropped, err := onLiar(t, &lying{Device: fallback.New(bound.Float32)}, true, engine.Recheck{Share: share, Seed: 3}, post, cfg, tasks)
				if err != nil || len(dropped) > 0 {
					t.Fatalf("%s %+v, share %v: %v, %v", file, cfg, share, err, dropped)
				}
				if want == nil {
					want = got
				}
				if diff := sameResults(got, want); diff != "" || got[0].Device != want[0].Device {
					t.Errorf("%s %+v, share %v: %s; device %q", file, cfg, share, diff, got[0].Device)
				}
			}
		}
	}
}

// TestOneOfSeveralLies: where devices share the work, the one that lies is dropped, and the
// others go on.
func TestOneOfSeveralLies(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	tasks := manyTasks(8, post, 10/testscale.By(t, 2))
	for _, cfg := range []prove.Config{{Method: prove.CLBP, Cells: 4}, {Method: prove.IBP, Samples: 1100, Gamma: 0.3, NoUpper: true}} {
		want := run(t, bound.Float32, post, cfg, tasks...)
		for _, from := range testscale.Few(t, []int{0, 1, 4}, 2) {
			var engines []*engine.Engine
			dropped := make([]int, 3)
			for k := range dropped {
				dev := &lying{Device: fallback.New(bound.Float32)}
				e, err := engine.New(dev, func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				if k == 1 {
					dev.lie = after(5*from, allAre(1e4))
				}
				e.Recheck(engine.Recheck{Share: .01, Tell: func(*engine.Dropped) { dropped[k]++ }})
				engines = append(engines, e)
			}
			if diff := sameResults(runOn(t, engines, cfg, tasks...), want); diff != "" {
				t.Errorf("%+v from read %d: %s", cfg, 5*from, diff)
			}
			if dropped[0] != 0 || dropped[2] != 0 || dropped[1] > 1 {
				t.Errorf("%+v: dropped %v", cfg, dropped)
			}
		}
	}
}

// TestLateRecheck: an honest device is not said to lie, whenever the time of a task is up: what is asked again later is
// what was asked.
func TestLateRecheck(t *testing.T) {
	post, tasks := provetest.Deep(4, 0.03, 4)
	run := func(end int) int {
		e, err := engine.New(fallback.New(bound.Float32), func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		// Not affordable but the first time, so that the others come last.
		e.Recheck(engine.Recheck{Share: 1e-9, Tell: func(d *engine.Dropped) { t.Errorf("ended at look %d: %v", end, d) }})
		var mu sync.Mutex
		looks := 0
		e.Seen(func(p *engine.Part) {
			mu.Lock()
			defer mu.Unlock()
			if looks++; looks == end {
				for p.Of != nil {
					p = p.Of
				}
				p.Expire()
			}
		})
		cfg := prove.Config{Method: prove.Phases, Cells: 1, NoUpper: true, TimeLimit: time.Hour}
		if err := prove.Run(t.Context(), []*engine.Engine{e}, cfg, tasks[1:2], nil, func(*claim.Result) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return looks
	}
	all := run(0)
	for end := all - all/4; end <= all; end += 1 + all/4/testscale.Cases(t, 40) { // leaves come late
		run(end)
	}
}
