package lower

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/read/onnx"
)

// castTo is the type that a Cast makes.
func castTo(n *onnx.Node) (onnx.DataType, error) {
	at := attributesOf(n)
	to := onnx.DataType(at.int("to", 0))
	at.int("saturate", 1) // of float8, which is not read
	if err := at.end(); err != nil {
		return 0, err
	}
	switch to {
	case onnx.Float16, onnx.BFloat16, onnx.Float32, onnx.Float64, onnx.Int32, onnx.Int64, onnx.Bool:
		return to, nil
	}
	return 0, fmt.Errorf("it makes elements of type %d, which is none of float16, bfloat16, float32, float64, int32, int64, bool", int64(to))
}

// wider lists, for a type of floating-point numbers, those that hold all of its numbers.
var wider = map[onnx.DataType][]onnx.DataType{
	onnx.Float16:  {onnx.Float16, onnx.Float32, onnx.Float64},
	onnx.BFloat16: {onnx.BFloat16, onnx.Float32, onnx.Float64},
	onnx.Float32:  {onnx.Float32, onnx.Float64},
	onnx.Float64:  {onnx.Float64},
}

// holds reports whether x is a number of that type of floating-point numbers. Of the short ones it
// knows small whole numbers alone.
func holds(t onnx.DataType, x float64) bool {
	switch t {
	case onnx.Float64:
		return true
	case onnx.Float32:
		return float64(float32(x)) == x
	}
	return math.Abs(x) <= 1<<8 && x == math.Trunc(x)
}

// cast changes the type of a tensor of floating-point numbers where no number changes by that.
func (l *lowering) cast(n *onnx.Node) error {
	to, err := castTo(n)
	if err != nil {
		return err
	}
	in, err := l.tensors(n, 1, 1)
	if err != nil {
		return err
	}
	v := in[0]
	if from := l.types[n.Inputs[0]]; slices.Contains(wider[from], to) {
		return l.give(n, v, nil)
	} else if !v.isConst() {
		return fmt.Errorf("it makes %v of %v, which rounds: psafe reads casts that change no number; export the network in one type", to, from)
	}
	if to.IsFloat() {
		for _, x := range v.c {
			if !holds(to, x) {
				return fmt.Errorf("it rounds the constant %v to %v: fold it before the export", x, to)
			}
		}
		return l.give(n, v, nil)
	}
	if v, err = l.fixed(v); err != nil {
		return err
	}
	ints := make([]int64, len(v.c))
	for i, x := range v.c {
		if x != math.Trunc(x) || math.Abs(x) > 1<<24 || to == onnx.Bool {
			return fmt.Errorf("it makes %v of the constant %v: fold it before the export", to, x)
		}
		ints[i] = int64(x)
	}
	out, err := l.counted(v.shape, ints)
	return l.give(n, out, err)
}
