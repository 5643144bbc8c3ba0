package lower

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
)

// operators are those that are lowered. All are of the default domain.
var operators map[string]func(*lowering, *onnx.Node) error

func init() { // the functions lead back to the table through run
	operators = map[string]func(*lowering, *onnx.Node) error{
		"Add":                add(1),
		"AveragePool":        pooled(graph.AvgPool, false),
		"BatchNormalization": (*lowering).batchNormalization,
		"Concat":             (*lowering).concat,
		"Constant":           (*lowering).constantNode,
		"Conv":               (*lowering).conv,
		"Div":                (*lowering).div,
		"Dropout":            (*lowering).dropout,
		"Elu":                (*lowering).elu,
		"Flatten":            (*lowering).flatten,
		"Gemm":               (*lowering).gemm,
		"Gather":             (*lowering).gather,
		"GlobalAveragePool":  pooled(graph.AvgPool, true),
		"GlobalMaxPool":      pooled(graph.MaxPool, true),
		"Identity":           (*lowering).same,
		"LeakyRelu":          (*lowering).leakyReLU,
		"MatMul":             (*lowering).matMul,
		"MaxPool":            pooled(graph.MaxPool, false),
		"Mul":                (*lowering).mul,
		"Pad":                (*lowering).padded,
		"Relu":               activation(network.Activation{Kind: network.ReLU}),
		"ReduceMean":         reduce(true),
		"ReduceSum":          reduce(false),
		"Reshape":            (*lowering).reshape,
		"Sigmoid":            activation(network.Activation{Kind: network.Sigmoid}),
		"Slice":              (*lowering).slice,
		"Softplus":           activation(network.Activation{Kind: network.Softplus}),
		"Split":              (*lowering).split,
		"Squeeze":            (*lowering).squeeze,
		"Sub":                add(-1),
		"Tanh":               activation(network.Activation{Kind: network.Tanh}),
		"Transpose":          (*lowering).transpose,
		"Unsqueeze":          (*lowering).unsqueeze,
	}
}

// windowed are the operators for which no dense layers are made.
var windowed = map[string]bool{"AveragePool": true, "Conv": true, "GlobalAveragePool": true, "GlobalMaxPool": true, "MaxPool": true, "ReduceMean": true}

// Operators lists the operators that are lowered, in alphabetical order, and Opsets the
// first and the last version of the default operator set.
func Operators() []string {
	var list []string
	for op := range operators {
		list = append(list, op)
	}
	slices.Sort(list)
	return list
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
		return fmt.Errorf("psafe does not read this operator; it reads %s: write the network with these", strings.Join(Operators(), ", "))
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
	return lower(l, n)
}

// operands takes the tensors of a node, of which optional ones may be nil. Those that no
// later node takes leave env.
func (l *lowering) operands(n *onnx.Node, least, most int) ([]*value, error) {
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
			return nil, fmt.Errorf("it takes %.60q, which nothing before it gives", name)
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
	for i, v := range list {
		if v != nil && v.ints != nil && !takesInts(n.Op, i) {
			return nil, fmt.Errorf("its input %d is of whole numbers", i)
		}
	}
	return list, nil
}

// takesInts says where a tensor of whole numbers may stand.
func takesInts(op string, i int) bool {
	switch op {
	case "Slice":
		return i >= 1
	case "Reshape", "Pad", "Gather", "Split", "Squeeze", "Unsqueeze", "ReduceSum", "ReduceMean":
		return i == 1
	}
	return op == "Identity"
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
	l.kept[v.name], l.keptNorm = true, l.keptNorm || l.node.Op == "BatchNormalization"
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
		if err := attributesOf(n).end(); err != nil {
			return err
		}
		return l.activate(n, a)
	}
}

func (l *lowering) activate(n *onnx.Node, a network.Activation) error {
	in, err := l.operands(n, 1, 1)
	if err != nil {
		return err
	}
	v := in[0]
	if v.isConst() {
		return errFold
	}
	if l.views {
		out, err := l.activated(v, a)
		return l.give(n, out, err)
	}
	if err := l.current(v); err != nil {
		return err
	}
	shape := v.shape
	if err := l.close(v, a); err != nil {
		return err
	}
	if _, err := l.count(shape); err != nil {
		return err
	}
	return l.give(n, l.identity(shape, 0), nil)
}

func (l *lowering) elu(n *onnx.Node) error {
	a := attributesOf(n)
	alpha := a.float("alpha", 1)
	if err := a.end(); err != nil {
		return err
	}
	elu := network.Activation{Kind: network.ELU, Slope: alpha}
	if alpha == 0 {
		elu = network.Activation{Kind: network.ReLU}
	}
	if err := elu.Check(); err != nil {
		return fmt.Errorf("alpha is %v: %w", alpha, err)
	}
	return l.activate(n, elu)
}

func (l *lowering) leakyReLU(n *onnx.Node) error {
	a := attributesOf(n)
	alpha := a.float("alpha", float64(float32(0.01)))
	if err := a.end(); err != nil {
		return err
	}
	slope := network.Activation{Kind: network.LeakyReLU, Slope: alpha}
	switch alpha {
	case 0:
		slope = network.Activation{Kind: network.ReLU}
	case 1:
		slope = network.Activation{}
	}
	if err := slope.Check(); err != nil {
		return fmt.Errorf("alpha is %v: %w", alpha, err)
	}
	return l.activate(n, slope)
}
