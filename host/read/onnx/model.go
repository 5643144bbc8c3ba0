package onnx

import (
	"fmt"
)

// decoder counts what a model has.
type decoder struct {
	graph *Graph
	// names counts names and attributes of nodes.
	names int
}

// Decode reads a model. The numbers of its tensors take at most eight bytes of memory for
// each byte of the model, and are read only where the memory for them is there. Errors are
// one line without the name of the file.
func Decode(model []byte) (*Graph, error) {
	d := &decoder{graph: &Graph{}}
	var graph []byte
	graphs := 0
	err := fields(model, func(f field) (err error) {
		switch f.n {
		case 7:
			graph, err = f.bytes()
			graphs++
		case 8:
			err = d.opset(&f)
		case 25:
			err = function(&f)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ONNX model: %w", err)
	}
	if graphs == 0 { // TensorFlow's format has a version and a list of graphs with the same numbers
		return nil, fmt.Errorf("ONNX model: it has no graph; if it is a TensorFlow SavedModel, which begins as ONNX does, make ONNX of it: python -m tf2onnx.convert --saved-model FOLDER --output net.onnx")
	}
	if graphs != 1 {
		return nil, fmt.Errorf("ONNX model: it has %d graphs instead of one", graphs)
	}
	if err := d.readGraph(graph); err != nil {
		return nil, fmt.Errorf("ONNX graph: %w", err)
	}
	return d.graph, nil
}

// opset reads an OperatorSetIdProto; only the default domain counts.
func (d *decoder) opset(f *field) error {
	domain, version := "", int64(0)
	err := f.each(func(f field) error {
		switch f.n {
		case 1:
			return f.text(&domain)
		case 2:
			return f.int(&version)
		}
		return nil
	})
	if domain == "" || domain == "ai.onnx" {
		d.graph.Opset = max(d.graph.Opset, version)
	}
	return err
}

// function refuses a FunctionProto that gives a standard operator another meaning; nodes of
// other domains are refused where they are used.
func function(f *field) error {
	name, domain := "", ""
	err := f.each(func(f field) error {
		switch f.n {
		case 1:
			return f.text(&name)
		case 10:
			return f.text(&domain)
		}
		return nil
	})
	if err == nil && (domain == "" || domain == "ai.onnx") {
		err = fmt.Errorf("it defines a function %.60q of the default domain, which may replace an operator: functions are not read; export the network without them", name)
	}
	return err
}

// readGraph reads a GraphProto.
func (d *decoder) readGraph(message []byte) error {
	g := d.graph
	initial := map[string]bool{}
	var inputs []Value
	err := fields(message, func(f field) error {
		switch f.n {
		case 1, 5, 11, 12, 15:
		default:
			return nil // names, documentation, shapes in between
		}
		raw, err := f.bytes()
		if err != nil {
			return err
		}
		if len(g.Nodes) >= MaxNodes || len(g.Initializers) >= MaxNodes || len(inputs)+len(g.Outputs) >= 2*MaxNodes {
			return fmt.Errorf("more than %d nodes, initialisers or inputs", MaxNodes)
		}
		switch f.n {
		case 1:
			err = d.node(raw)
		case 5:
			var t *Tensor
			if t, err = tensor(raw); err != nil {
				break
			}
			if initial[t.Name] {
				return fmt.Errorf("two initialisers are named %.60q", t.Name)
			}
			initial[t.Name] = true
			g.Initializers = append(g.Initializers, t)
		case 11:
			err = value(raw, &inputs)
		case 12:
			err = value(raw, &g.Outputs)
		case 15:
			err = fmt.Errorf("sparse initialisers are not read: store the tensor dense")
		}
		return err
	})
	for _, v := range inputs {
		if !initial[v.Name] {
			g.Inputs = append(g.Inputs, v)
		}
	}
	return err
}

// node reads a NodeProto.
func (d *decoder) node(message []byte) error {
	var n Node
	err := fields(message, func(f field) error {
		if d.names++; d.names > maxNames {
			return fmt.Errorf("more than %d names and attributes of nodes", maxNames)
		}
		var name string
		switch f.n {
		case 1:
			err := f.text(&name)
			n.Inputs = append(n.Inputs, name)
			return err
		case 2:
			err := f.text(&name)
			n.Outputs = append(n.Outputs, name)
			return err
		case 3:
			return f.text(&n.Name)
		case 4:
			return f.text(&n.Op)
		case 5:
			raw, err := f.bytes()
			if err == nil {
				err = n.attribute(raw)
			}
			return err
		case 7:
			return f.text(&n.Domain)
		}
		return nil
	})
	if n.Domain == "ai.onnx" {
		n.Domain = ""
	}
	if err != nil {
		return fmt.Errorf("%v: %w", &n, err)
	}
	d.graph.Nodes = append(d.graph.Nodes, n)
	return nil
}

// String names the node in messages: node "NAME" (OP); where it has no name, by its output.
func (n *Node) String() string {
	name, op := n.Name, n.Op
	if name == "" && len(n.Outputs) > 0 {
		name = n.Outputs[0]
	}
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	return fmt.Sprintf("node %.60q (%.60s)", name, printable(op))
}

// printable keeps what a file calls an operator from writing anything but letters.
func printable(op string) string {
	for _, c := range op {
		if c < '!' || c > '~' {
			return fmt.Sprintf("%q", op)
		}
	}
	return op
}

// attribute reads an AttributeProto.
func (n *Node) attribute(message []byte) error {
	var a Attribute
	found := AttributeKind(0)
	err := fields(message, func(f field) (err error) {
		var kind int64
		var text string
		var raw []byte
		if (f.n == 7 || f.n == 8) && len(f.raw)+8*len(a.Floats)+8*len(a.Ints) > maxList {
			return fmt.Errorf("a list of more than %d bytes: such numbers belong into a tensor", maxList)
		}
		switch f.n {
		case 1:
			return f.text(&a.Name)
		case 20:
			err = f.int(&kind)
			a.Kind = AttributeKind(kind)
			return err
		case 2:
			found = AttrFloat
			var one []float64
			if one, err = f.floats(nil); len(one) == 1 {
				a.Float = one[0]
			}
		case 3:
			found = AttrInt
			err = f.int(&a.Int)
		case 4:
			found = AttrString
			err = f.text(&a.String)
		case 5:
			found = AttrTensor
			if raw, err = f.bytes(); err == nil {
				a.Tensor, err = tensor(raw)
			}
		case 6, 11:
			err = fmt.Errorf("it has a sub-graph; psafe certifies networks without control flow: export the network for one fixed path")
		case 7:
			found = AttrFloats
			a.Floats, err = f.floats(a.Floats)
		case 8:
			found = AttrInts
			a.Ints, err = f.ints(a.Ints)
		case 9:
			found = AttrStrings
			err = f.text(&text)
			a.Strings = append(a.Strings, text)
		case 21:
			err = fmt.Errorf("it refers to an attribute of a function, which is not read")
		case 22, 23:
			err = fmt.Errorf("it is a sparse tensor, which is not read")
		}
		return err
	})
	if a.Kind == 0 {
		a.Kind = found // files before version 2 of the format do not say
	}
	if err == nil && found != 0 && a.Kind != found {
		err = fmt.Errorf("it is said to be of kind %d and is of kind %d", a.Kind, found)
	}
	if err != nil {
		return fmt.Errorf("attribute %.60q: %w", a.Name, err)
	}
	n.Attributes = append(n.Attributes, a)
	return nil
}

// value reads a ValueInfoProto.
func value(message []byte, to *[]Value) error {
	v := Value{}
	var kind, shape []byte
	err := fields(message, func(f field) (err error) {
		switch f.n {
		case 1:
			err = f.text(&v.Name)
		case 2:
			kind, err = f.bytes()
		}
		return err
	})
	if err == nil { // TypeProto: only tensors have the field 1
		err = fields(kind, func(f field) error {
			if f.n != 1 {
				return nil
			}
			return f.each(func(f field) (err error) {
				switch f.n {
				case 1:
					var t int64
					err = f.int(&t)
					v.Type = DataType(t)
				case 2:
					shape, err = f.bytes()
					v.HasShape = true
				}
				return err
			})
		})
	}
	if err == nil {
		err = fields(shape, v.dim)
	}
	if err != nil {
		return fmt.Errorf("tensor %.60q: %w", v.Name, err)
	}
	*to = append(*to, v)
	return nil
}

// dim reads one axis of a TensorShapeProto.
func (v *Value) dim(f field) error {
	if f.n != 1 {
		return nil
	}
	if len(v.Shape) == maxAxes {
		return fmt.Errorf("more than %d axes", maxAxes)
	}
	d := Dim{Size: -1}
	err := f.each(func(f field) error {
		switch f.n {
		case 1:
			return f.int(&d.Size)
		case 2:
			return f.text(&d.Name)
		}
		return nil
	})
	if d.Size < 0 {
		d.Size = -1
	}
	v.Shape = append(v.Shape, d)
	return err
}
