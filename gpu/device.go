// Package gpu implements bound.Device on OpenCL devices, with the kernels of
// package kernels. Its results have the bits of package fallback.
//
// # What is trusted
//
// A device is trusted after its self-test (selftest.go): single operations are
// rounded to nearest, nothing is contracted, subnormal numbers are kept, and every
// operation writes the expected bits in a few small jobs. Every call of OpenCL is checked. Every
// launch leaves a receipt that Read looks for, and small arrays are filled with a
// NaN of their own before use, which Read refuses to return: a launch that did
// nothing is an error, never a number. What is written and read is hashed on both
// sides (digest.go). Errors are of type *Error.
//
// # Order and memory
//
// All commands go through one queue that runs them in order. So launches need not
// wait for each other; Write returns before the copy is done (it copies from
// memory of its own); only Read waits, and NewArray where the host is far ahead of the
// device (ahead.go). An array that is released may be handed
// out again at once, although kernels that use it are still under way: whatever
// the new owner does comes later in the queue.
//
// A Device belongs to one goroutine at a time; several devices may be used by
// several goroutines.
package gpu

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/kernels"
)

// Options are the settings of Open; the zero value is the default.
type Options struct {
	// Memory is the limit for all arrays together, in bytes; 0 means three
	// quarters of a GPU's memory, a quarter of a CPU's.
	Memory int64
	// Profile measures every launch; see Device.Profile.
	Profile bool
	// Patience is how long a call of the driver may take at least before it is taken to hang; 0 means
	// a minute.
	Patience time.Duration
	// Chains leaves out of the self-test what only networks need that are no chains of dense layers, until
	// there is one: then the device is TestForGraphs.
	Chains bool
	// Programs is the folder where the binaries of programs are kept that a driver is slow to compile (keptprogram.go);
	// none are if it is empty.
	Programs string
	// Slow is how long a driver takes then; 0 means 3 seconds.
	Slow time.Duration

	// sources and shape replace the kernels' in tests, build is added to the build
	// options; untested leaves the self-test out.
	sources  map[string]string
	shape    kernels.Shape
	build    string
	untested bool
}

// Device is an OpenCL device in one precision: a bound.Device.
type Device struct {
	info      Info
	precision bound.Precision
	shape     kernels.Shape
	limit     int64
	// chains says that the self-test was for chains of dense layers alone.
	chains bool
	// allInStages takes every sum in two stages that can be: for tests.
	allInStages bool

	context *cl.Context
	queue   *cl.CommandQueue
	program *cl.Program
	kept    keptProgram
	kernels map[string]*kernel

	pool     pool
	launched launched
	profile  profile
	ahead    ahead
	driver   driver
	// waited is how long the host has waited for the device, which was ready at opened.
	waited time.Duration
	opened time.Time
	// none stands for an array that a kernel does not touch.
	none *cl.MemObject
	// lost is the error after which nothing on the device can be trusted.
	lost *Error
}

var _ bound.Device = (*Device)(nil)

