package bound

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Arrays is what an operation lists its arrays in. All that is done with the arrays of every operation
// follows from these lists: whether they have the sizes that the operation needs, what a comparison of
// devices, a self-test or a failure reads and writes, and which array is which argument of a kernel.
type Arrays struct {
	operation Operation
	// each, if it is set, gets all of them, one after the other; list, those that are written.
	each func(name string, a Array)
	list *[]Output
}

// Output is an array that an operation writes.
type Output struct {
	// Name is as kernels have it: "preLo".
	Name  string
	Array Array
	Dims  []Dim
}

// Dim is one index of an array: what it counts and how far.
type Dim struct {
	Name string
	N    int
}

// In lists an array that the operation reads, with its indices, the last contiguous.
func (l *Arrays) In(name string, a Array, dims ...Dim) { l.add(name, a, true, false, dims) }

// Out lists one that it writes, or reads and writes.
func (l *Arrays) Out(name string, a Array, dims ...Dim) { l.add(name, a, true, true, dims) }

// InIf lists one that it reads on a condition, and does not have else.
func (l *Arrays) InIf(needed bool, name string, a Array, dims ...Dim) {
	l.add(name, a, needed, false, dims)
}

// OutIf lists one that it writes on a condition, and does not have else.
func (l *Arrays) OutIf(needed bool, name string, a Array, dims ...Dim) {
	l.add(name, a, needed, true, dims)
}

// Ins lists both ends of an interval that is read, Outs of one that is written.
func (l *Arrays) Ins(lo, hi string, of Interval, dims ...Dim) {
	l.add(lo, of.Lo, true, false, dims)
	l.add(hi, of.Hi, true, false, dims)
}

// Outs is Ins of an interval that is written.
func (l *Arrays) Outs(lo, hi string, of Interval, dims ...Dim) {
	l.add(lo, of.Lo, true, true, dims)
	l.add(hi, of.Hi, true, true, dims)
}

func (l *Arrays) add(name string, a Array, needed, out bool, dims []Dim) {
	if !needed {
		a = nil
	} else {
		n := 1
		for _, d := range dims {
			n *= d.N
		}
		switch {
		case a == nil:
			panic(fmt.Sprintf("bound: %s has no array %s", reflect.TypeOf(l.operation).Name(), name))
		case a.Len() != n:
			panic(fmt.Sprintf("bound: %s: array %s has %d entries, shape needs %d", reflect.TypeOf(l.operation).Name(), name, a.Len(), n))
		}
	}
	if l.each != nil {
		l.each(name, a)
	}
	if l.list != nil && out && a != nil {
		*l.list = append(*l.list, Output{name, a, slices.Clone(dims)})
	}
}

// Check panics unless the arrays of the operation have the sizes that it needs.
func Check(op Operation) { op.Arrays(&Arrays{operation: op}) }

// EachArray is Check, and calls f with all arrays that the operation uses, in the order of its list,
// and with nil in the place of those that it could have.
func EachArray(op Operation, f func(name string, a Array)) {
	op.Arrays(&Arrays{operation: op, each: f})
}

// Array is memory of one Device: a list of numbers in its precision.
type Array interface {
	// Len is the number of entries.
	Len() int
}

// Interval is a pair of equally long arrays with Lo <= Hi entry by entry.
type Interval struct{ Lo, Hi Array }

// Operation is an operation of a Device: what it is given, as a struct with the operation's
// name, in the file of that name, which says what it promises.
type Operation interface {
	// Arrays lists the arrays that the operation reads and writes, with their sizes.
	Arrays(*Arrays)
}

// NameOf is the name of an operation as its files and kernels have it: "affine".
func NameOf(op Operation) string { return strings.ToLower(reflect.TypeOf(op).Name()) }
