package prove_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// somePoints are ends, middles and random corners of boxes.
func somePoints(r *rand.Rand, boxes ...property.Box) [][]float64 {
	var all [][]float64
	for _, b := range boxes {
		all = append(all, ends(b)...)
		for range 6 {
			x := make([]float64, len(b.Lo))
			for j := range x {
				x[j] = b.Lo[j]
				if r.IntN(2) == 0 {
					x[j] = b.Hi[j]
				}
			}
			all = append(all, x)
		}
	}
	return all
}

// TestConvolutionConsistency is TestConsistency for random networks of convolutions, pools,
// batch norms, sums and concatenations.
func TestConvolutionConsistency(t *testing.T) {
	cases := testscale.Costly(t, 400/testscale.By(t, 2))
	count := &tally{lower: map[string]int{}, upper: map[string]int{}}
	t.Run("cases", func(t *testing.T) {
		const shards = 4
		for s := range shards {
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				t.Parallel()
				for i := s; i < cases; i += shards {
					r := rand.New(rand.NewPCG(20240301, uint64(i)))
					post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: math.Exp(-4 + 3.5*r.Float64()), Outputs: 1 + r.IntN(3)})
					boxes := []property.Box{randomBox(r, post.Inputs())}
					if r.IntN(4) == 0 {
						boxes = append(boxes, randomBox(r, post.Inputs()))
					}
					consistentOn(t, i, r, post, boxes, somePoints(r, boxes...), count)
					if t.Failed() {
						t.Fatalf("case %d: %s", i, describe(post))
					}
				}
			})
		}
	})
	t.Logf("%d cases, %d draws; p_lower in (0.01, 0.999): %v; p_upper: %v", cases, count.draws, count.lower, count.upper)
	if cases < 100 {
		return // too few for shares
	}
	if n := count.lower["clbp"]; n < cases/5 {
		t.Errorf("clbp: %d of %d lower bounds lie within (0.01, 0.999): choose other cases", n, cases)
	}
}

// TestConvolutionMethods: on the networks by formula what one method proves contradicts no
// other: IBP is not better than LBP, boxes and concentration are below every upper bound, the
// share of drawn networks that are decided lies between.
func TestConvolutionMethods(t *testing.T) {
	for i, c := range testscale.Few(t, convtest.Cases(), 3) {
		if c.Net == "mnist_lenet" {
			continue
		}
		post := c.Posterior()
		task := c.Task(post)
		net := &testNet{layers: post.Layers}
		r := rand.New(rand.NewPCG(31, uint64(i)))
		drawn := simulate(r, net, &task, somePoints(r, task.T[0]), testscale.Cases(t, 3000))
		st := run(t, bound.Float32, post, prove.Config{Method: prove.Statistical, Samples: 60, Seed: 3, Confidence: 1 - 2*sureness, Cells: 1}, task)[0]
		lower, least := map[string]float64{}, min(drawn.upper(), st.Statistic.Upper)
		for _, m := range []method{
			{"ibp", prove.Config{Method: prove.IBP, Samples: 20, Gamma: 1, Seed: 7}},
			{"lbp", prove.Config{Method: prove.LBP, Samples: 20, Gamma: 1, Seed: 7}},
			{"clbp", prove.Config{Method: prove.CLBP, Cells: 1}},
			{"auto", prove.Config{Method: prove.Auto, Cells: 1}},
		} {
			res := run(t, bound.Float32, post, m.cfg, task)[0]
			lower[m.name] = res.Lower()
			least = min(least, res.Upper())
		}
		for name, p := range lower {
			if p > least {
				t.Errorf("%s: %s proves %v, P_safe is at most %v", c.Name(), name, p, least)
			}
		}
		if lower["lbp"] < lower["ibp"]*(1-1e-3) || lower["auto"] < max(lower["lbp"], lower["clbp"])*(1-1e-2)-1e-12 { // auto draws no boxes
			t.Errorf("%s: %v: LBP worse than IBP, or auto than one of its methods", c.Name(), lower)
		}
	}
}