// OpenAll opens every device that a selector names. Either all open, or none
// stays open.
func OpenAll(selector string, precision bound.Precision, opts Options) ([]*Device, error) {
	infos, err := Select(selector)
	if err != nil {
		return nil, err
	}
	var devices []*Device
	for _, i := range infos {
		d, err := OpenInfo(i, precision, opts)
		if err != nil {
			for _, d := range devices {
				err = errors.Join(err, d.Close())
			}
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// OpenInfo opens a device of List. One that fails with a program that was kept is opened again with one that
// is compiled.
func OpenInfo(info Info, precision bound.Precision, opts Options) (*Device, error) {
	d, err := openInfo(info, precision, opts)
	if err != nil && d.kept.used && !d.driver.hung {
		opts.Programs = ""
		d, err = openInfo(info, precision, opts)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// openInfo returns the device even if it cannot be used.
func openInfo(info Info, precision bound.Precision, opts Options) (*Device, error) {
	d := &Device{info: info, precision: precision, shape: opts.shape, limit: opts.Memory, chains: opts.Chains}
	if precision == bound.Float64 && !info.FP64 {
		return d, d.fail("Open", fmt.Errorf("%q computes in float32 only: choose that precision or another device", info.Name))
	}
	if major, minor := info.device.OpenCLVersion(); major*10+minor < 12 {
		return d, d.fail("Open", fmt.Errorf("%q has %s: OpenCL 1.2 is needed", info.Name, info.Version))
	}
	if d.shape == (kernels.Shape{}) {
		d.shape = shapeFor(&info, precision)
	}
	d.shape.Real64 = precision == bound.Float64
	if d.limit <= 0 {
		d.limit = info.Memory / 4
		if info.IsGPU() {
			d.limit = info.Memory / 4 * 3
		}
	}
	sources := opts.sources
	if sources == nil {
		sources = kernels.Sources()
	}
	d.driver.patience = max(opts.Patience, opening)
	err := d.build(sources, opts)
	if err == nil && !opts.untested {
		if err = d.selfTest(); err == nil {
			err = d.keep()
		}
	}
	d.driver.patience = opts.Patience
	if err != nil {
		err = d.fail("Open", err)
		d.kept.forget()
		_ = d.Close() // what it may complain of follows from err
		return d, err
	}
	d.profile.reset()
	d.waited, d.opened = 0, time.Now()
	return d, nil
}

// shapeFor chooses how kernels are cut: on GPUs work-items are the lanes; on CPUs
// a work-item is a vector, and a work-group one work-item, as loops in it serve
// the compiler better than a loop over work-items.
func shapeFor(info *Info, p bound.Precision) kernels.Shape {
	if info.IsGPU() {
		return kernels.OnGPU
	}
	lanes := info.VectorFloat
	if p == bound.Float64 {
		lanes = info.VectorDouble
	}
	if lanes >= 16 {
		return kernels.Shape{Lanes: 16, Local: 1, Run: 32}
	}
	return kernels.Shape{Lanes: 8, Local: 1, Run: 64}
}

// build makes context, queue and kernels. It does not ask how large the work-groups of a
// kernel may be: Mesa's Rusticl 22.3 says 32 for kernels that it runs in groups of 128. A
// driver that cannot run them refuses a launch of the self-test, which has every kernel.
func (d *Device) build(sources map[string]string, opts Options) (err error) {
	dev := d.info.device
	if d.context, err = cl.CreateContext([]*cl.Device{dev}); err != nil {
		return err
	}
	var properties cl.CommandQueueProperty
	if opts.Profile {
		properties = cl.CommandQueueProfilingEnable
	}
	d.profile.on = opts.Profile
	if d.queue, err = d.context.CreateCommandQueue(dev, properties); err != nil {
		return err
	}
	source, options := kernels.Program(sources), strings.TrimSpace(d.shape.Options()+" "+opts.build)
	if !opts.untested {
		d.kept = newKept(opts.Programs, &d.info, options, source)
	}
	if err = d.compile(source, options, opts); err != nil {
		return err
	}
	d.kernels = map[string]*kernel{}
	for _, k := range d.shape.Kernels() {
		compiled, err := d.program.CreateKernel(k.Name)
		if err != nil {
			return err
		}
		d.kernels[k.Name] = &kernel{Kernel: k, compiled: compiled}
	}
	if d.none, err = d.context.CreateEmptyBuffer(cl.MemReadWrite, 256); err != nil {
		return err
	}
	d.profile.reset()
	return d.launched.init(d)
}

// Close gives everything back to the driver, unless that hangs. The device must not be used again.
func (d *Device) Close() error {
	var errs []error
	if d.queue != nil {
		errs = append(errs, driven(d, "Close", d.queue.Finish), d.settle())
	}
	spares := d.pool.drain()
	errs = append(errs, driven(d, "Close", func() error {
		errs := []error{released(spares), d.none.Release(), d.launched.ring.Release()}
		for _, k := range d.kernels {
			errs = append(errs, k.compiled.Release())
		}
		return errors.Join(append(errs, d.program.Release(), d.queue.Release(), d.context.Release())...)
	}))
	if !d.driver.hung {
		close(d.driver.calls)
	}
	return errors.Join(errs...)
}

// Name is the device's name, as "pthread-skylake (0:0)".
func (d *Device) Name() string { return fmt.Sprintf("%s (%s)", d.info.Name, d.info.ID) }

// Precision is the format that the device was opened with.
func (d *Device) Precision() bound.Precision { return d.precision }

// MemoryLimit is the most bytes of arrays at one time.
func (d *Device) MemoryLimit() int64 { return d.limit }

// PreferredBatchBytes is how many bytes of arrays a batch should have where the
// caller may choose: on CPUs so few that what one kernel writes is still in the
// last-level cache when the next reads it, on GPUs as many as fit, which hides
// the cost of launches.
func (d *Device) PreferredBatchBytes() int64 {
	if d.info.IsGPU() {
		return d.limit
	}
	return min(d.limit/4, 24<<20)
}

// Finish waits until all launches have ended, and checks that they took place.
func (d *Device) Finish() error {
	if d.lost != nil {
		return d.lost
	}
	if err := d.wait(func() error { return driven(d, "Finish", d.queue.Finish) }); err != nil {
		return d.fail("Finish", err)
	}
	return d.fail("Finish", d.settle())
}

// since is the time passed, in seconds.
func since(t time.Time) float64 { return time.Since(t).Seconds() }
