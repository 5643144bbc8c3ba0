package lower

import (
	"fmt"
	"slices"

	"psafe/host/read/onnx"
)

// pairs hold which elements of two tensors meet in the elements of their broadcast shape.
type pairs struct {
	shape []int
	a, b  func(i int) int
}

// broadcast pairs shapes as NumPy does.
func broadcast(a, b []int) (*pairs, error) {
	n := max(len(a), len(b))
	p := &pairs{shape: make([]int, n)}
	for i := range n {
		da, db := axisFromEnd(a, n-i), axisFromEnd(b, n-i)
		if da != db && da != 1 && db != 1 {
			return nil, fmt.Errorf("shapes %v and %v do not go together", a, b)
		}
		p.shape[i] = max(da, db)
	}
	p.a, p.b = places(p.shape, a), places(p.shape, b)
	return p, nil
}

// axisFromEnd is the length of the axis that is the i-th from the end, 1 if there is none.
func axisFromEnd(shape []int, i int) int {
	if i > len(shape) {
		return 1
	}
	return shape[len(shape)-i]
}

// places maps an element of shape to that of small, which is broadcast to it.
func places(shape, small []int) func(int) int {
	if slices.Equal(shape, small) {
		return func(i int) int { return i }
	}
	stride := make([]int, len(shape))
	s := 1
	for i := range small {
		d := small[len(small)-1-i]
		if d > 1 {
			stride[len(shape)-1-i] = s
		}
		s *= d
	}
	return func(i int) int {
		at := 0
		for a := len(shape) - 1; a >= 0; a-- {
			at += i % shape[a] * stride[a]
			i /= shape[a]
		}
		return at
	}
}

// spread is v broadcast to a shape.
func (l *lowering) spread(v *value, shape []int, from func(int) int) (*value, error) {
	if slices.Equal(v.shape, shape) {
		return v, nil
	}
	if l.views {
		return l.picked(v, shape, from)
	}
	return l.combine(shape, []*value{v}, func(i int, add adder) { add(v, from(i), 1, 0) })
}

// add is a + sign b.
func add(sign float64) func(*lowering, []*value) (*value, error) {
	return func(l *lowering, in []*value) (_ *value, err error) {
		for i, v := range in {
			if sign < 0 && v.isConst() {
				if in[i], err = l.fixed(v); err != nil {
					return nil, err
				}
			}
		}
		return l.sum(in[0], in[1], sign)
	}
}

func (l *lowering) sum(a, b *value, sign float64) (*value, error) {
	at, err := broadcast(a.shape, b.shape)
	if err != nil {
		return nil, err
	}
	if l.views && !(a.isConst() && b.isConst()) {
		return l.summed(a, b, sign, at)
	}
	return l.combine(at.shape, []*value{a, b}, func(i int, add adder) {
		add(a, at.a(i), 1, 0)
		add(b, at.b(i), sign, 0)
	})
}

// mul is a times a constant.
func (l *lowering) mul(in []*value) (_ *value, err error) {
	a, b := in[0], in[1]
	if a.isConst() {
		a, b = b, a
	}
	if !b.isConst() {
		return nil, fmt.Errorf("it multiplies two tensors that depend on the input, which is not affine: psafe lowers products with constants")
	}
	if b, err = l.fixed(b); err != nil {
		return nil, err
	}
	if a.isConst() {
		if a, err = l.fixed(a); err != nil {
			return nil, err
		}
	}
	return l.times(a, b)
}

// times is v times the constants b, element by element.
func (l *lowering) times(v, b *value) (*value, error) {
	at, err := broadcast(v.shape, b.shape)
	if err != nil {
		return nil, err
	}
	if l.views && !v.isConst() {
		return l.multiplied(v, b, at)
	}
	return l.combine(at.shape, []*value{v}, func(i int, add adder) { add(v, at.a(i), b.c[at.b(i)], 0) })
}

// scalar is a constant.
func scalar(x float64) *value { return &value{shape: []int{}, base: -1, c: []float64{x}} }

// gemm is alpha A B + beta C, A and B perhaps transposed.
func (l *lowering) gemm(n *onnx.Node) error {
	at := attributesOf(n)
	alpha, beta := at.float("alpha", 1), at.float("beta", 1)
	transA, transB := at.int("transA", 0), at.int("transB", 0)
	in, err := l.operandsOf(at, 2, 3)
	if err != nil {
		return err
	}
	a, b, c := in[0], in[1], in[2]
	if len(a.shape) != 2 || len(b.shape) != 2 {
		return fmt.Errorf("its inputs have the shapes %v and %v: it needs matrices", a.shape, b.shape)
	}
	if transA != 0 {
		if a, err = l.permuted(a, []int{1, 0}); err != nil {
			return err
		}
	}
	if transB != 0 {
		if b, err = l.permuted(b, []int{1, 0}); err != nil {
			return err
		}
	}
	out, err := l.product(a, b)
	if err == nil && alpha != 1 {
		out, err = l.times(out, scalar(alpha))
	}
	if err == nil && c != nil {
		if beta != 1 {
			c, err = l.times(c, scalar(beta))
		}
		if err == nil {
			shape := out.shape
			if out, err = l.sum(out, c, 1); err == nil && !slices.Equal(out.shape, shape) {
				err = fmt.Errorf("its C has the shape %v, the product %v", c.shape, shape)
			}
		}
	}
	return l.give(n, out, err)
}

func (l *lowering) matMul(in []*value) (_ *value, err error) {
	a, b := in[0], in[1]
	if len(a.shape) == 0 || len(b.shape) == 0 {
		return nil, fmt.Errorf("it multiplies a scalar")
	}
	// A vector is a row on the left and a column on the right, and its axis is dropped again.
	row, column := len(a.shape) == 1, len(b.shape) == 1
	if row {
		a = a.reshaped([]int{1, a.shape[0]})
	}
	if column {
		b = b.reshaped([]int{b.shape[0], 1})
	}
	out, err := l.product(a, b)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(out.shape)
	if column {
		shape = shape[:len(shape)-1]
	}
	if row {
		shape = slices.Delete(shape, len(out.shape)-2, len(out.shape)-1)
	}
	return out.reshaped(shape), nil
}

// product is the product of matrices, or of stacks of them, of which one is constant.
func (l *lowering) product(a, b *value) (*value, error) {
	if !a.isConst() && !b.isConst() {
		return nil, fmt.Errorf("it multiplies two tensors that depend on the input, which is not affine: psafe lowers products with constants")
	}
	ra, rb := len(a.shape), len(b.shape)
	rows, inner, columns := a.shape[ra-2], a.shape[ra-1], b.shape[rb-1]
	if b.shape[rb-2] != inner {
		return nil, fmt.Errorf("shapes %v and %v do not go together", a.shape, b.shape)
	}
	switch {
	case l.views && !a.isConst():
		return l.multipliedRight(a, b)
	case l.views && !b.isConst():
		return l.multipliedLeft(a, b)
	}
	at, err := broadcast(a.shape[:ra-2], b.shape[:rb-2])
	if err != nil {
		return nil, err
	}
	shape := append(slices.Clone(at.shape), rows, columns)
	return l.combine(shape, []*value{a, b}, func(i int, add adder) {
		column, row, stack := i%columns, i/columns%rows, i/columns/rows
		from, to := (at.a(stack)*rows+row)*inner, at.b(stack)*inner*columns+column
		for k := range inner {
			if b.isConst() {
				add(a, from+k, b.c[to+k*columns], b.idOf(to+k*columns))
			} else {
				add(b, to+k*columns, a.c[from+k], a.idOf(from+k))
			}
		}
	})
}
