// Package lower turns an ONNX graph into layers of the same function, in exact real arithmetic and
// with the same stored parameters: a stack of dense layers where the graph is one, and else a graph
// of layers (Graph).
//
// Of a stack every tensor is kept as an affine form of the outputs of the last activation (or of
// the input),
//
//	t_i = sum_j A_ij z_j + c_i,
//
// one sparse row for each element, and an activation ends a layer: its weights are A, its
// biases c. Sums and products of stored numbers are formed in float64 and each is checked to
// be exact. Where one is not, the forms so far become a layer of their own with activation
// identity, and the next map begins on its outputs, so that it needs no arithmetic at all
// (flush).
//
// Of a graph every node with arithmetic is a layer, and a tensor is a view of the numbers of one
// (view.go). No products of stored numbers are formed at all; a sum with a bias is, where it is
// exact.
//
// What no float64 can hold, the factors of BatchNormalization and Div, is rounded, and Result.Notes says so.
package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
)

// Random says which stored numbers are to keep their names, since each of them will get a
// distribution of its own.
type Random struct {
	// Every asks for all numbers that Gemm, MatMul and Add take; the constants of Sub, Mul,
	// Div and Pad are then left as they are. Otherwise Names are the initialisers (or outputs of
	// Constant nodes) that are random, wherever they are used.
	Every bool
	Names map[string]bool
}

// Limits of what is made on the way: elements and coefficients of all tensors, so many and a
// few for each number of the file; and products that are formed.
const (
	mostWork      = 1 << 26
	workPerNumber = 16
	mostSteps     = 1 << 30
)

// Layer is a layer as package graph takes it, with its parameters, of which there are none for
// kinds without weights.
type Layer struct {
	graph.Layer
	// Weight and Bias are in the order of package network: of a dense layer by input, outputs
	// contiguous; of a convolution (rows, columns, channels, filters).
	Weight, Bias []float64
	// WeightID and BiasID name the stored number that an entry is (Result.Stored), 0 where
	// it is none that is random. They are nil where none of the layer is.
	WeightID, BiasID []int32
}

// Result is a graph as layers, in an order in which each comes after what feeds it. The last has
// activation identity and gives the outputs.
type Result struct {
	Layers []Layer
	// Shape holds the shape of the input, its first axis 1 if the file leaves it open.
	Shape []int
	// Notes say what was rounded, and what an asked-for distribution leaves out.
	Notes []string
	// Rounded holds those Notes that say what was rounded; nil if the layers compute what
	// the graph does, exactly.
	Rounded []string
	// Tensors lists the tensors with random numbers.
	Tensors []Stored
}

// Stored is a tensor of random numbers: element e has the identity First+e.
type Stored struct {
	*onnx.Tensor
	First int32
	// Fixed reports whether the numbers are left without a distribution (Random.Every).
	Fixed bool
}

// Stored finds the stored number with an identity, which is above 0.
func (r *Result) Stored(id int32) (t *onnx.Tensor, element int) {
	at := sort.Search(len(r.Tensors), func(i int) bool { return r.Tensors[i].First > id }) - 1
	return r.Tensors[at].Tensor, int(id - r.Tensors[at].First)
}

// lowering is the state of Graph.
type lowering struct {
	random Random
	result Result
	// env has the tensors by name, uses how many nodes still take each.
	env  map[string]*value
	uses map[string]int
	// node is the one that is being lowered.
	node *onnx.Node
	// top counts the layers that are closed: the base of forms that may go on. size is how
	// many outputs the last of them has.
	top, size int
	// views reports whether a graph of layers is made, and given is what gives numbers in it: first
	// the input, then each layer; named finds it.
	views bool
	given []given
	named map[string]int
	// work and steps are spent of the limits; mostWork is that of this graph.
	work, steps int64
	mostWork    int64
	nextID      int32
	rounded     map[string]*rounding
	// kept are constants that Every leaves as they are; keptNorm says that one is of a batch norm.
	// kept are constants that Every leaves as they are, and keptBy the operators that take them.
	kept, keptBy map[string]bool
	// types are the element types of tensors.
	types map[string]onnx.DataType
}

// Graph lowers g: to a stack of dense layers if it has no windows and is one, else to a graph of
// layers. It is an error, which names the node, if g has an operator that is none of Operators,
// or uses one in a way for which there is no layer; if a random number does not become exactly
// one parameter of one layer; and if a limit is exceeded.
func Graph(g *onnx.Graph, random Random) (*Result, error) {
	if !slices.ContainsFunc(g.Nodes, func(n onnx.Node) bool { return n.Domain == "" && windowed[n.Op] }) {
		if r, err := layersOf(g, random, false); err == nil {
			return r, nil
		}
	}
	return layersOf(g, random, true)
}

