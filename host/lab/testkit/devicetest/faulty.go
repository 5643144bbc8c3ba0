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
//
// Only the Memory is embedded: an operation that is added to bound.Device and not here does not
// compile.
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

// mayFail does an operation unless it is to fail.
func mayFail[A bound.Operation](d *Faulty, a A, f func(A) error) error {
	err := d.Before(a)
	switch err {
	case nil:
		return f(a)
	case ErrSkip:
		return nil
	}
	for _, o := range a.Outputs() {
		if o.Array != nil {
			d.dev.Write(o.Array, make([]float64, o.Array.Len()))
		}
	}
	return err
}

func (d *Faulty) DrawBox(a bound.DrawBox) error     { return mayFail(d, a, d.dev.DrawBox) }
func (d *Faulty) MergeRows(a bound.MergeRows) error { return mayFail(d, a, d.dev.MergeRows) }
func (d *Faulty) Affine(a bound.Affine) error       { return mayFail(d, a, d.dev.Affine) }
func (d *Faulty) Activate(a bound.Activate) error   { return mayFail(d, a, d.dev.Activate) }
func (d *Faulty) Relax(a bound.Relax) error         { return mayFail(d, a, d.dev.Relax) }
func (d *Faulty) RelaxRows(a bound.RelaxRows) error { return mayFail(d, a, d.dev.RelaxRows) }
func (d *Faulty) BackSubstitute(a bound.BackSubstitute) error {
	return mayFail(d, a, d.dev.BackSubstitute)
}
func (d *Faulty) Concretize(a bound.Concretize) error { return mayFail(d, a, d.dev.Concretize) }
func (d *Faulty) Intersect(a bound.Intersect) error   { return mayFail(d, a, d.dev.Intersect) }
func (d *Faulty) SquareRows(a bound.SquareRows) error { return mayFail(d, a, d.dev.SquareRows) }
func (d *Faulty) NoiseRows(a bound.NoiseRows) error   { return mayFail(d, a, d.dev.NoiseRows) }
func (d *Faulty) Widen(a bound.Widen) error           { return mayFail(d, a, d.dev.Widen) }
func (d *Faulty) Vary(a bound.Vary) error             { return mayFail(d, a, d.dev.Vary) }
func (d *Faulty) PoolStar(a bound.PoolStar) error     { return mayFail(d, a, d.dev.PoolStar) }
func (d *Faulty) PoolLines(a bound.PoolLines) error   { return mayFail(d, a, d.dev.PoolLines) }
func (d *Faulty) Gather(a bound.Gather) error         { return mayFail(d, a, d.dev.Gather) }
func (d *Faulty) GatherSum(a bound.GatherSum) error   { return mayFail(d, a, d.dev.GatherSum) }
func (d *Faulty) PlaceRows(a bound.PlaceRows) error   { return mayFail(d, a, d.dev.PlaceRows) }
func (d *Faulty) PairNoise(a bound.PairNoise) error   { return mayFail(d, a, d.dev.PairNoise) }
func (d *Faulty) SharedVar(a bound.SharedVar) error   { return mayFail(d, a, d.dev.SharedVar) }
func (d *Faulty) ShareBox(a bound.ShareBox) error     { return mayFail(d, a, d.dev.ShareBox) }
func (d *Faulty) ShareRows(a bound.ShareRows) error   { return mayFail(d, a, d.dev.ShareRows) }
func (d *Faulty) SplitRows(a bound.SplitRows) error   { return mayFail(d, a, d.dev.SplitRows) }
