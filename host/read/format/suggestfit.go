package format

import (
	"math"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
)

// What names and shapes of tensors do not tell, some inputs with their logits may: the usual
// activations, paddings, strides and pools are tried until the map gives the logits.

// triedActivations are the words that are tried for all hidden layers alike.
var triedActivations = []string{"relu", "tanh", "leaky_relu:0.01", "leaky_relu:0.1", "leaky_relu:0.2", "elu:1", "sigmoid", "softplus"}

// mostTried bounds what is tried by the numbers that are read for it, and mostVariants by number.
const (
	mostTried    = 1 << 29
	mostVariants = 1 << 14
)

// What may come behind a convolution and its batch norm.
const (
	asItIs = iota
	pooledBehind
	strided
	behinds
	// both are for the stem of a residual network alone.
	both = behinds
)

// variant is one way to fill in a map.
type variant struct {
	layout string
	// half pads convolutions so that they keep the size of an image, otherwise not at all.
	half bool
	// behind says what comes behind each convolution outside of blocks, and whether a block has
	// strides; pool is the kind of all pools, and global that of one over all places in front of
	// the first dense layer, or empty.
	behind       []int
	pool, global string
	activation   string
}

// fit tries variants of a map for the layers and returns one that gives the logits of the
// references, nil if there is none or no references; tried says how many were evaluated.
func (m *tensorMap) fit(t *tensorFile, order []candidate, refs *references) (found *tensorMap, tried int) {
	if refs == nil {
		return nil, 0
	}
	numbers := 1
	for _, c := range order {
		size := 1
		for _, d := range c.shape {
			size *= d
		}
		numbers += size
	}
	of := unitsOf(order)
	layouts, shape, left := []string{m.Layout}, refs.input(order), mostVariants
	if m.Layout == toFill {
		layouts = []string{layoutOI, layoutIO}
	}
	for _, layout := range layouts {
		for v := range variants(layout, of) {
			for _, v.activation = range triedActivations {
				to := m.filled(order, of, shape, v)
				fits, evaluated := to.gives(t, refs)
				if left--; !evaluated {
					break // the sizes of its images do not fit
				}
				if tried++; fits {
					return to, tried
				}
				if tried*numbers > mostTried {
					return nil, tried
				}
			}
			if left < 0 {
				return nil, tried
			}
		}
	}
	return nil, tried
}

// units are what strides and pools are chosen for: a convolution, or a block with layers on its
// shortcut, whose sides shrink together.
type units struct {
	blocks []bool // whether it is a block
	// of is the unit of each convolution by the name of its weight; those that have none, or where
	// a block has no strides, are absent.
	of map[string]int
}

func unitsOf(order []candidate) units {
	u := units{of: map[string]int{}}
	known := map[string]int{} // by block
	for k := range order {
		c := &order[k]
		if !c.conv() {
			continue
		}
		if c.block == "" {
			u.of[c.weight.mean] = len(u.blocks)
			u.blocks = append(u.blocks, false)
			continue
		}
		if !slices.ContainsFunc(order, func(o candidate) bool { return o.block == c.block && o.side && o.conv() }) {
			continue // an identity keeps the size
		}
		id := c.block
		if _, ok := known[id]; !ok {
			known[id] = len(u.blocks)
			u.blocks = append(u.blocks, true)
		}
		if c == shrinks(order, c.block, c.side) {
			u.of[c.weight.mean] = known[id]
		}
	}
	return u
}

// shrinks is the convolution of a block that has its strides: the first that sees more than one
// place, else the first.
func shrinks(order []candidate, block string, side bool) (first *candidate) {
	for k := range order {
		c := &order[k]
		if c.block != block || c.side != side || !c.conv() {
			continue
		}
		if wide(c) {
			return c
		}
		if first == nil {
			first = c
		}
	}
	return first
}

// wide says that two or more axes of the kernel of a convolution are not 1, whatever its layout.
func wide(c *candidate) bool {
	return slices.ContainsFunc(c.shape[:len(c.shape)-2], func(d int) bool { return d > 1 }) &&
		slices.ContainsFunc(c.shape[2:], func(d int) bool { return d > 1 })
}

// variants yields all of a layout but for the activations, those with few strides outside of
// blocks first.
func variants(layout string, of units) func(func(variant) bool) {
	chosen := min(len(of.blocks), 8) // the others have nothing behind them
	return func(yield func(variant) bool) {
		most := 1
		for k := range of.blocks[:chosen] {
			most *= of.choices(k)
		}
		for n := range most {
			behind := make([]int, len(of.blocks))
			for k, block := range of.blocks[:chosen] {
				behind[k], n = n%of.choices(k), n/of.choices(k)
				if block { // mostly with strides
					behind[k] = []int{strided, asItIs}[behind[k]]
				}
			}
			pools := []string{graph.MaxPool, graph.AvgPool, overlapping}
			switch {
			case !slices.Contains(behind, pooledBehind) && !slices.Contains(behind, both):
				pools = pools[:1]
			case !slices.Contains(of.blocks, true):
				pools = pools[:2]
			}
			for _, pool := range pools {
				for _, global := range []string{"", graph.GlobalAvgPool, graph.GlobalMaxPool} {
					for _, half := range []bool{true, false} {
						if len(of.blocks) == 0 && (global != "" || !half) || !yield(variant{layout: layout, half: half, behind: behind, pool: pool, global: global}) {
							return
						}
					}
				}
			}
		}
	}
}