// layersOf is Graph, with views or as a stack.
func layersOf(g *onnx.Graph, random Random, views bool) (*Result, error) {
	l := &lowering{random: random, views: views, env: map[string]*value{}, uses: map[string]int{}, nextID: 1, mostWork: mostWork, rounded: map[string]*rounding{}, kept: map[string]bool{}, keptBy: map[string]bool{}, types: map[string]onnx.DataType{}}
	for _, t := range g.Initializers {
		l.mostWork += workPerNumber * int64(len(t.Floats))
	}
	if len(g.Outputs) != 1 {
		return nil, fmt.Errorf("the graph has %d outputs: export a network with one", len(g.Outputs))
	}
	if g.Opset < leastOpset || g.Opset > mostOpset {
		return nil, fmt.Errorf("the graph is of opset %d: psafe knows %d to %d; convert it with onnx.version_converter", g.Opset, leastOpset, mostOpset)
	}
	nodes, err := needed(g)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		for _, name := range n.Inputs {
			l.uses[name]++
		}
	}
	l.uses[g.Outputs[0].Name]++
	if err := l.begin(g); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		l.node = n
		if err := l.run(n); err != nil {
			return nil, fmt.Errorf("%v: %w", n, err)
		}
	}
	out, there := l.env[g.Outputs[0].Name]
	if !there {
		return nil, fmt.Errorf("no node gives the output %.60q", g.Outputs[0].Name)
	}
	if err := l.end(out); err != nil {
		return nil, fmt.Errorf("output %.60q: %w", g.Outputs[0].Name, err)
	}
	l.note()
	return &l.result, l.onceEach()
}

// Versions of the default operator set whose operators mean what is lowered: from 7 on,
// shapes are broadcast as NumPy does. Attributes that older ones had are refused by name.
const leastOpset, mostOpset = 7, 24

// begin puts the input and the initialisers into env.
func (l *lowering) begin(g *onnx.Graph) error {
	if len(g.Inputs) != 1 {
		return fmt.Errorf("the graph has %d inputs beside its initialisers: psafe certifies networks with one", len(g.Inputs))
	}
	in := g.Inputs[0]
	if in.Type != 0 && !in.Type.IsFloat() {
		return fmt.Errorf("input %.60q is of whole numbers or of another type (%d in the format): psafe certifies networks that take floating-point numbers", in.Name, in.Type)
	}
	if !in.HasShape {
		return fmt.Errorf("input %.60q has no shape: export the network with a fixed one", in.Name)
	}
	for i, d := range in.Shape {
		size := d.Size
		if i == 0 && len(in.Shape) > 1 && size <= 0 {
			size = 1 // the batch
		}
		if size < 1 || size > math.MaxInt32 {
			return fmt.Errorf("input %.60q has no size along axis %d (%.40q): export the network with a fixed one", in.Name, i, d.Name)
		}
		l.result.Shape = append(l.result.Shape, int(size))
	}
	n, err := l.count(l.result.Shape)
	if err != nil {
		return fmt.Errorf("input %.60q: %w", in.Name, err)
	}
	l.size = n
	l.given, l.named = []given{{name: graph.InputName, n: n}}, map[string]int{graph.InputName: 0}
	if l.types[in.Name] = in.Type; in.Type == 0 {
		l.types[in.Name] = onnx.Float32
	}
	if l.views {
		l.keep(in.Name, l.viewed(l.result.Shape, 0, upTo(n)))
	} else {
		l.keep(in.Name, l.identity(l.result.Shape, 0))
	}
	for _, t := range g.Initializers {
		if l.uses[t.Name] == 0 {
			continue
		}
		l.types[t.Name] = t.Type
		if l.env[t.Name], err = l.constant(t); err != nil {
			return fmt.Errorf("initialiser %.60q: %w", t.Name, err)
		}
	}
	return nil
}

// end closes the last layer.
func (l *lowering) end(out *value) error {
	if out.ints != nil || out.base < 0 {
		return fmt.Errorf("it is a constant: the network does not use its input")
	}
	if l.node = (&onnx.Node{Op: "output"}); l.views {
		return l.ending(out)
	}
	if err := l.current(out); err != nil {
		return err
	}
	if n := len(l.result.Layers); n > 0 && l.result.Layers[n-1].Activation.Kind == network.Identity && l.isAll(out) {
		return nil
	}
	return l.close(out, network.Activation{})
}

// onceEach checks that every random number is exactly one parameter of one layer.
func (l *lowering) onceEach() error {
	for _, name := range slices.Sorted(maps.Keys(l.random.Names)) {
		if !slices.ContainsFunc(l.result.Tensors, func(t Stored) bool { return t.Name == name }) {
			return fmt.Errorf("initialiser %.60q has standard deviations, and the network does not use it: leave it out of the file of standard deviations", name)
		}
	}
	seen := make([]bool, l.nextID)
	for k := range l.result.Layers {
		layer := &l.result.Layers[k]
		for _, ids := range [][]int32{layer.WeightID, layer.BiasID} {
			for _, id := range ids {
				if id == 0 {
					continue
				}
				if seen[id] {
					t, e := l.result.Stored(id)
					return l.sharedError(t.Name, fmt.Sprintf("its number %d is used in more than one place", e))
				}
				seen[id] = true
			}
		}
	}
	for _, t := range l.result.Tensors {
		for e := range t.Floats {
			if there := seen[t.First+int32(e)]; there == t.Fixed {
				return l.sharedError(t.Name, fmt.Sprintf("its number %d is not one weight of a layer", e))
			}
		}
	}
	return nil
}

// sharedError refuses an initialiser whose random numbers are not independent parameters.
func (l *lowering) sharedError(name, why string) error {
	return fmt.Errorf("initialiser %.60q cannot have standard deviations: %s; each uncertain number must be one weight or bias of one layer: name in the file of --sd only initialisers that are", name, why)
}

// nameOf is the tensor that the first random number of a constant is of.
func (l *lowering) nameOf(v *value) string {
	for _, id := range v.id {
		if id != 0 {
			t, _ := l.result.Stored(id)
			return t.Name
		}
	}
	return v.name
}
