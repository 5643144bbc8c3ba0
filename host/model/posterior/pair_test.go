package posterior

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// TestWithPair: a drawn network of a pair is one network without, at x and at x': copies with weights of their own
// would be two. So is each of a finite set; and what is no chain, or of another kind, is refused.
func TestWithPair(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 5))
	for n := range 60 {
		base := someSamples(t)
		if n%2 == 0 {
			base = randomChain(r)
		}
		in, adds := base.Inputs(), n%4 > 1
		at := r.Perm(in)[:1+r.IntN(in)]
		post, err := base.WithPair(at, adds)
		if err != nil {
			t.Fatal(err)
		}
		x, second := make([]float64, in+len(at)), make([]float64, in)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		copy(second, x)
		for k, j := range at {
			if second[j] = x[in+k]; adds {
				second[j] = x[j] + x[in+k]
			}
		}
		w := post.NewWeights()
		post.Draw(3, n, w)
		one := w[len(w)-2-2*len(base.Layers) : len(w)-2]
		got := post.Network().OutputsApprox(w, x)
		want := slices.Concat(base.Network().OutputsApprox(one, x[:in]), base.Network().OutputsApprox(one, second))
		for i := range got {
			if len(got) != len(want) || math.Abs(got[i]-want[i]) > 1e-9*(1+math.Abs(want[i])) {
				t.Errorf("%v of %d inputs, adds %v: outputs %v, want %v", at, in, adds, got, want)
			}
		}
		if post.Outputs() != 2*base.Outputs() || post.Weights() != base.Weights()+4*base.Outputs()*base.Outputs()+2*base.Outputs() {
			t.Errorf("%d outputs, %d weights of %d", post.Outputs(), post.Weights(), base.Weights())
		}
		if s, of := post.Finite(), base.Finite(); (s == nil) != (of == nil) || s != nil && (!slices.Equal(s.Counts, of.Counts) || s.DrawsOf != of.DrawsOf) {
			t.Errorf("the set is %+v, of %+v", s, of)
		}
	}
	for kind, post := range others(t) {
		if _, err := post.WithPair([]int{0}, true); kind != KindFinite && (err == nil || !strings.Contains(err.Error(), "independent normal weights")) {
			t.Errorf("%v: %v", kind, err)
		}
	}
	graph := randomGraph(r)
	for graph.Network().Chain() {
		graph = randomGraph(r)
	}
	if _, err := graph.WithPair([]int{0}, true); err == nil || !strings.Contains(err.Error(), "chains of dense layers") {
		t.Errorf("a graph: %v", err)
	}
}

// randomChain is a small chain of dense layers with deviations.
func randomChain(r *rand.Rand) *Posterior {
	p := &Posterior{Scale: ScaleSD}
	in := 1 + r.IntN(4)
	for k := range 1 + r.IntN(3) {
		out, kind := 1+r.IntN(4), network.Activation{Kind: network.ReLU}
		params := func(n int) Params {
			mean := make([]float64, n)
			for i := range mean {
				mean[i] = r.NormFloat64()
			}
			return NewParams(mean, slices.Repeat([]float64{0.5}, n), ScaleSD)
		}
		if k > 0 {
			p.Layers[k-1].Activation = kind
		}
		p.Layers = append(p.Layers, Layer{Layer: network.DenseLayer(in, out, network.Activation{}), Weight: params(in * out), Bias: params(out)})
		in = out
	}
	return p
}
