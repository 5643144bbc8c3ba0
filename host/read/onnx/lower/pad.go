package lower

import (
	"fmt"

	"psafe/host/read/onnx"
)

// padded puts a constant around a tensor. (torch exports one before every AveragePool.)
func (l *lowering) padded(n *onnx.Node) error {
	at := attributesOf(n)
	mode, pads, fill := at.text("mode", "constant"), at.ints("pads"), at.float("value", 0)
	if err := at.end(); err != nil {
		return err
	}
	if mode != "constant" {
		return fmt.Errorf("mode %.20q: only padding with a constant is lowered", mode)
	}
	in, err := l.operands(n, 1, 3)
	if err != nil {
		return err
	}
	v, around := in[0], &value{base: -1, c: []float64{fill}}
	if in[1] != nil {
		if in[1].ints == nil {
			return fmt.Errorf("its pads are not a constant list of int64: export the network with fixed shapes")
		}
		pads = in[1].ints
	}
	if in[2] != nil {
		if !in[2].isConst() || len(in[2].c) != 1 {
			return fmt.Errorf("it needs a constant to pad with")
		}
		if around, err = l.fixed(in[2]); err != nil {
			return err
		}
	}
	axes := len(v.shape)
	if len(pads) != 2*axes {
		return fmt.Errorf("%d pads for %d axes", len(pads), axes)
	}
	shape := make([]int, axes)
	for i, d := range v.shape {
		for _, p := range []int64{pads[i], pads[axes+i]} {
			if p < 0 || p > mostAlong {
				return fmt.Errorf("pads has %d: 0 to %d are lowered", p, mostAlong)
			}
			d += int(p)
		}
		shape[i] = d
	}
	out, err := l.combine(shape, []*value{v}, func(i int, add adder) {
		from, stride, inside := 0, 1, true
		for a := axes - 1; a >= 0; a-- {
			x := i%shape[a] - int(pads[a])
			i /= shape[a]
			inside = inside && x >= 0 && x < v.shape[a]
			from += x * stride
			stride *= v.shape[a]
		}
		if inside {
			add(v, from, 1, 0)
		} else {
			add(around, 0, 1, 0)
		}
	})
	return l.give(n, out, err)
}
