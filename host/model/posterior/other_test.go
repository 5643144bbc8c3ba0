package posterior

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// chainOf is a chain of dense layers of these sizes, with deviations that all differ.
func chainOf(r *rand.Rand, kind network.Kind, sizes ...int) *Posterior {
	p := &Posterior{Scale: ScaleSD}
	for k := range sizes[1:] {
		params := func(n int) Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for i := range mean {
				mean[i], sd[i] = r.NormFloat64(), r.Float64()
			}
			return NewParams(mean, sd, ScaleSD)
		}
		l := network.DenseLayer(sizes[k], sizes[k+1], network.Activation{Kind: kind})
		if k == len(sizes)-2 {
			l.Activation = network.Activation{}
		}
		p.Layers = append(p.Layers, Layer{Layer: l, Weight: params(sizes[k] * sizes[k+1]), Bias: params(sizes[k+1])})
	}
	return p
}

// TestWithOther: of chains, of graphs and convolutions, and of each network of a set, outputs are those of f^w, then
// those of g, with weights of f moved by what each varies by, and g as it is.
func TestWithOther(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 10))
	chains, graphs := 0, 0
	for n := range 200 {
		f := chainOf(r, network.ReLU, append([]int{2}, [][]int{{4, 3, 2}, {5, 2}, {2}}[r.IntN(3)]...)...)
		switch n % 4 {
		case 1:
			f = someSamples(t)
		case 2:
			f = randomGraph(r)
		}
		in, out := f.Inputs(), f.Outputs()
		g := chainOf(r, []network.Kind{network.ReLU, network.Tanh}[r.IntN(2)], append([]int{in}, [][]int{{4, 3, out}, {3, out}, {out}}[r.IntN(3)]...)...).AtMean()
		if r.IntN(4) == 0 && f.Independent() {
			g, _ = f.MeanNetwork()
		}
		post, err := f.WithOther(g)
		if err != nil {
			if strings.Contains(err.Error(), "only one may") {
				continue
			}
			t.Fatal(err)
		}
		if post.Network().Chain() {
			chains++
		} else {
			graphs++
		}
		x := make([]float64, in)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		same := func(what string, all, one [][]float64) {
			t.Helper()
			got := post.Network().OutputsApprox(all, x)
			want := slices.Concat(f.Network().OutputsApprox(one, x), g.Network().OutputsApprox(g.Mean(), x))
			for i := range got {
				if len(got) != len(want) || !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
					t.Fatalf("%s: outputs %v, want %v", what, got, want)
				}
			}
		}
		if s := f.Finite(); s != nil {
			set := post.Finite()
			for i := range s.N() {
				same("of a set", set.Weights(i), s.Weights(i))
			}
			if !slices.Equal(set.Counts, s.Counts) || set.DrawsOf != s.DrawsOf {
				t.Errorf("the set is %+v, of %+v", set.Counts, s.Counts)
			}
			continue
		}
		moved := func(p *Posterior, by float64) (w [][]float64) {
			for _, of := range p.Params() {
				list := slices.Clone(of.Mean)
				for i := range list {
					list[i] += by * (of.SdLo[i] + of.SdHi[i])
				}
				w = append(w, list)
			}
			return w
		}
		for _, by := range []float64{0, 1, -2} {
			same("moved", moved(post, by), moved(f, by))
		}
		if post.Random() != f.Random() {
			t.Errorf("%d random weights, of %d", post.Random(), f.Random())
		}
	}
	if chains < 20 || graphs < 50 {
		t.Errorf("%d chains, %d graphs", chains, graphs)
	}
}

// TestWithOtherRefused: what is not one network, or does not read the same, says so in one line.
func TestWithOtherRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 11))
	f := chainOf(r, network.ReLU, 3, 4, 2)
	f.Input = Input{Mean: []float64{1}, Std: []float64{2}, Shape: []int{1, 3}}
	of := func(change func(in *Input)) *Posterior {
		g := f.AtMean()
		g.Input = f.Input
		change(&g.Input)
		return g
	}
	for words, g := range map[string]*Posterior{
		"one network, without deviations": f, "as many": chainOf(r, network.ReLU, 3, 4, 3).AtMean(), "has 2 inputs and 2": chainOf(r, network.ReLU, 2, 4, 2).AtMean(),
		"not as those": of(func(in *Input) { in.Mean = []float64{0} }), "normalised": of(func(in *Input) { in.Std = []float64{1} }), "same input.mean": of(func(in *Input) { in.Mean = nil }),
		"features": of(func(in *Input) { in.FeaturesOf = "a" }), "a set of 4": someSamples(t),
	} {
		if _, err := f.WithOther(g); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, words)
		}
	}
	for kind, post := range others(t) {
		if _, err := post.WithOther(chainOf(r, network.ReLU, post.Inputs(), post.Outputs()).AtMean()); (err == nil) != (kind == KindFinite) {
			t.Errorf("%v: %v", kind, err)
		}
		if _, err := post.MeanNetwork(); err == nil {
			t.Errorf("the mean of %v", kind)
		}
	}
	image, turned := chainOf(r, network.ReLU, 6, 2), chainOf(r, network.ReLU, 6, 2).AtMean()
	image.Input.Shape, turned.Input.Shape = []int{1, 2, 3}, []int{3, 2}
	if _, err := image.WithOther(turned); err == nil || !strings.Contains(err.Error(), "shape [3 2]") {
		t.Errorf("another shape: %v", err)
	}
	for _, same := range []func(in *Input){
		func(*Input) {}, func(in *Input) { *in = Input{} }, func(in *Input) { in.Shape = []int{3} },
		func(in *Input) { in.Mean, in.Std = []float64{1, 1, 1}, []float64{2, 2, 2} }, func(in *Input) { in.Shape = []int{3, 1, 1} },
	} {
		if _, err := f.WithOther(of(same)); err != nil {
			t.Error(err)
		}
	}
}
