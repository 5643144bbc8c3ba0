package prove_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/oracle"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

var eachPoint = prove.Config{Method: prove.CLBP, Each: true, NoUpper: true}

// TestEachExactly: of networks with one normal number, which is y, max(y, 0) - c or c - max(y, 0), the probability at a
// point is known: what is proved of all points is at most that, without tolerance, and where T is cut nearly the
// least of them. It is p_lower or more.
func TestEachExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(47, 1))
	above := 0
	for i := range testscale.Cases(t, 300) {
		m, s, b, sb, c := r.NormFloat64(), r.ExpFloat64(), 4*r.Float64(), r.ExpFloat64()/2, math.Round(64*r.ExpFloat64())/64
		post, safe := chain(relu, normal(m, s), normal(b, sb)), atLeast(0)
		threshold, sign := 0.0, 1.0 // safe is sign (y - threshold) >= 0
		if i%3 > 0 {
			sign, threshold = []float64{1, -1}[i%3-1], c
			post = chain(relu, normal(m, s), normal(b, sb), normal(sign, 0), none)
			safe = atLeast(sign * c)
		}
		box := interval(r.NormFloat64(), 0)
		box.Hi[0] = box.Lo[0] + 2*r.Float64()
		task := inner(safeOn(safe, box))
		cfg := eachPoint
		cfg.Cells = []int{1, 64}[i%2]
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			res := run(t, p, post, cfg, task)[0]
			least := 1.0
			for k := range 17 {
				x := box.Lo[0] + (box.Hi[0]-box.Lo[0])*float64(k)/16
				if k == 16 {
					x = box.Hi[0]
				}
				mean := oracle.New().Add(oracle.New().Mul(oracle.Of(m), oracle.Of(x)), oracle.Of(b))
				square := func(a, b float64) *big.Float {
					p := oracle.New().Mul(oracle.Of(a), oracle.Of(b))
					return oracle.New().Mul(p, p)
				}
				sd := oracle.New().Add(square(s, x), square(sb, 1))
				z := mean.Sub(mean, oracle.Of(threshold))
				z.Mul(z, oracle.Of(-sign)).Quo(z, sd.Sqrt(sd))
				truth := oracle.Tail(z)
				if !oracle.IsLower(oracle.Of(res.Each.Lower), truth) {
					t.Fatalf("case %d %v: %v is proved of all of %v, at %v it is %.17g", i, p, res.Each.Lower, box, x, truth)
				}
				at, _ := truth.Float64()
				least = min(least, at)
			}
			if res.Each.Lower < res.Lower() {
				t.Errorf("case %d %v: %v is below p_lower %v", i, p, res.Each.Lower, res.Lower())
			}
			if res.Each.Lower > res.Lower()+0.001 {
				above++
			}
			if cfg.Cells > 1 && i%3 == 0 && least > 0.6 && res.Each.Lower < least-0.02 {
				t.Errorf("case %d %v: %v of %v, the least is %v", i, p, res.Each.Lower, box, least)
			}
		}
	}
	if above == 0 {
		t.Error("no bound is above p_lower")
	}
}

