package lower

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
)

// operators holds the operators that are lowered. All are of the default domain.
var operators map[string]func(*lowering, *onnx.Node) error

func init() { // the functions lead back to the table through run
	operators = map[string]func(*lowering, *onnx.Node) error{
		"Add":                plain(2, 2, add(1)),
		"AveragePool":        pooled(graph.AvgPool, false),
		"BatchNormalization": (*lowering).batchNormalization,
		"Cast":               (*lowering).cast,
		"Clip":               (*lowering).clip,
		"Concat":             (*lowering).concat,
		"Constant":           (*lowering).constantNode,
		"ConstantOfShape":    (*lowering).filled,
		"Conv":               (*lowering).conv,
		"Div":                plain(2, 2, (*lowering).div),
		"Dropout":            (*lowering).dropout,
		"Elu":                (*lowering).elu,
		"Equal":              wholeOnly,
		"Expand":             plain(2, 2, (*lowering).expand),
		"Flatten":            (*lowering).flatten,
		"Gemm":               (*lowering).gemm,
		"Gather":             (*lowering).gather,
		"GlobalAveragePool":  pooled(graph.AvgPool, true),
		"GlobalMaxPool":      pooled(graph.MaxPool, true),
		"Identity":           plain(1, 1, (*lowering).same),
		"LeakyRelu":          (*lowering).leakyReLU,
		"MatMul":             plain(2, 2, (*lowering).matMul),
		"Max":                plain(1, anyNumber, bounded((*lowering).atLeast)),
		"MaxPool":            pooled(graph.MaxPool, false),
		"Mean":               plain(1, anyNumber, (*lowering).mean),
		"Min":                plain(1, anyNumber, bounded((*lowering).atMost)),
		"Mul":                plain(2, 2, (*lowering).mul),
		"Neg":                plain(1, 1, (*lowering).neg),
		"PRelu":              plain(2, 2, (*lowering).pReLU),
		"Pad":                (*lowering).padded,
		"Relu":               activation(network.Activation{Kind: network.ReLU}),
		"ReduceMean":         reduce(true),
		"ReduceProd":         wholeOnly,
		"ReduceSum":          reduce(false),
		"Reshape":            (*lowering).reshape,
		"Shape":              (*lowering).shapeOf,
		"Sigmoid":            activation(network.Activation{Kind: network.Sigmoid}),
		"Slice":              (*lowering).slice,
		"Softplus":           activation(network.Activation{Kind: network.Softplus}),
		"Split":              (*lowering).split,
		"Squeeze":            (*lowering).squeeze,
		"Sqrt":               plain(1, 1, (*lowering).sqrt),
		"Sub":                plain(2, 2, add(-1)),
		"Sum":                plain(1, anyNumber, (*lowering).sumOf),
		"Tanh":               activation(network.Activation{Kind: network.Tanh}),
		"Tile":               plain(2, 2, (*lowering).tile),
		"Transpose":          (*lowering).transpose,
		"Unsqueeze":          (*lowering).unsqueeze,
		"Where":              wholeOnly,
	}
}

// windowed are the operators for which no dense layers are made.
var windowed = map[string]bool{"AveragePool": true, "Conv": true, "GlobalAveragePool": true, "GlobalMaxPool": true, "MaxPool": true, "ReduceMean": true}

// Operators lists the operators that are lowered, in alphabetical order, and Opsets the
// first and the last version of the default operator set.
func Operators() []string {
	return slices.Sorted(maps.Keys(operators))
}

// Opsets are the first and the last version of the default operator set that is read.
func Opsets() (first, last int) { return leastOpset, mostOpset }

// run lowers a node.
func (l *lowering) run(n *onnx.Node) error {
	lower, known := operators[n.Op]
	switch {
	case n.Domain == "" && (n.Op == "Softmax" || n.Op == "LogSoftmax"):
		return fmt.Errorf("psafe certifies what the graph computes, and has no Softmax: export the network without it, so that its outputs are the logits (docs/files.md, ONNX)")
	case n.Domain != "" || !known:
		return fmt.Errorf("psafe does not read this operator: write the network with those that psafe supports --onnx-operators lists")
	}
	for i, name := range n.Outputs {
		spare := (n.Op == "Dropout" || n.Op == "MaxPool") && l.uses[name] == 0 // mask, indices
		if i > 0 && name != "" && n.Op != "Split" && !spare {
			return fmt.Errorf("it has a second output %.60q: only the first is read", name)
		}
	}
	if len(n.Outputs) == 0 || n.Outputs[0] == "" {
		return fmt.Errorf("it has no output")
	}
	defer l.typed(n)
	if f := counting[n.Op]; f != nil && l.countable(n) {
		out, err := f(l, n)
		return l.give(n, out, err)
	}
	return lower(l, n)
}

// operands takes the tensors of a node, of which optional ones may be nil. Those that no
// later node takes leave env.
func (l *lowering) operands(n *onnx.Node, least, most int) ([]*value, error) {
	list, err := l.tensors(n, least, most)
	if err != nil {
		return nil, err
	}
	for i, v := range list {
		switch {
		case v == nil || v.ints == nil:
		case v.logic && !takesLogic(n.Op, i):
			return nil, fmt.Errorf("its input %d is of bool", i)
		case !v.logic && !takesInts(n.Op, i):
			return nil, fmt.Errorf("its input %d is of whole numbers", i)
		}
	}
	return list, nil
}

