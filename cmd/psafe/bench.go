package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"psafe/gpu"
	"psafe/host/lab/bench"
)

const benchAbout = `psafe bench measures operations and whole jobs on a device, beside the CPU
fallback in the same run, and beside what the device can do at best: its
measured copy bandwidth (bytes read plus written) and rate of fused
multiply-adds.

  psafe bench --device 0:0

Bytes are those of weight-box end-points, each counted once; flops are counted
from the definition: 4 per weight and item for interval bounds (2 products and 2
sums), 2 per row and weight for back-substitution. With --options profile each
OpenCL kernel of a workload has a row of its own.

With --job it certifies as psafe certify does with the flags behind --, writes
no records unless they say where, and says where the time went:

  psafe bench --job -- --posterior net.npz --inputs images.gz --eps 0.01

The wall time is that of opening devices with their self-tests, of standing
still for a device (waiting), of the host on all its cores (parallel), and the
rest (serial), reading files and launching kernels among it. Kernels run beside
the host. Calls are operations, reads and writes, passes those of clbp.`

func benchCommand() *cobra.Command {
	var device deviceFlags
	var job bench.Settings
	cmd, f := newCommand("bench", "speed of operations beside the device's limits, or of a job", benchAbout, anyNumber)
	keys := newOptions()
	device.add(f, keys)
	addOptions(f, keys)
	f.Float64Var(&job.Seconds, "seconds", 1, "time for each workload")
	f.BoolVar(&job.Small, "small", false, "small workloads, to see that it runs")
	asJSON := f.Bool("json", false, jsonLinesUsage)
	of := f.Bool("job", false, "say where the time of psafe certify goes, with the flags behind --")
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if *of {
			return benchJob(ctx, f, *asJSON, stdout, stderr)
		}
		if f.NArg() > 0 {
			return miscounted(cmd, 0)
		}
		job.Each = func(m *bench.Measured) error { return benchTable(stdout, m) }
		if *asJSON {
			job.Each = func(m *bench.Measured) error { return benchJSON(stdout, m) }
		}
		if !(job.Seconds > 0 && job.Seconds <= 600) {
			return fmt.Errorf("--seconds %v is not between 0 and 600: give seconds, such as 1", job.Seconds)
		}
		if done, err := device.supervised(ctx, newSupervised(ctx, stdout, stderr, "")); done || err != nil {
			return err
		}
		dev, err := device.open()
		if err != nil {
			return err
		}
		cpu, err := openDevices("cpu", dev.list[0].Precision(), gpu.Options{})
		if err != nil {
			return err
		}
		job.Fallback = cpu.list[0]
		for _, g := range dev.opencl {
			job.Devices = append(job.Devices, benchDevice(g, device.profile))
		}
		if err := job.Run(ctx); err != nil {
			return err
		}
		return dev.printProfile(stderr, 0)
	})
}

// profiledDevice tells what operations cost, too.
type profiledDevice struct{ *gpu.Device }

// benchDevice is a device as bench takes it.
func benchDevice(d *gpu.Device, profile bool) bench.Device {
	if profile {
		return profiledDevice{d}
	}
	return d
}

// Operations is what kernels cost since the last call.
func (d profiledDevice) Operations() (list []bench.Operation, err error) {
	times, err := d.Profile()
	for _, k := range times {
		list = append(list, bench.Operation{Name: k.Name, Launches: k.Launches, Seconds: k.Seconds, Bytes: float64(k.Bytes), Flops: float64(k.Flops)})
	}
	return list, errors.Join(err, d.ForgetProfile())
}

