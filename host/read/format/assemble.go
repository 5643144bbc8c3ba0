package format

import (
	"fmt"
	"slices"

	"psafe/host/model/audit"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
	"psafe/host/read/onnx"
)

// contents hold what every reader ends with: arrays, and what the file says about them. assemble
// makes a Posterior of it.
type contents struct {
	format string
	kind   posterior.Kind
	// scale is ScaleUnknown where the file does not say.
	scale posterior.Scale
	// activations has one entry per layer, or is nil where the file does not say.
	activations []network.Activation
	layers      []arrays
	// counts, drawsOf, rank and rates (one per layer) are for the kinds that have them.
	counts  []int64
	drawsOf string
	rank    int
	rates   []float64
	note    string
	origin  *posterior.Source
	// inputShape and extras (by name) are what a file says beside the posterior; extras.go.
	inputShape []int
	featuresOf string
	extras     map[string]*npy.Array
	// plan is the network where the file states one that is no chain of dense layers; layers
	// and rates are then those of the file's layers until expand.
	plan *graph.Plan
	// normalise are the arrays of the plan's maps of that name; assumed says that spreads of 0
	// were taken for certain before the scale was known.
	normalise map[int]*arrays
	assumed   bool
	// graph holds the graph of an ONNX file, which has no arrays of layers.
	graph *onnx.Graph
}

// arrays hold the arrays of one layer, weights (in, out) or kernels (rows, columns, channels,
// filters); which there are depends on the kind. Stacks have an axis in front, of samples or
// columns.
type arrays struct {
	weight, weightSpread, weightStack *npy.Array
	bias, biasSpread, biasStack       *npy.Array
	// weightScale and biasScale are what the spreads of a gaussian hold, ScaleUnknown where
	// that is contents.scale. noBias says that the bias is not stored; its arrays are zeros.
	weightScale, biasScale posterior.Scale
	noBias                 bool
	// covariance is there where a layer of kind correlated has one.
	covariance *posterior.Covariance
}

// shape gives in and out of a dense layer.
func (a *arrays) shape() (in, out int) {
	w := a.weight
	if w == nil {
		w = a.weightStack
	}
	axes := len(w.Shape)
	return w.Shape[axes-2], w.Shape[axes-1]
}

// assemble checks shapes, settles scale and activations with the options, and
// validates the result.
func (n *contents) assemble(opt Options) (*posterior.Posterior, error) {
	if n.graph != nil {
		return n.assembleONNX(opt)
	}
	if words := opt.SpreadWords(); words != "" {
		return nil, fmt.Errorf("the file has standard deviations of its own: drop --sd, which is for ONNX (a factor is --scale-factor)")
	}
	if len(n.layers) == 0 {
		return nil, fmt.Errorf("the file has no layers")
	}
	scale, err := posterior.ScaleUnknown, error(nil)
	if n.kind.HasSpread() {
		if scale, err = resolveScale(n.scale, opt.Scale); err != nil {
			return nil, err
		}
	} else if opt.Scale != posterior.ScaleUnknown {
		return nil, fmt.Errorf("the posterior is of kind %v, which has no spread: drop --scale %v", n.kind, opt.Scale)
	}
	layers, err := n.canonical(opt, scale)
	if err != nil {
		return nil, err
	}
	p, err := n.posterior(layers, scale)
	if err != nil {
		return nil, n.withGuess(err)
	}
	p.Source = posterior.Source{Format: n.format, Note: n.note, Origin: n.origin}
	if n.inputShape == nil {
		n.inputShape = imageShape(p)
	}
	if err := n.addExtras(p); err != nil {
		return nil, err
	}
	if _, err := audit.Compare(p); err != nil {
		return nil, err
	}
	return p, nil
}

// canonical is the layers of the network with their means, which n.layers has too.
func (n *contents) canonical(opt Options, scale posterior.Scale) (layers []posterior.Layer, err error) {
	if n.plan == nil {
		return n.chain(opt)
	}
	if len(opt.Activations) > 0 {
		return nil, fmt.Errorf("the file says the activation of every layer: drop --activation")
	}
	if n.assumed && n.kind == posterior.KindGaussian {
		if _, hi := scale.SD(0); hi > 0 {
			return nil, fmt.Errorf("scale %v: a spread of 0 is not certain under it, as the mean and variance of a batch norm must be", scale)
		}
	}
	if err := n.expand(scale); err != nil {
		return nil, err
	}
	for k, l := range n.plan.Layers {
		a := &n.layers[k]
		of := posterior.Layer{Layer: network.Layer{Map: l.Map, Activation: l.Activation, Sources: l.Sources}, NoBias: a.noBias}
		if a.weight != nil && l.Map.Weights() > 0 {
			of.Weight.Mean, of.Bias.Mean = a.weight.Data, a.bias.Data
		}
		layers = append(layers, of)
	}
	return layers, nil
}

