package npy

import (
	"errors"
	"fmt"
	"io"
	"math"

	"psafe/internal/infile"
)

// Reader reads one .npy file from a stream: the header first, and its elements when they
// are asked for. Nothing is read twice.
type Reader struct {
	// Header is the parsed header, Offset its length in bytes.
	Header Header
	Offset int64

	body io.Reader
	// left is how many bytes follow the header, or, unless exact, can follow it at most.
	left  int64
	exact bool
}

// NewReader reads the header of a .npy file of size bytes. exact says that the file has
// just so many; without it, it may have fewer, as is so where it comes out of a
// compressed stream.
func NewReader(r io.Reader, size int64, exact bool) (*Reader, error) {
	h, n, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if n > size {
		return nil, fmt.Errorf(".npy header of %d bytes in a file of %d", n, size)
	}
	return &Reader{Header: h, Offset: n, body: r, left: size - n, exact: exact}, nil
}

// Left returns how many bytes follow the header, or at most can.
func (r *Reader) Left() int64 { return r.left }

// errObject is for arrays of Python objects.
var errObject = errors.New("array of Python objects (a pickle), not of numbers")

// count is the number of elements, which the bytes that follow have room for.
func (r *Reader) count(size int) (int, error) {
	n, err := Count(r.Header.Shape, size, r.left)
	if need := int64(n) * int64(size); err == nil && r.exact && need != r.left {
		err = fmt.Errorf("shape %v of %s needs %d bytes, there are %d", r.Header.Shape, r.Header.Descr, need, r.left)
	}
	return n, err
}

// Check says, before anything is read, why Array or Bytes could not read the elements: a
// type that is not read, a shape that the bytes that follow do not fit.
func (r *Reader) Check() error {
	el, err := parseElement(r.Header.Descr)
	if err == nil {
		_, err = r.count(el.size)
	}
	return err
}

// Array reads the elements. Files that are damaged, have bytes left over, have an element
// type other than float16, float32, float64, integers and booleans, or hold an integer beyond 2^53
// in magnitude are errors.
func (r *Reader) Array() (*Array, error) {
	h := r.Header
	if h.IsObject() {
		return nil, errObject
	}
	el, err := parseElement(h.Descr)
	if err != nil {
		return nil, err
	}
	n, err := r.count(el.size)
	if err != nil {
		return nil, err
	}
	data, bad, err := Floats(r.body, n, el.size, el.value)
	switch {
	case err != nil:
		return nil, fmt.Errorf("shape %v of %s: %w", h.Shape, h.Descr, err)
	case bad >= 0:
		return nil, fmt.Errorf("element %d is no %s that a float64 holds exactly", bad, h.Descr)
	}
	if err := atEnd(r.body); err != nil {
		return nil, err
	}
	if h.Fortran {
		if err := infile.Afford(int64(n) * 8); err != nil {
			return nil, err
		}
		data = fromFortran(h.Shape, data)
	}
	return &Array{Shape: append([]int{}, h.Shape...), Data: data, DType: h.Descr}, nil
}

// Bytes reads the elements of an array of type uint8, without making numbers of them.
func (r *Reader) Bytes() ([]byte, error) {
	if r.Header.Descr != "|u1" {
		return nil, fmt.Errorf("element type %.20q is not |u1", r.Header.Descr)
	}
	n, err := r.count(1)
	if err != nil {
		return nil, err
	}
	if err := infile.Afford(int64(n)); err != nil {
		return nil, err
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r.body, data); err != nil {
		return nil, cut(err)
	}
	if err := atEnd(r.body); err != nil || !r.Header.Fortran {
		return data, err
	}
	if err := infile.Afford(int64(n)); err != nil {
		return nil, err
	}
	return fromFortran(r.Header.Shape, data), nil
}

// Rest reads what follows the header, as it is; its length must be known (exact).
func (r *Reader) Rest() ([]byte, error) {
	if !r.exact {
		panic("npy: Rest of a file of unknown length")
	}
	if err := infile.Afford(r.left); err != nil {
		return nil, err
	}
	data := make([]byte, r.left)
	if _, err := io.ReadFull(r.body, data); err != nil {
		return nil, cut(err)
	}
	return data, atEnd(r.body)
}

// cut reports whether a stream has ended too early.
func cut(err error) error { return or(err, errors.New("the file ends before its last element")) }

// atEnd reads the end of a stream, which makes a zip check its sum.
func atEnd(r io.Reader) error {
	n, err := io.ReadFull(r, make([]byte, 1))
	if n > 0 {
		return errors.New("the file goes on after its last element")
	}
	return or(err, nil)
}

// Half is the number that IEEE 754 binary16 bits stand for, exactly.
func Half(h uint16) float64 {
	sign := 1.0
	if h>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// Floats reads n elements of size bytes each and turns them into numbers, a piece at a
// time, so that nothing but the numbers is held. bad is the first element that value says
// is none, -1 without one.
func Floats(r io.Reader, n, size int, value func([]byte) (v float64, ok bool)) (data []float64, bad int, err error) {
	if err := infile.Afford(int64(n) * 8); err != nil {
		return nil, -1, err
	}
	data = make([]float64, n)
	piece := make([]byte, min(n, 1<<13)*size)
	for from := 0; from < n; {
		some := piece[:min(len(piece), (n-from)*size)]
		if _, err := io.ReadFull(r, some); err != nil {
			return nil, -1, cut(err)
		}
		for ; len(some) > 0; some = some[size:] {
			v, ok := value(some[:size])
			if !ok {
				return nil, from, nil
			}
			data[from] = v
			from++
		}
	}
	return data, -1, nil
}

// Decode reads the elements of an array from raw, which must have size bytes, no more and
// no fewer: see Array.
func Decode(h Header, raw io.Reader, size int64) (*Array, error) {
	return (&Reader{Header: h, body: raw, left: size, exact: true}).Array()
}
