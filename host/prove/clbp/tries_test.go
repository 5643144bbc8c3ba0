package clbp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/sumtest"
)

// wideDevice likes batches as large as its memory; most is the largest number of items of a pass.
type wideDevice struct {
	bound.Device
	most *int
}

func (d wideDevice) PreferredBatchBytes() int64 { return d.MemoryLimit() }

func (d wideDevice) Do(op bound.Operation) error {
	if m, is := op.(bound.MergeRows); is {
		*d.most = max(*d.most, m.Inputs)
	}
	return d.Device.Do(op)
}

// TestTriesAlone: whatever goes through a device beside it, the failure of a cell is the one that its tau
// gives alone in one of the looks.
func TestTriesAlone(t *testing.T) {
	relu := network.Activation{Kind: network.ReLU}
	for name, post := range map[string]*posterior.Posterior{
		"chain":      sumtest.RandomNoisy(rand.New(rand.NewPCG(1, 45)), relu, 0.1, 3, 5, 4, 3),
		"correlated": sumtest.RandomCorrelated(rand.New(rand.NewPCG(2, 45)), relu, 0.1, 3, 5, 4, 3),
		"graph":      convtest.Random(rand.New(rand.NewPCG(4, 45)), convtest.Shape{Blocks: 1, Spread: 0.15, Outputs: 3, Side: 4}),
	} {
		most, shown, taus := 0, 0, map[float64]bool{}
		e, err := engine.New(wideDevice{fallback.New(bound.Float32), &most}, nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		if err := of(e).prepareNoise(); err != nil {
			t.Fatal(err)
		}
		m := method{e: e}
		tasks := make([]property.Task, 40)
		var cells []*cell
		for i := range tasks {
			x := convtest.Picture(uint64(i), network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
			tasks[i] = convtest.KeepsClass(post, x, []float64{0, 0.003, 0.02}[i%3], i%3)
			cells = append(cells, &cell{task: &tasks[i], box: tasks[i].T[0], fail: 1})
		}
		if err := m.judge(t.Context(), cells); err != nil {
			t.Fatal(err)
		}
		for i, c := range cells {
			if c.fail == 1 {
				continue
			}
			shown++
			taus[c.tau] = true
			if alone := m.looks(t, c); !slices.Contains(alone, c.fail) {
				t.Errorf("%s, cell %d: fails with %v at tau %v, alone with %v", name, i, c.fail, c.tau, alone)
			}
		}
		t.Logf("%s: %d shown by %d taus, up to %d items a pass", name, shown, len(taus), most)
		if shown < 10 || len(taus) < 2 || most <= len(cells) {
			t.Errorf("%s: %d shown by %d taus, up to %d items a pass", name, shown, len(taus), most)
		}
		e.Close()
	}
}

// looks are the failures of a cell that its tau shows, alone in a pass of one tau.
func (m method) looks(t *testing.T, c *cell) (fails []float64) {
	t.Helper()
	for _, look := range []method{{e: m.e}, {e: m.e, second: true}, {e: m.e, second: true, third: true}} {
		again := &cell{task: c.task, box: c.box, fail: 1}
		err := look.propagate(m.e.Model, []*cell{again}, Quantiles(m.e, m.e.Precision(), c.tau), func(_ *cell, n *bound.CLBPMargins, i int) error {
			fail, err := look.failUp(again, n, i, c.tau, consider(again, n, i))
			fails = append(fails, fail)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fails
}

// serially tries taus as one would that are tried one by one: upwards as long as that gains, and then,
// where a cell still fails with much, from the top, whatever was tried before.
func serially(c *cell, taus []float64, by map[float64]float64) {
	follow := func(taus []float64) {
		for step, tau := range taus {
			before := c.fail
			if c.take(by[tau], tau); !(c.fail < 0.9*before || c.fail > worthPolish && c.fail < before || step == 0 && before >= 1) {
				return
			}
		}
	}
	down := slices.Clone(taus)
	slices.Reverse(down)
	if c.fail >= 1 {
		follow(down)
	} else if follow(taus); c.fail > worthPolish {
		follow(down)
	}
}

// TestTriesOrder: a try ends with the failure and the tau of taus that are tried one by one, and tries none
// twice.
func TestTriesOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 9))
	taus, down := []float64{1e-6, 1e-5, 1e-4, 1e-3}, []float64{1e-3, 1e-4, 1e-5, 1e-6}
	turned := 0
	for range 20_000 {
		some := func() float64 {
			return []float64{1, 1, .9, .5, .48, .3, .05, .046, .01, 2e-3, 9e-4, 5e-4, 1e-5}[r.IntN(13)]
		}
		by := map[float64]float64{}
		for _, tau := range taus {
			by[tau] = some()
		}
		want, got := &cell{fail: some()}, &cell{}
		*got = *want
		serially(want, taus, by)
		next := try{c: got, rest: taus, climbs: true, back: true}
		if got.fail >= 1 {
			next.rest, next.back = down, false
		}
		tried := map[float64]bool{}
		for len(next.rest) > 0 {
			tau, before, back := next.rest[0], got.fail, next.back
			if tried[tau] {
				t.Fatalf("%v: %v is tried twice", by, tau)
			}
			tried[tau] = true
			got.take(by[tau], tau)
			if next.counts(before, got.fail); back != next.back {
				turned++
			}
		}
		if got.fail != want.fail || got.tau != want.tau {
			t.Fatalf("%v: fails with %v at %v, one by one with %v at %v", by, got.fail, got.tau, want.fail, want.tau)
		}
	}
	if turned < 1000 || taus[0] != 1e-6 || down[0] != 1e-3 {
		t.Errorf("%d turned back; taus %v and %v", turned, taus, down)
	}
}
