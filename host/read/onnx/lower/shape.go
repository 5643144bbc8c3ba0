package lower

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/read/onnx"
)

// Operators that move elements and compute nothing.

func (l *lowering) same(in []*value) (*value, error) {
	return in[0], nil
}

// constantNode is an initialiser in the form of a node; its name is that of its output.
func (l *lowering) constantNode(n *onnx.Node) error {
	if len(n.Inputs) > 0 || len(n.Attributes) != 1 {
		return fmt.Errorf("it needs no inputs and one attribute")
	}
	at := &n.Attributes[0]
	t := &onnx.Tensor{Type: onnx.Float32, Shape: []int{}}
	switch {
	case at.Name == "value" && at.Kind == onnx.AttrTensor && at.Tensor != nil:
		c := *at.Tensor
		t = &c
	case at.Name == "value_float" && at.Kind == onnx.AttrFloat:
		t.Floats = []float64{at.Float}
	case at.Name == "value_floats" && at.Kind == onnx.AttrFloats:
		t.Floats, t.Shape = at.Floats, []int{len(at.Floats)}
	case at.Name == "value_int" && at.Kind == onnx.AttrInt:
		t.Type, t.Ints = onnx.Int64, []int64{at.Int}
	case at.Name == "value_ints" && at.Kind == onnx.AttrInts:
		t.Type, t.Ints, t.Shape = onnx.Int64, at.Ints, []int{len(at.Ints)}
	default:
		return fmt.Errorf("psafe does not read its attribute %.40q", at.Name)
	}
	t.Name = n.Outputs[0]
	v, err := l.constant(t)
	return l.give(n, v, err)
}

func (l *lowering) flatten(n *onnx.Node) error {
	at := attributesOf(n)
	given := at.int("axis", 1)
	in, err := l.operandsOf(at, 1, 1)
	if err != nil {
		return err
	}
	v := in[0]
	a, err := axis(given, len(v.shape), true)
	if err != nil {
		return err
	}
	return l.give(n, v.reshaped([]int{product(v.shape[:a]), product(v.shape[a:])}), nil)
}

func (l *lowering) reshape(n *onnx.Node) error {
	at := attributesOf(n)
	allowZero := at.int("allowzero", 0)
	in, err := l.operandsOf(at, 2, 2)
	if err != nil {
		return err
	}
	v, to := in[0], in[1]
	if to.ints == nil || len(to.shape) != 1 {
		return fmt.Errorf("its shape is not a constant list of int64: export the network with a fixed shape")
	}
	shape, open, known := []int{}, -1, 1
	for i, d := range to.ints {
		switch {
		case d == -1 && open < 0:
			open = i
			d = 1
		case d == 0 && allowZero == 0 && i < len(v.shape):
			d = int64(v.shape[i])
		case d < 1 || d > math.MaxInt32 || known > math.MaxInt32:
			return fmt.Errorf("it cannot make %v of the shape %v", to.ints, v.shape)
		}
		shape = append(shape, int(d))
		known *= int(d)
	}
	size := product(v.shape)
	if open >= 0 {
		shape[open] = size / max(known, 1)
		known *= shape[open]
	}
	if known != size {
		return fmt.Errorf("it cannot make %v of the shape %v", to.ints, v.shape)
	}
	return l.give(n, v.reshaped(shape), nil)
}

func (l *lowering) transpose(n *onnx.Node) error {
	at := attributesOf(n)
	perm := at.ints("perm")
	in, err := l.operandsOf(at, 1, 1)
	if err != nil {
		return err
	}
	axes := len(in[0].shape)
	order := make([]int, axes)
	for i := range order {
		order[i] = axes - 1 - i
	}
	if perm != nil {
		if len(perm) != axes {
			return fmt.Errorf("perm %v of %d axes", perm, axes)
		}
		seen := make([]bool, axes)
		for i, a := range perm {
			if a < 0 || a >= int64(axes) || seen[a] {
				return fmt.Errorf("perm %v is no order of %d axes", perm, axes)
			}
			order[i], seen[a] = int(a), true
		}
	}
	out, err := l.permuted(in[0], order)
	return l.give(n, out, err)
}

