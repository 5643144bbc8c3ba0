package clbp

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/ontop"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestPointEvents draws networks and counts, at each of some points by itself: of the pointwise law no hidden bound fails
// more often than tau, nor any of them more often than what is paid for all, and no row falls short of its bound more
// often than the noise of the levels does, whatever the posterior is.
func TestPointEvents(t *testing.T) {
	act := func(r *rand.Rand) network.Activation {
		return []network.Activation{{Kind: network.ReLU}, {Kind: network.ReLU}, {Kind: network.Tanh}, {Kind: network.LeakyReLU, Slope: 0.25}, {Kind: network.Softplus}, {Kind: network.ELU, Slope: 0.7}}[r.IntN(6)]
	}
	sd := func(r *rand.Rand) float64 { return math.Exp(-4 + 4*r.Float64()) }
	sizes := func(r *rand.Rand) []int { return [][]int{{2, 4, 3, 2}, {1, 3, 3, 3, 1}, {3, 5, 2}, {2, 2}}[r.IntN(4)] }
	for name, draw := range map[string]func(r *rand.Rand) *posterior.Posterior{
		"chain": func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomNoisy(r, act(r), sd(r), sizes(r)...) },
		"covariances": func(r *rand.Rand) *posterior.Posterior {
			return sumtest.RandomCorrelated(r, act(r), sd(r), sizes(r)...)
		},
		"SWAG":  func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomSWAG(r, act(r), sd(r), sizes(r)...) },
		"joint": func(r *rand.Rand) *posterior.Posterior { return sumtest.RandomJoint(r, act(r), sd(r), sizes(r)...) },
		"filters": func(r *rand.Rand) *posterior.Posterior {
			return convtest.Kronecker(r, convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(2), Outputs: 1 + r.IntN(2)}), sd(r))
		},
		"images": func(r *rand.Rand) *posterior.Posterior {
			return convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: sd(r), Outputs: 1 + r.IntN(2), Side: 4 * r.IntN(2)})
		},
		"graph": func(r *rand.Rand) *posterior.Posterior {
			post, spread := provetest.Graph(r), sd(r)
			for k := range post.Layers {
				for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
					sd := make([]float64, len(g.Mean))
					for e := range sd {
						sd[e] = spread * g.SdHi[e]
					}
					*g = posterior.NewParams(g.Mean, sd, posterior.ScaleSD)
				}
			}
			return post
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range testscale.Costly(t, 90) {
				r := rand.New(rand.NewPCG(38, uint64(i)))
				post := draw(r)
				if _, err := ontop.New(post); err == nil && !post.Independent() {
					continue // what is known is about all of T
				}
				task := randomTask(r, post)
				if drawAtPoints(t, post, &task, []float64{0.2, 0.05, 0.01}[r.IntN(3)], i%3, 4000); t.Failed() {
					t.Fatalf("case %d: %s, depth %d, %v", i, post.Describe(), i%3, task.T[0])
				}
			}
		})
	}
}

// drawAtPoints counts what fails at each of some points of T in drawn networks.
func drawAtPoints(t *testing.T, post *posterior.Posterior, task *property.Task, tau float64, depth, draws int) {
	t.Helper()
	w := watch(t, bound.Float64, post, task, tau, depth, true)
	net, weights := post.Network(), post.NewWeights()
	pass, points := net.NewPass(weights), pointsOf(rand.New(rand.NewPCG(3, 8)), task.T[0])
	counts, rows := make([]*events, len(points)), make([][][]float64, len(points))
	for i := range points {
		counts[i], rows[i] = &events{draws: draws, counts: map[string][]int{}}, make([][]float64, len(task.S.Rows))
	}
	for n := range draws {
		post.Draw(38, n, weights)
		for i, x := range points {
			y := pass.Forward(x)
			if at := [][][]float64{pass.Pre}; counts[i].count(net, w, at, at) {
				counts[i].any++
				continue
			}
			for k, row := range task.S.Rows {
				v := row.D
				for o, c := range row.CLo {
					v += c * y[o]
				}
				rows[i][k] = append(rows[i][k], v)
			}
		}
	}
	for i, e := range counts {
		for key, list := range e.counts {
			for at, n := range list {
				if float64(n) > e.most(tau) {
					t.Errorf("%v: %s: number %d fails in %d of %d draws, tau is %v", points[i], key, at, n, draws, tau)
				}
			}
		}
		if budget := w.events * tau; budget < 1 && float64(e.any) > e.most(budget) {
			t.Errorf("%v: something fails in %d of %d draws; %v is paid", points[i], e.any, draws, budget)
		}
		for k := range task.S.Rows {
			for _, form := range []*bound.Noises{&w.margins.ByIntervals, &w.margins.ByLines} {
				if form.Lo != nil {
					e.tails(t, form, k, rows[i][k])
				}
			}
		}
	}
}
