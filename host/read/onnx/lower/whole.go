package lower

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/read/onnx"
)

// Whole numbers: the shapes that exported graphs compute from those of their tensors. All shapes
// are known here, since an open first axis has the length 1, so all of them are constants.

// counting are the operators on constants of whole numbers alone. Where an input is none, the
// operator of that name among operators is meant.
var counting = map[string]func(*lowering, *onnx.Node) (*value, error){
	"Add":        wholes(func(a, b int64) (int64, bool) { return a + b, true }),
	"Cast":       (*lowering).castWhole,
	"Concat":     (*lowering).concatWhole,
	"Div":        wholes(func(a, b int64) (int64, bool) { return a / max(b, 1), a >= 0 && b > 0 }), // rounding of others is of no use
	"Equal":      equalWhole,
	"Max":        wholes(func(a, b int64) (int64, bool) { return max(a, b), true }),
	"Min":        wholes(func(a, b int64) (int64, bool) { return min(a, b), true }),
	"Mul":        wholes(func(a, b int64) (int64, bool) { return a * b, true }),
	"Neg":        negatedWhole,
	"ReduceProd": (*lowering).productWhole,
	"Sub":        wholes(func(a, b int64) (int64, bool) { return a - b, true }),
	"Where":      (*lowering).whereWhole,
}

// mostWhole bounds the numbers of arithmetic, so that nothing overflows here, nor in the 32 bits
// that some graphs have.
const mostWhole = math.MaxInt32

// wholeOnly is an operator that is read on constants of whole numbers alone.
func wholeOnly(*lowering, *onnx.Node) error {
	return fmt.Errorf("it is read of constants of whole numbers alone, as shapes are: export the network for inputs of one shape")
}

// countable reports whether all inputs of a node are constants of whole numbers, or of bool where
// the operator takes these.
func (l *lowering) countable(n *onnx.Node) bool {
	for i, name := range n.Inputs {
		v := l.env[name]
		if v == nil || v.ints == nil {
			return false
		}
		if may := n.Op == "Cast" || n.Op == "Where" && i == 0; v.logic && !may || n.Op == "Where" && i == 0 && !v.logic {
			return false
		}
	}
	return len(n.Inputs) > 0
}

// counted is a constant of whole numbers, which are spent.
func (l *lowering) counted(shape []int, ints []int64) (*value, error) {
	return &value{shape: shape, base: -1, ints: ints}, l.spend(int64(len(ints)))
}

// pickedInts is picked of whole numbers, of which there may be none.
func (l *lowering) pickedInts(v *value, shape []int, from func(int) int) (*value, error) {
	n := 0
	if !slices.Contains(shape, 0) {
		var err error
		if n, err = l.count(shape); err != nil {
			return nil, err
		}
	}
	r := &value{shape: shape, base: -1, ints: make([]int64, n), name: v.name}
	for i := range r.ints {
		r.ints[i] = v.ints[from(i)]
	}
	return r, nil
}

// meet pairs whole numbers as NumPy broadcasts them.
func (l *lowering) meet(a, b *value) (*pairs, []int64, error) {
	if len(a.ints) == 0 || len(b.ints) == 0 {
		return nil, nil, fmt.Errorf("it has no numbers")
	}
	at, err := broadcast(a.shape, b.shape)
	if err != nil {
		return nil, nil, err
	}
	n, err := l.count(at.shape)
	return at, make([]int64, n), err
}

// wholes is an operator on two numbers, which says whether it is defined.
func wholes(f func(a, b int64) (int64, bool)) func(*lowering, *onnx.Node) (*value, error) {
	return func(l *lowering, n *onnx.Node) (*value, error) {
		in, err := l.tensorsOf(attributesOf(n), 2, 2)
		if err != nil {
			return nil, err
		}
		at, out, err := l.meet(in[0], in[1])
		if err != nil {
			return nil, err
		}
		for i := range out {
			a, b := in[0].ints[at.a(i)], in[1].ints[at.b(i)]
			if err := inReach(a, b); err != nil {
				return nil, err
			}
			c, defined := f(a, b)
			if !defined {
				return nil, fmt.Errorf("it is not read of %d and %d: export the network for inputs of one shape", a, b)
			}
			if out[i] = c; inReach(c) != nil {
				return nil, inReach(c)
			}
		}
		return l.counted(at.shape, out)
	}
}

