package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/spf13/pflag"

	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/bound/lockstep"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/host/run"
)

const crosscheckAbout = `psafe crosscheck runs the same job on two devices and compares every number that
every operation writes, bit for bit: end-points of weight boxes, hidden bounds,
relaxations, rows, margins. With --precision float32,float64 it also compares the
bounds of both precisions, which must overlap, and reports the largest gap.

  psafe crosscheck --posterior net.npz
  psafe crosscheck --posterior net.npz --inputs images.idx.gz --index 0:4 --eps 0.01 --device cpu --against 0:0

Without --inputs or a property file it makes input boxes of its own.
Exit status 1 if there is a difference: the line names the first operation that
differs, the place, and both values in hexadecimal.`

type crosscheckFlags struct {
	posterior       string
	post            posteriorFlags
	tasks           taskFlags
	device, against string
	precision       []string
	method          []string
	seed            uint64
}

func runCrosscheck(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var c crosscheckFlags
	f := newFlags("crosscheck", crosscheckAbout, stdout)
	f.StringVar(&c.posterior, "posterior", "", "posterior file or directory; required")
	c.post.add(f)
	c.tasks.add(f)
	f.StringVar(&c.device, "device", "cpu", "first device: cpu, "+strings.ReplaceAll(gpu.Selectors, "`", ""))
	f.StringVar(&c.against, "against", "opencl", "second device; opencl is the first OpenCL device there is")
	f.StringSliceVar(&c.precision, "precision", []string{"float32", "float64"}, "precisions to check")
	f.StringSliceVar(&c.method, "method", []string{"ibp", "lbp", "clbp"}, "methods to check")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the boxes")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if c.posterior == "" {
		return errors.New("--posterior is missing: name a posterior file")
	}
	post, err := c.post.read(c.posterior)
	if err != nil {
		return err
	}
	if err := diagonal(post, "crosscheck"); err != nil {
		return err
	}
	tasks, err := c.job(f, post)
	if err != nil {
		return err
	}
	return c.check(ctx, post, tasks, stdout, stderr)
}

// job is the work of a crosscheck: a few tasks.
func (c *crosscheckFlags) job(f *pflag.FlagSet, post *posterior.Posterior) ([]property.Task, error) {
	if named := c.tasks.of(f); named.Points.Inputs != "" || named.File != "" {
		tasks, err := named.Load(post)
		return tasks[:min(len(tasks), 16)], err
	}
	for _, flag := range []string{"eps", "index", "clip", "input-scale", "label", "label-column", "property"} {
		if f.Changed(flag) {
			return nil, fmt.Errorf("--%s needs --inputs: without a data or property file crosscheck makes input boxes of its own", flag)
		}
	}
	// Boxes of three kinds: small and positive, of both signs, and a point.
	rng := rand.New(rand.NewPCG(c.seed, 0))
	var tasks []property.Task
	for i := range 3 {
		b := property.Box{Lo: make([]float64, post.Inputs()), Hi: make([]float64, post.Inputs())}
		for j := range b.Lo {
			b.Lo[j] = rng.Float64() * 0.9
			b.Hi[j] = b.Lo[j] + 0.02*rng.Float64()
			switch i {
			case 1:
				b.Lo[j], b.Hi[j] = b.Lo[j]-0.5, b.Hi[j]-0.4
			case 2:
				b.Hi[j] = b.Lo[j]
			}
		}
		s := property.Safe{Rows: []property.Row{{CLo: make([]float64, post.Outputs()), CHi: make([]float64, post.Outputs())}}, Any: [][]int{{0}}}
		for k := range post.Outputs() {
			s.Rows[0].CLo[k] = rng.NormFloat64()
			s.Rows[0].CHi[k] = s.Rows[0].CLo[k]
		}
		if post.Outputs() > 1 {
			s = property.ArgmaxIs(i%post.Outputs(), post.Outputs())
		}
		tasks = append(tasks, property.Task{Index: i, Label: -1, T: []property.Box{b}, S: s})
	}
	return tasks, nil
}

