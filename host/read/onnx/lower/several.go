package lower

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Sums and means of several tensors, and what is made of one, number by number.

// neg is -t.
func (l *lowering) neg(in []*value) (_ *value, err error) {
	v := in[0]
	if v.isConst() {
		if v, err = l.fixed(v); err != nil {
			return nil, err
		}
	}
	return l.times(v, scalar(-1))
}

// sumOf adds any number of tensors.
func (l *lowering) sumOf(in []*value) (_ *value, err error) {
	if slices.Contains(in, nil) {
		return nil, fmt.Errorf("one of its inputs is left out")
	}
	// Constants last: they may become biases of what gives a tensor, which may be there twice.
	slices.SortStableFunc(in, func(a, b *value) int { return cmp.Compare(constLast(a), constLast(b)) })
	v := in[0]
	for _, w := range in[1:] {
		if v, err = l.sum(v, w, 1); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func constLast(v *value) int {
	if v.isConst() {
		return 1
	}
	return 0
}

// mean is the mean of any number of tensors: of two, four, ... their sum times a power of two, and
// else that along an axis on which they lie behind each other.
func (l *lowering) mean(in []*value) (_ *value, err error) {
	at := &pairs{shape: in[0].shape}
	for _, v := range in {
		if v == nil || v.isConst() {
			return nil, errFold
		}
		if at, err = broadcast(at.shape, v.shape); err != nil {
			return nil, err
		}
	}
	power := len(in)&(len(in)-1) == 0
	if !power && !l.views {
		return nil, fmt.Errorf("no stack of layers has the mean of %d tensors", len(in))
	}
	var sum *value
	for i, v := range in {
		if v, err = l.spread(v, at.shape, places(at.shape, v.shape)); err != nil {
			return nil, err
		}
		if in[i] = v.reshaped(append(slices.Clone(at.shape), 1)); !power {
			continue
		}
		if sum == nil {
			sum = v
		} else if sum, err = l.sum(sum, v, 1); err != nil {
			return nil, err
		}
	}
	if power {
		return l.times(sum, scalar(1/float64(len(in))))
	}
	rows := product(at.shape)
	all, err := l.stacked(in, append(slices.Clone(at.shape), len(in)), rows)
	if err != nil {
		return nil, err
	}
	return l.reduced(all, at.shape, true)
}

// sqrt is the root of constants, rounded to the nearest float64.
func (l *lowering) sqrt(in []*value) (_ *value, err error) {
	v := in[0]
	if !v.isConst() {
		return nil, fmt.Errorf("it takes the root of a tensor that depends on the input, which is not affine: psafe lowers roots of constants")
	}
	if v, err = l.fixed(v); err != nil {
		return nil, err
	}
	r, exact, worst := &value{shape: v.shape, base: -1, c: make([]float64, len(v.c))}, true, 0.0
	for i, x := range v.c {
		if x < 0 {
			return nil, fmt.Errorf("it takes the root of %v (number %d)", x, i)
		}
		root := exactly(x)
		root.Sqrt(root)
		r.c[i], _ = root.Float64()
		square := exactly(r.c[i])
		if square.Mul(square, square).Cmp(exactly(x)) != 0 {
			exact = false
			off := exactly(r.c[i])
			off.Quo(off.Sub(off, root), root)
			relative, _ := off.Float64()
			worst = max(worst, math.Abs(relative))
		}
	}
	if !exact {
		l.roundedBy(worst)
	}
	return r, l.spend(int64(len(r.c)))
}
