package prove_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/oracle"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

func quantileOf(level string) prove.Config {
	p := property.MustExact(level)
	return prove.Config{Method: prove.CLBP, NoUpper: true, Quantile: &p}
}

// TestQuantileExactly: of w x + b with one random weight the worst margin over an interval of x > 0 is known: what is
// proved has at least its probability, without tolerance, and is nearly all that there is.
func TestQuantileExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 5))
	for i := range testscale.Cases(t, 200) {
		m, s, b := r.NormFloat64(), r.ExpFloat64(), 4*r.NormFloat64()
		level := []string{"0.5", "0.1", "0.05", "1/300", "0.0001"}[i%5]
		post := chain(relu, normal(m, s), normal(b, 0))
		box := interval(r.ExpFloat64(), 0)
		if box.Hi[0] = box.Lo[0]; i%2 == 0 {
			box.Hi[0] += r.Float64()
		}
		cfg := quantileOf(level)
		cfg.Cells = 1 + 15*(i/2%2)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			c := math.Round(64*r.NormFloat64()) / 64
			res := run(t, p, post, cfg, inner(safeOn(atLeast(c), box)))[0]
			q := res.Quantile
			if q.Prob == 0 {
				t.Errorf("case %d %v: nothing is proved", i, p)
				continue
			}
			// w x + b - c >= q on all of T says that w is at least (q + c - b) / x, at the x where that is most.
			z := oracle.New().Add(oracle.Of(q.Lower), oracle.Of(c))
			z.Sub(z, oracle.Of(b))
			at := box.Hi[0]
			if z.Sign() > 0 {
				at = box.Lo[0]
			}
			z.Quo(z, oracle.Of(at)).Sub(z, oracle.Of(m)).Quo(z, oracle.Of(s))
			truth := oracle.Tail(z)
			need := oracle.New().SetRat(new(big.Rat).Sub(big.NewRat(1, 1), cfg.Quantile.Rat()))
			if truth.Cmp(need) < 0 || !oracle.IsLower(oracle.Of(q.Prob), truth) {
				t.Fatalf("case %d %v: margins are %v or more with %.17g, level %s, proved %v", i, p, q.Lower, truth, level, q.Prob)
			}
			if lost, _ := oracle.New().Sub(truth, need).Float64(); i%2 == 1 && lost > 0.06*cfg.Quantile.Approx() {
				t.Errorf("case %d %v: %v holds with %.6g, level %s", i, p, q.Lower, truth, level)
			}
		}
	}
}

// TestQuantileDrawn: drawn networks are below the quantile somewhere on T no oftener than it says, whatever the posterior is.
func TestQuantileDrawn(t *testing.T) {
	kinds := map[string]func(r *rand.Rand) *posterior.Posterior{
		"chain":       func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomNoisy(r, relu, 0.2, 2, 5, 4, 3) },
		"covariances": func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomCorrelated(r, relu, 0.2, 2, 5, 3) },
		"swag":        func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomSWAG(r, relu, 0.2, 2, 5, 3) },
		"on top":      func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomOnTop(r, relu, 0.3, 2, 5, 3) },
		"dropout":     func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomMasked(r, relu, 1, 2, 5, 3) },
	}
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proved := 0
			for i := range testscale.Costly(t, 24) {
				r := rand.New(rand.NewPCG(48, uint64(i)))
				post := draw(r)
				box := randomBox(r, 2)
				level := []float64{0.3, 0.1}[i%2]
				cfg := quantileOf([]string{"0.3", "0.1"}[i%2])
				cfg.Cells = 1 + 7*r.IntN(2)
				task := inner(safeOn(property.ArgmaxIs(0, 3), box))
				q := run(t, []bound.Precision{bound.Float32, bound.Float64}[i%2], post, cfg, task)[0].Quantile
				if q.Prob == 0 {
					continue
				}
				proved++
				const draws = 1000
				below, w := 0, post.NewWeights()
				for k := range draws {
					post.Draw(7, k, w)
					pass, least := post.Network().NewPass(w), math.Inf(1)
					for c := range 9 {
						x := []float64{box.Lo[0] + (box.Hi[0]-box.Lo[0])*float64(c%3)/2, box.Lo[1] + (box.Hi[1]-box.Lo[1])*float64(c/3)/2}
						y := pass.Forward(x)
						least = min(least, y[0]-y[1], y[0]-y[2])
					}
					if least < q.Lower-1e-9 {
						below++
					}
				}
				if float64(below) > draws*level+6*math.Sqrt(draws*level*(1-level)) {
					t.Errorf("case %d: %d of %d networks are below %v, level %v", i, below, draws, q.Lower, level)
				}
			}
			if proved == 0 {
				t.Error("nothing was proved")
			}
		})
	}
}
