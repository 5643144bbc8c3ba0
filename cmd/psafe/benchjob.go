package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/lab/bench"
)

// benchJob certifies with the flags behind -- and prints where the time went.
func benchJob(ctx context.Context, f *pflag.FlagSet, asJSON bool, stdout, stderr io.Writer) error {
	var misplaced error
	f.Visit(func(flag *pflag.Flag) {
		if flag.Name != "job" && flag.Name != "json" {
			misplaced = fmt.Errorf("bench: --%s belongs to psafe certify: write it behind --", flag.Name)
		}
	})
	if misplaced != nil {
		return misplaced
	}
	c, job, err := parseCertify(f.Args(), false)
	if err != nil {
		return err
	}
	if err := job.Refuse(); err != nil {
		return err
	}
	if done, err := c.supervise(ctx, job, stdout, stderr); done || err != nil {
		return err
	}
	c.device.profile = true
	var opened *devices
	job.Version, job.Opening = version(), func(chain bool) { c.device.chain = chain }
	job.Open = func(p bound.Precision) (_ *certify.Devices, err error) {
		if opened, err = c.device.openIn(p); err != nil {
			return nil, err
		}
		return &certify.Devices{List: opened.list, Spare: opened.spare, Beside: opened.beside, Blame: c.device.blame}, nil
	}
	spent, err := bench.Job(ctx, *job, func(computed bench.Cost) (bench.Cost, error) {
		if opened == nil || len(opened.opencl) == 0 {
			return computed, nil
		}
		return opened.cost()
	})
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(stdout, spentJSON(*spent))
	}
	return spentTable(stdout, spent)
}

// cost is what OpenCL devices have done since they were opened.
func (d *devices) cost() (all bench.Cost, err error) {
	for _, g := range d.opencl {
		waited, _ := g.Waited()
		kernels, err := g.Profile()
		if err != nil {
			return all, err
		}
		all.Waiting += waited
		for _, k := range kernels {
			all.Launches += int64(k.Launches)
			all.Kernels += time.Duration(k.Seconds * 1e9)
		}
	}
	return all, nil
}

// spentTable prints a heading and a row.
func spentTable(w io.Writer, s *bench.Spent) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "inputs\twall s\topening\twaiting\tparallel\tserial\tkernels\tprocessor\tlaunches\tcalls\tpasses\t")
	fmt.Fprintf(t, "%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%d\t%d\t%d\t\n", s.Tasks, s.Wall, s.Opening, s.Waiting, s.Parallel, s.Serial,
		s.Kernels, s.Processor, s.Launches, s.Calls, s.Passes)
	return t.Flush()
}

// spentJSON is the line of psafe bench --job --json.
type spentJSON struct {
	Tasks     int     `json:"inputs"`
	Wall      float64 `json:"wall_seconds"`
	Opening   float64 `json:"opening_seconds"`
	Waiting   float64 `json:"waiting_seconds"`
	Parallel  float64 `json:"parallel_seconds"`
	Serial    float64 `json:"serial_seconds"`
	Kernels   float64 `json:"kernel_seconds"`
	Processor float64 `json:"processor_seconds"`
	Launches  int64   `json:"launches"`
	Calls     int64   `json:"calls"`
	Passes    int64   `json:"passes"`
}
