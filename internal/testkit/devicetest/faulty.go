package devicetest

import (
	"errors"

	"psafe/host/bound"
)

// ErrSkip, from Faulty.Before, is for an operation that does nothing and does not fail.
var ErrSkip = errors.New("skip")

// Faulty is a device of which any call may fail: Before is asked before each, but for Release. Where
// it returns an error, that is the answer: an operation has written zeros then, which as margins
// would be safe, and a read has left what was there. Arrays counts those that were not given back.
type Faulty struct {
	bound.Memory
	dev bound.Device
	// Before gets what the operation is given, nil for calls of Memory.
	Before func(bound.Operation) error
	Arrays int
}

// NewFaulty is dev until Before is set.
func NewFaulty(dev bound.Device) *Faulty {
	return &Faulty{Memory: dev, dev: dev, Before: func(bound.Operation) error { return nil }}
}

// TestForGraphs is the device's.
func (f *Faulty) TestForGraphs() error { return f.dev.TestForGraphs() }

// NewArray may fail.
func (d *Faulty) NewArray(n int) (bound.Array, error) {
	if err := d.Before(nil); err != nil {
		return nil, err
	}
	d.Arrays++
	return d.dev.NewArray(n)
}

// Release does not fail.
func (d *Faulty) Release(a bound.Array) {
	if a != nil {
		d.Arrays--
	}
	d.dev.Release(a)
}

// Write may fail.
func (d *Faulty) Write(dst bound.Array, src []float64) error {
	if err := d.Before(nil); err != nil {
		return err
	}
	return d.dev.Write(dst, src)
}

// Read may fail.
func (d *Faulty) Read(dst []float64, src bound.Array) error {
	if err := d.Before(nil); err != nil {
		return err
	}
	return d.dev.Read(dst, src)
}

// Do does an operation unless it is to fail.
func (d *Faulty) Do(op bound.Operation) error {
	err := d.Before(op)
	switch err {
	case nil:
		return d.dev.Do(op)
	case ErrSkip:
		return nil
	}
	for _, o := range bound.Outputs(op) {
		d.dev.Write(o.Array, make([]float64, o.Array.Len()))
	}
	return err
}
