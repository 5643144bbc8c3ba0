package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/lab/crosscheck"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

const crosscheckAbout = `psafe crosscheck runs the same job on two devices and compares every number that
every operation writes, bit for bit: end-points of weight boxes, hidden bounds,
relaxations, rows, margins. With --precision float32,float64 it also compares
the bounds of both precisions, which must overlap, and reports the largest gap.

  psafe crosscheck --posterior net.npz
  psafe crosscheck --posterior net.npz --inputs x.csv --eps 0.01 --against 0:0

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

func (c *crosscheckFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.posterior, "posterior", "", "posterior file or directory; required")
	c.post.add(f)
	c.tasks.add(f)
	f.StringVar(&c.device, "device", "cpu", "first device, as of psafe certify")
	f.StringVar(&c.against, "against", "opencl", "second device; opencl is the first OpenCL device there is")
	f.StringSliceVar(&c.precision, "precision", []string{"float32", "float64"}, "precisions to check")
	f.StringSliceVar(&c.method, "method", []string{"ibp", "lbp", "clbp"}, "methods to check")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the boxes")
}

func crosscheckCommand() *cobra.Command {
	var c crosscheckFlags
	cmd, f := newCommand("crosscheck", "the same job on two devices, compared number by number", crosscheckAbout, 0)
	c.add(f)
	asJSON := f.Bool("json", false, jsonLinesUsage)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		job, err := c.job(f)
		if err != nil {
			return err
		}
		supervised := newSupervised(ctx, stdout, stderr, "")
		if done, err := supervised.run(ctx, job.Precisions[0], &c.device, &c.against); done || err != nil {
			return err
		}
		job.Open = func(p bound.Precision) (*crosscheck.Pair, error) {
			supervised.showNotes()
			return c.open(ctx, p)
		}
		job.Equal = func(e crosscheck.Equal) {
			fmt.Fprintf(stdout, "%s %v: %s: equal bits: %d numbers of %d operations\n", e.Method, e.Precision, e.Devices, e.Numbers, e.Operations)
		}
		job.Overlap = func(o crosscheck.Overlap) {
			fmt.Fprintf(stdout, "%s float32 against float64: all overlap, %d of %d float32 bounds contain the float64 ones, largest gap %.3g\n", o.Method, o.Inside, o.Total, o.Gap)
		}
		if *asJSON { // an error in writing ends the program at the door
			job.Equal = func(e crosscheck.Equal) { _ = printJSON(stdout, equalFields(e)) }
			job.Overlap = func(o crosscheck.Overlap) { _ = printJSON(stdout, overlapFields(o)) }
		}
		return crosscheckStatus(job.Run(ctx))
	})
}

// job is what the flags ask for.
func (c *crosscheckFlags) job(f *pflag.FlagSet) (*crosscheck.Settings, error) {
	if c.posterior == "" {
		return nil, errors.New("--posterior is missing: name a posterior file, as in --posterior net.npz")
	}
	post, err := c.post.read(c.posterior)
	if err != nil {
		return nil, err
	}
	if !post.Independent() && !f.Changed("method") {
		c.method = []string{"clbp"}
	}
	job := &crosscheck.Settings{Posterior: post, Seed: c.seed}
	if job.Tasks, err = c.load(f, post); err != nil {
		return nil, err
	}
	for _, word := range c.precision {
		p, err := bound.ParsePrecision(word)
		if err != nil {
			return nil, fmt.Errorf("--precision: %w", didYouMean(err, word, precisionWords))
		}
		job.Precisions = append(job.Precisions, p)
	}
	for _, word := range c.method {
		m, err := crosscheck.ParseMethod(word)
		if err != nil {
			return nil, fmt.Errorf("--method: %w", didYouMean(err, word, crosscheckMethods))
		}
		if err := crosscheck.Fits(post, m); err != nil {
			return nil, fmt.Errorf("%s: this posterior is %s, and --method %s cannot be compared: %w", post.Source.Path, post.Describe(), m, err)
		}
		job.Methods = append(job.Methods, m)
	}
	return job, nil
}

// load is the tasks that the flags name, or some if they name none.
func (c *crosscheckFlags) load(f *pflag.FlagSet, post *posterior.Posterior) ([]property.Task, error) {
	named, err := c.tasks.of(f)
	if err != nil {
		return nil, err
	}
	if named.Points.Inputs != "" || named.File != "" {
		return named.Load(post)
	}
	for _, flag := range []string{"eps", "index", "clip", "fix", "free", "mean", "std", "channels", "input-scale", "label", "label-column", "property"} {
		if f.Changed(flag) {
			return nil, fmt.Errorf("--%s needs --inputs: without a data or property file crosscheck makes input boxes of its own", flag)
		}
	}
	return crosscheck.OwnTasks(post, c.seed), nil
}

// open opens both devices in one precision.
func (c *crosscheckFlags) open(ctx context.Context, p bound.Precision) (*crosscheck.Pair, error) {
	second := c.against
	if second == "opencl" {
		list, err := gpu.List()
		if len(list) == 0 {
			if err == nil {
				err = errors.New("OpenCL has no devices here")
			}
			return nil, &certify.DeviceError{Err: fmt.Errorf("--against opencl: %w", err)}
		}
		second = list[0].ID
	}
	a, err := openDevices(c.device, p, gpu.Options{Patience: patience(0)})
	if err != nil {
		return nil, err
	}
	b, err := openDevices(second, p, gpu.Options{Patience: patience(0)})
	if err != nil {
		a.close()
		return nil, err
	}
	return &crosscheck.Pair{A: bound.Until(ctx, a.list[0]), B: bound.Until(ctx, b.list[0]), Close: func() { a.close(); b.close() }}, nil
}

// crosscheckStatus turns a difference into exit status 1.
func crosscheckStatus(err error) error {
	if _, differ := errors.AsType[*crosscheck.Difference](err); differ {
		return &statusError{exitDifference, err}
	}
	return err
}

// crosschecked is a line of psafe crosscheck --json: compared is "bits", of two devices, or
// "precisions", of float32 and float64.
type crosschecked struct {
	Compared   string `json:"compared"`
	Method     string `json:"method"`
	Precision  string `json:"precision,omitempty"`
	Devices    string `json:"devices,omitempty"`
	Numbers    int64  `json:"numbers,omitempty"`
	Operations int    `json:"operations,omitempty"`
	Inside     *int   `json:"inside,omitempty"`
	Bounds     int    `json:"bounds,omitempty"`
	// Gap is the largest difference, which says nothing about either being a bound.
	Gap *float64 `json:"largest_gap,omitempty"`
}

func equalFields(e crosscheck.Equal) crosschecked {
	return crosschecked{Compared: "bits", Method: e.Method.String(), Precision: e.Precision.String(), Devices: e.Devices, Numbers: e.Numbers, Operations: e.Operations}
}

func overlapFields(o crosscheck.Overlap) crosschecked {
	return crosschecked{Compared: "precisions", Method: o.Method.String(), Inside: &o.Inside, Bounds: o.Total, Gap: finiteOrNull(o.Gap)}
}
