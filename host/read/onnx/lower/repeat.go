package lower

import (
	"fmt"
	"math"
	"slices"
)

// Operators that repeat the numbers of a tensor.

// expand is a tensor broadcast to a shape.
func (l *lowering) expand(in []*value) (*value, error) {
	v := in[0]
	shape, err := listOf(in[1])
	if err != nil {
		return nil, err
	}
	at, err := broadcast(v.shape, shape)
	if err != nil {
		return nil, err
	}
	return l.placed(v, at.shape, at.a)
}

// tile repeats a tensor along its axes.
func (l *lowering) tile(in []*value) (*value, error) {
	v := in[0]
	repeats, err := listOf(in[1])
	if err != nil {
		return nil, err
	}
	if len(repeats) != len(v.shape) {
		return nil, fmt.Errorf("it has %d repeats for %d axes", len(repeats), len(v.shape))
	}
	shape := make([]int, len(repeats))
	for a, d := range v.shape {
		if d > mostAlong || repeats[a] > mostAlong {
			return nil, fmt.Errorf("it repeats the shape %v %v times: an axis may have %d", v.shape, repeats, mostAlong)
		}
		shape[a] = d * repeats[a]
	}
	return l.placed(v, shape, func(i int) int {
		from, stride := 0, 1
		for a := len(shape) - 1; a >= 0; a-- {
			from += i % shape[a] % v.shape[a] * stride
			stride *= v.shape[a]
			i /= shape[a]
		}
		return from
	})
}

// listOf is a constant list of numbers from 1 on.
func listOf(v *value) ([]int, error) {
	if v.ints == nil || len(v.shape) != 1 {
		return nil, fmt.Errorf("its shape is not a constant list of int64: export the network with a fixed shape")
	}
	list := []int{}
	for _, d := range v.ints {
		if d < 1 || d > math.MaxInt32 {
			return nil, fmt.Errorf("its shape is %v: numbers from 1 on are read", v.ints)
		}
		list = append(list, int(d))
	}
	return list, nil
}

// placed is the tensor of a shape, perhaps a larger one, whose element i is element from(i) of v.
func (l *lowering) placed(v *value, shape []int, from func(int) int) (*value, error) {
	if slices.Equal(v.shape, shape) {
		return v, nil
	}
	return l.picked(v, shape, from)
}
