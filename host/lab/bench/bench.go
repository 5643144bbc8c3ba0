// Package bench measures how fast devices are: single operations and whole networks, beside
// the portable fallback in the same run, and beside the rates at which a device copies and
// multiplies at best. It runs what certify runs, on networks with random weights, and proves
// nothing. Package main of psafe opens the devices and prints the rows.
package bench

import (
	"context"
	"fmt"
	"time"

	"psafe/host/bound"
	"psafe/host/job/certify"
)

// Settings describe what psafe bench does.
type Settings struct {
	// Fallback is the device of comparison; it is measured first, and alone if Devices is empty.
	Fallback bound.Device
	// Devices are measured one after the other, in the precision of Fallback.
	Devices []Device
	// Seconds is about the time for each workload.
	Seconds float64
	// Small takes small workloads, to see that they run: their names are those of the large ones.
	Small bool
	// Each is called with what was measured as soon as a device is done.
	Each func(*Measured) error
}

// Device is a device that knows its own limits.
type Device interface {
	bound.Device
	// MeasureCopy is the rate of copies in GB/s, bytes read plus bytes written.
	MeasureCopy() (float64, error)
	// MeasureFMA is the rate of fused multiply-adds in GFLOP/s, two a multiply-add.
	MeasureFMA() (float64, error)
}

// Measured holds what was measured on a device.
type Measured struct {
	Device    string
	Precision bound.Precision
	Rows      []Row
	// Limits holds what the device can do at best, and Beside the fallback's rows, one for one;
	// nil for the fallback itself.
	Limits *Limits
	Beside []Row
}

// Limits hold what a device can do at best, in GB/s and GFLOP/s.
type Limits struct{ CopyGB, FMAGF float64 }

// Row is one workload on one device.
type Row struct {
	Workload string
	// Seconds is the shortest time of several runs.
	Seconds float64
	// Bytes and Flops are what the workload needs at least: end-points of weight boxes, each
	// counted once, and operations by the definition; 0 if it has no one number.
	Bytes, Flops float64
	// Operations holds what the workload did on a device that has a profile.
	Operations []Operation
}

// Operation holds what one kernel did in all runs of a workload.
type Operation struct {
	Name     string
	Launches int
	// Seconds holds the seconds on the device; Bytes of arrays have to be read and written at least once, and
	// Flops are the multiplications and additions of the definition.
	Seconds, Bytes, Flops float64
}

// GBPerSecond is the rate of Bytes.
func (o *Operation) GBPerSecond() float64 { return o.Bytes / 1e9 / o.Seconds }

// GFPerSecond is the rate of Flops.
func (o *Operation) GFPerSecond() float64 { return o.Flops / 1e9 / o.Seconds }

// profiling is a Device with a profile: Operations returns what it did since the last call.
type profiling interface{ Operations() ([]Operation, error) }

// GBPerSecond is the rate of Bytes.
func (r *Row) GBPerSecond() float64 { return r.Bytes / 1e9 / r.Seconds }

// GFPerSecond is the rate of Flops.
func (r *Row) GFPerSecond() float64 { return r.Flops / 1e9 / r.Seconds }

// Run measures. Errors: that of Each; the context's if it ended; a *certify.DeviceError if one of
// Devices failed.
func (j *Settings) Run(ctx context.Context) error {
	beside, err := j.rows(ctx, j.Fallback)
	if err != nil {
		return err
	}
	if len(j.Devices) == 0 {
		return j.Each(&Measured{Device: j.Fallback.Name(), Precision: j.Fallback.Precision(), Rows: beside})
	}
	for _, d := range j.Devices {
		m, err := j.device(ctx, d)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return &certify.DeviceError{Err: err}
		}
		m.Beside = beside
		if err := j.Each(m); err != nil {
			return err
		}
	}
	return nil
}

// device measures a device's limits, and then all workloads on it.
func (j *Settings) device(ctx context.Context, d Device) (*Measured, error) {
	m := &Measured{Device: d.Name(), Precision: d.Precision(), Limits: &Limits{}}
	var err error
	if m.Limits.CopyGB, err = d.MeasureCopy(); err != nil {
		return nil, err
	}
	if m.Limits.FMAGF, err = d.MeasureFMA(); err != nil {
		return nil, err
	}
	m.Rows, err = j.rows(ctx, d)
	return m, err
}

// rows measures all workloads on one device.
func (j *Settings) rows(ctx context.Context, d bound.Device) ([]Row, error) {
	var rows []Row
	for _, w := range workloads(j.Small) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		once, done, err := w.prepare(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		seconds, operations, err := profiled(d, once, j.Seconds)
		done()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		rows = append(rows, Row{w.name, seconds, w.ends * float64(d.Precision().Bytes()), w.flops, operations})
	}
	return rows, nil
}

// profiled is best, and what the device did.
func profiled(d bound.Device, f func() error, seconds float64) (float64, []Operation, error) {
	p, ok := d.(profiling)
	if !ok {
		s, err := best(f, seconds)
		return s, nil, err
	}
	if _, err := p.Operations(); err != nil {
		return 0, nil, err
	}
	s, err := best(f, seconds)
	if err != nil {
		return 0, nil, err
	}
	operations, err := p.Operations()
	return s, operations, err
}

// best runs f once to warm up and then for about the time given, at least twice, and returns
// the shortest time.
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
