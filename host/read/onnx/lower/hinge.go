package lower

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/onnx"
)

// Operators that a few others say exactly: bounds, of which each is a relu,
//
//	max(t, c) = c + relu(t - c),    min(t, c) = c - relu(c - t),
//
// and slopes of their own for each channel, PRelu(t) = relu(t) - slope relu(-t).

var relu = network.Activation{Kind: network.ReLU}

// atLeast is max(v, c) of constants c.
func (l *lowering) atLeast(v, c *value) (*value, error) {
	w, err := l.offset(v, c, -1)
	if err != nil {
		return nil, err
	}
	if w, err = l.through(w, relu); err != nil {
		return nil, err
	}
	return l.offset(w, c, 1)
}

// offset is v + sign c, of c that are 0 without a layer.
func (l *lowering) offset(v, c *value, sign float64) (*value, error) {
	if slices.ContainsFunc(c.c, func(x float64) bool { return x != 0 }) {
		return l.sum(v, c, sign)
	}
	at, err := broadcast(v.shape, c.shape)
	if err != nil {
		return nil, err
	}
	return l.spread(v, at.shape, at.a)
}

// atMost is min(v, c) of constants c.
func (l *lowering) atMost(v, c *value) (*value, error) {
	w, err := l.sum(c, v, -1)
	if err != nil {
		return nil, err
	}
	if w, err = l.through(w, relu); err != nil {
		return nil, err
	}
	return l.sum(c, w, -1)
}

// bounded is Max or Min of a tensor and of constants.
func bounded(by func(l *lowering, v, c *value) (*value, error)) func(*lowering, []*value) (*value, error) {
	return func(l *lowering, in []*value) (_ *value, err error) {
		at := slices.IndexFunc(in, func(v *value) bool { return v != nil && !v.isConst() })
		if at < 0 {
			return nil, errFold
		}
		v := in[at]
		for i, c := range in {
			switch {
			case i == at:
				continue
			case c == nil || !c.isConst():
				return nil, fmt.Errorf("it compares two tensors that depend on the input: psafe lowers bounds that are constants")
			}
			if c, err = l.fixed(c); err != nil {
				return nil, err
			}
			if v, err = by(l, v, c); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
}

// clip is min(max(t, least), most). A bound at the ends of float32 is none, as where it is left out.
func (l *lowering) clip(n *onnx.Node) error {
	at := attributesOf(n)
	ends := [2]*value{}
	for i, name := range []string{"min", "max"} {
		if a := at.take(name, onnx.AttrFloat); a != nil {
			ends[i] = scalar(a.Float)
		}
	}
	in, err := l.operandsOf(at, 1, 3)
	if err != nil {
		return err
	}
	v := in[0]
	if v.isConst() {
		return errFold
	}
	for i, c := range in[1:] {
		if c == nil {
			continue
		}
		if ends[i] != nil || !c.isConst() || len(c.c) != 1 {
			return fmt.Errorf("it needs constants of one number as bounds")
		}
		if c, err = l.fixed(c); err != nil {
			return err
		}
		ends[i] = scalar(c.c[0])
	}
	least, most := ends[0], ends[1]
	if least != nil && least.c[0] <= -math.MaxFloat32 {
		least = nil
	}
	if most != nil && most.c[0] >= math.MaxFloat32 {
		most = nil
	}
	lo, hi := -math.MaxFloat32, math.MaxFloat32
	if least != nil {
		lo = least.c[0]
	}
	if most != nil {
		hi = most.c[0]
	}
	if !(lo <= hi) {
		return fmt.Errorf("its bounds %v and %v are no interval", lo, hi)
	}
	if least != nil {
		v, err = l.atLeast(v, least)
	}
	if err == nil && most != nil {
		v, err = l.atMost(v, most)
	}
	return l.give(n, v, err)
}

// pReLU is t where t is above 0 and else slope t. One slope from 0 to 1 is a leaky relu.
func (l *lowering) pReLU(in []*value) (_ *value, err error) {
	v, slope := in[0], in[1]
	if v.isConst() || !slope.isConst() {
		return nil, fmt.Errorf("its slopes must be constants, and its input not")
	}
	if slope, err = l.fixed(slope); err != nil {
		return nil, err
	}
	if at, err := broadcast(v.shape, slope.shape); err != nil {
		return nil, err
	} else if !slices.Equal(at.shape, v.shape) {
		return nil, fmt.Errorf("its input has the shape %v, its slopes %v", v.shape, slope.shape)
	}
	first := slope.c[0]
	if one := !slices.ContainsFunc(slope.c, func(s float64) bool { return s != first }); one && first >= 0 && first <= 1 {
		return l.through(v, leaky(first))
	}
	minus, err := l.times(v, scalar(-1))
	if err != nil {
		return nil, err
	}
	if v, err = l.through(v, relu); err != nil {
		return nil, err
	}
	if minus, err = l.through(minus, relu); err != nil {
		return nil, err
	}
	if minus, err = l.times(minus, slope); err != nil {
		return nil, err
	}
	return l.sum(v, minus, -1)
}

// leaky is the leaky relu of a slope.
func leaky(slope float64) network.Activation {
	switch slope {
	case 0:
		return relu
	case 1:
		return network.Activation{}
	}
	return network.Activation{Kind: network.LeakyReLU, Slope: slope}
}
