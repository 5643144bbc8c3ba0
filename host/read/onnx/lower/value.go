package lower

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
	"psafe/internal/infile"
)

// term is a coefficient v of output j of the base; id names the random number that it is.
type term struct {
	j, id int32
	v     float64
}

// value is a tensor: an affine form of the base for each element, in C order. A constant has
// no terms.
type value struct {
	shape []int
	// base is how many layers were closed before it, -1 for constants.
	base int
	// Element i has the terms from start[i] to start[i+1] and the constant c[i], which is
	// the random number id[i]; id is nil where no constant is random.
	start []int
	terms []term
	c     []float64
	id    []int32
	// Of a graph of layers: element i is number at[i] of what from gives; there are no terms
	// and no c.
	from int
	at   []int32
	// ints are the elements of a constant of whole numbers, which has nothing else. logic says
	// that they are of bool, each 0 or 1.
	ints  []int64
	logic bool
	name  string // of the initialiser, where it is one
}

// row gives the terms of element i.
func (v *value) row(i int) []term {
	if v.start == nil {
		return nil
	}
	return v.terms[v.start[i]:v.start[i+1]]
}

// idOf names the random number that the constant of element i is.
func (v *value) idOf(i int) int32 {
	if v.id == nil {
		return 0
	}
	return v.id[i]
}

func (v *value) isConst() bool { return v.base < 0 }

// isRandom reports whether any number of v is random.
func (v *value) isRandom() bool {
	return slices.ContainsFunc(v.id, func(id int32) bool { return id != 0 }) ||
		slices.ContainsFunc(v.terms, func(t term) bool { return t.id != 0 })
}

// reshaped is v with another shape of as many elements.
func (v *value) reshaped(shape []int) *value {
	r := *v
	r.shape = shape
	return &r
}

// count is the number of elements of a shape, and spends them.
func (l *lowering) count(shape []int) (int, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 1 {
			return 0, fmt.Errorf("shape %v is empty", shape)
		}
		if n *= int64(d); n > l.mostWork {
			return 0, fmt.Errorf("shape %v has more than %d elements", shape, l.mostWork)
		}
	}
	return int(n), l.spend(n)
}

// spend counts elements and coefficients that are about to be made.
func (l *lowering) spend(n int64) error {
	if l.work += n; l.work > l.mostWork {
		return fmt.Errorf("the tensors up to here have more than %d elements and coefficients: the network is too large", l.mostWork)
	}
	return infile.Afford(24 * n)
}

// identity is the outputs of the base from element from on. Its elements are spent.
func (l *lowering) identity(shape []int, from int) *value {
	n := product(shape)
	v := &value{shape: shape, base: l.top, start: make([]int, n+1), terms: make([]term, n), c: make([]float64, n)}
	for i := range n {
		v.start[i+1] = i + 1
		v.terms[i] = term{j: int32(from + i), v: 1}
	}
	return v
}

// isAll reports whether v is all outputs of the base as they are.
func (l *lowering) isAll(v *value) bool {
	if len(v.c) != l.size || len(v.terms) != l.size || v.id != nil {
		return false
	}
	for i := range v.c {
		if v.c[i] != 0 || len(v.row(i)) != 1 || v.terms[i] != (term{j: int32(i), v: 1}) {
			return false
		}
	}
	return true
}

// constant is an initialiser.
func (l *lowering) constant(t *onnx.Tensor) (*value, error) {
	v := &value{shape: t.Shape, base: -1, name: t.Name}
	if !t.Type.IsFloat() {
		if v.ints = t.Ints; v.ints == nil {
			v.ints = []int64{}
		}
		v.logic = t.Type == onnx.Bool
		if l.random.Names[t.Name] {
			return nil, fmt.Errorf("whole numbers cannot have standard deviations")
		}
		return v, nil
	}
	n, err := l.count(t.Shape)
	if err != nil {
		return nil, err
	}
	for i, x := range t.Floats {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("number %d is %v", i, x)
		}
	}
	v.c = t.Floats
	if l.random.Every || l.random.Names[t.Name] {
		if int64(l.nextID)+int64(n) > math.MaxInt32 {
			return nil, fmt.Errorf("more than %d numbers", math.MaxInt32)
		}
		v.id = make([]int32, n)
		for i := range v.id {
			v.id[i] = l.nextID + int32(i)
		}
		l.result.Tensors = append(l.result.Tensors, Stored{Tensor: t, First: l.nextID})
		l.nextID += int32(n)
	}
	return v, nil
}

// current refuses a tensor of an earlier layer.
func (l *lowering) current(v *value) error {
	if !v.isConst() && v.base != l.top {
		return errors.New("it takes a tensor from before the last activation, which no stack of layers has")
	}
	return nil
}

// close makes a layer of v, which is of the last base, and begins a new one.
func (l *lowering) close(v *value, a network.Activation) error {
	in, out := l.size, len(v.c)
	if err := infile.Afford(int64(in) * int64(out) * 16); err != nil {
		return fmt.Errorf("a dense layer of %d x %d: %w", in, out, err)
	}
	layer := Layer{Layer: graph.Layer{Kind: graph.Dense, Inputs: in, Filters: out, Activation: a}, Weight: make([]float64, in*out), Bias: slices.Clone(v.c)}
	if v.isRandom() {
		layer.WeightID, layer.BiasID = make([]int32, in*out), make([]int32, out)
		copy(layer.BiasID, v.id)
	}
	for i := range out {
		for _, t := range v.row(i) {
			layer.Weight[int(t.j)*out+i] = t.v
			if t.id != 0 {
				layer.WeightID[int(t.j)*out+i] = t.id
			}
		}
	}
	l.result.Layers = append(l.result.Layers, layer)
	l.top++
	l.size = out
	return nil
}

// flush makes a layer with activation identity of tensors of the last base, and of all
// others of it that are still to be used. Each then is outputs of that layer as they are.
func (l *lowering) flush(operands ...*value) error {
	var list []*value
	add := func(v *value) {
		if !v.isConst() && v.base == l.top && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	for _, v := range operands {
		add(v)
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		add(l.env[name])
	}
	all := &value{base: l.top}
	elements, terms := 0, 0
	for _, v := range list {
		elements, terms = elements+len(v.c), terms+len(v.terms)
	}
	if err := l.spend(int64(elements + terms)); err != nil {
		return err
	}
	all.grow(elements, terms)
	for _, v := range list {
		for i := range v.c {
			all.take(v, i)
		}
	}
	if err := l.close(all, network.Activation{}); err != nil {
		return err
	}
	from := 0
	for _, v := range list {
		name := v.name
		*v = *l.identity(v.shape, from)
		v.name = name
		from += len(v.c)
	}
	return nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
