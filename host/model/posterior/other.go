package posterior

import (
	"errors"
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// mostBeside bounds the numbers, 1 GiB, that WithOther adds to a posterior, mostChained those of one layer that holds
// layers of both networks.
const mostBeside, mostChained = 1 << 27, 1 << 24

// WithOther is the posterior of x -> (f^w(x), g(x)) for one network g, whose weights are the same for all w: f^w and g
// read the same x. Two chains of as many layers with the same activations are put into one, layer by layer; of others
// the last layers alone are. p is of independent normal weights or a finite set of networks.
func (p *Posterior) WithOther(g *Posterior) (*Posterior, error) {
	one := g.Networks()
	switch {
	case p.Kind != KindGaussian && p.Kind != KindFinite:
		return nil, fmt.Errorf("this posterior is %s: another network beside is for independent normal weights, and for sets of networks", p.Describe())
	case one == nil || one.N() != 1 || one.DrawsOf != "":
		return nil, fmt.Errorf("the other posterior is %s: name a file of one network, without deviations", g.Describe())
	case g.Inputs() != p.Inputs() || g.Outputs() != p.Outputs():
		return nil, fmt.Errorf("the other network has %d inputs and %d outputs, and the posterior %d and %d: name one with as many", g.Inputs(), g.Outputs(), p.Inputs(), p.Outputs())
	}
	if err := p.Input.reads(&g.Input); err != nil {
		return nil, err
	}
	b, n := &beside{f: p.Network(), g: g.Network()}, 1
	if p.finite != nil {
		n = p.finite.N()
	}
	if b.parts = chainParts(b.f, b.g, n); b.parts == nil {
		b.parts = graphParts(b.f, b.g)
	}
	q := *p
	q.Layers, q.Reference = nil, nil // logits of f alone, which were compared when it was read
	added := -p.Weights()
	for _, of := range b.parts {
		l := b.layer(of)
		q.Layers, added = append(q.Layers, Layer{Layer: l}), added+l.Weights()+l.Biases()
	}
	if last := slices.Sorted(slices.Values(q.Layers[len(q.Layers)-1].Sources)); len(last) > 1 && last[1] < 0 {
		return nil, errors.New("the last layers of both networks read the inputs beside other layers: only one may")
	}
	if added > mostBeside/n {
		return nil, fmt.Errorf("the other network beside takes %d numbers more for each of %d networks, at most %d in all: name a smaller one, or fewer networks", added, n, mostBeside)
	}
	if s := p.finite; s != nil {
		set := &Finite{Counts: s.Counts, DrawsOf: s.DrawsOf, Stack: make([][]float64, 2*len(q.Layers))}
		for i := range n {
			for a, list := range b.arrays(s.Weights(i), one.Weights(0)) {
				set.Stack[a] = append(set.Stack[a], list...)
			}
		}
		of, err := FromFinite(q.Layers, set)
		if err != nil {
			return nil, err
		}
		q.Layers, q.finite = of.Layers, set
		return &q, q.Validate()
	}
	var lo, hi, none [][]float64
	for _, of := range p.Params() {
		lo, hi = append(lo, of.SdLo), append(hi, of.SdHi)
	}
	for _, of := range g.Params() {
		none = append(none, make([]float64, len(of.Mean)))
	}
	mean := b.arrays(p.Mean(), one.Weights(0))
	lo, hi = b.arrays(lo, none), b.arrays(hi, none)
	for a, of := range q.Params() {
		*of = Params{Mean: mean[a], Spread: hi[a], Scale: ScaleSD, SdLo: lo[a], SdHi: hi[a]}
	}
	return &q, q.Validate()
}

// MeanNetwork is the network of the means of independent normal weights, as WithOther takes it.
func (p *Posterior) MeanNetwork() (*Posterior, error) {
	if p.Kind != KindGaussian {
		return nil, fmt.Errorf("this posterior is %s: the mean network beside is that of independent normal weights; name a file", p.Describe())
	}
	return p.AtMean(), nil
}

// reads reports what keeps a network with the inputs of from reading those of in as they are.
func (in *Input) reads(of *Input) error {
	long := func(shape []int) []int { // axes of length 1 say nothing
		return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	}
	a, b := long(in.Shape), long(of.Shape)
	normal := func(in *Input) bool { return in.Mean != nil || in.Std != nil }
	switch {
	case normal(of) && (!normal(in) || differ(in.Mean, of.Mean, 0) || differ(in.Std, of.Std, 1)):
		return errors.New("the other network's file says that its inputs are normalised, and not as those of the posterior: save both with the same input.mean and input.std")
	case len(a) > 1 && len(b) > 1 && !slices.Equal(a, b): // lists of one axis fit any
		return fmt.Errorf("the other network takes inputs of shape %v, and the posterior of %v: save both with one", of.Shape, in.Shape)
	case of.FeaturesOf != "" && of.FeaturesOf != in.FeaturesOf:
		return fmt.Errorf("the other network's inputs are features of %.60q, and the posterior's are not: name one that reads the same", of.FeaturesOf)
	}
	return nil
}

// differ reports whether two files say different numbers of the inputs: one is for all, none is what is left out.
func differ(a, b []float64, none float64) bool {
	if len(a) == 0 {
		a = []float64{none}
	}
	if len(b) == 0 {
		b = []float64{none}
	}
	for j := range max(len(a), len(b)) {
		if a[j%len(a)] != b[j%len(b)] {
			return true
		}
	}
	return false
}

// beside puts two networks beside each other: each part is a layer of one of them, the other being -1, or dense layers
// of both.
type beside struct {
	f, g  network.Network
	parts []part
}

type part struct{ f, g int }

// chainParts are those of chains with the same activations that are not too large, for a set of so many networks; nil
// for others.
func chainParts(f, g network.Network, networks int) (parts []part) {
	if len(f) != len(g) || !f.Chain() || !g.Chain() {
		return nil
	}
	for k := range f {
		if f[k].Activation != g[k].Activation || f[k].Inputs()+g[k].Inputs() > mostChained/networks/(f[k].Outputs()+g[k].Outputs()) {
			return nil
		}
		parts = append(parts, part{k, k})
	}
	return parts
}

// graphParts are the layers of f but its last, those of g but its last, and both last ones as one.
func graphParts(f, g network.Network) (parts []part) {
	for k := range f[:len(f)-1] {
		parts = append(parts, part{k, -1})
	}
	for k := range g[:len(g)-1] {
		parts = append(parts, part{-1, k})
	}
	return append(parts, part{len(f) - 1, len(g) - 1})
}

// layer is that of a part.
func (b *beside) layer(of part) network.Layer {
	var f, g []int
	if of.f >= 0 {
		f = b.sources(b.f.Feed(of.f), func(p part) int { return p.f })
	}
	if of.g >= 0 {
		g = b.sources(b.g.Feed(of.g), func(p part) int { return p.g })
	}
	var l network.Layer
	switch {
	case of.g < 0:
		l, l.Sources = b.f[of.f], f
	case of.f < 0:
		l, l.Sources = b.g[of.g], g
	default:
		in, out := b.shape(of)
		l = network.DenseLayer(in, out, b.f[of.f].Activation)
		if l.Sources = f; !slices.Equal(f, g) {
			l.Sources = append(f, g...)
		}
	}
	return l
}

// sources are the parts that hold these layers of one network, -1 the input.
func (b *beside) sources(layers []int, of func(p part) int) (parts []int) {
	for _, k := range layers {
		parts = append(parts, k)
		if k >= 0 {
			parts[len(parts)-1] = slices.IndexFunc(b.parts, func(p part) bool { return of(p) == k })
		}
	}
	return parts
}

// shape is that of a dense layer of both networks.
func (b *beside) shape(of part) (in, out int) {
	if in = b.f[of.f].Inputs(); !b.shared(of) {
		in += b.g[of.g].Inputs()
	}
	return in, b.f[of.f].Outputs() + b.g[of.g].Outputs()
}

// shared reports whether both layers of a part take the input of the networks alone.
func (b *beside) shared(of part) bool {
	input := []int{-1}
	return slices.Equal(b.f.Feed(of.f), input) && slices.Equal(b.g.Feed(of.g), input)
}

// arrays are a number for each weight and bias, in the layout of Draw, of those of f and of g: 0 for weights between
// them.
func (b *beside) arrays(f, g [][]float64) (all [][]float64) {
	for _, of := range b.parts {
		switch {
		case of.g < 0:
			all = append(all, f[2*of.f], f[2*of.f+1])
		case of.f < 0:
			all = append(all, g[2*of.g], g[2*of.g+1])
		default:
			in, out := b.shape(of)
			weight, first, left := make([]float64, in*out), in-b.g[of.g].Inputs(), b.f[of.f].Outputs()
			for i := range b.f[of.f].Inputs() {
				copy(weight[i*out:], f[2*of.f][i*left:(i+1)*left])
			}
			right := out - left
			for i := range b.g[of.g].Inputs() {
				copy(weight[(first+i)*out+left:], g[2*of.g][i*right:(i+1)*right])
			}
			all = append(all, weight, slices.Concat(f[2*of.f+1], g[2*of.g+1]))
		}
	}
	return all
}
