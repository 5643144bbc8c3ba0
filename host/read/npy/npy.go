// Package npy reads and writes the numeric part of NumPy's file formats: .npy
// (header versions 1 to 3) and .npz (a zip of .npy files). It treats every input as
// hostile: a length is believed only as far as there are bytes behind it, an array is
// made only when its header has been read and the memory for it is there, and no input
// makes it panic.
//
// Arrays of Python objects are pickles. They are not read here: see Header.IsObject.
package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Array is a numeric array in C order: the last index runs fastest.
type Array struct {
	// Shape has one entry per axis, each >= 0; a scalar has no axes.
	Shape []int
	// Data has as many entries as the product of Shape. Every entry is exactly
	// the number in the file.
	Data []float64
	// DType is the element type as NumPy's descr spells it, for example "<f4".
	DType string
}

// maxRank is NumPy 2's own limit on the number of axes.
const maxRank = 64

// maxExact is 2^53: every integer up to it is a float64.
const maxExact = 1 << 53

// Count gives the number of elements of shape. It is an error when shape has a
// negative axis, too many axes, or needs more than available bytes at size
// bytes per element: so the answer is safe to allocate.
func Count(shape []int, size int, available int64) (int, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("array has %d axes, at most %d are allowed", len(shape), maxRank)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative axis", shape)
		}
		if d == 0 {
			n = 0
		}
	}
	if n == 0 {
		return 0, nil
	}
	for _, d := range shape {
		if int64(d) > available/int64(size)/n {
			return 0, fmt.Errorf("shape %v needs more than the %d bytes there are", shape, available)
		}
		n *= int64(d)
	}
	if n*int64(size) > available {
		return 0, fmt.Errorf("shape %v needs more than the %d bytes there are", shape, available)
	}
	return int(n), nil
}

// element is how one number is stored: kind is 'f', 'i', 'u' or 'b' (bool).
type element struct {
	kind  byte
	size  int
	order binary.ByteOrder
}

// parseElement reads a descr such as "<f4" or "|u1".
func parseElement(descr string) (element, error) {
	bad := fmt.Errorf("element type %.20q is none of f2, f4, f8, i1 to i8, u1 to u8, b1", descr)
	if len(descr) != 3 {
		return element{}, bad
	}
	el := element{kind: descr[1], order: binary.LittleEndian}
	el.size, _ = strconv.Atoi(descr[2:])
	switch descr[0] {
	case '>':
		el.order = binary.BigEndian
	case '<':
	case '|', '=':
		// One byte has no order. "=" is the order of a machine we do not know.
		if el.size != 1 {
			return element{}, bad
		}
	default:
		return element{}, bad
	}
	switch descr[1:] {
	case "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1":
		return el, nil
	}
	return element{}, bad
}

// value converts the el.size bytes of b. It is not ok for an integer beyond
// 2^53 in magnitude and for a boolean other than 0 and 1.
func (el element) value(b []byte) (v float64, ok bool) {
	var bits uint64
	switch el.size {
	case 1:
		bits = uint64(b[0])
	case 2:
		bits = uint64(el.order.Uint16(b))
	case 4:
		bits = uint64(el.order.Uint32(b))
	case 8:
		bits = el.order.Uint64(b)
	}
	switch {
	case el.kind == 'f' && el.size == 2:
		return Half(uint16(bits)), true
	case el.kind == 'f' && el.size == 4:
		return float64(math.Float32frombits(uint32(bits))), true
	case el.kind == 'f':
		return math.Float64frombits(bits), true
	case el.kind == 'b':
		return float64(bits), bits <= 1
	case el.kind == 'u':
		return float64(bits), bits <= maxExact
	}
	shift := uint(64 - 8*el.size)
	signed := int64(bits<<shift) >> shift
	return float64(signed), -maxExact <= signed && signed <= maxExact
}

// fromFortran reorders data, whose first index runs fastest, into C order.
func fromFortran[T byte | float64](shape []int, data []T) []T {
	turned, axes := slices.Clone(shape), make([]int, len(shape))
	slices.Reverse(turned)
	for k := range axes {
		axes[k] = len(axes) - 1 - k
	}
	return Transposed(turned, axes, data)
}

// Transposed is the elements of an array of that shape, in C order, with its axes in another order: axis
// k of what comes out is axis axes[k].
func Transposed[T any](shape, axes []int, data []T) []T {
	out := make([]T, len(data))
	// from is the place in data of the current C-order index; stride[k] is how
	// far one step along axis k moves there.
	index, stride := make([]int, len(axes)), make([]int, len(axes))
	step := 1
	for a := len(shape) - 1; a >= 0; a-- {
		stride[slices.Index(axes, a)] = step
		step *= shape[a]
	}
	from := 0
	for i := range out {
		out[i] = data[from]
		for k := len(axes) - 1; k >= 0; k-- {
			index[k]++
			from += stride[k]
			if index[k] < shape[axes[k]] {
				break
			}
			from -= stride[k] * shape[axes[k]]
			index[k] = 0
		}
	}
	return out
}

// Element is how many bytes an element of a type such as "<f4" takes, and the number that they are;
// ok is false for one that a float64 does not hold exactly.
func Element(descr string) (size int, value func(b []byte) (v float64, ok bool), err error) {
	el, err := parseElement(descr)
	return el.size, el.value, err
}
