package certify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

// faultJob makes jobs about a posterior file by a method: two images of convtest, or two points, with
// a region around each.
func faultJob(t *testing.T, path, eps string, m Method) func() *Job {
	t.Helper()
	post, err := format.Read(path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var points strings.Builder
	for seed := range uint64(2) {
		x := convtest.Picture(seed+1, network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
		fmt.Fprintln(&points, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x)), ","), "[]"))
	}
	inputs := file(t, "x.csv", points.String())
	return func() *Job {
		j := &Job{
			Posterior: Posterior{Path: path}, Method: m, Out: Output{OmitTiming: true},
			Tasks: Tasks{Points: Points{Inputs: inputs, Eps: eps, Property: property.KeepsClass}},
		}
		if !or(m.By, prove.Auto).OfBoxes() {
			// Then the first group is one task, whose record is there when the second fails.
			j.TimeLimit = new(time.Hour)
		}
		return j
	}
}

// faultKind is a network, a radius at which something is proved and something is not, and methods.
type faultKind struct {
	path, eps string
	methods   []Method
}

// faultKinds are networks of every kind, each with the methods that it has.
func faultKinds(t *testing.T) []faultKind {
	written := func(name string, post *posterior.Posterior) string {
		var b strings.Builder
		if err := format.WriteNPZ(&b, post); err != nil {
			t.Fatal(err)
		}
		return file(t, name+".npz", b.String())
	}
	few, one := new(2), new(1.0)
	boxes := []Method{{By: new(prove.IBP), Gamma: one, Draws: few, NoUpper: true}, {By: new(prove.LBP), Gamma: one, Draws: few, NoUpper: true}}
	any := func(cells int) []Method {
		return []Method{{By: new(prove.Statistical), Draws: few, Cells: &cells}, {By: new(prove.Auto), Draws: few, Cells: &cells}}
	}
	noisy := slices.Concat(boxes, any(1), []Method{{By: new(prove.CLBP), Cells: new(1), Derived: true, NoUpper: true}})
	return []faultKind{
		{testFile("tiny-2-3-2-tanh.npz"), "0.01", append(any(2), Method{By: new(prove.NeuronSum), Cells: few})},
		{written("deep", deepDense()), "0.06", noisy},
		{written("convolution", convtest.Named("leastConv").Posterior(1)), "0.05", noisy},
		{written("pools", convtest.Named("leastPool").Posterior(1)), "0.05", noisy},
		{written("residual", convtest.Named("leastSum").Posterior(1)), "0.05", noisy},
		{testFile("samples-2-8-3.npz"), "0.01", []Method{{By: new(prove.Finite), Cells: few}, {By: new(prove.Auto), Cells: few}}},
		{testFile("dropout-2-8-3.npz"), "0.01", any(2)},
		{testFile("swag-2-8-3.npz"), "0.01", any(2)[:1]},
		{testFile("correlated-2-8-3.npz"), "0.01", []Method{{By: new(prove.CLBP), Cells: few}}},
	}
}

// deepDense has two hidden layers of ReLU, which other slopes, phases and reaches are about.
func deepDense() *posterior.Posterior {
	r := rand.New(rand.NewPCG(28, 1))
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k, n := range []int{9, 4, 4} {
		l := network.DenseLayer(n, []int{4, 4, 3}[k], network.Activation{Kind: network.ReLU})
		if k == 2 {
			l.Activation = network.Activation{}
		}
		params := func(n int) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for i := range mean {
				mean[i], sd[i] = r.NormFloat64(), .02
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: params(n * l.Outputs()), Bias: params(l.Outputs())})
	}
	return post
}

var errBroken = errors.New("device broken")

// mishap describes what happens at call number at of a device, and what may come of it.
type mishap struct {
	name string
	// before is asked before each call; end ends the context of the run.
	before func(call, at int, end func()) error
	spare  bool
	// always says that it meets all calls that deep tests take, limit that it is about the time of a task.
	always, limit bool
	change        func(*Job)
	// ends says that an error is the documented one.
	ends func(error) bool
}

func is[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }

var faults = []mishap{
	{name: "one call fails", always: true, before: func(call, at int, _ func()) error { return brokenIf(call == at) }, ends: is[*DeviceError]},
	{name: "broken for good", before: func(call, at int, _ func()) error { return brokenIf(call >= at) }, ends: is[*DeviceError]},
	{name: "broken for good, with a spare", spare: true, before: func(call, at int, _ func()) error { return brokenIf(call >= at) }, ends: is[*DeviceError]},
	{name: "interrupted", always: true, before: func(call, at int, end func()) error {
		if call == at {
			end()
		}
		return nil
	}, ends: is[*Interrupted]},
	// A minute is over then, and no hour.
	{name: "total time limit", before: sleeping(2 * time.Minute), change: func(j *Job) { j.TotalTimeLimit = new(time.Minute) }, ends: is[*OutOfTime]},
	{name: "time limit", limit: true, before: sleeping(2 * time.Hour), ends: func(error) bool { return false }},
}

// sleeping lets time go by during a call, of the clock of package synctest.
func sleeping(d time.Duration) func(call, at int, _ func()) error {
	return func(call, at int, _ func()) error {
		if call == at {
			time.Sleep(d)
		}
		return nil
	}
}

func brokenIf(yes bool) error {
	if yes {
		return errBroken
	}
	return nil
}

