package prove_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

// unreliable is a device of which every call fails with probability *p; it counts in hits how often.
func unreliable(r *rand.Rand, p *float64, hits *int) bound.Device {
	d := devicetest.NewFaulty(fallback.New(bound.Float32))
	d.Before = func(bound.Operation) error {
		if r.Float64() < *p {
			*hits++
			return errLost
		}
		return nil
	}
	return d
}

// TestRandomFaults: whatever fails and whenever, a run ends with the bits of a device that
// never fails, or with an error; a result that left before the error has these bits, too.
func TestRandomFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	hits, bits, errs := 0, 0, 0
	for range testscale.Cases(t, 60/testscale.By(t, 2)) {
		for _, file := range []string{"two-weights.npz", "tiny-2-3-2-tanh.npz", "samples-2-8-3.npz"} {
			post := read(t, file)
			task := faultTask(post)
			for _, cfg := range faultConfigs(post) {
				want := run(t, bound.Float32, post, cfg, task)[0]
				for range 4 {
					got, h, err := runUnreliable(t, r, post, cfg, task)
					hits += h
					switch {
					case got == nil && err == nil:
						t.Fatalf("%s %+v: no result and no error", file, cfg)
					case got == nil:
						errs++
					case got.LogP != want.LogP || got.Lower() != want.Lower() || got.Upper() != want.Upper() || got.Statistic != nil && *got.Statistic != *want.Statistic:
						t.Errorf("%s %+v: %v %v %v after faults, want %v %v %v", file, cfg, got.LogP, got.Lower(), got.Upper(), want.LogP, want.Lower(), want.Upper())
					case err != nil: // of a recheck; the next one, at the end, agreed
						errs++
					default:
						bits++
					}
				}
			}
		}
	}
	if t.Logf("%d faults, %d runs with the same bits, %d errors", hits, bits, errs); hits == 0 || bits == 0 || errs == 0 {
		t.Error("the test tests nothing")
	}
}

func faultTask(post *posterior.Posterior) property.Task {
	if post.Inputs() == 1 {
		return property.Task{Label: -1, T: []property.Box{interval(-1, 2)}, S: atLeast(-1)}
	}
	b := property.Box{Lo: []float64{.1, -.2}, Hi: []float64{.12, -.18}}
	return property.Task{Label: 0, T: []property.Box{b}, Inner: []property.Box{b}, S: property.ArgmaxIs(0, post.Outputs())}
}

func faultConfigs(post *posterior.Posterior) []prove.Config {
	if post.Finite() != nil {
		return []prove.Config{{Method: prove.Finite, Cells: 8}}
	}
	return []prove.Config{
		{Method: prove.LBP, Samples: 8, Gamma: 1}, {Method: prove.IBP, Samples: 40, Gamma: 0.3},
		{Method: prove.CLBP, Cells: 6, Derived: true}, {Method: prove.Statistical, Samples: 20, Confidence: .9, Cells: 6},
		{Method: prove.Auto, Cells: 4, Samples: 8, Confidence: .9},
	}
}

// runUnreliable runs one task on a device that fails, with a spare one that does not, one
// that does, or none.
func runUnreliable(t *testing.T, r *rand.Rand, post *posterior.Posterior, cfg prove.Config, task property.Task) (got *claim.Result, hits int, err error) {
	often := 0.0 // not while the posterior is loaded
	dev := unreliable(r, &often, &hits)
	var spare func() bound.Device
	switch r.IntN(3) {
	case 0:
		spare = func() bound.Device { return fallback.New(bound.Float32) }
	case 1:
		spare = func() bound.Device { return unreliable(r, new(.001), new(int)) }
	}
	e, err := engine.New(dev, spare, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	e.Recheck(engine.Recheck{Share: []float64{0, 1e-9, .1, 1}[r.IntN(4)]})
	often = []float64{.0005, .003, .02, .3}[r.IntN(4)]
	err = prove.Run(context.Background(), []*engine.Engine{e}, cfg, []property.Task{task}, nil, func(x *claim.Result) error {
		got = x
		return nil
	})
	return got, hits, err
}
