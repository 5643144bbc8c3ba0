// Package graph turns graphs of layers in files into the layers of package network (Keras's graphs,
// and those of psafe's own headers): images channels last, a max pool before the activation that
// the file has in front of it, a flatten of channels first as an order of the rows of the dense
// layer behind it, and a dense layer at the end. Nothing here changes a number: the function is
// that of the file.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/network"
)

// The kinds of layers that files state. Those with two dimensions take images (H, W, C), or
// (C, H, W) where Layer.First says so; Conv1D and pools with a kernel of one number take
// sequences (L, C), or (C, L).
const (
	Dense           = "dense"
	Conv2D          = "conv2d"
	Conv1D          = "conv1d"
	DepthwiseConv2D = "depthwise_conv2d"
	BatchNorm       = "batch_norm"
	MaxPool         = "max_pool"
	AvgPool         = "avg_pool"
	GlobalMaxPool   = "global_max_pool"
	GlobalAvgPool   = "global_avg_pool"
	Flatten         = "flatten"
	Add             = "add"
	Concat          = "concat"
	Activation      = "activation"
	Reorder         = "reorder"
)

// Kinds lists all of them, those with weights first.
var Kinds = []string{Dense, Conv2D, Conv1D, DepthwiseConv2D, BatchNorm, MaxPool, AvgPool, GlobalMaxPool, GlobalAvgPool, Flatten, Add, Concat, Activation, Reorder}

// InputName is the name that From gives the input of the network.
const InputName = "input"

// Layer is a layer as a file states it. The fields behind Activation are those of its kind;
// zero values are defaults.
type Layer struct {
	Name, Kind string
	// From names what feeds it, layers before it or InputName; nil is the layer before.
	From []string
	// Activation is applied to what the layer computes.
	Activation network.Activation
	// Inputs is how many numbers feed the layer, 0 if it does not say. Filters are the outputs
	// of Dense, and the filters of convolutions; of DepthwiseConv2D they are by default
	// Multiplier, by default 1, times the channels.
	Inputs, Filters, Multiplier int
	// Kernel is the size of a window; Strides are by default 1, of pools the kernel.
	Kernel, Strides, Dilation []int
	Padding                   Padding
	Groups                    int
	// Axis of BatchNorm and Concat is Keras's axis of the channels, 0 for the last.
	Axis int
	// Normalise puts a map with the mean and the variance of a BatchNorm in front of its gain
	// and shift (Planned.Normalise).
	Normalise bool
	// CountPadding reports whether AvgPool divides by the size of the window in the padding too.
	CountPadding bool
	// Shape holds the shape of what feeds the layer where that is a list of numbers, in the order of
	// the layer; of Concat the height and width only.
	Shape []int
	// First says channels first: of Shape, of weights, and of what Flatten makes a list of.
	First bool
	// OutIn reports whether weights of Dense are (out, in).
	OutIn bool
	// Take lists which of its inputs Reorder gives; nil for all as they are.
	Take []int
}

// Padding is a word, or pairs of numbers before and after for each direction. The words are
// valid (also empty), same (Keras's) and causal (Conv1D).
type Padding struct {
	Word  string
	Pairs [][2]int
}

// Parameters of a layer of the file: shape of the weights in Keras's order, which is that of
// package network, and number of biases. Axes says which axis of the file's array each is, nil
// if they are in order.
type Parameters struct {
	Weight, Axes []int
	Bias         int
}

// FileShape is the shape of the weights in the file.
func (p *Parameters) FileShape() []int {
	if p.Axes == nil {
		return p.Weight
	}
	shape := make([]int, len(p.Weight))
	for k, axis := range p.Axes {
		shape[axis] = p.Weight[k]
	}
	return shape
}

// What Planned.Of says of layers without weights in the file.
const (
	// None is for maps without weights.
	None = -1
	// Unit is for the dense layer at the end that gives its inputs: weights 1 on the diagonal,
	// all else 0, all certain.
	Unit = -2
)

// Planned is a layer of the canonical network.
type Planned struct {
	Map        network.Map
	Activation network.Activation
	// Sources are as network.Layer's: layers, -1 for the input, nil for the layer before.
	Sources []int
	// Of is the layer of the file whose parameters it has, or None, or Unit.
	Of int
	// Normalise reports whether its parameters are made of the mean and variance of that layer.
	Normalise bool
	// Rows says for each row of the file's dense weights which row it is of the map's; nil if
	// they are in order.
	Rows []int32
}

// Plan is the canonical network.
type Plan struct {
	Layers []Planned
	// Parameters has an entry for each layer of the file, of which those without weights have
	// a nil Weight.
	Parameters []Parameters
}

// Lower makes the plan of layers in topological order, the last of which gives the logits.
// input is the shape of an input, nil if the file does not say; it has the order of the layers
// that it feeds. Errors are one line that names the layer.
func Lower(layers []Layer, input []int) (*Plan, error) {
	if len(layers) == 0 {
		return nil, fmt.Errorf("the file has no layers")
	}
	b := &builder{input: value{nodes: []int{inputNode}}, values: map[string]*value{}, at: map[string]int{}, parameters: make([]Parameters, len(layers))}
	if input != nil {
		n, err := product(input)
		if err != nil {
			return nil, fmt.Errorf("input_shape %v %w", input, err)
		}
		b.input.n, b.input.shape = n, input
	}
	b.last = &b.input
	for k := range layers {
		if err := b.layer(k, &layers[k]); err != nil {
			return nil, fmt.Errorf("%s: %w", layers[k].Place(k), err)
		}
	}
	for k := range layers[:len(layers)-1] {
		if name := nameOf(k, &layers[k]); !b.values[name].used {
			return nil, fmt.Errorf("%s: no layer takes what it gives, and it is not the last: leave it out, or name it in a \"from\"", layers[k].Place(k))
		}
	}
	end, err := b.end()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", layers[len(layers)-1].Place(len(layers)-1), err)
	}
	return &Plan{b.emit(end), b.parameters}, nil
}

// Place names layer k of a file in errors.
func (l *Layer) Place(k int) string {
	if l.Name == "" {
		return fmt.Sprintf("layer %d", k)
	}
	return fmt.Sprintf("layer %d (%.40q)", k, l.Name)
}

// nameOf is the layer's name, or one that no layer can have.
func nameOf(k int, l *Layer) string {
	if l.Name == "" {
		return fmt.Sprintf("\x00%d", k)
	}
	return l.Name
}

// mostNumbers bounds the numbers between two layers, and mostWeights those of a layer;
// mostUnits those of all layers together, so that no header of a few lines takes gigabytes.
const (
	mostNumbers = 1 << 24
	mostWeights = 1 << 32
	mostUnits   = 1 << 26
	mostUnit    = 1 << 12
)

// product is the number of numbers of a shape.
func product(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 1 || d > mostNumbers/n {
			return 0, fmt.Errorf("is empty or has more than %d numbers", mostNumbers)
		}
		n *= d
	}
	return n, nil
}

// weights checks that an array of that shape is not too large to be counted.
func weights(shape ...int) error {
	n := 1
	for _, d := range shape {
		if d < 1 || d > mostWeights/n {
			return fmt.Errorf("weights of shape %v are none or more than %d", shape, mostWeights)
		}
		n *= d
	}
	return nil
}

// known returns an error unless a word is a kind.
func known(kind string) error {
	if slices.Contains(Kinds, kind) {
		return nil
	}
	return fmt.Errorf("kind %.40q is not supported: the kinds are %s", kind, strings.Join(Kinds, ", "))
}
