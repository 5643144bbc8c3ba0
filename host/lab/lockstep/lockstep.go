// Package lockstep runs two devices side by side and compares every number, bit for bit.
package lockstep

import (
	"fmt"
	"math"
	"reflect"

	"psafe/host/bound"
)

// Device is a bound.Device that performs each operation on two others and fails
// with a *Difference at the first number in which they differ. Both must have the
// same precision. What it returns to its caller is the first device's.
type Device struct {
	a, b bound.Device
	// Compared counts the numbers that agreed.
	Compared int64
	// Operations counts the operations.
	Operations int
	// First is the first difference, if there was one: who asks may have gone on without its answer.
	First *Difference
}

// Difference holds where two devices first disagree.
type Difference struct {
	// Operation is the name of the operation, Array that of its output.
	Operation, Array string
	// Place names the index, for example "item 3, neuron 17".
	Place string
	// Index is the position in the array.
	Index int
	// Names and Values are the devices and what each wrote.
	Names  [2]string
	Values [2]float64
}

// Error is one line with both values in hexadecimal.
func (d *Difference) Error() string {
	return fmt.Sprintf("%s: %s at %s (index %d): %s has %x, %s has %x", d.Operation, d.Array, d.Place, d.Index,
		d.Names[0], d.Values[0], d.Names[1], d.Values[1])
}

// New returns a device that runs a and b in lockstep.
func New(a, b bound.Device) *Device {
	if a.Precision() != b.Precision() {
		panic(fmt.Sprintf("lockstep: %s computes in %v, %s in %v", a.Name(), a.Precision(), b.Name(), b.Precision()))
	}
	return &Device{a: a, b: b}
}

// pair is an array on both devices.
type pair struct{ a, b bound.Array }

func (p *pair) Len() int { return p.a.Len() }

// Name joins both names.
func (d *Device) Name() string { return d.a.Name() + " beside " + d.b.Name() }

// Precision returns the precision of both.
func (d *Device) Precision() bound.Precision { return d.a.Precision() }

// MemoryLimit is the smaller one.
func (d *Device) MemoryLimit() int64 { return min(d.a.MemoryLimit(), d.b.MemoryLimit()) }

// TestForGraphs tests both.
func (d *Device) TestForGraphs() error {
	if err := d.a.TestForGraphs(); err != nil {
		return err
	}
	return d.b.TestForGraphs()
}

// NewArray allocates on both.
func (d *Device) NewArray(n int) (bound.Array, error) {
	a, err := d.a.NewArray(n)
	if err != nil {
		return nil, err
	}
	b, err := d.b.NewArray(n)
	if err != nil {
		d.a.Release(a)
		return nil, err
	}
	return &pair{a, b}, nil
}

// Release gives both back.
func (d *Device) Release(x bound.Array) {
	if p, ok := x.(*pair); ok && p != nil {
		d.a.Release(p.a)
		d.b.Release(p.b)
	}
}

// Write writes to both.
func (d *Device) Write(dst bound.Array, src []float64) error {
	p := dst.(*pair)
	if err := d.a.Write(p.a, src); err != nil {
		return err
	}
	return d.b.Write(p.b, src)
}

// Read compares what both have and returns it.
func (d *Device) Read(dst []float64, src bound.Array) error {
	if err := d.compare("read", bound.Output{Name: "array", Array: src, Dims: []bound.Dim{{Name: "entry", N: src.Len()}}}); err != nil {
		return err
	}
	return d.a.Read(dst, src.(*pair).a)
}

// place turns a position into words.
func place(o bound.Output, index int) string {
	text := ""
	for i := len(o.Dims) - 1; i >= 0; i-- {
		n := max(o.Dims[i].N, 1)
		word := fmt.Sprintf("%s %d", o.Dims[i].Name, index%n)
		if index /= n; text == "" {
			text = word
		} else {
			text = word + ", " + text
		}
	}
	return text
}

// compare reads outputs from both devices; NaN equals NaN, and zeros of
// different sign differ.
func (d *Device) compare(operation string, outputs ...bound.Output) error {
	d.Operations++
	for _, o := range outputs {
		p := o.Array.(*pair)
		a, err := bound.ReadAll(d.a, p.a)
		if err != nil {
			return err
		}
		b, err := bound.ReadAll(d.b, p.b)
		if err != nil {
			return err
		}
		for i := range a {
			if math.Float64bits(a[i]) != math.Float64bits(b[i]) && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
				found := &Difference{operation, o.Name, place(o, i), i, [2]string{d.a.Name(), d.b.Name()}, [2]float64{a[i], b[i]}}
				if d.First == nil {
					d.First = found
				}
				return found
			}
		}
		d.Compared += int64(len(a))
	}
	return nil
}

// Do runs an operation on the first device and then on the second, and compares what it wrote.
func (d *Device) Do(op bound.Operation) error {
	for s, dev := range []bound.Device{d.a, d.b} {
		if err := dev.Do(side(s).of(op)); err != nil {
			return err
		}
	}
	return d.compare(bound.NameOf(op), bound.Outputs(op)...)
}

// side is 0 for the first device and 1 for the second.
type side int

// of is the operation with that side's array in place of every pair.
func (s side) of(op bound.Operation) bound.Operation {
	v := reflect.New(reflect.TypeOf(op)).Elem()
	v.Set(reflect.ValueOf(op))
	s.replace(v)
	return v.Interface().(bound.Operation)
}

// replace replaces the pairs in a value and in the fields of its structs.
func (s side) replace(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[bound.Array]():
		if p, is := v.Interface().(*pair); is {
			v.Set(reflect.ValueOf([]bound.Array{p.a, p.b}[s]))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			s.replace(v.Field(i))
		}
	}
}
