package prove_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/internal/testscale"
)

// TestSpareContradictsItself: if the spare device gives the same contradiction, nobody is
// dropped, and the run ends.
func TestSpareContradictsItself(t *testing.T) {
	post := read(t, "two-weights.npz")
	cfg := prove.Config{Method: prove.CLBP}
	broken := func() bound.Device { return &lying{Device: fallback.New(bound.Float32), lie: after(1, lift)} }
	for _, share := range []float64{0, .01, 1} {
		e, err := engine.New(broken(), broken, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.Recheck(engine.Recheck{Share: share, Tell: func(d *engine.Dropped) { t.Errorf("dropped: %v", d) }})
		err = prove.Run(t.Context(), []*engine.Engine{e}, cfg, manyTasks(9, post, 4), nil, func(r *claim.Result) error {
			if r.Lower() > r.Upper() {
				t.Errorf("%v > %v left", r.Lower(), r.Upper())
			}
			return nil
		})
		if _, is := errors.AsType[*claim.Contradiction](err); !is {
			t.Errorf("share %v: %v", share, err)
		}
		if e.Name() != "liar" {
			t.Errorf("share %v: after that the engine is %q", share, e.Name())
		}
	}
}

// TestContradictions: without any recheck, bounds that contradict each other do not leave.
// With a spare device they are computed again, and the device is dropped; without one the
// run ends with a *Contradiction and no result of that task.
func TestContradictions(t *testing.T) {
	contradictions := 0
	for _, file := range []string{"two-weights.npz", "tiny-2-3-2-tanh.npz"} {
		post := read(t, file)
		tasks := manyTasks(9, post, 4)
		for _, cfg := range []prove.Config{
			{Method: prove.CLBP, Cells: fewCells(t)}, {Method: prove.Auto, Cells: fewCells(t)}, {Method: prove.IBP, Samples: 40, Gamma: 0.3},
			{Method: prove.CLBP, Cells: fewCells(t), NoUpper: true, Samples: 60, Confidence: .9},
		} {
			if cfg.Method == prove.Auto && len(post.Layers) == 2 && !testscale.Deep(t) {
				continue // one hidden layer: the processor sums over neurons for seconds
			}
			want := run(t, bound.Float32, post, cfg, tasks...)
			for _, share := range []float64{0, .01} {
				// Lower bounds that are far too high prove S and its opposite.
				dev := &lying{Device: fallback.New(bound.Float32), lie: after(1, lift)}
				got, dropped, err := onLiar(t, dev, true, engine.Recheck{Share: share}, post, cfg, tasks)
				if err != nil || len(dropped) > 1 {
					t.Errorf("%s %+v: %v, dropped %v", file, cfg, err, dropped)
				}
				for i, r := range got {
					if r.Lower() > r.Upper() {
						t.Errorf("%s %+v: %v > %v left", file, cfg, r.Lower(), r.Upper())
					}
					if len(dropped) == 1 && dropped[0].Found != nil && r.Lower() > want[i].Lower() && r.Device == got[len(got)-1].Device {
						t.Errorf("%s %+v: p_lower %v, on the fallback %v", file, cfg, r.Lower(), want[i].Lower())
					}
				}
				if share == 0 && len(dropped) == 1 {
					contradictions++
				}
				got, dropped, err = onLiar(t, dev, false, engine.Recheck{Share: share}, post, cfg, tasks)
				for _, r := range got {
					if r.Lower() > r.Upper() {
						t.Errorf("%s %+v: %v > %v left", file, cfg, r.Lower(), r.Upper())
					}
				}
				found, is := errors.AsType[*claim.Contradiction](err)
				if len(dropped) > 0 || err != nil && !is || is && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), fmt.Sprintf("bounds of index %d contradict each other: ", found.Index))) {
					t.Errorf("%s %+v: %v, dropped %v", file, cfg, err, dropped)
				}
				if is {
					for _, r := range got {
						if r.Task.Index == found.Index {
							t.Errorf("%s %+v: a result of index %d, which contradicts itself", file, cfg, found.Index)
						}
					}
					contradictions++
				}
			}
		}
	}
	if t.Logf("%d contradictions", contradictions); contradictions < 8 {
		t.Error("the test tests little")
	}
}

// lift makes numbers that are negative large.
func lift(v []float64) {
	for i := range v {
		if v[i] < 0 {
			v[i] = 1e4
		}
	}
}
