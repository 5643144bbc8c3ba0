package certify_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
)

// lying is a device that gives other numbers than it should without an error: what is read
// goes through lie, and so does the first output of the operation named of.
type lying struct {
	bound.Device
	reads int
	lie   func(read int, v []float64)
	of    string
	calls int
	spoil func(call int, v []float64)
}

func (d *lying) Name() string { return "liar" }

func (d *lying) Read(dst []float64, src bound.Array) error {
	err := d.Device.Read(dst, src)
	d.reads++
	if d.lie != nil {
		d.lie(d.reads, dst)
	}
	return err
}

// spoiled does an operation and spoils what it wrote if it is the one.
func spoiled[A bound.Operation](d *lying, a A, f func(A) error) error {
	if err := f(a); err != nil || bound.NameOf(a) != d.of {
		return err
	}
	d.calls++
	for _, o := range a.Outputs() {
		if o.Array == nil {
			continue
		}
		v := make([]float64, o.Array.Len())
		if err := d.Device.Read(v, o.Array); err != nil {
			return err
		}
		d.spoil(d.calls, v)
		return d.Device.Write(o.Array, v)
	}
	return nil
}
func (d *lying) DrawBox(a bound.DrawBox) error       { return spoiled(d, a, d.Device.DrawBox) }
func (d *lying) MergeRows(a bound.MergeRows) error   { return spoiled(d, a, d.Device.MergeRows) }
func (d *lying) Affine(a bound.Affine) error         { return spoiled(d, a, d.Device.Affine) }
func (d *lying) Activate(a bound.Activate) error     { return spoiled(d, a, d.Device.Activate) }
func (d *lying) Relax(a bound.Relax) error           { return spoiled(d, a, d.Device.Relax) }
func (d *lying) RelaxRows(a bound.RelaxRows) error   { return spoiled(d, a, d.Device.RelaxRows) }
func (d *lying) Concretize(a bound.Concretize) error { return spoiled(d, a, d.Device.Concretize) }
func (d *lying) Intersect(a bound.Intersect) error   { return spoiled(d, a, d.Device.Intersect) }
func (d *lying) SquareRows(a bound.SquareRows) error { return spoiled(d, a, d.Device.SquareRows) }
func (d *lying) NoiseRows(a bound.NoiseRows) error   { return spoiled(d, a, d.Device.NoiseRows) }
func (d *lying) SplitRows(a bound.SplitRows) error   { return spoiled(d, a, d.Device.SplitRows) }
func (d *lying) Widen(a bound.Widen) error           { return spoiled(d, a, d.Device.Widen) }
func (d *lying) Vary(a bound.Vary) error             { return spoiled(d, a, d.Device.Vary) }
func (d *lying) Gather(a bound.Gather) error         { return spoiled(d, a, d.Device.Gather) }
func (d *lying) GatherSum(a bound.GatherSum) error   { return spoiled(d, a, d.Device.GatherSum) }
func (d *lying) PlaceRows(a bound.PlaceRows) error   { return spoiled(d, a, d.Device.PlaceRows) }
func (d *lying) BackSubstitute(a bound.BackSubstitute) error {
	return spoiled(d, a, d.Device.BackSubstitute)
}

// The lies.
func dropSigns(v []float64) {
	for i := range v {
		v[i] = math.Abs(v[i])
	}
}

func allAre(x float64) func([]float64) {
	return func(v []float64) {
		for i := range v {
			v[i] = x
		}
	}
}

// lane spoils one number in eight.
func lane(v []float64) {
	for i := 7; i < len(v); i += 8 {
		v[i] = -v[i] + 1
	}
}

// flips turns over a bit of a number now and then.
func flips(r *rand.Rand, p float64) func([]float64) {
	return func(v []float64) {
		for i := range v {
			if r.Float64() < p {
				v[i] = float64(math.Float32frombits(math.Float32bits(float32(v[i])) ^ 1<<r.IntN(32)))
			}
		}
	}
}

// after is a lie told from a read, or a call, on.
func after(from int, lie func([]float64)) func(int, []float64) {
	return func(n int, v []float64) {
		if n >= from {
			lie(v)
		}
	}
}

// once is a lie told at one read.
func once(at int, lie func([]float64)) func(int, []float64) {
	return func(n int, v []float64) {
		if n == at {
			lie(v)
		}
	}
}

// onLiar certifies tasks on a device that lies, with a spare one if it may have one.
func onLiar(t *testing.T, dev *lying, spare bool, recheck certify.Recheck, post *posterior.Posterior, cfg certify.Config, tasks []property.Task) (got []*certify.Result, dropped []*certify.Dropped, err error) {
	t.Helper()
	var last func() bound.Device
	if spare {
		last = func() bound.Device { return fallback.New(bound.Float32) }
	}
	lie, spoil := dev.lie, dev.of
	dev.lie, dev.of = nil, "" // loading the posterior is not what is tested
	engine, err := certify.NewEngine(dev, last, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	dev.lie, dev.of, dev.reads = lie, spoil, 0
	recheck.Tell = func(d *certify.Dropped) { dropped = append(dropped, d) }
	engine.Recheck(recheck)
	err = certify.Run(context.Background(), []*certify.Engine{engine}, cfg, tasks, nil, func(r *certify.Result) error {
		got = append(got, r)
		return nil
	})
	return got, dropped, err
}