// under does a job whose device meets a fault at call number at; calls is how many there were.
func (f *mishap) under(j *Job, at int) (records []*record.Record, calls, left int, err error) {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var dev *devicetest.Faulty
	j.Open = func(p bound.Precision) (*Devices, error) {
		dev = devicetest.NewFaulty(fallback.New(p))
		dev.Before = func(bound.Operation) error { calls++; return f.before(calls, at, end) }
		d := &Devices{List: []bound.Device{dev}, Blame: func(err error, _ string) error { return err }}
		if f.spare {
			d.Spare = func() bound.Device { return fallback.New(p) }
		}
		return d, nil
	}
	if f.change != nil {
		f.change(j)
	}
	records, err = j.Run(ctx)
	return records, calls, dev.Arrays, err
}

// TestEveryCall: whichever call of a device fails, or is the last before an interruption or the end
// of the time, with every method and kind of network: the run ends as docs/reference.md says, and its
// records, with those that --resume adds, are those of a run that nothing disturbed. Night tries
// every call, deep sixty for each method.
func TestEveryCall(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 2))
	kinds := faultKinds(t)
	var sum outcomes
	for _, k := range kinds {
		for i, m := range k.methods {
			c := &faultCase{job: faultJob(t, k.path, k.eps, m), dir: t.TempDir(), name: fmt.Sprintf("%s by %v", filepath.Base(k.path), *m.By)}
			synctest.Test(t, c.undisturbed)
			first := c.loading + 1
			if i == 0 { // all methods load it alike
				first = 1
			}
			from, step := first, 1
			switch {
			case !testscale.Deep(t):
				from, step = first+r.IntN(c.calls-first+1), c.calls // one call
			case !testscale.Night():
				step = (c.calls - first + 60) / 60
				from += r.IntN(step)
			}
			for at := from; at <= c.calls; at += step {
				for i := range faults {
					if f := &faults[i]; (f.always && testscale.Deep(t) || r.IntN(3) == 0) && !(f.limit && c.job().TimeLimit == nil) {
						synctest.Test(t, func(t *testing.T) { c.disturbed(t, f, at) })
					}
				}
			}
			t.Logf("%s: %d calls after %d, %+v", c.name, c.calls-c.loading, c.loading, c.outcomes)
			sum.runs, sum.errs, sum.kept, sum.cut = sum.runs+c.runs, sum.errs+c.errs, sum.kept+c.kept, sum.cut+c.cut
		}
	}
	if t.Logf("%+v", sum); sum.errs == 0 || sum.kept == 0 || sum.cut == 0 || sum.errs == sum.runs {
		t.Error("the test tests nothing")
	}
}

// outcomes counts what came of runs: errors, records that were finished before, records that a limit
// has cut short.
type outcomes struct{ runs, errs, kept, cut int }

// faultCase is a job that is disturbed again and again.
type faultCase struct {
	job       func() *Job
	dir, name string
	// calls of the device there are without a fault, loading of them before there are records to make.
	calls, loading int
	want           string
	full           []*record.Record
	outcomes
}

func (c *faultCase) out(at int) string {
	return filepath.Join(c.dir, fmt.Sprintf("%d-%d.jsonl", c.runs, at))
}

// text returns what the file of a run has, and removes it.
func (c *faultCase) text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	os.Remove(path)
	return string(b)
}

// undisturbed makes the run that the others are compared with.
func (c *faultCase) undisturbed(t *testing.T) {
	j := c.job()
	j.Out.Path = c.out(0)
	now := 0
	j.Progress = func(done, _ int) {
		if c.loading == 0 {
			c.loading = now
		}
	}
	records, calls, left, err := (&mishap{before: func(call, _ int, _ func()) error { now = call; return nil }}).under(j, 0)
	if err != nil || left != 0 {
		t.Fatalf("%s: %v, %d arrays left", c.name, err, left)
	}
	c.full, c.calls, c.want = records, calls, c.text(t, j.Out.Path)
}

func (c *faultCase) disturbed(t *testing.T, f *mishap, at int) {
	c.runs++
	name := fmt.Sprintf("%s, %s at call %d of %d", c.name, f.name, at, c.calls)
	j := c.job()
	j.Out.Path = c.out(at)
	records, _, left, err := f.under(j, at)
	if left != 0 {
		t.Errorf("%s: %d arrays are left on the device", name, left)
	}
	if err != nil {
		c.errs++
		if !f.ends(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %T: %v", name, err, err)
			return
		}
		if _, err := os.Stat(j.Out.Path + PartialSuffix); err != nil {
			return // to begin again is no other run
		}
		c.kept++
		again := c.job()
		again.Out, again.Open = Output{Path: j.Out.Path, OmitTiming: true, Resume: true}, onCPU
		if records, err = again.Run(context.Background()); err != nil {
			t.Errorf("%s: --resume: %v", name, err)
			return
		}
	}
	got := c.text(t, j.Out.Path)
	if got == c.want || f.spare && withoutDevice(t, got) == withoutDevice(t, c.want) {
		return
	}
	if !f.limit {
		t.Errorf("%s: other records:\n%swant\n%s", name, got, c.want)
		return
	}
	c.cut++
	for i, r := range records {
		if full := c.full[i]; float64(r.PLower) > float64(full.PUpper) || float64(r.PUpper) < float64(full.PLower) || !r.TimedOut() && r.PLower != full.PLower {
			t.Errorf("%s: record %d says [%v, %v] stopped %q, without a limit [%v, %v]", name, i, r.PLower, r.PUpper, r.Stopped, full.PLower, full.PUpper)
		}
	}
}
