package lower

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
)

// Graphs of layers. A node with arithmetic becomes a layer as package graph states it, and a
// tensor is a view of the numbers that one such layer gives: element i is number at[i] of it.
// So a node that only moves elements costs nothing, until a layer takes them in an order that
// is not the one they have (feed).

// given describes what gives numbers: the input of the graph, or a layer of the result.
type given struct {
	name string
	n    int
	// image is the shape of the numbers where the layer gives an image, channels last; else
	// it is empty, and they are a list.
	image network.Image
	// list is the name of the layer that makes a list of the image, once there is one.
	list string
	// taken reports whether a layer takes them; shown is how many tensors that are still to be used are
	// views of them.
	taken bool
	shown int
}

// viewed is number at[i] of a layer as element i.
func (l *lowering) viewed(shape []int, from int, at []int32) *value {
	return &value{shape: shape, base: l.top, from: from, at: at}
}

// upTo is 0, 1, ..., n-1.
func upTo(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// lastOf returns for each element of an array (outer, channels, inner) which it is channels last,
// in (outer, inner, channels).
func lastOf(n, channels, inner int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32((i/(channels*inner)*inner+i%inner)*channels + i/inner%channels)
	}
	return list
}

// state adds a layer, which gives n numbers, and is their number in given.
func (l *lowering) state(layer Layer, n int, image network.Image) (int, error) {
	if err := l.spend(int64(n)); err != nil {
		return 0, err
	}
	layer.Name = fmt.Sprintf("%.60s#%d", l.node.Op, len(l.given))
	for _, name := range layer.From {
		l.given[l.named[name]].taken = true
	}
	l.named[layer.Name] = len(l.given)
	l.result.Layers = append(l.result.Layers, layer)
	l.given = append(l.given, given{name: layer.Name, n: n, image: image})
	return len(l.given) - 1, nil
}

// list is the name of what gives the numbers of a layer as a list.
func (l *lowering) list(from int) (string, error) {
	g := &l.given[from]
	if g.image.Len() == 0 {
		return g.name, nil
	}
	if g.list == "" {
		k, err := l.state(Layer{Layer: graph.Layer{Kind: graph.Flatten, From: []string{g.name}}}, g.n, network.Image{})
		if err != nil {
			return "", err
		}
		name := l.given[k].name
		l.given[from].list, l.named[name] = name, from
	}
	return l.given[from].list, nil
}

// ordered is the name of a list with the elements of v, element i as number order[i] of it.
func (l *lowering) ordered(v *value, order []int32) (string, error) {
	if len(v.at) == l.given[v.from].n && slices.Equal(v.at, order) {
		return l.list(v.from)
	}
	take := make([]int, len(order))
	for i, to := range order {
		take[to] = int(v.at[i])
	}
	k, err := l.state(Layer{Layer: graph.Layer{Kind: graph.Reorder, From: []string{l.given[v.from].name}, Take: take}}, len(take), network.Image{})
	if err != nil {
		return "", err
	}
	return l.given[k].name, nil
}

// whole is v, or a view of a copy of its elements where it does not show all numbers of its
// layer, or some more than once.
func (l *lowering) whole(v *value) (*value, error) {
	n := l.given[v.from].n
	if err := l.spend(int64(n)); err != nil {
		return nil, err
	}
	seen, missing := make([]bool, n), n
	for _, at := range v.at {
		if !seen[at] {
			seen[at], missing = true, missing-1
		}
	}
	if missing == 0 && len(v.at) == n {
		return v, nil
	}
	order := upTo(len(v.at))
	if _, err := l.ordered(v, order); err != nil {
		return nil, err
	}
	return l.viewed(v.shape, len(l.given)-1, order), nil
}

// feed makes a layer take the elements of v as an image, element i as its number order[i]
// channels last.
func (l *lowering) feed(layer *graph.Layer, v *value, im network.Image, order []int32) error {
	if err := l.spend(int64(len(order))); err != nil {
		return err
	}
	g := &l.given[v.from]
	if len(v.at) == g.n && g.image == im && slices.Equal(v.at, order) {
		layer.From = []string{g.name}
		return nil
	}
	layer.Shape = []int{im.Height, im.Width, im.Channels}
	if first := len(v.at) == im.Len() && slices.Equal(order, lastOf(im.Len(), im.Channels, im.Height*im.Width)); first && v.from == 0 && layer.Kind == graph.Conv2D {
		if len(v.at) == g.n && slices.Equal(v.at, upTo(g.n)) { // the input lies channels first
			layer.Shape, layer.First, layer.From = []int{im.Channels, im.Height, im.Width}, true, []string{g.name}
			return nil
		}
	}
	name, err := l.ordered(v, order)
	layer.From = []string{name}
	return err
}

// inImage is the shape of a tensor of one image as an image, channels last.
func inImage(shape []int) (network.Image, error) {
	axes := len(shape)
	if axes < 3 || axes > 4 || shape[0] != 1 {
		return network.Image{}, fmt.Errorf("its input has the shape %v: one image or sequence is read, (1, C) and one or two axes", shape)
	}
	im := network.Image{Height: 1, Width: shape[axes-1], Channels: shape[1]}
	if axes == 4 {
		im.Height = shape[2]
	}
	return im, nil
}

