package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"psafe/host/read/onnx"
)

// attributes hold the attributes of a node, each taken once. What is not taken is refused by end:
// an attribute that this program does not know may change what the operator means.
type attributes struct {
	node *onnx.Node
	left map[string]*onnx.Attribute
	err  error
}

func attributesOf(n *onnx.Node) *attributes {
	a := &attributes{node: n, left: map[string]*onnx.Attribute{}}
	for i := range n.Attributes {
		at := &n.Attributes[i]
		if a.left[at.Name] != nil {
			a.err = fmt.Errorf("attribute %.40q comes twice", at.Name)
		}
		a.left[at.Name] = at
	}
	return a
}

// take is an attribute of a kind, nil if it is not there.
func (a *attributes) take(name string, kind onnx.AttributeKind) *onnx.Attribute {
	at := a.left[name]
	delete(a.left, name)
	if at != nil && at.Kind != kind {
		a.err = fmt.Errorf("attribute %.40q is of kind %d instead of %d", name, at.Kind, kind)
		return nil
	}
	return at
}

func (a *attributes) int(name string, absent int64) int64 {
	if at := a.take(name, onnx.AttrInt); at != nil {
		return at.Int
	}
	return absent
}

func (a *attributes) float(name string, absent float64) float64 {
	at := a.take(name, onnx.AttrFloat)
	if at == nil {
		return absent
	}
	if math.IsNaN(at.Float) || math.IsInf(at.Float, 0) {
		a.err = fmt.Errorf("attribute %.40q is %v, which is no number", name, at.Float)
	}
	return at.Float
}

func (a *attributes) ints(name string) []int64 {
	if at := a.take(name, onnx.AttrInts); at != nil {
		return at.Ints
	}
	return nil
}

func (a *attributes) text(name, absent string) string {
	if at := a.take(name, onnx.AttrString); at != nil {
		return at.String
	}
	return absent
}

// end returns what was wrong, or left.
func (a *attributes) end() error {
	if a.err != nil {
		return a.err
	}
	if len(a.left) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(a.left)))
		return fmt.Errorf("psafe does not know its attribute %.40q, which may change what it computes: export the network without it, and with an opset from %d to %d", first, leastOpset, mostOpset)
	}
	return nil
}

// axis is an axis of a shape of n axes, counted from the end where it is negative; last says
// that n itself will do.
func axis(at int64, n int, last bool) (int, error) {
	most := int64(n)
	if !last {
		most--
	}
	if at < 0 {
		at += int64(n)
	}
	if at < 0 || at > most {
		return 0, fmt.Errorf("axis %d of %d", at, n)
	}
	return int(at), nil
}