// benchTable prints rows, with shares of the limits and the fallback's times where there are
// any.
func benchTable(w io.Writer, m *bench.Measured) error {
	l := m.Limits
	fmt.Fprintf(w, "%s, %v", m.Device, m.Precision)
	if l != nil {
		fmt.Fprintf(w, ": copies %.1f GB/s, fused multiply-adds %.1f GFLOP/s", l.CopyGB, l.FMAGF)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "workload\tseconds\tGB/s\tGFLOP/s\t")
	if l != nil {
		fmt.Fprint(t, "of copy\tof fma\tfallback s\tspeed-up\t")
	}
	fmt.Fprintln(t)
	for i, r := range m.Rows {
		gb, gf := r.GBPerSecond(), r.GFPerSecond()
		fmt.Fprintf(t, "%s\t%.5f\t%s\t%s\t", r.Workload, r.Seconds, rate(gb), rate(gf))
		if l != nil {
			beside := m.Beside[i].Seconds
			fmt.Fprintf(t, "%s\t%s\t%.5f\t%.1f\t", share(gb, l.CopyGB), share(gf, l.FMAGF), beside, beside/r.Seconds)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return operationsTable(w, m)
}

// operationsTable prints, for each workload, what its operations took of the time that all took on
// the device, and of what the device can do.
func operationsTable(w io.Writer, m *bench.Measured) error {
	for _, r := range m.Rows {
		if len(r.Operations) == 0 {
			continue
		}
		all := 0.0
		for _, o := range r.Operations {
			all += o.Seconds
		}
		fmt.Fprintf(w, "\n%s:\n", r.Workload)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "operation\tlaunches\tof time\tGB/s\tGFLOP/s\tof copy\tof fma\t")
		for _, o := range r.Operations {
			gb, gf := o.GBPerSecond(), o.GFPerSecond()
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t\n", o.Name, o.Launches, share(o.Seconds, all), rate(gb), rate(gf), share(gb, m.Limits.CopyGB), share(gf, m.Limits.FMAGF))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func rate(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

func share(x, most float64) string {
	if x == 0 || most == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*x/most)
}

// benched is a line of psafe bench --json: a workload on a device.
type benched struct {
	Device    string   `json:"device"`
	Precision string   `json:"precision"`
	Workload  string   `json:"workload"`
	Seconds   float64  `json:"seconds"`
	GBPerS    *float64 `json:"gb_per_s,omitempty"`
	GFlops    *float64 `json:"gflop_per_s,omitempty"`
	CopyGB    *float64 `json:"device_copy_gb_per_s,omitempty"`
	FMAGF     *float64 `json:"device_fma_gflop_per_s,omitempty"`
	Fallback  *float64 `json:"fallback_seconds,omitempty"`

	Operations []benchedOperation `json:"operations,omitempty"`
}

// benchedOperation holds what a kernel did in a workload, and its shares of the device's rates.
type benchedOperation struct {
	Name     string   `json:"name"`
	Launches int      `json:"launches"`
	Seconds  float64  `json:"seconds"`
	GBPerS   *float64 `json:"gb_per_s,omitempty"`
	GFlops   *float64 `json:"gflop_per_s,omitempty"`
	OfCopy   *float64 `json:"of_copy,omitempty"`
	OfFMA    *float64 `json:"of_fma,omitempty"`
}

func benchJSON(w io.Writer, m *bench.Measured) error {
	known := func(x float64) *float64 {
		if x == 0 {
			return nil
		}
		return finiteOrNull(x)
	}
	for i, r := range m.Rows {
		row := benched{Device: m.Device, Precision: m.Precision.String(), Workload: r.Workload, Seconds: r.Seconds, GBPerS: known(r.GBPerSecond()), GFlops: known(r.GFPerSecond())}
		if m.Limits != nil {
			row.CopyGB, row.FMAGF, row.Fallback = known(m.Limits.CopyGB), known(m.Limits.FMAGF), known(m.Beside[i].Seconds)
		}
		for _, o := range r.Operations {
			gb, gf := o.GBPerSecond(), o.GFPerSecond()
			row.Operations = append(row.Operations, benchedOperation{o.Name, o.Launches, o.Seconds, known(gb), known(gf), known(gb / m.Limits.CopyGB), known(gf / m.Limits.FMAGF)})
		}
		if err := printJSON(w, row); err != nil {
			return err
		}
	}
	return nil
}