// permuted is v with its axes in another order: axis i is axis order[i] of v.
func (l *lowering) permuted(v *value, order []int) (*value, error) {
	shape, stride := make([]int, len(order)), make([]int, len(order))
	for i, a := range order {
		shape[i], stride[i] = v.shape[a], product(v.shape[a+1:])
	}
	return l.picked(v, shape, func(i int) int {
		at := 0
		for a := len(shape) - 1; a >= 0; a-- {
			at += i % shape[a] * stride[a]
			i /= shape[a]
		}
		return at
	})
}

// picked is the tensor whose element i is element from(i) of v.
func (l *lowering) picked(v *value, shape []int, from func(int) int) (*value, error) {
	if v.at != nil {
		n, err := l.count(shape)
		if err != nil {
			return nil, err
		}
		at := make([]int32, n)
		for i := range at {
			at[i] = v.at[from(i)]
		}
		return l.viewed(shape, v.from, at), nil
	}
	if v.ints != nil {
		return l.pickedInts(v, shape, from)
	}
	n, err := l.count(shape)
	if err != nil {
		return nil, err
	}
	terms := 0
	for i := range n {
		terms += len(v.row(from(i)))
		if i%(1<<16) == 0 && int64(terms) > l.mostWork {
			break
		}
	}
	if err := l.spend(int64(terms)); err != nil {
		return nil, err
	}
	r := &value{shape: shape, base: v.base, name: v.name}
	r.grow(n, terms)
	for i := range n {
		r.take(v, from(i))
	}
	return r, nil
}

// grow makes room for n elements with so many terms. Constants have none.
func (v *value) grow(n, terms int) {
	v.c = make([]float64, 0, n)
	if !v.isConst() {
		v.start, v.terms = make([]int, 1, n+1), make([]term, 0, terms)
	}
}

// take appends element i of v as it is.
func (v *value) take(w *value, i int) {
	if v.start != nil {
		v.terms = append(v.terms, w.row(i)...)
		v.start = append(v.start, len(v.terms))
	}
	if id := w.idOf(i); id != 0 && v.id == nil {
		v.id = make([]int32, len(v.c))
	}
	v.c = append(v.c, w.c[i])
	if v.id != nil {
		v.id = append(v.id, w.idOf(i))
	}
}

// along is the shape of tensors behind each other along an axis, and which one that is.
func along(in []*value, given int64) (shape []int, a int, err error) {
	shape = slices.Clone(in[0].shape)
	if a, err = axis(given, len(shape), false); err != nil {
		return nil, 0, err
	}
	shape[a] = 0
	for _, v := range in {
		if len(v.shape) != len(shape) || !slices.Equal(v.shape[:a], shape[:a]) || !slices.Equal(v.shape[a+1:], shape[a+1:]) {
			return nil, 0, fmt.Errorf("shapes %v and %v do not go together", in[0].shape, v.shape)
		}
		shape[a] += v.shape[a]
	}
	return shape, a, nil
}

// concat puts tensors behind each other along an axis.
func (l *lowering) concat(n *onnx.Node) error {
	at := attributesOf(n)
	given := at.int("axis", 1)
	if err := at.end(); err != nil {
		return err
	}
	if len(n.Inputs) == 0 {
		return fmt.Errorf("it has no inputs")
	}
	in, err := l.operands(n, len(n.Inputs), len(n.Inputs))
	if err != nil {
		return err
	}
	shape, a, err := along(in, given)
	if err != nil {
		return err
	}
	r := &value{base: -1, shape: shape}
	elements, terms := 0, 0
	for _, v := range in {
		if err := l.current(v); err != nil {
			return err
		}
		if !v.isConst() {
			r.base = l.top
		}
		elements, terms = elements+len(v.c), terms+len(v.terms)
	}
	if l.views && r.base >= 0 {
		out, err := l.stacked(in, shape, product(shape[:a]))
		return l.give(n, out, err)
	}
	if err := l.spend(int64(elements + terms)); err != nil {
		return err
	}
	r.grow(elements, terms)
	for outer := range product(shape[:a]) {
		for _, v := range in {
			piece := product(v.shape[a:])
			for i := range piece {
				r.take(v, outer*piece+i)
			}
		}
	}
	return l.give(n, r, nil)
}
