package certify_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/internal/testscale"
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
func (d *lying) Widen(a bound.Widen) error           { return spoiled(d, a, d.Device.Widen) }
func (d *lying) Vary(a bound.Vary) error             { return spoiled(d, a, d.Device.Vary) }
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

// lieConfigs are ways to certify that together ask devices for every kind of answer.
func lieConfigs(post *posterior.Posterior) []certify.Config {
	return append(faultConfigs(post), certify.Config{Strategy: certify.Statistical, Samples: 12, Confidence: .9})
}

var liePosteriors = []string{"two-weights.npz", "tiny-2-3-2-tanh.npz", "samples-2-8-3.npz"}

// TestEveryAnswerCompared: with all answers computed again no lie of any kind gets into a
// result: results are those of the spare device, every number of them.
func TestEveryAnswerCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	found, runs := 0, 0
	for range testscale.Cases(t, 10) {
		for _, file := range liePosteriors {
			post := read(t, file)
			tasks := manyTasks(r.Uint64(), post, 3)
			for _, cfg := range lieConfigs(post) {
				honest := &lying{Device: fallback.New(bound.Float32)}
				want, _, err := onLiar(t, honest, false, certify.Recheck{}, post, cfg, tasks)
				if err != nil {
					t.Fatal(err)
				}
				from := 1 + r.IntN(max(1, honest.reads))
				liars := map[string]*lying{
					"drops signs":          {lie: after(from, dropSigns)},
					"drops signs once":     {lie: once(from, dropSigns)},
					"flips bits":           {lie: after(1, flips(r, .002))},
					"drops signs at times": {lie: func(n int, v []float64) { once(n-n%7, dropSigns)(n, v) }},
					"wrong in a lane":      {lie: after(from, lane)},
					"wrong in the last":    {lie: after(honest.reads, dropSigns)},
					"reads nothing as NaN": {lie: after(from, allAre(math.NaN()))},
				}
				op := bound.Operations()[r.IntN(len(bound.Operations()))]
				liars["wrong "+op] = &lying{of: op, spoil: after(1+r.IntN(4), dropSigns)}
				for name, dev := range liars {
					dev.Device = fallback.New(bound.Float32)
					got, dropped, err := onLiar(t, dev, true, certify.Recheck{Share: 1, Seed: r.Uint64()}, post, cfg, tasks)
					if err != nil {
						t.Errorf("%s %+v, %s: %v", file, cfg, name, err)
						continue
					}
					if diff := sameResults(got, want); diff != "" {
						t.Errorf("%s %+v, %s (from %d of %d): %s", file, cfg, name, from, honest.reads, diff)
					}
					if len(dropped) > 1 {
						t.Errorf("%s %+v, %s: dropped %d times", file, cfg, name, len(dropped))
					}
					found += len(dropped)
					runs++
				}
			}
		}
	}
	if t.Logf("%d runs, in %d of them the device was dropped", runs, found); found < runs/3 {
		t.Error("the test tests little")
	}
}

// TestLastingLie: a device that is wrong for good from some moment on is found by the
// rechecks there always are, however few, and nothing that it computed after the last one
// that agreed is in a result.
func TestLastingLie(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	for range testscale.Cases(t, 20) {
		for _, file := range liePosteriors {
			post := read(t, file)
			tasks := manyTasks(r.Uint64(), post, 5)
			for _, cfg := range lieConfigs(post) {
				honest := &lying{Device: fallback.New(bound.Float32)}
				want, _, err := onLiar(t, honest, false, certify.Recheck{}, post, cfg, tasks)
				if err != nil {
					t.Fatal(err)
				}
				if honest.reads == 0 {
					continue
				}
				from := 1 + r.IntN(honest.reads)
				dev := &lying{Device: fallback.New(bound.Float32), lie: after(from, allAre(1e4))}
				share := []float64{1e-12, .01, .5}[r.IntN(3)]
				got, dropped, err := onLiar(t, dev, true, certify.Recheck{Share: share}, post, cfg, tasks)
				if err != nil {
					t.Fatal(err)
				}
				if diff := sameResults(got, want); diff != "" {
					t.Errorf("%s %+v, read %d of %d: %s", file, cfg, from, honest.reads, diff)
				}
				if len(dropped) != 1 {
					t.Fatalf("%s %+v, read %d of %d: dropped %d times", file, cfg, from, honest.reads, len(dropped))
				}
				line := dropped[0].Error()
				if !strings.HasPrefix(line, "device liar is dropped: ") || strings.Contains(line, "\n") {
					t.Errorf("line %q", line)
				}
				if last := got[len(got)-1].Device; last != "cpu, as "+line && last != "host" {
					t.Errorf("%s %+v: device %q after %q", file, cfg, last, line)
				}
			}
		}
	}
}