// check runs all precisions and methods and prints a line for each.
func (c *crosscheckFlags) check(ctx context.Context, post *posterior.Posterior, tasks []property.Task, stdout, stderr io.Writer) error {
	bounds := map[string][]observed{}
	for _, word := range c.precision {
		p, err := bound.ParsePrecision(word)
		if err != nil {
			return fmt.Errorf("--precision: %w", err)
		}
		pair, done, err := c.open(p, stderr)
		if err != nil {
			return err
		}
		for _, method := range c.method {
			err := ctx.Err()
			if err == nil {
				bounds[method+" "+word], err = c.one(post, tasks, pair, method)
			}
			if err != nil {
				done()
				return c.fail(err, method, word)
			}
			fmt.Fprintf(stdout, "%s %s: %s: equal bits: %d numbers of %d operations\n", method, word, pair.Name(), pair.Compared, pair.Operations)
			pair.Compared, pair.Operations = 0, 0
		}
		done()
	}
	return c.precisions(bounds, stdout)
}

// fail turns the first difference into exit status 1, a device's fault into 3.
func (c *crosscheckFlags) fail(err error, method, precision string) error {
	var d *lockstep.Difference
	if errors.As(err, &d) {
		return &statusError{exitDifference, fmt.Errorf("%s %s: DIFFERENCE in %w", method, precision, d)}
	}
	if gpu.IsOutOfMemory(err) || gpu.IsDeviceLost(err) {
		return &run.DeviceError{Err: err}
	}
	return err
}

// open opens both devices in one precision.
func (c *crosscheckFlags) open(p bound.Precision, stderr io.Writer) (*lockstep.Device, func(), error) {
	second := c.against
	if second == "opencl" {
		list, err := gpu.List()
		if len(list) == 0 {
			if err == nil {
				err = errors.New("OpenCL has no devices here")
			}
			return nil, nil, &run.DeviceError{Err: fmt.Errorf("--against opencl: %w", err)}
		}
		second = list[0].ID
	}
	a, err := openDevices(c.device, p, gpu.Options{}, stderr)
	if err != nil {
		return nil, nil, err
	}
	b, err := openDevices(second, p, gpu.Options{}, stderr)
	if err != nil {
		a.close()
		return nil, nil, err
	}
	return lockstep.New(a.list[0], b.list[0]), func() { a.close(); b.close() }, nil
}

// observed is one array of bounds of a run.
type observed struct {
	what   string
	layer  int
	values []float64
}

// one bounds the tasks by a method: ibp and lbp on weight boxes that are numbers of
// both precisions, around the mean with half-widths 0, 1 and 3, and around four
// samples.
func (c *crosscheckFlags) one(post *posterior.Posterior, tasks []property.Task, pair *lockstep.Device, method string) ([]observed, error) {
	var regions []property.Box
	var rows [][]property.Row
	for _, t := range tasks {
		for _, b := range t.T {
			regions, rows = append(regions, b), append(rows, t.S.Rows)
		}
	}
	o := &observing{pair: pair}
	if method == "clbp" {
		err := o.clbp(post, regions, rows)
		return o.all, err
	}
	m, err := bound.ParseMethod(method)
	if err != nil {
		return nil, fmt.Errorf("--method: %q is none of ibp, lbp, clbp", method)
	}
	err = c.propagate(o, post, bound.Job{Method: m}, regions, rows)
	return o.all, err
}

// observing keeps the bounds of a run on a pair of devices.
type observing struct {
	pair *lockstep.Device
	all  []observed
}

func (o *observing) observe(what string, layer int, a bound.Array) error {
	values := make([]float64, a.Len())
	o.all = append(o.all, observed{what, layer, values})
	return o.pair.Read(values, a)
}

func (o *observing) clbp(post *posterior.Posterior, regions []property.Box, rows [][]property.Row) error {
	model, err := bound.NewModel(o.pair, post, 4)
	if err != nil {
		return err
	}
	defer model.Release()
	t, err := model.NewCLBPTrial(post, certify.NoiseMoments(post), regions, rows)
	if err != nil {
		return err
	}
	defer t.Release()
	return t.Run(o.observe)
}

