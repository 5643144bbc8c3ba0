package decide

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// hidden is a target with a narrow violation at a random point c of [0, 1]^inputs: its outputs are
// s_j (x_j - c_j) with different slopes, by pairs of ReLUs, and it is unsafe where all of |s_j (x_j - c_j)|
// are at most width: a polytope, so that the safe set has two alternatives for each input.
func hidden(r *rand.Rand, inputs int, width float64) (at Target, c []float64) {
	c = make([]float64, inputs)
	first, second := make([]float64, inputs*2*inputs), make([]float64, 2*inputs*inputs)
	bias := make([]float64, 2*inputs)
	safe := property.Safe{}
	for j := range inputs {
		c[j] = 0.1 + 0.8*r.Float64()
		slope := 0.2 + 5*r.Float64()
		for side, sign := range []float64{1, -1} {
			i := 2*j + side
			first[j*2*inputs+i], bias[i] = sign*slope, -sign*slope*c[j]
			second[i*inputs+j] = sign
			row := property.Row{CLo: make([]float64, inputs), CHi: make([]float64, inputs), D: -width * slope, DHi: -width * slope}
			row.CLo[j], row.CHi[j] = sign, sign
			safe.Any = append(safe.Any, []int{len(safe.Rows)})
			safe.Rows = append(safe.Rows, row)
		}
	}
	net := network.Network{network.DenseLayer(inputs, 2*inputs, network.Activation{Kind: network.ReLU}), network.DenseLayer(2*inputs, inputs, network.Activation{})}
	box := property.Box{Lo: make([]float64, inputs), Hi: slices.Repeat([]float64{1}, inputs)}
	return Target{net, [][]float64{first, bias, second, make([]float64, inputs)}, box, &safe}, c
}

// TestAdamFindsNarrow: violations that are a hundredth of the box wide, which steps of the sign miss,
// are found; and the same for the same seed.
func TestAdamFindsNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	missed, bySign := 0, 0
	const rounds = 40
	for round := range rounds {
		at, c := hidden(r, 2+round%7, 0.005)
		a := newAttack(at, Effort{})
		if a.consider(c); !(a.bestMargin < 0) {
			t.Fatalf("nothing is hidden: %v", a.bestMargin)
		}
		how := Effort{Steps: 20, Starts: 3, Seed: uint64(round)}
		if _, margin := AttackApprox(at, how); margin < 0 {
			bySign++
		}
		how.Restarts = restartsOf(at.Net)
		x, margin := AttackApprox(at, how)
		if again, _ := AttackApprox(at, how); !slices.Equal(x, again) {
			t.Errorf("two equal attacks give %v and %v", x, again)
		}
		for j, v := range x {
			if !(at.Box.Lo[j] <= v && v <= at.Box.Hi[j]) {
				t.Errorf("coordinate %d is %v, outside of the box", j, v)
			}
		}
		if !(margin < 0) {
			missed++
		}
	}
	t.Logf("of %d, Adam misses %d and steps of the sign %d", rounds, missed, rounds-bySign)
	if missed > 2 || bySign > rounds/4 {
		t.Errorf("of %d, Adam misses %d, and steps of the sign find %d", rounds, missed, bySign)
	}
}

// TestAdamCorners: points and margins are those of the network where nothing can be descended on.
func TestAdamCorners(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	post := provetest.RandomNet(r, network.ReLU, 2, 8, 3)
	point := property.Box{Lo: []float64{0.5, -0.25}, Hi: []float64{0.5, -0.25}}
	everything, argmax := property.Safe{Any: [][]int{{}}}, property.ArgmaxIs(0, 3)
	for _, safe := range []*property.Safe{&everything, &argmax} {
		x, margin := AttackApprox(Target{post.Network(), meansOf(post), point, safe}, Effort{Restarts: 3})
		if !slices.Equal(x, point.Lo) {
			t.Errorf("%v, margin %v", x, margin)
		}
	}
	over := 0
	end := func() bool { over++; return over > 5 }
	box := provetest.BoxAround(point.Lo, 1)
	if x, margin := AttackApprox(Target{post.Network(), meansOf(post), box, &argmax}, Effort{Steps: 20, Starts: 3, Restarts: 100000, Thorough: true, Over: end}); over > 20 {
		t.Errorf("it went on after its time: %v, margin %v", x, margin)
	}
}
