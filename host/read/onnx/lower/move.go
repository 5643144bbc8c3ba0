package lower

import (
	"fmt"
	"slices"

	"psafe/host/read/onnx"
)

// Operators that take parts of a tensor, or sum along its axes.

// dropout is the identity, as in inference.
func (l *lowering) dropout(n *onnx.Node) error {
	at := attributesOf(n)
	at.float("ratio", 0)
	at.int("seed", 0)
	in, err := l.operandsOf(at, 1, 3)
	if err != nil {
		return err
	}
	if mode := in[2]; mode != nil && (!mode.logic || len(mode.ints) != 1 || mode.ints[0] != 0) {
		return fmt.Errorf("it may be in training mode (%.60q): export the network in evaluation mode; a posterior of MC dropout is another format (docs/files.md)", n.Inputs[2])
	}
	if ratio := in[1]; ratio != nil && ratio.isConst() { // of no use in inference
		if _, err := l.fixed(ratio); err != nil {
			return err
		}
	}
	return l.give(n, in[0], nil)
}

// listed is a list of whole numbers: an attribute, or from later opsets on input i of a node,
// which is nil where it is left out.
func listed(a *attributes, name string, in *value) ([]int64, error) {
	given := a.ints(name)
	switch {
	case in == nil:
		return given, nil
	case given != nil:
		return nil, fmt.Errorf("it has %s twice", name)
	case in.ints == nil || len(in.shape) > 1:
		return nil, fmt.Errorf("its %s are not a constant list of int64: export the network with fixed shapes", name)
	}
	return in.ints, nil
}

// listedLast is listed of a node of which nothing else is asked then.
func listedLast(a *attributes, name string, in *value) ([]int64, error) {
	given, err := listed(a, name, in)
	if err == nil {
		err = a.end()
	}
	return given, err
}

// axes returns the axes of a list, ascending; n is how many there are.
func axes(given []int64, n int) ([]int, error) {
	var list []int
	for _, g := range given {
		a, err := axis(g, n, false)
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, a) {
			return nil, fmt.Errorf("axis %d comes twice", a)
		}
		list = append(list, a)
	}
	slices.Sort(list)
	return list, nil
}

// part is v with the places at of one axis.
func (l *lowering) part(v *value, a int, at []int) (*value, error) {
	shape := slices.Clone(v.shape)
	size, inner := shape[a], product(shape[a+1:])
	if shape[a] = len(at); len(at) == 0 && v.ints == nil {
		return nil, fmt.Errorf("it takes nothing of axis %d of the shape %v", a, v.shape)
	}
	return l.picked(v, shape, func(i int) int { return (i/inner/len(at)*size+at[i/inner%len(at)])*inner + i%inner })
}

// slice takes every step-th place from starts to before ends, of some axes.
func (l *lowering) slice(n *onnx.Node) error {
	in, err := l.operands(n, 1, 5)
	if err != nil {
		return err
	}
	at := attributesOf(n)
	var lists [4][]int64
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		if lists[i], err = listed(at, name, in[i+1]); err != nil {
			return err
		}
	}
	if err := at.end(); err != nil {
		return err
	}
	v, starts, ends, along, steps := in[0], lists[0], lists[1], lists[2], lists[3]
	if along == nil {
		for a := range starts {
			along = append(along, int64(a))
		}
	}
	if steps == nil {
		steps = slices.Repeat([]int64{1}, len(starts))
	}
	if _, err := axes(along, len(v.shape)); err != nil {
		return err
	}
	if len(starts) != len(ends) || len(starts) != len(along) || len(starts) != len(steps) {
		return fmt.Errorf("its starts, ends, axes and steps are %d, %d, %d and %d", len(starts), len(ends), len(along), len(steps))
	}
	for k := range starts {
		a, _ := axis(along[k], len(v.shape), false)
		places, err := between(starts[k], ends[k], steps[k], int64(v.shape[a]))
		if err != nil {
			return err
		}
		if v, err = l.part(v, a, places); err != nil {
			return err
		}
	}
	return l.give(n, v, nil)
}

// between are the places that a slice takes of n, as the specification clamps them.
func between(start, end, step, n int64) ([]int, error) {
	if step == 0 {
		return nil, fmt.Errorf("a step of 0")
	}
	least, most := int64(0), n // of an end
	first := n                 // the greatest start
	if step < 0 {
		least, most, first = -1, n-1, n-1
	}
	from := func(at int64) int64 {
		if at < 0 {
			return at + n
		}
		return at
	}
	start, end = min(max(from(start), 0), first), min(max(from(end), least), most)
	var places []int
	for at := start; step > 0 && at < end || step < 0 && at > end; at += step {
		places = append(places, int(at))
		if step > n || step < -n { // lest at overflows
			break
		}
	}
	return places, nil
}

// split gives the parts of an axis, each as an output.
func (l *lowering) split(n *onnx.Node) error {
	at := attributesOf(n)
	given, count := at.int("axis", 0), at.int("num_outputs", int64(len(n.Outputs)))
	in, err := l.operands(n, 1, 2)
	if err != nil {
		return err
	}
	sizes, err := listedLast(at, "split", in[1])
	if err != nil {
		return err
	}
	v := in[0]
	a, err := axis(given, len(v.shape), false)
	if err != nil {
		return err
	}
	parts := int64(len(n.Outputs))
	if count != parts || sizes != nil && int64(len(sizes)) != parts {
		return fmt.Errorf("it has %d outputs, and parts for %d", parts, max(count, int64(len(sizes))))
	}
	whole := int64(v.shape[a])
	if sizes == nil { // the last may be smaller
		each := (whole + parts - 1) / parts
		for k := range parts {
			sizes = append(sizes, min(each, whole-k*each))
		}
	}
	begin := int64(0)
	for k, size := range sizes {
		if size < 0 || size > whole-begin {
			return fmt.Errorf("it makes parts %v of %d", sizes, whole)
		}
		if name := n.Outputs[k]; name != "" && l.uses[name] > 0 {
			var places []int
			for i := range size {
				places = append(places, int(begin+i))
			}
			part, err := l.part(v, a, places)
			if err != nil {
				return err
			}
			l.keep(name, part)
		}
		begin += size
	}
	if begin != whole {
		return fmt.Errorf("it makes parts %v of %d", sizes, whole)
	}
	return nil
}