// imageShape is the shape of an input that a first layer that is a convolution says, nil where
// it says none.
func imageShape(p *posterior.Posterior) []int {
	c, is := p.Layers[0].Map.(network.Conv)
	switch {
	case !is || c.In.Height*c.In.Width == 1:
		return nil
	case c.ChannelsFirst:
		return []int{c.In.Channels, c.In.Height, c.In.Width}
	}
	return []int{c.In.Height, c.In.Width, c.In.Channels}
}

// chain is the layers of a network of dense layers, one after the other.
func (n *contents) chain(opt Options) (layers []posterior.Layer, err error) {
	if n.kind == posterior.KindGaussian {
		// Arrays of other kinds come with the shapes that a header gives.
		for k, a := range n.layers {
			if err := a.check(k); err != nil {
				return nil, err
			}
		}
	}
	activations, err := resolveActivations(n.activations, len(n.layers), opt.Activations)
	if err != nil {
		return nil, err
	}
	for k := range n.layers {
		a := &n.layers[k]
		in, out := a.shape()
		l := posterior.Layer{Layer: network.DenseLayer(in, out, activations[k]), NoBias: a.noBias}
		if a.weight != nil {
			l.Weight.Mean, l.Bias.Mean = a.weight.Data, a.bias.Data
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// check returns an error unless the four arrays of layer k fit each other. A bias may be (out) or
// (1, out).
func (a *arrays) check(k int) error {
	if len(a.weight.Shape) != 2 {
		return fmt.Errorf("layer %d weight has shape %v: a dense layer needs (in, out)", k, a.weight.Shape)
	}
	out := a.weight.Shape[1]
	if b := a.bias.Shape; !slices.Equal(b, []int{out}) && !slices.Equal(b, []int{1, out}) {
		return fmt.Errorf("layer %d bias has shape %v: the weight of shape %v needs (%d)", k, b, a.weight.Shape, out)
	}
	if !slices.Equal(a.weight.Shape, a.weightSpread.Shape) {
		return fmt.Errorf("layer %d weight has shape %v but its spread has %v", k, a.weight.Shape, a.weightSpread.Shape)
	}
	if !slices.Equal(a.bias.Shape, a.biasSpread.Shape) {
		return fmt.Errorf("layer %d bias has shape %v but its spread has %v", k, a.bias.Shape, a.biasSpread.Shape)
	}
	return nil
}

// resolveActivations combines the activations of all layers that the file says
// (or nil) with those of the hidden layers that the user says (or none).
func resolveActivations(file []network.Activation, layers int, option []network.Activation) ([]network.Activation, error) {
	hidden := layers - 1
	if len(option) > 1 && len(option) != hidden {
		return nil, fmt.Errorf("%d activations are given for %d hidden layers: give one for all, or one each", len(option), hidden)
	}
	if file == nil && len(option) == 0 && hidden > 0 {
		return nil, fmt.Errorf("the file does not say which activation its hidden layers have: add --activation, for example --activation relu")
	}
	all := slices.Clone(file)
	if file == nil {
		all = make([]network.Activation, layers)
	}
	if len(option) == 0 {
		return all, nil
	}
	for k := range hidden {
		want := option[min(k, len(option)-1)]
		if file != nil && file[k] != want {
			return nil, fmt.Errorf("the file says layer %d has activation %v, the option says %v: drop --activation", k, file[k], want)
		}
		all[k] = want
	}
	return all, nil
}

// fromList makes layers of arrays in the order W0, b0, W1, b1, ... and then the
// spreads in the same order.
func fromList(list []*npy.Array) ([]arrays, error) {
	if len(list) == 0 || len(list)%4 != 0 {
		return nil, fmt.Errorf("%d arrays: dense layers need W0, b0, W1, b1, ... and as many spreads", len(list))
	}
	half := len(list) / 2
	return pair(list[:half], list[half:])
}

// pair makes layers of means W0, b0, W1, b1, ... and spreads in the same order.
func pair(means, spreads []*npy.Array) ([]arrays, error) {
	if len(means) != len(spreads) || len(means)%2 != 0 {
		return nil, fmt.Errorf("%d arrays of means and %d of spreads: dense layers need W0, b0, W1, b1, ... in both", len(means), len(spreads))
	}
	var layers []arrays
	for i := 0; i < len(means); i += 2 {
		layers = append(layers, arrays{weight: means[i], bias: means[i+1], weightSpread: spreads[i], biasSpread: spreads[i+1]})
	}
	return layers, nil
}
