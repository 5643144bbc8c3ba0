package prove_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// lying is a device that gives other numbers than it should without an error: what is read
// goes through lie, and one output of the operation, or of the kernel of an operation, named of
// through spoil. As on a GPU, small and large calls of an operation are kernels of their own.
type lying struct {
	bound.Device
	reads int
	lie   func(read int, v []float64)
	of    string
	calls int
	spoil func(call int, v []float64)
	// output counts, round and round, the outputs of an operation to the one that is spoiled.
	output int
	// launched are the calls of each kernel, and fresh the kernels since they were asked for.
	launched map[string]int
	fresh    []string
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

// Do does an operation and spoils what it wrote if it is the one.
func (d *lying) Do(a bound.Operation) error {
	if err := d.Device.Do(a); err != nil {
		return err
	}
	var outputs []bound.Array
	for _, o := range bound.Outputs(a) {
		outputs = append(outputs, o.Array)
	}
	kernel := bound.NameOf(a)
	if len(outputs) > 0 && outputs[0].Len() >= 24 {
		kernel += " of many"
	}
	if d.launched == nil {
		d.launched = map[string]int{}
	}
	d.launched[kernel]++
	d.fresh = append(d.fresh, kernel)
	if d.of != kernel && d.of != bound.NameOf(a) || len(outputs) == 0 {
		return nil
	}
	d.calls++
	spoiled := outputs[d.output%len(outputs)]
	v := make([]float64, spoiled.Len())
	if err := d.Device.Read(v, spoiled); err != nil {
		return err
	}
	d.spoil(d.calls, v)
	for i, x := range v { // arrays take numbers of the device's precision
		if v[i] = float64(float32(x)); x != x {
			v[i] = 0
		}
	}
	return d.Device.Write(spoiled, v)
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

// moved moves every number by about a quarter of it, up or down.
func moved(by float64) func([]float64) {
	return func(v []float64) {
		for i := range v {
			v[i] += by * (math.Abs(v[i])/4 + 0x1p-5)
		}
	}
}

// wrongs are ways in which a kernel may be wrong, by name: bounds that are too good, and ones
// that are weaker than they should be.
var wrongs = map[string]func([]float64){
	"drops signs": dropSigns, "zeros": allAre(0), "thousands": allAre(1e4), "infinities": allAre(math.Inf(-1)),
	"a wrong lane": lane, "less": moved(-1), "more": moved(1),
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
func onLiar(t *testing.T, dev *lying, spare bool, recheck engine.Recheck, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) (got []*claim.Result, dropped []*engine.Dropped, err error) {
	t.Helper()
	var last func() bound.Device
	if spare {
		last = func() bound.Device { return fallback.New(bound.Float32) }
	}
	lie, spoil := dev.lie, dev.of
	dev.lie, dev.of = nil, "" // loading the posterior is not what is tested
	e, err := engine.New(dev, last, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	dev.lie, dev.of, dev.reads, dev.launched = lie, spoil, 0, nil
	recheck.Tell = func(d *engine.Dropped) { dropped = append(dropped, d) }
	e.Recheck(recheck)
	err = prove.Run(context.Background(), []*engine.Engine{e}, cfg, tasks, nil, func(r *claim.Result) error {
		got = append(got, r)
		return nil
	})
	return got, dropped, err
}