// tensors is operands, of any type.
func (l *lowering) tensors(n *onnx.Node, least, most int) ([]*value, error) {
	if len(n.Inputs) < least || len(n.Inputs) > most {
		return nil, fmt.Errorf("it has %d inputs instead of %d to %d", len(n.Inputs), least, most)
	}
	list := make([]*value, most)
	for i, name := range n.Inputs {
		if name == "" {
			if i < least {
				return nil, fmt.Errorf("its input %d is left out", i)
			}
			continue
		}
		v, there := l.env[name]
		if !there {
			return nil, fmt.Errorf("it takes %.60q, which nothing gives", name)
		}
		list[i] = v
	}
	for _, name := range n.Inputs {
		if l.uses[name]--; l.uses[name] <= 0 {
			if v := l.env[name]; v != nil && v.at != nil {
				l.given[v.from].shown--
			}
			delete(l.env, name)
		}
	}
	return list, nil
}

// operandsOf is operands of a node that has no other attributes than those that were taken.
func (l *lowering) operandsOf(a *attributes, least, most int) ([]*value, error) {
	if err := a.end(); err != nil {
		return nil, err
	}
	return l.operands(a.node, least, most)
}

// tensorsOf is tensors, as operandsOf is operands.
func (l *lowering) tensorsOf(a *attributes, least, most int) ([]*value, error) {
	if err := a.end(); err != nil {
		return nil, err
	}
	return l.tensors(a.node, least, most)
}

// takesInts says where a tensor of whole numbers may stand.
func takesInts(op string, i int) bool {
	switch op {
	case "Expand", "Flatten", "Gather", "Identity", "Reshape", "Shape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze":
		return true // they move elements
	case "Pad", "ReduceSum", "ReduceMean":
		return i == 1
	}
	return false
}

// takesLogic says where a tensor of bool may stand.
func takesLogic(op string, i int) bool { return op == "Identity" || op == "Dropout" && i == 2 }

// typed notes the element type of what a node gives, which is that of its first input where the
// operator has no other.
func (l *lowering) typed(n *onnx.Node) {
	of := onnx.Float32
	if len(n.Inputs) > 0 {
		of = l.types[n.Inputs[0]]
	}
	for _, a := range n.Attributes {
		switch {
		case n.Op == "Cast" && a.Name == "to":
			of = onnx.DataType(a.Int)
		case (n.Op == "Constant" || n.Op == "ConstantOfShape") && a.Tensor != nil:
			of = a.Tensor.Type
		}
	}
	for _, name := range n.Outputs {
		l.types[name] = of
	}
}

// anyNumber stands for as many inputs as a node has.
const anyNumber = -1

// plain is an operator of so many inputs that has no attributes and one output.
func plain(least, most int, f func(l *lowering, in []*value) (*value, error)) func(*lowering, *onnx.Node) error {
	return func(l *lowering, n *onnx.Node) error {
		limit := most
		if most == anyNumber {
			limit = max(least, len(n.Inputs))
		}
		in, err := l.operandsOf(attributesOf(n), least, limit)
		if err != nil {
			return err
		}
		out, err := f(l, in)
		return l.give(n, out, err)
	}
}

// give is the end of every operator: its output.
func (l *lowering) give(n *onnx.Node, v *value, err error) error {
	if err == nil {
		l.keep(n.Outputs[0], v)
	}
	return err
}

// keep puts a tensor into env.
func (l *lowering) keep(name string, v *value) {
	if l.env[name] = v; v.at != nil {
		l.given[v.from].shown++
	}
}

// fixed is a constant that an operator takes as it is: no number of it may be random.
func (l *lowering) fixed(v *value) (*value, error) {
	if v.id == nil {
		return v, nil
	}
	if !l.random.Every {
		return nil, l.sharedError(l.nameOf(v), fmt.Sprintf("%s takes its constants as they are", l.node.Op))
	}
	if v.name == "" {
		return nil, fmt.Errorf("a constant of it is made of several: fold them before the export")
	}
	l.kept[v.name], l.keptBy[l.node.Op] = true, true
	for i, t := range l.result.Tensors {
		if t.Name == v.name {
			l.result.Tensors[i].Fixed = true
		}
	}
	r := *v
	r.id = nil
	return &r, nil
}

var errFold = errors.New("it takes a constant: fold it before the export")

// activation ends a layer.
func activation(a network.Activation) func(*lowering, *onnx.Node) error {
	return func(l *lowering, n *onnx.Node) error {
		return l.activate(attributesOf(n), a)
	}
}

func (l *lowering) activate(of *attributes, a network.Activation) error {
	in, err := l.operandsOf(of, 1, 1)
	if err != nil {
		return err
	}
	out, err := l.through(in[0], a)
	return l.give(of.node, out, err)
}

// through is an activation of v.
func (l *lowering) through(v *value, a network.Activation) (*value, error) {
	if v.isConst() {
		return nil, errFold
	}
	if l.views {
		return l.activated(v, a)
	}
	if err := l.current(v); err != nil {
		return nil, err
	}
	shape := v.shape
	if err := l.close(v, a); err != nil {
		return nil, err
	}
	if _, err := l.count(shape); err != nil {
		return nil, err
	}
	return l.identity(shape, 0), nil
}

func (l *lowering) elu(n *onnx.Node) error {
	a := attributesOf(n)
	alpha := a.float("alpha", 1)
	elu := network.Activation{Kind: network.ELU, Slope: alpha}
	if alpha == 0 {
		elu = network.Activation{Kind: network.ReLU}
	}
	if err := elu.Check(); err != nil {
		return fmt.Errorf("alpha is %v: %w", alpha, err)
	}
	return l.activate(a, elu)
}

func (l *lowering) leakyReLU(n *onnx.Node) error {
	a := attributesOf(n)
	alpha := a.float("alpha", float64(float32(0.01)))
	slope := leaky(alpha)
	if err := slope.Check(); err != nil {
		return fmt.Errorf("alpha is %v: %w", alpha, err)
	}
	return l.activate(a, slope)
}
