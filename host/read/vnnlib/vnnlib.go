// Package vnnlib reads queries in VNN-LIB 1.0 and 2.x, exactly: a list of input boxes, each
// with the set of outputs that is unsafe there. A file asks for a counterexample: an
// input in one of the boxes whose output is in its set; of several networks, inputs of all of them.
//
// Every number is the real number that the text writes. What strictness the file states
// is kept: nothing is rounded and nothing is closed here. Errors are one line that begins
// with the line and the column.
package vnnlib

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"math/big"

	"psafe/internal/infile"
)

// Query holds what a file asks.
type Query struct {
	// Version is "1.0", or what a file of version 2 says, for example "2.0".
	Version string
	// Networks are those that the file declares, in its order: at least one.
	Networks []Network
	// Relations are the constraints about inputs alone, of two or more, that hold wherever the file
	// asks for a counterexample. They are among those of the cases' sets too.
	Relations []*Constraint
	// Cases are the boxes, in the order of the file, each once.
	Cases []Case
	// SHA256 is the lower-case hexadecimal digest of the file as it lies there, empty if
	// there was none.
	SHA256 string
}

// Network is one declaration of a network.
type Network struct {
	// Name is empty in version 1.
	Name string
	// Input and Output are the variables; in version 1 they are X and Y, of one axis.
	Input, Output Variable
	// Equal is the number of the network before that it is a copy of, -1 if it is none.
	Equal int
}

// Inputs is how many inputs all networks have.
func (q *Query) Inputs() (n int) {
	for i := range q.Networks {
		n += q.Networks[i].Input.Size
	}
	return n
}

// Outputs is how many outputs all networks have.
func (q *Query) Outputs() (n int) {
	for i := range q.Networks {
		n += q.Networks[i].Output.Size
	}
	return n
}

// Variable is a declared tensor.
type Variable struct {
	Name string
	// Type is Real, or an element type of ONNX such as float32.
	Type string
	// Shape has no axis for a scalar; Size is the product.
	Shape []int
	Size  int
}

// Case is an input box, of the inputs of all networks one after the other, and what is unsafe on it.
// Cases of which the file says the same share it.
type Case struct {
	Box    []Interval
	Unsafe *Set
}

// Set is a set of outputs, and of inputs with them, as the file writes it: where a constraint holds or, if that is nil, the
// union (Or) or the intersection of other sets, of at least one.
type Set struct {
	Constraint *Constraint
	Or         bool
	Of         []*Set
}

// Holds reports whether outputs are in the set, given which constraints hold there.
func (s *Set) Holds(constraint func(c *Constraint) bool) bool {
	if s.Constraint != nil {
		return constraint(s.Constraint)
	}
	for _, of := range s.Of {
		if of.Holds(constraint) == s.Or {
			return s.Or
		}
	}
	return !s.Or
}

// Interval is Lo <= x <= Hi, with < where an end is strict. It has a point.
type Interval struct {
	Lo, Hi             *big.Rat
	LoStrict, HiStrict bool
}

// Constraint is Offset + the sum of its terms >= 0, or > 0 if Strict. It has at least one term; outputs
// ascend, then inputs do, and no coefficient is 0.
type Constraint struct {
	Terms  []Term
	Offset *big.Rat
	Strict bool
}

// Term is Coef y_Of, of the outputs of all networks, or Coef x_Of of the inputs if Input.
type Term struct {
	Input bool
	Of    int
	Coef  *big.Rat
}

// Contains reports whether x is in the interval.
func (i *Interval) Contains(x *big.Rat) bool {
	lo, hi := i.Lo.Cmp(x), x.Cmp(i.Hi)
	return (lo < 0 || lo == 0 && !i.LoStrict) && (hi < 0 || hi == 0 && !i.HiStrict)
}

// Value is Offset + the sum of terms at inputs x with outputs y, exactly.
func (c *Constraint) Value(x, y []*big.Rat) *big.Rat {
	v := new(big.Rat).Set(c.Offset)
	for _, t := range c.Terms {
		of := y
		if t.Input {
			of = x
		}
		v.Add(v, new(big.Rat).Mul(t.Coef, of[t.Of]))
	}
	return v
}

// Holds reports whether the constraint holds at inputs x with outputs y.
func (c *Constraint) Holds(x, y []*big.Rat) bool {
	s := c.Value(x, y).Sign()
	return s > 0 || s == 0 && !c.Strict
}

// ReadFile reads a query, which may be compressed with gzip. Errors name the file.
func ReadFile(path string) (*Query, error) {
	data, err := infile.ReadAll(path, maxFile)
	if err == nil {
		var q *Query
		if q, err = Read(data); err == nil {
			return q, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// Read reads the content of a file.
func Read(data []byte) (*Query, error) {
	text, err := unpack(data, min(maxFile, max(unpackedFree, maxRatio*int64(len(data)))))
	if err != nil {
		return nil, err
	}
	q, err := parse(string(infile.Unmarked(text)))
	if err != nil {
		return nil, err
	}
	q.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
	return q, nil
}

// Recognises reports whether the content of a file, which may be compressed with gzip, looks
// like VNN-LIB and not like JSON: a bracket or a comment comes first.
func Recognises(data []byte) bool {
	var head [4096]byte
	n := copy(head[:], data)
	if packed(data) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return false
		}
		n, _ = io.ReadFull(z, head[:])
	}
	text := bytes.TrimLeft(infile.Unmarked(head[:n]), " \t\r\n\f")
	return len(text) > 0 && (text[0] == '(' || text[0] == ';')
}

func packed(data []byte) bool { return bytes.HasPrefix(data, []byte("\x1f\x8b")) }

// unpack is the text of a file, of at most limit bytes.
func unpack(data []byte, limit int64) ([]byte, error) {
	if !packed(data) {
		return data, nil
	}
	var text bytes.Buffer
	for _, to := range []io.Writer{io.Discard, &text} { // first how much it is: a buffer that grows takes three times that
		z, err := gzip.NewReader(bytes.NewReader(data))
		var n int64
		if err == nil {
			n, err = io.Copy(to, io.LimitReader(z, limit+1))
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("damaged gzip file: %w; get it again", err)
		case n > limit:
			return nil, fmt.Errorf("has more than %d bytes unpacked; split it", limit)
		case to == io.Discard:
			if err := infile.Afford(n); err != nil {
				return nil, err
			}
			text.Grow(int(n) + bytes.MinRead)
		}
	}
	return text.Bytes(), nil
}
