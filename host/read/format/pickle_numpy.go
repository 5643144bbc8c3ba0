package format

import (
	"fmt"
	"strings"

	"psafe/host/read/npy"
)

// The globals a pickle may name: everything else is refused.
const (
	globalReconstruct pickleGlobal = "numpy reconstruct"
	globalScalar      pickleGlobal = "numpy scalar"
	globalNDArray     pickleGlobal = "numpy ndarray"
	globalDType       pickleGlobal = "numpy dtype"
	globalEncode      pickleGlobal = "codecs encode"
	globalFromBuffer  pickleGlobal = "numpy frombuffer"
	globalTensor      pickleGlobal = "tensorflow convert_to_tensor"
)

var allowedGlobals = map[string]pickleGlobal{
	"numpy.core.multiarray _reconstruct":                globalReconstruct,
	"numpy._core.multiarray _reconstruct":               globalReconstruct,
	"numpy.core.numeric _frombuffer":                    globalFromBuffer,
	"numpy._core.numeric _frombuffer":                   globalFromBuffer,
	"numpy.core.multiarray scalar":                      globalScalar,
	"numpy._core.multiarray scalar":                     globalScalar,
	"numpy ndarray":                                     globalNDArray,
	"numpy dtype":                                       globalDType,
	"_codecs encode":                                    globalEncode,
	"tensorflow.python.framework.ops convert_to_tensor": globalTensor,
}

// maxArrayAxes bounds the axes of a pickled array; weights have two.
const maxArrayAxes = 8

// pickleArray is a NumPy array as the pickle describes it.
type pickleArray struct {
	// built reports whether BUILD has given it a shape and content.
	built  bool
	header npy.Header
	// raw is where the numbers are, items are the objects; only one is in use.
	raw   span
	items []any
}

// pickleDType is an element type. Order is ' ' until BUILD sets it.
type pickleDType struct {
	code  string
	order byte
}

// numbers decodes a numeric array at the expense of copies.
func (a *pickleArray) numbers(copies *budget) (*npy.Array, error) {
	if !a.built || a.header.IsObject() {
		return nil, fmt.Errorf("array of Python objects where an array of numbers is needed")
	}
	if err := copies.take(a.raw.length); err != nil {
		return nil, err
	}
	return npy.Decode(a.header, a.raw.reader(), a.raw.length)
}

// size is the number of elements, once the array is built.
func (a *pickleArray) size() int64 {
	n := int64(1)
	for _, d := range a.header.Shape {
		n *= int64(d) // no overflow: there are as many bytes, or objects
	}
	return n
}

// stepGlobal pushes an allowed global.
func (u *unpickler) stepGlobal(op byte) error {
	var module, name string
	var err error
	if op == opStackGlobal {
		pair, err := u.popMany(2)
		if err != nil {
			return err
		}
		var ok, ok2 bool
		module, ok = pair[0].(string)
		name, ok2 = pair[1].(string)
		if !ok || !ok2 {
			return fmt.Errorf("name of a global is not a string")
		}
	} else {
		if module, err = u.line(); err != nil {
			return err
		}
		if name, err = u.line(); err != nil {
			return err
		}
	}
	g, ok := allowedGlobals[module+" "+name]
	if !ok {
		return fmt.Errorf("global %.60q of module %.60q is refused: a posterior needs only NumPy arrays", name, module)
	}
	u.push(g)
	return nil
}

// reduce calls an allowed global.
func (u *unpickler) reduce() error {
	pair, err := u.popMany(2)
	if err != nil {
		return err
	}
	g, ok := pair[0].(pickleGlobal)
	args, ok2 := pair[1].(pickleTuple)
	if !ok || !ok2 {
		return fmt.Errorf("REDUCE of something that is not a function and its arguments")
	}
	v, err := u.call(g, args)
	if err != nil {
		return err
	}
	u.push(v)
	return nil
}

func (u *unpickler) call(g pickleGlobal, args pickleTuple) (any, error) {
	switch g {
	case globalReconstruct:
		// The arguments (ndarray, (0,), b'b') are always these; BUILD follows.
		if len(args) == 3 && args[0] == any(globalNDArray) {
			return &pickleArray{}, nil
		}
	case globalDType:
		if len(args) >= 1 && len(args) <= 3 {
			if code, ok := latin1(args[0]); ok && code != "" && len(code) <= 3 {
				return &pickleDType{code: code, order: ' '}, nil
			}
		}
	case globalEncode:
		return u.encode(args)
	case globalScalar:
		if len(args) == 2 {
			if d, ok := args[0].(*pickleDType); ok {
				a := &pickleArray{}
				return a, a.set(pickleTuple{int64(1), pickleTuple{}, d, false, args[1]})
			}
		}
	case globalFromBuffer:
		return fromBuffer(args)
	case globalTensor:
		if len(args) == 1 {
			if a, ok := args[0].(*pickleArray); ok {
				return a, nil
			}
		}
	}
	return nil, fmt.Errorf("call of %s with unusual arguments", string(g))
}