// gather takes places of an axis that a constant lists.
func (l *lowering) gather(n *onnx.Node) error {
	at := attributesOf(n)
	given := at.int("axis", 0)
	in, err := l.operandsOf(at, 2, 2)
	if err != nil {
		return err
	}
	v, indices := in[0], in[1]
	if indices.ints == nil {
		return fmt.Errorf("its indices are not constants of int64: export the network with fixed shapes")
	}
	a, err := axis(given, len(v.shape), false)
	if err != nil {
		return err
	}
	var places []int
	for _, i := range indices.ints {
		place, err := axis(i, v.shape[a], false)
		if err != nil {
			return fmt.Errorf("index %d of axis %d, which has %d", i, a, v.shape[a])
		}
		places = append(places, place)
	}
	r, err := l.part(v, a, places)
	if err != nil {
		return err
	}
	return l.give(n, r.reshaped(slices.Concat(v.shape[:a], indices.shape, v.shape[a+1:])), nil)
}

// squeeze drops axes of length 1, by default all.
func (l *lowering) squeeze(n *onnx.Node) error {
	v, list, err := l.withAxes(n, 0)
	if err != nil {
		return err
	}
	var shape []int
	for a, d := range v.shape {
		drop := slices.Contains(list, a) || list == nil && d == 1
		if drop && d != 1 {
			return fmt.Errorf("it drops axis %d of the shape %v", a, v.shape)
		}
		if !drop {
			shape = append(shape, d)
		}
	}
	return l.give(n, v.reshaped(shape), nil)
}

// unsqueeze adds axes of length 1.
func (l *lowering) unsqueeze(n *onnx.Node) error {
	v, list, err := l.withAxes(n, 1)
	if err != nil {
		return err
	}
	rest := v.shape
	var shape []int
	for a := range len(v.shape) + len(list) {
		if slices.Contains(list, a) {
			shape = append(shape, 1)
			continue
		}
		shape, rest = append(shape, rest[0]), rest[1:]
	}
	return l.give(n, v.reshaped(shape), nil)
}

// withAxes takes the first input of a node, and its axes; added says that they are counted in
// what comes out, which has so many more.
func (l *lowering) withAxes(n *onnx.Node, added int) (*value, []int, error) {
	at := attributesOf(n)
	in, err := l.operands(n, 1, 2)
	if err != nil {
		return nil, nil, err
	}
	given, err := listedLast(at, "axes", in[1])
	if err != nil {
		return nil, nil, err
	}
	if in[1] != nil && len(given) == 0 { // all axes of length 1 for some programs, none for others
		return nil, nil, fmt.Errorf("its list of axes is empty: name them, or leave the list out")
	}
	if added > 0 && len(given) == 0 {
		return nil, nil, fmt.Errorf("it does not say which axes it adds")
	}
	list, err := axes(given, len(in[0].shape)+added*len(given))
	return in[0], list, err
}

// reduction takes the first input of a node, and the axes along which it is reduced: none is all of them, or nil where
// the node then gives what it takes. keep says that they stay, with the length 1.
func reduction(n *onnx.Node, take func(n *onnx.Node, least, most int) ([]*value, error)) (v *value, list []int, keep bool, err error) {
	at := attributesOf(n)
	keep = at.int("keepdims", 1) != 0
	noop := at.int("noop_with_empty_axes", 0) != 0
	in, err := take(n, 1, 2)
	if err != nil {
		return nil, nil, keep, err
	}
	given, err := listedLast(at, "axes", in[1])
	if err != nil {
		return nil, nil, keep, err
	}
	if list, err = axes(given, len(in[0].shape)); err == nil && len(list) == 0 && !noop {
		list = []int{}
		for a := range in[0].shape {
			list = append(list, a)
		}
	}
	return in[0], list, keep, err
}

// reduce sums along axes, or takes the mean.
func reduce(mean bool) func(*lowering, *onnx.Node) error {
	return func(l *lowering, n *onnx.Node) error {
		v, list, keep, err := reduction(n, l.operands)
		if err != nil || list == nil {
			return l.give(n, v, err)
		}
		// order has the axes that stay in front.
		var order, shape, kept []int
		for a, d := range v.shape {
			if !slices.Contains(list, a) {
				order, shape, kept = append(order, a), append(shape, d), append(kept, d)
			} else if keep {
				kept = append(kept, 1)
			}
		}
		for a := range v.shape {
			if !slices.Contains(order, a) {
				order = append(order, a)
			}
		}
		if v, err = l.permuted(v, order); err != nil {
			return err
		}
		out, err := l.total(v, shape, mean)
		if err != nil {
			return err
		}
		return l.give(n, out.reshaped(kept), nil)
	}
}

// total is the sum, or the mean, of the axes of v behind those of shape.
func (l *lowering) total(v *value, shape []int, mean bool) (*value, error) {
	switch {
	case l.views && !v.isConst():
		return l.reduced(v, shape, mean)
	case mean:
		return nil, errFold
	}
	each := product(v.shape) / product(shape)
	return l.combine(shape, []*value{v}, func(i int, add adder) {
		for k := range each {
			add(v, i*each+k, 1, 0)
		}
	})
}