// propagate runs the job's method on the boxes.
func (c *crosscheckFlags) propagate(o *observing, post *posterior.Posterior, job bound.Job, regions []property.Box, rows [][]property.Row) error {
	model, err := bound.NewModel(o.pair, post, 4)
	if err != nil {
		return err
	}
	defer model.Release()
	if job.Boxes, err = c.boxes(model, post); err != nil {
		return err
	}
	defer model.ReleaseBoxes(job.Boxes)
	if err := c.drawn(model, post); err != nil {
		return err
	}
	if job.Inputs, err = model.UploadInputs(regions); err != nil {
		return err
	}
	defer model.ReleaseInputs(job.Inputs)
	if job.Rows, err = model.UploadRows(rows); err != nil {
		return err
	}
	defer model.ReleaseRows(job.Rows)
	n := len(regions)
	job.Batch, job.Observe = bound.Batch{Items: n * job.Boxes.Count(), PerBox: n, Inputs: n}, o.observe
	_, err = model.Propagate(job)
	return err
}

// spec draws the boxes that are compared.
func (c *crosscheckFlags) spec(post *posterior.Posterior, sampled bool, gammas ...float64) bound.BoxSpec {
	s := bound.BoxSpec{Sampled: sampled, Seed: c.seed}
	for range post.Layers {
		s.Gamma = append(s.Gamma, gammas)
	}
	return s
}

// boxes uploads weight boxes made in float32, so that both precisions propagate
// the same ones.
func (c *crosscheckFlags) boxes(model *bound.Model, post *posterior.Posterior) (*bound.Boxes, error) {
	var list []bound.Explicit
	for _, s := range []bound.BoxSpec{c.spec(post, false, 0, 1, 3), c.spec(post, true, 0, 0.125, 0.5, 2)} {
		for b := range s.Count() {
			box, err := bound.HostBox(post, bound.Float32, s, b)
			if err != nil {
				return nil, err
			}
			list = append(list, box)
		}
	}
	return model.Upload(list)
}

// drawn lets both devices draw boxes; the lockstep compares them.
func (c *crosscheckFlags) drawn(model *bound.Model, post *posterior.Posterior) error {
	for _, sampled := range []bool{false, true} {
		boxes, err := model.Draw(c.spec(post, sampled, 0, 0.5, 2.5))
		if err != nil {
			return err
		}
		model.ReleaseBoxes(boxes)
	}
	return nil
}

// precisions compares float32 with float64: both enclose the same true values
// (weight boxes are equal; input boxes of float32 are a little larger), so lower
// bounds may not lie above the other's upper bounds.
func (c *crosscheckFlags) precisions(bounds map[string][]observed, stdout io.Writer) error {
	for _, method := range c.method {
		narrow, wide := bounds[method+" float64"], bounds[method+" float32"]
		if narrow == nil || wide == nil {
			continue
		}
		gap, inside, total := 0.0, 0, 0
		for i := range narrow {
			n, w := narrow[i], wide[i]
			upper := n.what != "pre.lo" && !strings.HasPrefix(n.what, "margin")
			for k := range n.values {
				total++
				lo, hi := w.values[k], n.values[k]
				if upper {
					lo, hi = hi, lo
				}
				if lo <= hi {
					inside++
				}
				if d := math.Abs(n.values[k] - w.values[k]); d > gap && !math.IsInf(d, 0) {
					gap = d
				}
				if n.what == "pre.lo" && (n.values[k] > wide[i+1].values[k] || w.values[k] > narrow[i+1].values[k]) {
					return &statusError{exitDifference, fmt.Errorf("%s: DIFFERENCE between precisions in %s of layer %d at index %d: float64 [%x, %x] and float32 [%x, %x] do not overlap",
						method, n.what, n.layer, k, n.values[k], narrow[i+1].values[k], w.values[k], wide[i+1].values[k])}
				}
			}
		}
		fmt.Fprintf(stdout, "%s float32 against float64: all overlap, %d of %d float32 bounds contain the float64 ones, largest gap %.3g\n", method, inside, total, gap)
	}
	return nil
}