// fromBuffer is numpy's _frombuffer(bytes, dtype, shape, order), by which protocol 5 writes
// arrays of numbers.
func fromBuffer(args pickleTuple) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("_frombuffer with %d arguments instead of 4", len(args))
	}
	switch args[0].(type) {
	case []byte, longBytes:
	default:
		return nil, fmt.Errorf("_frombuffer of something that is not bytes")
	}
	order, _ := latin1(args[3])
	if len(args) > 4 || order != "C" && order != "F" {
		return nil, fmt.Errorf("array whose axes are in the order %.10q: save numpy.ascontiguousarray of it", order)
	}
	a := &pickleArray{}
	return a, a.set(pickleTuple{int64(1), args[2], args[1], order == "F", args[0]})
}

// encode is _codecs.encode(text, "latin1"), by which Python 3 writes bytes into
// protocol 2.
func (u *unpickler) encode(args pickleTuple) (any, error) {
	if len(args) != 2 || args[1] != any("latin1") {
		return nil, fmt.Errorf("_codecs.encode with an encoding other than latin1")
	}
	if long, ok := args[0].(longText); ok {
		if err := u.copies.take(long.n); err != nil {
			return nil, err
		}
		s, err := long.decoded()
		return longBytes{s}, err
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("_codecs.encode of something that is not a string")
	}
	if err := u.copies.take(int64(len(text))); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, fmt.Errorf("character %U is not in latin1", r)
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// latin1 gives a short text that may be a Python string of any kind. Short,
// because the memo could have a long one copied again and again.
func latin1(v any) (string, bool) {
	const longest = 8
	switch s := v.(type) {
	case string:
		return s, len(s) <= longest
	case []byte:
		if len(s) <= longest {
			return string(s), true
		}
	}
	return "", false
}

// build gives an array or a dtype its state.
func (u *unpickler) build() error {
	state, err := u.pop()
	if err != nil {
		return err
	}
	target, err := u.pop()
	if err != nil {
		return err
	}
	u.push(target)
	fields, ok := state.(pickleTuple)
	if !ok {
		return fmt.Errorf("BUILD with a state that is not a tuple")
	}
	switch t := target.(type) {
	case *pickleDType:
		return t.set(fields)
	case *pickleArray:
		return t.set(fields)
	}
	return fmt.Errorf("BUILD of something that is neither an array nor a dtype")
}

// set applies a dtype state: (3, byte order, None, None, None, -1, -1, 0).
// Structured and sub-array types have something else than None.
func (d *pickleDType) set(state pickleTuple) error {
	if len(state) < 5 || state[2] != nil || state[3] != nil || state[4] != nil {
		return fmt.Errorf("dtype %.10q is structured or has an unusual state", d.code)
	}
	order, ok := latin1(state[1])
	if !ok || len(order) != 1 || !strings.Contains("<>|=", order) {
		return fmt.Errorf("dtype %.10q has an unusual byte order", d.code)
	}
	d.order = order[0]
	return nil
}

// set applies an array state: (1, shape, dtype, Fortran order, content). The
// shape and the content must fit each other.
func (a *pickleArray) set(state pickleTuple) error {
	if a.built {
		return fmt.Errorf("array is built twice")
	}
	if len(state) != 5 {
		return fmt.Errorf("array state has %d fields instead of 5", len(state))
	}
	axes, ok := state[1].(pickleTuple)
	d, ok2 := state[2].(*pickleDType)
	fortran, ok3 := state[3].(bool)
	if !ok || !ok2 || !ok3 {
		return fmt.Errorf("array state is not (version, shape, dtype, order, content)")
	}
	if len(axes) > maxArrayAxes {
		return fmt.Errorf("array has %d axes", len(axes))
	}
	a.header = npy.Header{Fortran: fortran, Shape: make([]int, len(axes))}
	for i, axis := range axes {
		n, ok := axis.(int64)
		if !ok {
			return fmt.Errorf("array shape is not a tuple of integers")
		}
		a.header.Shape[i] = int(n)
	}
	a.built = true
	if d.code == "O" || d.code == "O8" || d.code == "O4" {
		return a.setItems(state[4])
	}
	return a.setRaw(d, state[4])
}

// setItems takes the list of an object array.
func (a *pickleArray) setItems(content any) error {
	a.header.Descr = "|O"
	list, ok := content.(*pickleList)
	if !ok {
		return fmt.Errorf("object array without a list of objects")
	}
	n, err := npy.Count(a.header.Shape, 1, int64(len(list.items)))
	if err != nil || n != len(list.items) {
		return fmt.Errorf("object array of shape %v holds %d objects", a.header.Shape, len(list.items))
	}
	a.items = list.items
	return nil
}

// setRaw takes the bytes of a numeric array.
func (a *pickleArray) setRaw(d *pickleDType, content any) error {
	switch raw := content.(type) {
	case []byte:
		a.raw = shortBytes(raw)
	case longBytes:
		a.raw = raw.span
	default:
		return fmt.Errorf("numeric array without bytes")
	}
	order := d.order
	if order == ' ' {
		order = '|'
	}
	a.header.Descr = string(order) + d.code
	size := int(d.code[len(d.code)-1] - '0')
	if size < 1 || size > 8 {
		return fmt.Errorf("element type %.10q is not supported: save float32 or float64", a.header.Descr)
	}
	n, err := npy.Count(a.header.Shape, size, a.raw.length)
	if err != nil || int64(n)*int64(size) != a.raw.length {
		return fmt.Errorf("array of shape %v and type %.10q with %d bytes", a.header.Shape, a.header.Descr, a.raw.length)
	}
	return nil
}