// inReach refuses numbers beyond 32 bits.
func inReach(list ...int64) error {
	for _, v := range list {
		if v < -mostWhole || v > mostWhole {
			return fmt.Errorf("it has %d: arithmetic of shapes is read from %d to %d", v, -mostWhole, mostWhole)
		}
	}
	return nil
}

func negatedWhole(l *lowering, n *onnx.Node) (*value, error) {
	in, err := l.tensorsOf(attributesOf(n), 1, 1)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(in[0].ints))
	for i, v := range in[0].ints {
		if err := inReach(v); err != nil {
			return nil, err
		}
		out[i] = -v
	}
	return l.counted(in[0].shape, out)
}

func equalWhole(l *lowering, n *onnx.Node) (*value, error) {
	in, err := l.tensorsOf(attributesOf(n), 2, 2)
	if err != nil {
		return nil, err
	}
	at, out, err := l.meet(in[0], in[1])
	if err != nil {
		return nil, err
	}
	for i := range out {
		if in[0].ints[at.a(i)] == in[1].ints[at.b(i)] {
			out[i] = 1
		}
	}
	v, err := l.counted(at.shape, out)
	v.logic = true
	return v, err
}

// whereWhole takes from its second input where the first is true, and else from the third.
func (l *lowering) whereWhole(n *onnx.Node) (*value, error) {
	in, err := l.tensorsOf(attributesOf(n), 3, 3)
	if err != nil {
		return nil, err
	}
	both, _, err := l.meet(in[1], in[2])
	if err != nil {
		return nil, err
	}
	at, out, err := l.meet(in[0], &value{shape: both.shape, ints: in[1].ints})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if k := at.b(i); in[0].ints[at.a(i)] != 0 {
			out[i] = in[1].ints[both.a(k)]
		} else {
			out[i] = in[2].ints[both.b(k)]
		}
	}
	return l.counted(at.shape, out)
}

// concatWhole puts whole numbers behind each other along an axis.
func (l *lowering) concatWhole(n *onnx.Node) (*value, error) {
	at := attributesOf(n)
	given := at.int("axis", 1)
	in, err := l.tensorsOf(at, 1, len(n.Inputs))
	if err != nil {
		return nil, err
	}
	a, err := axis(given, len(in[0].shape), false)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(in[0].shape)
	shape[a] = 0
	for _, v := range in {
		if len(v.shape) != len(shape) || !slices.Equal(v.shape[:a], shape[:a]) || !slices.Equal(v.shape[a+1:], shape[a+1:]) {
			return nil, fmt.Errorf("shapes %v and %v do not go together", in[0].shape, v.shape)
		}
		shape[a] += v.shape[a]
		if err := l.spend(int64(len(v.ints))); err != nil {
			return nil, err
		}
	}
	out := []int64{}
	for outer := range product(shape[:a]) {
		for _, v := range in {
			piece := product(v.shape[a:])
			out = append(out, v.ints[outer*piece:(outer+1)*piece]...)
		}
	}
	return l.counted(shape, out)
}

// productWhole is the product of all numbers, or along one axis of one.
func (l *lowering) productWhole(n *onnx.Node) (*value, error) {
	at := attributesOf(n)
	keep, noop := at.int("keepdims", 1), at.int("noop_with_empty_axes", 0)
	in, err := l.tensors(n, 1, 2)
	if err != nil {
		return nil, err
	}
	given, err := listed(at, "axes", in[1])
	if err == nil {
		err = at.end()
	}
	if err != nil {
		return nil, err
	}
	v := in[0]
	list, err := axes(given, len(v.shape))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && noop != 0 {
		return v, nil
	}
	if len(v.shape) > 1 && len(list) != len(v.shape) && len(list) > 0 {
		return nil, fmt.Errorf("it multiplies along axes %v of the shape %v: products of all numbers are read", list, v.shape)
	}
	p := int64(1)
	for _, x := range v.ints {
		if err := inReach(x); err != nil {
			return nil, err
		}
		if p *= x; inReach(p) != nil {
			return nil, inReach(p)
		}
	}
	shape := []int{}
	if keep != 0 {
		shape = slices.Repeat([]int{1}, len(v.shape))
	}
	return l.counted(shape, []int64{p})
}