// choices is how many there are for unit k.
func (of *units) choices(k int) int {
	switch {
	case of.blocks[k]:
		return 2
	case k == 0 && slices.Contains(of.blocks, true):
		return behinds + 1
	}
	return behinds
}

// overlapping is the max pool of residual networks in place of a kind: of 3, with strides of 2 and
// padding 1.
const overlapping = "max_pool 3/2"

// input is the shape of an input as the first layer takes it, with one channel where the
// references have none.
func (r *references) input(order []candidate) []int {
	if r.shape == nil {
		return []int{r.arrays["reference.inputs"].Shape[1]}
	}
	if axes := len(order[0].shape); order[0].conv() && len(r.shape) == axes-2 {
		return append([]int{1}, r.shape...)
	}
	return r.shape
}

// filled is the map of a variant.
func (m *tensorMap) filled(order []candidate, of units, shape []int, v variant) *tensorMap {
	to := &tensorMap{Ignore: m.Ignore}
	to.fill(order, v.layout)
	if to.Layout = v.layout; to.isGraph() {
		to.Shape = shape
	}
	layers, behind := to.Layers, asItIs
	to.Layers = nil
	for k, l := range layers {
		if l.Activation == toFill {
			l.Activation = v.activation
		}
		switch l.Kind {
		case graph.Conv2D, graph.Conv1D:
			kernel := kernelOf(order, &l, v.layout)
			if l.Padding = nil; v.half {
				l.Padding = half(kernel)
			}
			behind = asItIs
			if unit, ok := of.of[l.Weight.Mean]; ok {
				behind = v.behind[unit]
			}
			if behind == strided || behind == both {
				l.Strides = repeated(2, len(kernel))
			}
		case graph.Flatten:
			if v.global != "" {
				to.Layers = append(to.Layers, mapLayer{Kind: v.global})
			}
		}
		to.Layers = append(to.Layers, l)
		here := l.Kind == graph.Conv2D || l.Kind == graph.Conv1D || l.Kind == graph.BatchNorm
		if next := k + 1; here && (behind == pooledBehind || behind == both) && (next == len(layers) || layers[next].Kind != graph.BatchNorm) {
			pool := poolOf(v.pool, convAxes(layers[:next]))
			last := &to.Layers[len(to.Layers)-1]
			pool.Name, last.Name = last.Name, "" // what a shortcut begins with
			to.Layers, behind = append(to.Layers, pool), asItIs
		}
	}
	return to
}

// poolOf is a pool of so many axes.
func poolOf(kind string, axes int) mapLayer {
	if kind != overlapping {
		return mapLayer{Kind: kind, graphFields: graphFields{Kernel: repeated(2, axes)}}
	}
	padding := &metaPadding{}
	for range axes {
		padding.Pairs = append(padding.Pairs, [2]int{1, 1})
	}
	return mapLayer{Kind: graph.MaxPool, graphFields: graphFields{Kernel: repeated(3, axes), Strides: repeated(2, axes), Padding: padding}}
}

// convAxes is how many axes the last convolution has.
func convAxes(layers []mapLayer) int {
	for _, l := range slices.Backward(layers) {
		if l.Kind == graph.Conv1D {
			return 1
		}
		if l.Kind == graph.Conv2D {
			break
		}
	}
	return 2
}

// kernelOf is the size of the kernel of a layer of the map.
func kernelOf(order []candidate, l *mapLayer, layout string) []int {
	k := slices.IndexFunc(order, func(c candidate) bool { return c.weight.mean == l.Weight.Mean })
	shape := order[k].shape
	if layout == layoutOI {
		return shape[2:]
	}
	return shape[:len(shape)-2]
}

// half is the padding after which a kernel keeps the size of an image, nil if that is none.
func half(kernel []int) *metaPadding {
	p := &metaPadding{}
	some := false
	for _, k := range kernel {
		p.Pairs = append(p.Pairs, [2]int{(k - 1) / 2, k / 2})
		some = some || k > 1
	}
	if !some {
		return nil
	}
	return p
}

func repeated(n, times int) []int {
	return slices.Repeat([]int{n}, times)
}

// gives says whether the network of the map gives the logits; evaluated is false if it is none.
func (m *tensorMap) gives(t *tensorFile, refs *references) (fits, evaluated bool) {
	n, err := m.contents(t)
	if err != nil {
		return false, false
	}
	p, err := n.assemble(Options{})
	if err != nil {
		return false, false
	}
	in, out := p.Inputs(), p.Outputs()
	x, y := refs.arrays["reference.inputs"], refs.arrays["reference.logits"]
	if len(x.Data)/x.Shape[0] != in || len(y.Data)/x.Shape[0] != out || len(y.Data)%out != 0 {
		return false, false
	}
	input := &posterior.Input{}
	if a := refs.arrays["input.mean"]; a != nil {
		input.Mean = a.Data
	}
	if a := refs.arrays["input.std"]; a != nil {
		input.Std = a.Data
	}
	size := 0.0
	for _, v := range y.Data {
		size = max(size, math.Abs(v))
	}
	net, mean := p.Network(), p.Mean()
	for i := range min(x.Shape[0], 16) {
		for k, v := range net.OutputsApprox(mean, input.NormaliseApprox(x.Data[i*in:(i+1)*in])) {
			if !(math.Abs(v-y.Data[i*out+k]) <= 1e-4*size) {
				return false, true
			}
		}
	}
	return true, true
}
