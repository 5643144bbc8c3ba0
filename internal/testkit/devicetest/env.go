package devicetest

import (
	"fmt"
	"math"

	"psafe/host/bound"
)

// output is an array that an operation wrote, read back.
type output struct {
	name string
	v    []float64
}

// env holds the arrays of one call: inputs, which must not change, outputs, and
// between them guards, which an index too large or too small would hit.
type env struct {
	dev     bound.Device
	poison  float64
	err     error
	inputs  []kept
	outputs []kept
}

// kept is an array and what was written to it.
type kept struct {
	name  string
	array bound.Array
	v     []float64
}

const guardLen = 37

// do runs a case and returns its outputs, or what went wrong with the memory.
func (e *env) do(c opCase) ([]output, error) {
	defer e.release()
	err := c.call(e)
	if e.err != nil {
		return nil, e.err
	}
	if err != nil {
		return nil, err
	}
	for _, in := range e.inputs {
		if err := e.unchanged(in); err != nil {
			return nil, err
		}
	}
	var out []output
	for _, k := range e.outputs {
		v, err := e.read(k)
		if err != nil {
			return nil, err
		}
		out = append(out, output{k.name, v})
	}
	return out, nil
}

func (e *env) release() {
	for _, list := range [][]kept{e.inputs, e.outputs} {
		for _, k := range list {
			e.dev.Release(k.array)
		}
	}
}

func (e *env) read(k kept) ([]float64, error) {
	if k.array.Len() != len(k.v) {
		return nil, fmt.Errorf("%s: Len is %d, want %d", k.name, k.array.Len(), len(k.v))
	}
	return bound.ReadAll(e.dev, k.array)
}

// unchanged demands that an array still holds what was written to it.
func (e *env) unchanged(k kept) error {
	v, err := e.read(k)
	if err != nil {
		return err
	}
	for i, x := range v {
		if math.Float64bits(x) != math.Float64bits(k.v[i]) {
			return fmt.Errorf("%s[%d] was changed from %x to %x", k.name, i, k.v[i], x)
		}
	}
	return nil
}

func (e *env) make(name string, v []float64) kept {
	if e.err != nil {
		return kept{}
	}
	a, err := e.dev.NewArray(len(v))
	if err == nil {
		err = e.dev.Write(a, v)
	}
	if err != nil {
		e.err = fmt.Errorf("%s: %w", name, err)
	}
	return kept{name, a, v}
}

func (e *env) guard() {
	v := make([]float64, guardLen)
	for i := range v {
		v[i] = e.poison + float64(i)*0x1p32
	}
	e.inputs = append(e.inputs, e.make("guard", v))
}

// in is an input array.
func (e *env) in(name string, v []float64) bound.Array {
	k := e.make(name, v)
	e.inputs = append(e.inputs, k)
	return k.array
}

// pair is an input interval.
func (e *env) pair(name string, v ends) bound.Interval {
	return bound.Interval{Lo: e.in(name+".Lo", v.lo), Hi: e.in(name+".Hi", v.hi)}
}

// out is an output of n numbers, between guards and full of poison.
func (e *env) out(name string, n int) bound.Array {
	v := make([]float64, n)
	for i := range v {
		v[i] = e.poison
	}
	return e.inOut(name, v)
}

// outPair is an output interval.
func (e *env) outPair(name string, n int) bound.Interval {
	return bound.Interval{Lo: e.out(name+".Lo", n), Hi: e.out(name+".Hi", n)}
}

// inOut is an array that the operation reads and writes.
func (e *env) inOut(name string, v []float64) bound.Array {
	e.guard()
	k := e.make(name, v)
	e.outputs = append(e.outputs, k)
	e.guard()
	return k.array
}