// castWhole changes the type of whole numbers; as numbers they stay the same.
func (l *lowering) castWhole(n *onnx.Node) (*value, error) {
	to, err := castTo(n)
	if err != nil {
		return nil, err
	}
	in, err := l.tensors(n, 1, 1)
	if err != nil {
		return nil, err
	}
	v := in[0]
	if to.IsFloat() {
		size, err := l.count(v.shape)
		if err != nil {
			return nil, err
		}
		r := &value{shape: v.shape, base: -1, c: make([]float64, size)}
		for i, x := range v.ints {
			r.c[i] = float64(x)
			if x < -1<<24 || x > 1<<24 || !holds(to, r.c[i]) {
				return nil, fmt.Errorf("it makes %v of the whole number %d, which may be rounded", to, x)
			}
		}
		return r, nil
	}
	out := slices.Clone(v.ints)
	for i, x := range out {
		switch {
		case to == onnx.Bool && x != 0:
			out[i] = 1
		case to == onnx.Int32 && inReach(x) != nil:
			return nil, inReach(x)
		}
	}
	if out == nil {
		out = []int64{}
	}
	r, err := l.counted(v.shape, out)
	r.logic = to == onnx.Bool
	return r, err
}

// shapeOf is the shape of a tensor, from axis start to before end.
func (l *lowering) shapeOf(n *onnx.Node) error {
	at := attributesOf(n)
	start, end := at.int("start", 0), at.int("end", math.MaxInt64)
	in, err := l.operandsOf(at, 1, 1)
	if err != nil {
		return err
	}
	shape := in[0].shape
	size := int64(len(shape))
	clamped := func(a int64) int64 {
		if a < 0 {
			a += size
		}
		return min(max(a, 0), size)
	}
	ints := []int64{}
	for a := clamped(start); a < clamped(end); a++ {
		ints = append(ints, int64(shape[a]))
	}
	out, err := l.counted([]int{len(ints)}, ints)
	return l.give(n, out, err)
}

// filled is a constant of one number, of a shape.
func (l *lowering) filled(n *onnx.Node) error {
	at := attributesOf(n)
	fill := at.take("value", onnx.AttrTensor)
	in, err := l.tensorsOf(at, 1, 1)
	if err != nil {
		return err
	}
	if in[0].ints == nil || in[0].logic || len(in[0].shape) != 1 {
		return fmt.Errorf("its shape is not a constant list of int64: export the network with a fixed shape")
	}
	shape := []int{}
	for _, d := range in[0].ints {
		if d < 0 || d > math.MaxInt32 {
			return fmt.Errorf("it makes the shape %v", in[0].ints)
		}
		shape = append(shape, int(d))
	}
	of := &onnx.Tensor{Type: onnx.Float32, Shape: []int{1}, Floats: []float64{0}}
	if fill != nil && fill.Tensor != nil {
		of = fill.Tensor
	}
	if len(of.Floats)+len(of.Ints) != 1 {
		return fmt.Errorf("its value has %d numbers instead of one", len(of.Floats)+len(of.Ints))
	}
	size := 0
	if of.Type.IsFloat() || !slices.Contains(shape, 0) {
		if size, err = l.count(shape); err != nil {
			return err
		}
	}
	v := &value{shape: shape, base: -1, logic: of.Type == onnx.Bool}
	if !of.Type.IsFloat() {
		v.ints = slices.Repeat(of.Ints, size)
		return l.give(n, v, nil)
	}
	if x := of.Floats[0]; math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("its value is %v", x)
	}
	v.c = slices.Repeat(of.Floats, size)
	return l.give(n, v, nil)
}
