package lower

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/read/onnx"
)

// Operators that repeat the numbers of a tensor.

// expand is a tensor broadcast to a shape.
func (l *lowering) expand(n *onnx.Node) error {
	v, ints, err := l.withShape(n)
	if err != nil {
		return err
	}
	at, err := broadcast(v.shape, ints)
	if err != nil {
		return err
	}
	out, err := l.placed(v, at.shape, at.a)
	return l.give(n, out, err)
}

// tile repeats a tensor along its axes.
func (l *lowering) tile(n *onnx.Node) error {
	v, repeats, err := l.withShape(n)
	if err != nil {
		return err
	}
	if len(repeats) != len(v.shape) {
		return fmt.Errorf("it has %d repeats for %d axes", len(repeats), len(v.shape))
	}
	shape := make([]int, len(repeats))
	for a, d := range v.shape {
		if d > mostAlong || repeats[a] > mostAlong {
			return fmt.Errorf("it repeats the shape %v %v times: an axis may have %d", v.shape, repeats, mostAlong)
		}
		shape[a] = d * repeats[a]
	}
	out, err := l.placed(v, shape, func(i int) int {
		from, stride := 0, 1
		for a := len(shape) - 1; a >= 0; a-- {
			from += i % shape[a] % v.shape[a] * stride
			stride *= v.shape[a]
			i /= shape[a]
		}
		return from
	})
	return l.give(n, out, err)
}

// withShape takes the two inputs of a node, of which the second lists numbers from 1 on.
func (l *lowering) withShape(n *onnx.Node) (*value, []int, error) {
	in, err := l.operandsOf(attributesOf(n), 2, 2)
	if err != nil {
		return nil, nil, err
	}
	if in[1].ints == nil || len(in[1].shape) != 1 {
		return nil, nil, fmt.Errorf("its shape is not a constant list of int64: export the network with a fixed shape")
	}
	list := []int{}
	for _, d := range in[1].ints {
		if d < 1 || d > math.MaxInt32 {
			return nil, nil, fmt.Errorf("its shape is %v: numbers from 1 on are read", in[1].ints)
		}
		list = append(list, int(d))
	}
	return in[0], list, nil
}

// placed is the tensor of a shape, perhaps a larger one, whose element i is element from(i) of v.
func (l *lowering) placed(v *value, shape []int, from func(int) int) (*value, error) {
	if slices.Equal(v.shape, shape) {
		return v, nil
	}
	return l.picked(v, shape, from)
}
