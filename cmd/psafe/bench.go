package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/run"
)

const benchAbout = `psafe bench measures operations and whole jobs on a device, beside the CPU
fallback in the same run, and beside what the device can do at best: its measured
copy bandwidth (bytes read plus written) and rate of fused multiply-adds.

  psafe bench --device 0:0

Bytes are those of weight-box end-points, each counted once; flops are counted
from the definition: 4 per weight and item for interval bounds (2 products and 2
sums), 2 per row and weight for back-substitution. The best of several runs
counts, after one that warms up.`

// benchRow is one workload on one device.
type benchRow struct {
	name    string
	seconds float64
	// bytes and flops are what the workload needs at least; 0 if it has no one
	// number.
	bytes, flops float64
}

// benched is what was measured on a device, with its limits and the fallback's rows
// beside, where there are any.
type benched struct {
	device       string
	precision    bound.Precision
	limits       *limits
	rows, beside []benchRow
}

// limits are what a device can do at best.
type limits struct{ copyGB, fmaGF float64 }

type benchFlags struct {
	device  deviceFlags
	seconds float64
	small   bool
}

func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var b benchFlags
	f := newFlags("bench", benchAbout, stdout)
	b.device.add(f)
	f.Float64Var(&b.seconds, "seconds", 1, "time for each workload")
	f.BoolVar(&b.small, "small", false, "small workloads, to see that it runs")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if !(b.seconds > 0 && b.seconds <= 600) {
		return fmt.Errorf("--seconds %v is not between 0 and 600", b.seconds)
	}
	dev, err := b.device.open(stderr)
	if err != nil {
		return err
	}
	defer dev.close()
	p := dev.list[0].Precision()
	cpu, err := openDevices("cpu", p, gpu.Options{}, stderr)
	if err != nil {
		return err
	}
	beside, err := b.rows(ctx, cpu.list[0])
	if err != nil {
		return err
	}
	if len(dev.opencl) == 0 {
		return (&benched{device: cpu.list[0].Name(), precision: p, rows: beside}).table(stdout)
	}
	for i, g := range dev.opencl {
		var l limits
		if l.copyGB, err = g.MeasureCopy(); err == nil {
			l.fmaGF, err = g.MeasureFMA()
		}
		var rows []benchRow
		if err == nil {
			rows, err = b.rows(ctx, dev.list[i])
		}
		if err != nil && ctx.Err() == nil {
			return &run.DeviceError{Err: err}
		}
		if err != nil {
			return ctx.Err()
		}
		if err := (&benched{g.Name(), p, &l, rows, beside}).table(stdout); err != nil {
			return err
		}
	}
	return dev.printProfile(stderr)
}

// rows measures all workloads on one device.
func (b *benchFlags) rows(ctx context.Context, dev bound.Device) ([]benchRow, error) {
	var rows []benchRow
	for _, w := range workloads(b.small) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run, done, err := w.prepare(dev)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		seconds, err := best(run, b.seconds)
		done()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		rows = append(rows, benchRow{w.name, seconds, w.bytes * float64(dev.Precision().Bytes()), w.flops})
	}
	return rows, nil
}

// best runs f once to warm up and then for about the time given, at least twice,
// and returns the shortest time.
func best(f func() error, seconds float64) (float64, error) {
	least := 0.0
	var total float64
	for i := 0; i < 3 || total < seconds; i++ {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		d := time.Since(start).Seconds()
		if i == 0 {
			continue
		}
		if total += d; least == 0 || d < least {
			least = d
		}
	}
	return least, nil
}

// table prints rows, with shares of the limits and the fallback's times where there are
// any.
func (m *benched) table(w io.Writer) error {
	l := m.limits
	fmt.Fprintf(w, "%s, %v", m.device, m.precision)
	if l != nil {
		fmt.Fprintf(w, ": copies %.1f GB/s, fused multiply-adds %.1f GFLOP/s", l.copyGB, l.fmaGF)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "workload\tseconds\tGB/s\tGFLOP/s\t")
	if l != nil {
		fmt.Fprint(t, "of copy\tof fma\tfallback s\tspeed-up\t")
	}
	fmt.Fprintln(t)
	for i, r := range m.rows {
		gb, gf := r.bytes/1e9/r.seconds, r.flops/1e9/r.seconds
		fmt.Fprintf(t, "%s\t%.5f\t%s\t%s\t", r.name, r.seconds, rate(gb), rate(gf))
		if l != nil {
			fmt.Fprintf(t, "%s\t%s\t%.5f\t%.1f\t", share(gb, l.copyGB), share(gf, l.fmaGF), m.beside[i].seconds, m.beside[i].seconds/r.seconds)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
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