// TestEachDrawn: at no point of T fewer drawn networks are safe than is proved of all points, or vote; of chains of dense
// layers, graphs, and weights that depend on each other, dropout, and noise on top.
func TestEachDrawn(t *testing.T) {
	kinds := map[string]func(r *rand.Rand) *posterior.Posterior{
		"chain": func(r *rand.Rand) *posterior.Posterior {
			return sumtest.RandomNoisy(r, network.Activation{Kind: []network.Kind{network.ReLU, network.Tanh}[r.IntN(2)]}, 0.3*r.Float64(), [][]int{{2, 5, 3}, {1, 4, 4, 2}}[r.IntN(2)]...)
		},
		"graph": func(r *rand.Rand) *posterior.Posterior {
			return convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: math.Exp(-4 + 3*r.Float64()), Outputs: 2})
		},
		"covariances": func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomCorrelated(r, relu, 0.2, 2, 5, 3) },
		"swag":        func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomSWAG(r, relu, 0.2, 2, 5, 3) },
		"joint":       func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomJoint(r, relu, 0.2, 2, 5, 3) },
		"on top":      func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomOnTop(r, relu, 0.3, 2, 5, 3) },
		"dropout":     func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomMasked(r, relu, 1, 2, 5, 3) },
	}
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			above, votes := 0, 0
			cases := testscale.Cases(t, 300)
			if name == "graph" {
				cases = testscale.Costly(t, 240)
			}
			for i := range cases {
				r := rand.New(rand.NewPCG(47, uint64(i)))
				post := draw(r)
				box := randomBox(r, post.Inputs())
				class := 0
				if y := post.LogitsApprox(box.CentreApprox()); y[1] > y[0] {
					class = 1
				}
				task := inner(safeOn(property.ArgmaxIs(class, post.Outputs()), box))
				cfg := eachPoint
				cfg.Cells, cfg.Decision, task.Label = 1+15*r.IntN(2), name == "chain", class
				res := run(t, []bound.Precision{bound.Float32, bound.Float64}[i%2], post, cfg, task)[0]
				if res.Each.Lower < res.Lower() {
					t.Errorf("case %d: %v is below p_lower %v", i, res.Each.Lower, res.Lower())
				}
				if res.Each.Lower > res.Lower()+0.001 {
					above++
				}
				vote := 0.0
				if d := res.Decision; d != nil {
					if vote = d.Vote; cfg.Cells == 1 && vote > res.Lower()+0.002 {
						votes++
					}
				}
				if max(res.Each.Lower, vote) < 0.01 {
					continue
				}
				const draws = 2000
				points, w := somePoints(r, box), post.NewWeights()
				safe := make([]int, len(points))
				pass := post.Network().NewPass(w)
				for n := range draws {
					post.Draw(uint64(i), n, w)
					for k, x := range points {
						if m, size := margin(&task.S, pass.Forward(x)); m >= -1e-9*size {
							safe[k]++
						}
					}
				}
				for k, n := range safe {
					share, p := float64(n)/draws, max(res.Each.Lower, vote)
					if share < p-4.5*math.Sqrt(p*(1-p)/draws)-4.0/draws {
						t.Errorf("case %d %s: %v of drawn networks are safe at %v, proved of all of %v is %v", i, post.Describe(), share, points[k], box, p)
					}
				}
			}
			if t.Logf("%d above p_lower, %d votes are", above, votes); (above == 0 || name == "chain" && votes == 0) && testscale.Factor(t) >= 0.1 {
				t.Error("no bound is above p_lower")
			}
		})
	}
}

// TestEachOfSet: no point has a smaller share of safe networks than is proved of all, and where T is cut that is more
// than the share that is safe on all of T.
func TestEachOfSet(t *testing.T) {
	r := rand.New(rand.NewPCG(47, 3))
	above := 0
	for i := range testscale.Cases(t, 60) {
		post := setOf(t, r, 20, relu, 1, 4, 2)
		boxes := []property.Box{interval(-3*r.Float64(), 3*r.Float64())}
		if i%3 == 0 {
			boxes = append(boxes, interval(boxes[0].Lo[0], boxes[0].Lo[0]))
		}
		task := inner(safeOn(property.ArgmaxIs(0, 2), boxes...))
		cfg := prove.Config{Method: prove.Finite, Each: true, Cells: 16}
		res := run(t, []bound.Precision{bound.Float32, bound.Float64}[i%2], post, cfg, task)[0]
		set := post.Networks()
		for _, x := range gridOf(33, boxes...) {
			safe := int64(0)
			for n, count := range set.Counts {
				if m, size := margin(&task.S, post.Network().OutputsApprox(set.Weights(n), x)); m >= -1e-9*size {
					safe += count
				}
			}
			if new(big.Rat).SetFloat64(res.Each.Lower).Cmp(big.NewRat(safe, set.Total())) > 0 {
				t.Errorf("case %d: %d of %d are safe at %v, proved of all points is %v", i, safe, set.Total(), x, res.Each.Lower)
			}
		}
		if res.Each.Lower < res.Lower() {
			t.Errorf("case %d: %v is below p_lower %v", i, res.Each.Lower, res.Lower())
		}
		if res.Each.Lower > res.Lower() {
			above++
		}
	}
	if above == 0 {
		t.Error("no bound is above p_lower")
	}
}

// TestHasEach: what nothing is proved of is refused.
func TestHasEach(t *testing.T) {
	drawn := prove.Config{Method: prove.Statistical}
	if drawn.HasEach(chain(relu, unit, none)) == nil {
		t.Error("drawn networks are not refused")
	}
	if (&prove.Config{}).HasEach(chain(relu, unit, none)) != nil {
		t.Error("normal weights are refused")
	}
}
