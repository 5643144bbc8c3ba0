package check

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// outputs evaluates a network of kinked activations exactly.
func outputs(post *posterior.Posterior, weights [][]float64, x []float64) []*big.Rat {
	var z []*big.Rat
	for _, v := range x {
		z = append(z, exactly(v))
	}
	for k, l := range post.Layers {
		next := make([]*big.Rat, l.Outputs())
		for i := range next {
			next[i] = exactly(weights[2*k+1][l.Dense().BiasOf(i)])
			for j, w := range l.Dense().Into(i) {
				next[i].Add(next[i], new(big.Rat).Mul(exactly(weights[2*k][w]), z[j]))
			}
			next[i] = valueOf(l.Activation, next[i])
		}
		z = next
	}
	return z
}

// TestFreed: a network of the widened box computes on T what its nearest network of the
// verified box computes.
func TestFreed(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	freedWeights := 0
	for range testscale.Cases(t, 1000) {
		act := []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.25}, {Kind: net.ReLU}}[rng.IntN(3)]
		post := gaussian(rng, act, 3, 4, 4, 2)
		task := &property.Task{T: []property.Box{{Lo: []float64{0, -1, 0}, Hi: []float64{0, 1, 2}}, {Lo: []float64{0, 0, 0}, Hi: []float64{0, 0.5, 3}}}}
		for k := range post.Layers[:2] { // neurons that are dead
			for i := range post.Layers[k].Bias.Mean {
				post.Layers[k].Bias.Mean[i] -= float64(rng.IntN(3)) * 3
			}
		}
		f := formats["float32"]
		b, err := boxOf(post, &f, []float64{1, 1, 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		q := question{record: &record{Method: "lbp"}, post: post, task: task}
		v, err := q.verify(t.Context(), b, -arith.Inf, 1)
		if err != nil {
			t.Fatal(err)
		}
		free := freed(post, task, b, v.dead)
		for range 10 {
			weights, clamped := make([][]float64, len(b.lo)), make([][]float64, len(b.lo))
			for a := range b.lo {
				for w := range b.lo[a] {
					lo, hi := max(free.lo[a][w], -100), min(free.hi[a][w], 100)
					x := in(rng, lo, hi)
					if free.lo[a][w] != b.lo[a][w] || free.hi[a][w] != b.hi[a][w] {
						freedWeights++
					}
					weights[a] = append(weights[a], x)
					clamped[a] = append(clamped[a], min(max(x, b.lo[a][w]), b.hi[a][w]))
				}
			}
			box := task.T[rng.IntN(len(task.T))]
			var x []float64
			for j := range box.Lo {
				x = append(x, in(rng, box.Lo[j], box.Hi[j]))
			}
			got, want := outputs(post, weights, x), outputs(post, clamped, x)
			for i := range got {
				if got[i].Cmp(want[i]) != 0 {
					t.Fatalf("output %d at %v is %v with freed weights, %v without", i, x, got[i], want[i])
				}
			}
		}
	}
	if freedWeights < 100 {
		t.Errorf("%d weights were free", freedWeights)
	}
}