// TestHonestDevice: no number and no name depends on how much is computed again.
func TestHonestDevice(t *testing.T) {
	for _, file := range liePosteriors {
		post := read(t, file)
		tasks := manyTasks(7, post, 5)
		for _, cfg := range lieConfigs(post) {
			var want []*certify.Result
			for _, share := range []float64{0, 1e-12, .01, .3, 1} {
				got, dropped, err := onLiar(t, &lying{Device: fallback.New(bound.Float32)}, true, certify.Recheck{Share: share, Seed: 3}, post, cfg, tasks)
				if err != nil || len(dropped) > 0 {
					t.Fatalf("%s %+v, share %v: %v, %v", file, cfg, share, err, dropped)
				}
				if want == nil {
					want = got
				}
				if diff := sameResults(got, want); diff != "" || got[0].Device != want[0].Device {
					t.Errorf("%s %+v, share %v: %s; device %q", file, cfg, share, diff, got[0].Device)
				}
			}
		}
	}
}

// TestOneOfSeveralLies: where devices share the work, the one that lies is dropped, and the
// others go on.
func TestOneOfSeveralLies(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	tasks := manyTasks(8, post, 10)
	for _, cfg := range []certify.Config{{Method: bound.LBP}, {Strategy: certify.CLBP, Cells: 4}, {Method: bound.IBP, Strategy: certify.Sampled, Samples: 1100, Gamma: 0.3, NoUpper: true}} {
		want := run(t, bound.Float32, post, cfg, tasks...)
		for _, from := range []int{0, 1, 4} {
			var engines []*certify.Engine
			dropped := make([]int, 3)
			for k := range dropped {
				dev := &lying{Device: fallback.New(bound.Float32)}
				engine, err := certify.NewEngine(dev, func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
				if err != nil {
					t.Fatal(err)
				}
				defer engine.Close()
				if k == 1 {
					dev.lie = after(5*from, allAre(1e4))
				}
				engine.Recheck(certify.Recheck{Share: .01, Tell: func(*certify.Dropped) { dropped[k]++ }})
				engines = append(engines, engine)
			}
			if diff := sameResults(runOn(t, engines, cfg, tasks...), want); diff != "" {
				t.Errorf("%+v from read %d: %s", cfg, 5*from, diff)
			}
			if dropped[0] != 0 || dropped[2] != 0 || dropped[1] > 1 {
				t.Errorf("%+v: dropped %v", cfg, dropped)
			}
		}
	}
}

// TestContradictions: without any recheck, bounds that contradict each other do not leave.
// With a spare device they are computed again, and the device is dropped; without one the
// run ends with a *Contradiction and no result of that task.
func TestContradictions(t *testing.T) {
	contradictions := 0
	for _, file := range []string{"two-weights.npz", "tiny-2-3-2-tanh.npz"} {
		post := read(t, file)
		tasks := manyTasks(9, post, 4)
		for _, cfg := range []certify.Config{
			{Strategy: certify.CLBP}, {Method: bound.LBP, Strategy: certify.Auto}, {Method: bound.LBP}, {Method: bound.IBP, Strategy: certify.Sampled, Samples: 40, Gamma: 0.3},
			{Strategy: certify.CLBP, NoUpper: true, Samples: 60, Confidence: .9},
		} {
			want := run(t, bound.Float32, post, cfg, tasks...)
			for _, share := range []float64{0, .01} {
				// Lower bounds that are far too high prove S and its opposite.
				dev := &lying{Device: fallback.New(bound.Float32), lie: after(1, lift)}
				got, dropped, err := onLiar(t, dev, true, certify.Recheck{Share: share}, post, cfg, tasks)
				if err != nil || len(dropped) > 1 {
					t.Errorf("%s %+v: %v, dropped %v", file, cfg, err, dropped)
				}
				for i, r := range got {
					if r.Lower() > r.Upper() {
						t.Errorf("%s %+v: %v > %v left", file, cfg, r.Lower(), r.Upper())
					}
					if len(dropped) == 1 && dropped[0].Found != nil && r.Lower() > want[i].Lower() && r.Device == got[len(got)-1].Device {
						t.Errorf("%s %+v: p_lower %v, on the fallback %v", file, cfg, r.Lower(), want[i].Lower())
					}
				}
				if share == 0 && len(dropped) == 1 {
					contradictions++
				}
				got, dropped, err = onLiar(t, dev, false, certify.Recheck{Share: share}, post, cfg, tasks)
				for _, r := range got {
					if r.Lower() > r.Upper() {
						t.Errorf("%s %+v: %v > %v left", file, cfg, r.Lower(), r.Upper())
					}
				}
				found, is := errors.AsType[*certify.Contradiction](err)
				if len(dropped) > 0 || err != nil && !is || is && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), fmt.Sprintf("bounds of index %d contradict each other: ", found.Index))) {
					t.Errorf("%s %+v: %v, dropped %v", file, cfg, err, dropped)
				}
				if is {
					for _, r := range got {
						if r.Task.Index == found.Index {
							t.Errorf("%s %+v: a result of index %d, which contradicts itself", file, cfg, found.Index)
						}
					}
					contradictions++
				}
			}
		}
	}
	if t.Logf("%d contradictions", contradictions); contradictions < 8 {
		t.Error("the test tests little")
	}
}

// lift makes numbers that are negative large.
func lift(v []float64) {
	for i := range v {
		if v[i] < 0 {
			v[i] = 1e4
		}
	}
}
