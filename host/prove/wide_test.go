package prove_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// sized is a device that notes the largest batch of a product of matrices, and counts the passes; a wide
// one likes batches as large as its memory.
type sized struct {
	bound.Device
	most, passes *int
}

func (d sized) Do(op bound.Operation) error {
	switch a := op.(type) {
	case bound.Affine:
		*d.most = max(*d.most, a.Items)
	case bound.MergeRows:
		*d.passes++
	}
	return d.Device.Do(op)
}

type wide struct{ sized }

func (d wide) PreferredBatchBytes() int64 { return d.MemoryLimit() }

// TestWide: on a device that likes batches as large as its memory, no constant for caches cuts tasks
// into groups; the numbers are the same.
func TestWide(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(1, 7)), 1e-6, false, 2, 3, 2)
	tasks := manyTasks(4, post, 300)
	cfg := prove.Config{Method: prove.CLBP, Cells: 1}
	var narrowly, widely, passes int
	dev := fallback.New(bound.Float32)
	want := onDevice(t, sized{dev, &narrowly, &passes}, post, cfg, tasks)
	got := onDevice(t, wide{sized{dev, &widely, &passes}}, post, cfg, tasks)
	if diff := sameResults(got, want); diff != "" {
		t.Error(diff)
	}
	if widely != len(tasks) || narrowly >= len(tasks) {
		t.Errorf("batches of up to %d of %d tasks on a wide device, of %d on another", widely, len(tasks), narrowly)
	}
}

// TestLadderOnWide: however many failure budgets go through a device in one pass, and with whichever other
// tasks, results are the same, of networks of which many are tried; on a wide device passes are fewer.
func TestLadderOnWide(t *testing.T) {
	cells := prove.Config{Method: prove.CLBP, Cells: 4}
	for name, c := range map[string]struct {
		post *posterior.Posterior
		cfg  prove.Config
	}{
		"chain":  {provetest.Noisy(rand.New(rand.NewPCG(2, 7)), 0.05, false, 2, 5, 4, 2), cells},
		"deep":   {provetest.Noisy(rand.New(rand.NewPCG(3, 7)), 0.03, false, 3, 5, 4, 4, 2), cells},
		"upper":  {provetest.Noisy(rand.New(rand.NewPCG(5, 7)), 0.2, false, 2, 4, 3, 2), prove.Config{Method: prove.CLBP, Cells: 1}},
		"graph":  {convtest.Random(rand.New(rand.NewPCG(4, 7)), convtest.Shape{Blocks: 1, Spread: 0.05, Outputs: 2, Side: 4}), cells},
		"on top": {sumtest.RandomOnTop(rand.New(rand.NewPCG(6, 7)), network.Activation{Kind: network.ReLU}, 0.3, 2, 4, 3, 2), cells},
	} {
		tasks := manyTasks(9, c.post, 24)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64}[:2/testscale.By(t, 2)] {
			var most, narrowly, widely int
			dev := fallback.New(p)
			var want []*claim.Result
			for i := range tasks {
				want = append(want, onDevice(t, sized{dev, &most, &narrowly}, c.post, c.cfg, tasks[i:i+1])...)
			}
			got := onDevice(t, wide{sized{dev, &most, &widely}}, c.post, c.cfg, tasks)
			if diff := sameResults(got, want); diff != "" {
				t.Errorf("%s, %v: %s", name, p, diff)
			}
			taus := map[float64]bool{}
			for _, r := range got {
				for _, tau := range r.Proof.Tau {
					taus[tau] = true
				}
			}
			if t.Logf("%s, %v: %d taus, %d passes, %d on a wide device", name, p, len(taus), narrowly, widely); widely*6 > narrowly {
				t.Errorf("%s, %v: %d passes, %d on a wide device", name, p, narrowly, widely)
			}
		}
	}
}

// TestTriesRechecked: a recheck that comes when the tries of a pass are long over asks for what the device
// was asked for, and drops no honest device.
func TestTriesRechecked(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(2, 7)), 0.05, false, 2, 5, 4, 2)
	for _, share := range []float64{1e-9, .5, 1} {
		var most, passes int
		spare := func() bound.Device { return fallback.New(bound.Float32) }
		eng, err := engine.New(wide{sized{spare(), &most, &passes}}, spare, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		eng.Recheck(engine.Recheck{Share: share, Seed: 1, Tell: func(d *engine.Dropped) { t.Errorf("share %v: %v", share, d) }})
		runOn(t, []*engine.Engine{eng}, prove.Config{Method: prove.CLBP, Cells: 4}, manyTasks(9, post, 24)...)
		eng.Close()
	}
}

// TestPhasesOnWide: on a wide device tasks go on beside each other, in groups, confined and by leaves on all cores; the
// numbers are the same, and a spare device that is asked all again agrees.
func TestPhasesOnWide(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	post, tasks := provetest.Deep(4, 0.03, 24/testscale.By(t, 6))
	for _, cfg := range testscale.Few(t, []prove.Config{{Method: prove.Phases, Cells: 1}, {Method: prove.Phases, Cells: 6}, {Method: prove.Auto, Cells: 1}}, 1) {
		var most, passes int
		dev := fallback.New(bound.Float32)
		want := onDevice(t, sized{dev, &most, &passes}, post, cfg, tasks)
		for _, share := range []float64{0, 1} {
			e, err := engine.New(wide{sized{dev, &most, &passes}}, func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
			if err != nil {
				t.Fatal(err)
			}
			e.Recheck(engine.Recheck{Share: share, Tell: func(d *engine.Dropped) { t.Error(d) }})
			var got []*claim.Result
			err = prove.Run(t.Context(), []*engine.Engine{e}, cfg, tasks, nil, func(r *claim.Result) error {
				got = append(got, r)
				return nil
			})
			if diff := sameResults(got, want); diff != "" || err != nil {
				t.Errorf("%v, recheck %v: %v, %s", cfg.Method, share, err, diff)
			}
			e.Close()
		}
	}
}