// weighted is a layer whose parameters are in the order of package network, with the random
// numbers that they are; weight says which number of kernel entry i is, bias may be nil.
func weighted(kernel *value, weights int, weight func(i int) int, bias *value, biases int) Layer {
	layer := Layer{Weight: make([]float64, weights), Bias: make([]float64, biases)}
	if kernel.id != nil || bias != nil && bias.id != nil {
		layer.WeightID, layer.BiasID = make([]int32, weights), make([]int32, biases)
	}
	for i := range layer.Weight {
		e := weight(i)
		layer.Weight[i] = kernel.c[e]
		if kernel.id != nil {
			layer.WeightID[i] = kernel.id[e]
		}
	}
	if bias != nil {
		copy(layer.Bias, bias.c)
		copy(layer.BiasID, bias.id)
	}
	return layer
}

// shifted adds the constant c, element by element of at, to a view: to the biases of the layer
// that gives it, where nothing else takes its numbers and the sums are exact, and else by a
// layer with gain 1.
func (l *lowering) shifted(v *value, c *value, sign float64, at func(int) int) (*value, error) {
	if err := l.spend(int64(len(v.at))); err != nil {
		return nil, err
	}
	shift := func(i int) (float64, int32) { return sign * c.c[at(i)], c.idOf(at(i)) }
	if l.folded(v, shift) {
		return v, nil
	}
	return l.gained(v, func(int) (float64, int32) { return 1, 0 }, shift)
}

// folded adds constants to the biases of the layer that gives v, if that is exact.
func (l *lowering) folded(v *value, shift func(i int) (float64, int32)) bool {
	if g := &l.given[v.from]; v.from == 0 || g.taken || g.shown > 0 {
		return false
	}
	layer := &l.result.Layers[v.from-1]
	n := len(layer.Bias)
	if n == 0 {
		return false
	}
	bias, ids := slices.Clone(layer.Bias), make([]int32, n)
	copy(ids, layer.BiasID)
	first, placed := make([]int, n), map[int32]bool{} // first is 1 + the element that came first
	for i, number := range v.at {
		to := int(number) % n // channels last; of a dense layer n is all of them
		s, id := shift(i)
		if first[to] != 0 {
			if was, wasID := shift(first[to] - 1); was != s || wasID != id {
				return false
			}
			continue
		}
		first[to] = i + 1
		if id != 0 && (placed[id] || ids[to] != 0 || bias[to] != 0) || id == 0 && s != 0 && ids[to] != 0 {
			return false
		}
		sum, exact := plusExact(bias[to], s)
		if !exact {
			return false
		}
		if bias[to] = sum; id != 0 {
			ids[to], placed[id] = id, true
		}
	}
	if layer.Bias = bias; len(placed) > 0 || layer.BiasID != nil {
		layer.BiasID = ids
		if layer.WeightID == nil {
			layer.WeightID = make([]int32, len(layer.Weight))
		}
	}
	return true
}

// mostGains bounds the channels of a layer that multiplies each channel by a number of its
// own: devices hold a matrix from all of them to all.
const mostGains = 1 << 12

// gained is a view times gain(i) and plus shift(i), of which each is the same for all elements
// of a channel, by a layer as a batch norm is one.
func (l *lowering) gained(v *value, gain, shift func(i int) (float64, int32)) (*value, error) {
	channels, inner := l.channels(v, gain, shift)
	if channels > mostGains {
		return nil, fmt.Errorf("it has constants of their own for each of %d numbers: at most %d are read", channels, mostGains)
	}
	n := len(v.at)
	order := lastOf(n, channels, inner)
	im := network.Image{Height: 1, Width: n / channels, Channels: channels}
	if own := l.given[v.from].image; own.Len() == n && own.Channels == channels {
		im = own
	} else if len(v.shape) == 4 && v.shape[0] == 1 && channels == v.shape[1] {
		im.Height, im.Width = v.shape[2], v.shape[3]
	}
	// Kind is that of a convolution, since a batch norm of a list takes every number of it as a channel.
	layer := Layer{Layer: graph.Layer{Kind: graph.Conv2D, Kernel: []int{1, 1}, Filters: channels, Groups: channels}, Weight: make([]float64, channels), Bias: make([]float64, channels)}
	layer.WeightID, layer.BiasID = make([]int32, channels), make([]int32, channels)
	random := false
	for ch := range channels {
		layer.Weight[ch], layer.WeightID[ch] = gain(ch * inner)
		layer.Bias[ch], layer.BiasID[ch] = shift(ch * inner)
		random = random || layer.WeightID[ch] != 0 || layer.BiasID[ch] != 0
	}
	if !random {
		layer.WeightID, layer.BiasID = nil, nil
	}
	if err := l.feed(&layer.Layer, v, im, order); err != nil {
		return nil, err
	}
	k, err := l.state(layer, n, im)
	return l.viewed(v.shape, k, order), err
}

// channels finds the axis along which gains and shifts change, in (outer, channels, inner).
func (l *lowering) channels(v *value, gain, shift func(i int) (float64, int32)) (channels, inner int) {
	n := len(v.at)
	fits := func(channels, inner int) bool {
		for i := range n {
			of := i / inner % channels * inner
			g, gID := gain(i)
			s, sID := shift(i)
			h, hID := gain(of)
			t, tID := shift(of)
			if g != h || s != t || gID != hID || sID != tID {
				return false
			}
		}
		return true
	}
	axes := len(v.shape)
	if im := l.given[v.from].image; im.Len() == n && axes > 2 && v.shape[1] == im.Channels && fits(im.Channels, n/im.Channels) {
		return im.Channels, n / im.Channels // the image stays one
	}
	if fits(1, n) {
		return 1, n
	}
	for a := range axes {
		a = (a + 1) % axes // first that of ONNX's channels
		if inner := product(v.shape[a+1:]); v.shape[a] > 1 && fits(v.shape[a], inner) {
			return v.shape[a], inner
		}
	}
	return n, 1
}
