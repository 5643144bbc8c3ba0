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
	"Add":        wholes(2, func(x []int64) (int64, bool) { return x[0] + x[1], true }),
	"Cast":       (*lowering).castWhole,
	"Concat":     (*lowering).concatWhole,
	"Div":        wholes(2, func(x []int64) (int64, bool) { return x[0] / max(x[1], 1), x[0] >= 0 && x[1] > 0 }), // rounding of others is of no use
	"Equal":      (*lowering).equalWhole,
	"Max":        wholes(2, func(x []int64) (int64, bool) { return max(x[0], x[1]), true }),
	"Min":        wholes(2, func(x []int64) (int64, bool) { return min(x[0], x[1]), true }),
	"Mul":        wholes(2, func(x []int64) (int64, bool) { return x[0] * x[1], true }),
	"Neg":        wholes(1, func(x []int64) (int64, bool) { return -x[0], true }),
	"ReduceProd": (*lowering).productWhole,
	"Sub":        wholes(2, func(x []int64) (int64, bool) { return x[0] - x[1], true }),
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

// eachWhole is an operator of so many inputs, which are broadcast: f makes a number of one of each.
func (l *lowering) eachWhole(n *onnx.Node, inputs int, f func(x []int64) (int64, error)) (*value, error) {
	in, err := l.tensorsOf(attributesOf(n), inputs, inputs)
	if err != nil {
		return nil, err
	}
	at := &pairs{shape: in[0].shape}
	for _, v := range in {
		if len(v.ints) == 0 {
			return nil, fmt.Errorf("it has no numbers")
		}
		if at, err = broadcast(at.shape, v.shape); err != nil {
			return nil, err
		}
	}
	size, err := l.count(at.shape)
	if err != nil {
		return nil, err
	}
	var from []func(i int) int
	for _, v := range in {
		from = append(from, places(at.shape, v.shape))
	}
	out, x := make([]int64, size), make([]int64, inputs)
	for i := range out {
		for k, v := range in {
			x[k] = v.ints[from[k](i)]
		}
		if out[i], err = f(x); err != nil {
			return nil, err
		}
	}
	return l.counted(at.shape, out)
}

// wholes is arithmetic of numbers, which says whether it is defined.
func wholes(inputs int, f func(x []int64) (int64, bool)) func(*lowering, *onnx.Node) (*value, error) {
	return func(l *lowering, n *onnx.Node) (*value, error) {
		return l.eachWhole(n, inputs, func(x []int64) (int64, error) {
			if err := inReach(x...); err != nil {
				return 0, err
			}
			y, defined := f(x)
			if !defined {
				return 0, fmt.Errorf("it is not read of %d and %d: export the network for inputs of one shape", x[0], x[1])
			}
			return y, inReach(y)
		})
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

func (l *lowering) equalWhole(n *onnx.Node) (*value, error) {
	v, err := l.eachWhole(n, 2, func(x []int64) (int64, error) {
		if x[0] == x[1] {
			return 1, nil
		}
		return 0, nil
	})
	if v != nil {
		v.logic = true
	}
	return v, err
}

// whereWhole takes from its second input where the first is true, and else from the third.
func (l *lowering) whereWhole(n *onnx.Node) (*value, error) {
	return l.eachWhole(n, 3, func(x []int64) (int64, error) {
		if x[0] != 0 {
			return x[1], nil
		}
		return x[2], nil
	})
}

// concatWhole puts whole numbers behind each other along an axis.
func (l *lowering) concatWhole(n *onnx.Node) (*value, error) {
	at := attributesOf(n)
	given := at.int("axis", 1)
	in, err := l.tensorsOf(at, 1, len(n.Inputs))
	if err != nil {
		return nil, err
	}
	shape, a, err := along(in, given)
	if err != nil {
		return nil, err
	}
	for _, v := range in {
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
	v, list, keep, err := reduction(n, l.tensors)
	if err != nil || list == nil {
		return v, err
	}
	if len(v.shape) > 1 && len(list) != len(v.shape) {
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
	if keep {
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
