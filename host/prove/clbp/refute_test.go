package clbp

import (
	"math"
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
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
)

// TestRefuted: of a cell that is refuted no tau and no sharper look shows anything, of every kind of
// posterior and of balls, and Certify bounds it once; of others something is shown.
func TestRefuted(t *testing.T) {
	relu := network.Activation{Kind: network.ReLU}
	kinds := map[string]func(r *rand.Rand, sd float64) *posterior.Posterior{
		"independent": func(r *rand.Rand, sd float64) *posterior.Posterior {
			return sumtest.RandomNoisy(r, relu, sd, 3, 5, 4, 3)
		},
		"correlated": func(r *rand.Rand, sd float64) *posterior.Posterior {
			return sumtest.RandomCorrelated(r, relu, sd, 3, 5, 4, 3)
		},
		"SWAG": func(r *rand.Rand, sd float64) *posterior.Posterior {
			return sumtest.RandomSWAG(r, relu, sd, 3, 5, 4, 3)
		},
		"joint": func(r *rand.Rand, sd float64) *posterior.Posterior {
			return sumtest.RandomJoint(r, relu, sd, 3, 5, 4, 3)
		},
		"graph": func(r *rand.Rand, sd float64) *posterior.Posterior {
			return convtest.Random(r, convtest.Shape{Blocks: 1, Spread: sd, Outputs: 3, Side: 4})
		},
	}
	for kind, make := range kinds {
		refuted, shown := 0, 0
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 45))
			post := make(r, []float64{0.01, 0.1}[seed%2])
			x := convtest.Picture(seed, network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
			y := post.LogitsApprox(x)
			for _, norm := range []int{0, 1, 2} {
				if norm > 0 && kind != "independent" {
					continue
				}
				for class := range y {
					task := convtest.KeepsClass(post, x, []float64{0, 0.01, 0.1}[seed%3], class)
					if radius := task.T[0].Hi[0] - x[0]; norm > 0 {
						all := slices.Repeat([]float64{math.Max(radius, 0x1p-8)}, len(x))
						task.T[0] = provetest.BoxAround(x, all[0])
						task.Ball = &property.Ball{Norm: norm, CentreLo: x, CentreHi: x, RadiusLo: all, RadiusHi: all}
					}
					was, fail := judgedOnce(t, post, &task)
					switch {
					case was && fail < 1:
						t.Errorf("%s, seed %d, class %d, norm %d: refuted, and fails with %v", kind, seed, class, norm, fail)
					case was:
						refuted++
					case fail < 1:
						shown++
					}
				}
			}
		}
		if t.Logf("%s: %d refuted, %d shown", kind, refuted, shown); refuted < 8 || shown < 3 {
			t.Errorf("%s: %d refuted and %d shown test little", kind, refuted, shown)
		}
	}
}

// judgedOnce says whether the cell that a task is was refuted, and the least failure that any tau or look shows.
func judgedOnce(t *testing.T, post *posterior.Posterior, task *property.Task) (refuted bool, fail float64) {
	t.Helper()
	counted := &counting{Device: fallback.New(bound.Float64)}
	e, err := engine.New(counted, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := of(e).prepareNoise(); err != nil {
		t.Fatal(err)
	}
	c := &cell{task: task, box: task.T[0], ball: task.Ball, fail: 1}
	m := method{e: e}
	if err := m.refute(t.Context(), []*cell{c}); err != nil {
		t.Fatal(err)
	}
	for _, look := range []method{{e: e}, {e: e, second: true}, {e: e, second: true, third: true}} {
		for _, tau := range []float64{m.firstTau(), m.tausUp()[2]} {
			if err := look.judgeAt(t.Context(), []*cell{c}, tau); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c.refuted {
		counted.merged = 0
		list, err := Certify(t.Context(), e, 0, []property.Task{*task})
		if err != nil || counted.merged != 1 || list[0].Lower() > 0 {
			t.Errorf("refuted: %d cells were bounded, p_lower %v, %v", counted.merged, list[0].Lower(), err)
		}
	}
	return c.refuted, c.fail
}
