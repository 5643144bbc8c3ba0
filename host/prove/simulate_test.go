package prove_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// A second implementation of networks, draws and safe sets, in plain float64, for
// comparison by simulation.

// fewCells is Config.Cells where it does not matter what is proved: in deep as many as a run takes.
func fewCells(t testing.TB) int {
	if testscale.Deep(t) {
		return 0
	}
	return 6
}

// testNet is one network with its weights, as posterior.Draw lays them out.
type testNet struct {
	layers  []posterior.Layer
	weights [][]float64
	z       [2][]float64
	// path evaluates what is no chain of dense layers; isGraph says that it is none.
	path    *convtest.Path
	isGraph bool
}

func (n *testNet) logits(x []float64) []float64 {
	if n.path == nil {
		post := &posterior.Posterior{Layers: n.layers}
		n.path, n.isGraph = convtest.NewPath(post), !post.Network().Chain()
	}
	if n.isGraph {
		n.path.Weights = n.weights
		return n.path.Logits(x)
	}
	z := append(n.z[0][:0], x...)
	for k, l := range n.layers {
		y := append(n.z[(k+1)%2][:0], n.weights[2*k+1]...)
		for j, v := range z {
			for i, w := range n.weights[2*k][j*l.Outputs() : (j+1)*l.Outputs()] {
				y[i] += v * w
			}
		}
		for i, t := range y {
			switch l.Activation.Kind {
			case network.ReLU:
				y[i] = max(t, 0)
			case network.LeakyReLU:
				y[i] = max(t, 0) + l.Activation.Slope*min(t, 0)
			case network.Tanh:
				y[i] = math.Tanh(t)
			case network.Sigmoid:
				y[i] = 1 / (1 + math.Exp(-t))
			case network.Softplus:
				y[i] = math.Log1p(math.Exp(-math.Abs(t))) + max(t, 0)
			case network.ELU:
				y[i] = max(t, 0) + l.Activation.Slope*math.Expm1(min(t, 0))
			case network.Identity:
			default:
				panic(fmt.Sprintf("nobody simulates activation %v", l.Activation))
			}
		}
		n.z[k%2], n.z[(k+1)%2] = z, y
		z = y
	}
	if len(n.layers)%2 == 1 {
		n.z[0], n.z[1] = n.z[1], n.z[0]
	}
	return z
}

// margin returns how far y is inside of S (below 0: outside), and the size of the numbers that it
// was made of.
func margin(s *property.Safe, y []float64) (best, size float64) {
	best, size = math.Inf(-1), 1
	for _, all := range s.Any {
		least := math.Inf(1)
		for _, r := range all {
			v, most := s.Rows[r].D, math.Abs(s.Rows[r].D)
			for i, c := range s.Rows[r].CLo {
				v += c * y[i]
				most = max(most, math.Abs(c*y[i]))
			}
			least, size = min(least, v), max(size, most)
		}
		best = max(best, least)
	}
	return best, size
}

// worst is the least margin over points, or one that is surely negative; within slack
// of 0 it may have either sign.
func (n *testNet) worst(s *property.Safe, points [][]float64) (least, slack float64) {
	least, slack = math.Inf(1), 0
	for _, x := range points {
		m, size := margin(s, n.logits(x))
		if m < least {
			least, slack = m, 1e-9*size
		}
		if least < -2*slack && slack > 0 {
			break
		}
	}
	return least, slack
}

// gridOf lists points of boxes, ends included, per of them in each coordinate of
// some width.
func gridOf(per int, boxes ...property.Box) [][]float64 {
	var all [][]float64
	for _, b := range boxes {
		points := [][]float64{nil}
		for j, lo := range b.Lo {
			var next [][]float64
			for _, p := range points {
				if lo == b.Hi[j] {
					next = append(next, append(slices.Clone(p), lo))
					continue
				}
				for i := range per {
					v := lo + (b.Hi[j]-lo)*float64(i)/float64(per-1)
					next = append(next, append(slices.Clone(p), min(v, b.Hi[j])))
				}
			}
			points = next
		}
		all = append(all, points...)
	}
	return all
}

// redraw draws all weights of independent normal ones.
func (n *testNet) redraw(r *rand.Rand) {
	if n.weights == nil {
		for _, l := range n.layers {
			n.weights = append(n.weights, make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Bias.Mean)))
		}
	}
	for k, l := range n.layers {
		for a, g := range []posterior.Params{l.Weight, l.Bias} {
			for e, mean := range g.Mean {
				n.weights[2*k+a][e] = mean + g.SdHi[e]*r.NormFloat64()
			}
		}
	}
}

// sureness is the share that is left of the confidence of limits in this package's random tests:
// none of a million of them is wrong.
const sureness = 1e-9

// simulated are limits of P_safe from n draws of which notUnsafe have no unsafe grid
// point and surelySafe are safe.
type simulated struct{ n, notUnsafe, surelySafe int }

func (s simulated) upper() float64 { return probability.ClopperPearsonUp(s.notUnsafe, s.n, sureness) }
func (s simulated) lower() float64 {
	return probability.ClopperPearsonDown(s.surelySafe, s.n, sureness)
}

func (s simulated) share(k int) float64 { return float64(k) / float64(s.n) }

// simulate draws n networks. Where T is points, a network that is safe at all of them
// is safe.
func simulate(r *rand.Rand, net *testNet, task *property.Task, points [][]float64, n int) simulated {
	exact := true
	for _, b := range task.T {
		exact = exact && slices.Equal(b.Lo, b.Hi)
	}
	s := simulated{n: n}
	for range n {
		net.redraw(r)
		m, slack := net.worst(&task.S, points)
		if m >= -slack {
			s.notUnsafe++
		}
		if exact && m >= slack {
			s.surelySafe++
		}
	}
	return s
}

// inner returns the task with all of T really asked about.
func inner(task property.Task) property.Task {
	task.Inner = task.T
	return task
}
