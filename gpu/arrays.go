package gpu

import (
	"fmt"

	"psafe/host/bound"
)

// arrays are those that kernels of an operation may take, by the names of their arguments.
type arrays []namedArray

type namedArray struct {
	name  string
	array *array // nil if there is none
}

// arrays are those of an operation, of the sizes that it needs; others panic.
func (d *Device) arrays(op bound.Operation) arrays {
	list := make(arrays, 0, 24)
	bound.EachArray(op, func(name string, x bound.Array) {
		var a *array
		if x != nil {
			a = d.own(x, name)
		}
		list = append(list, namedArray{name, a})
	})
	return list
}

// of is the array of a name, with a "_" behind it where OpenCL has the name for itself.
func (l arrays) of(name string) (a *array, there bool) {
	for _, x := range l {
		if x.name == name || len(name) == len(x.name)+1 && name[:len(x.name)] == x.name && name[len(x.name)] == '_' {
			return x.array, true
		}
	}
	return nil, false
}

// get is the array of a name that is there.
func (l arrays) get(name string) *array {
	a, there := l.of(name)
	if !there {
		panic("gpu: no array " + name)
	}
	return a
}

// with adds one.
func (l arrays) with(name string, a *array) arrays {
	return append(l[:len(l):len(l)], namedArray{name, a})
}

// part is an array of parts of sums: its name, and how many numbers it has.
type part struct {
	name string
	n    int
}

// parts makes arrays for parts of sums, for f to work with beside those of on.
func (d *Device) parts(on arrays, list []part, f func(on arrays) error) error {
	for _, p := range list {
		a, err := d.NewArray(p.n)
		if err != nil {
			return err
		}
		defer d.Release(a)
		on = on.with(p.name, a.(*array))
	}
	return f(on)
}

// own returns the device's array.
func (d *Device) own(x bound.Array, what string) *array {
	a := x.(*array)
	if a.device != d || a.mem == nil {
		panic("gpu: " + what + ": array of another device, or released")
	}
	return a
}

// array is own of an array that must have n numbers.
func (d *Device) array(x bound.Array, n int, what string) *array {
	a := d.own(x, what)
	if a.n != n {
		panic(fmt.Sprintf("gpu: %s: array has %d entries, not %d", what, a.n, n))
	}
	return a
}
