//go:build !noopencl && (linux || darwin || windows) && (amd64 || arm64)

package cl

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
)

// realDevices returns the machine's devices. A machine that is said to have
// OpenCL (PSAFE_REQUIRE_OPENCL=1) may not skip.
func realDevices(t *testing.T) []*Device {
	t.Helper()
	platforms, err := GetPlatforms()
	if err != nil {
		if !Absent(err) || os.Getenv("PSAFE_REQUIRE_OPENCL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var devices []*Device
	for _, p := range platforms {
		d, err := p.GetDevices(DeviceTypeAll)
		if err != nil {
			t.Error(err)
		}
		devices = append(devices, d...)
	}
	if len(devices) == 0 {
		if os.Getenv("PSAFE_REQUIRE_OPENCL") == "1" {
			t.Fatal("PSAFE_REQUIRE_OPENCL=1 but OpenCL has no device here")
		}
		t.Skip("OpenCL has no device here")
	}
	return devices
}

// What only these tests ask for, from cl.h.
const (
	buildProgramFailure Code = -11
	invalidKernelName   Code = -46

	deviceMaxWorkGroupSize = 0x1004

	profilingCommandQueued ProfilingInfo = 0x1280
	profilingCommandSubmit ProfilingInfo = 0x1281
)

// writeBuffer copies data to buffer, from its element offset on, and returns when
// that is done: ReadBuffer's other half, where psafe itself never waits.
func writeBuffer[T Element](q *CommandQueue, buffer *MemObject, offset int, data []T) error {
	return q.move("clEnqueueWriteBuffer", q.lib.enqueueWriteBuffer, buffer, true, offset*sizeOf[T](), Bytes(data))
}

// setArgs sets all arguments, in order.
func setArgs(k *Kernel, args ...any) error {
	for i, arg := range args {
		if err := k.SetArg(i, arg); err != nil {
			return err
		}
	}
	return nil
}

const realSource = `
kernel void affine(global float *out, global const float *in, float a, int b, uint n) {
	size_t i = get_global_id(0);
	if (i < n) out[i] = a * in[i] + (float)b;
}
kernel void reversed(global int *out, global const int *in) {
	local int tmp[16];
	size_t i = get_local_id(0), n = get_local_size(0), base = get_group_id(0) * n;
	tmp[i] = in[base + i];
	barrier(CLK_LOCAL_MEM_FENCE);
	out[base + i] = tmp[n - 1 - i];
}
kernel void wide(global ulong *out, ulong a, ulong b) {
	out[get_global_id(0)] = a + b + get_global_id(0);
}
#ifdef HAS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void third(global double *out, double x) { out[get_global_id(0)] = x + get_global_id(0); }
#endif
`

// rig is a device with all that a test needs on it.
type rig struct {
	t       *testing.T
	device  *Device
	context *Context
	queue   *CommandQueue
	program *Program
}

// onDevices runs a subtest on each device.
func onDevices(t *testing.T, test func(*rig)) {
	for _, d := range realDevices(t) {
		t.Run(d.Name(), func(t *testing.T) {
			// Oclgrind must be called from one thread; see rig.needsThreads.
			runtime.LockOSThread()
			r := &rig{t: t, device: d}
			var err error
			if r.context, err = CreateContext([]*Device{d}); err != nil {
				t.Fatal(err)
			}
			r.releaseLater(r.context)
			if r.queue, err = r.context.CreateCommandQueue(d, CommandQueueProfilingEnable); err != nil {
				t.Fatal(err)
			}
			r.releaseLater(r.queue)
			if r.program, err = r.context.CreateProgramWithSource([]string{realSource}); err != nil {
				t.Fatal(err)
			}
			r.releaseLater(r.program)
			options := "-cl-std=CL1.2"
			if d.HasDouble() {
				options += " -DHAS_DOUBLE"
			}
			if err := r.program.BuildProgram(nil, options); err != nil {
				t.Fatal(err)
			}
			test(r)
		})
	}
}

func (r *rig) releaseLater(o interface{ Release() error }) {
	r.t.Cleanup(func() {
		if err := o.Release(); err != nil {
			r.t.Errorf("releasing a %T: %v", o, err)
		}
	})
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) buffer(size int) *MemObject {
	r.t.Helper()
	b, err := r.context.CreateEmptyBuffer(MemReadWrite, size)
	r.must(err)
	r.releaseLater(b)
	return b
}

// run enqueues a kernel and returns its event.
func (r *rig) run(name string, global, local int, args ...any) *Event {
	r.t.Helper()
	k, err := r.program.CreateKernel(name)
	r.must(err)
	r.must(setArgs(k, args...))
	e, err := r.queue.EnqueueNDRangeKernel(k, global, local, true)
	r.must(errors.Join(err, k.Release()))
	r.releaseLater(e)
	return e
}

func TestRealDevice(t *testing.T) {
	for _, d := range realDevices(t) {
		t.Logf("%s: %s, %v, driver %s, %s, %d units, local %d, global %d, max alloc %d, vectors %d/%d, double %v, PCI %q, UUID %q",
			d.platform.Name(), d.Name(), d.Type(), d.DriverVersion(), d.OpenCLCVersion(), d.MaxComputeUnits(),
			d.LocalMemSize(), d.GlobalMemSize(), d.MaxMemAllocSize(),
			d.NativeVectorWidthFloat(), d.NativeVectorWidthDouble(), d.HasDouble(), d.PCIBusID(), d.UUID())
		if d.Name() == "" || d.DriverVersion() == "" || !strings.HasPrefix(d.OpenCLCVersion(), "OpenCL C ") {
			t.Errorf("%q: a name is missing", d.Name())
		}
		if major, minor := d.OpenCLVersion(); major*10+minor < 12 {
			t.Errorf("%s: version %q", d.Name(), d.Version())
		}
		if d.MaxComputeUnits() < 1 || d.LocalMemSize() < 1 || d.GlobalMemSize() < 1 || d.MaxMemAllocSize() < 1 ||
			d.NativeVectorWidthFloat() < 1 {
			t.Errorf("%s: a size is zero", d.Name())
		}
	}
}

func TestRealKernels(t *testing.T) {
	onDevices(t, func(r *rig) {
		const n = 1000
		in, out := r.buffer(4*n), r.buffer(4*n)
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		r.must(writeBuffer(r.queue, in, 0, x))
		r.run("affine", 1024, 64, out, in, float32(0.5), int32(-3), uint32(n))
		y := make([]float32, n)
		r.must(ReadBuffer(r.queue, out, 0, y))
		for i := range y {
			if want := 0.5*float32(i) - 3; y[i] != want {
				t.Fatalf("affine: element %d is %v, want %v", i, y[i], want)
			}
		}

		// Local memory.
		ints := make([]int32, 64)
		for i := range ints {
			ints[i] = int32(i)
		}
		r.must(writeBuffer(r.queue, in, 0, ints))
		r.run("reversed", 64, 16, out, in)
		r.must(ReadBuffer(r.queue, out, 0, ints))
		for i, got := range ints {
			if want := int32(i/16*16 + 15 - i%16); got != want {
				t.Fatalf("reversed: element %d is %d, want %d", i, got, want)
			}
		}

		// 64-bit arguments.
		longs := make([]uint64, 3)
		r.run("wide", 3, 1, out, uint64(math.MaxUint64-4), uint64(math.MaxUint64))
		r.must(ReadBuffer(r.queue, out, 0, longs))
		for i, got := range longs {
			if want := uint64(math.MaxUint64) - 5 + uint64(i); got != want {
				t.Errorf("wide: element %d is %d, want %d", i, got, want)
			}
		}
		if r.device.HasDouble() {
			doubles := make([]float64, 3)
			r.run("third", 3, 1, out, 1.0/3)
			r.must(ReadBuffer(r.queue, out, 0, doubles))
			if doubles[2] != 1.0/3+2 {
				t.Errorf("third: got %v", doubles)
			}
		}
	})
}

func TestRealFill(t *testing.T) {
	onDevices(t, func(r *rig) {
		b := r.buffer(4 * 16)
		r.must(FillBuffer(r.queue, b, 0, 16, int32(-1)))
		r.must(FillBuffer(r.queue, b, 5, 3, float32(1.5)))
		got := make([]float32, 16)
		r.must(ReadBuffer(r.queue, b, 0, got))
		for i, x := range got {
			filled := i >= 5 && i < 8
			if filled && x != 1.5 || !filled && math.Float32bits(x) != math.MaxUint32 {
				t.Errorf("element %d is %v", i, x)
			}
		}
		part := make([]int32, 2)
		r.must(ReadBuffer(r.queue, b, 4, part))
		if part[0] != -1 || part[1] != int32(math.Float32bits(1.5)) {
			t.Errorf("elements 4 and 5 are %v", part)
		}
	})
}

func TestRealProfiling(t *testing.T) {
	onDevices(t, func(r *rig) {
		out := r.buffer(4 * 64)
		e := r.run("wide", 8, 8, out, uint64(1), uint64(2))
		r.must(r.queue.Finish())
		var last int64
		for _, m := range []ProfilingInfo{profilingCommandQueued, profilingCommandSubmit, ProfilingInfoCommandStart, ProfilingInfoCommandEnd} {
			ns, err := e.GetProfilingInfo(m)
			r.must(err)
			if ns < last || ns <= 0 {
				t.Errorf("moment %#x is %d, after %d", uint32(m), ns, last)
			}
			last = ns
		}
		if d, err := e.Duration(); err != nil || d < 0 {
			t.Errorf("duration %v, %v", d, err)
		}

		q, err := r.context.CreateCommandQueue(r.device, 0)
		r.must(err)
		r.releaseLater(q)
		k, err := r.program.CreateKernel("wide")
		r.must(err)
		r.releaseLater(k)
		r.must(setArgs(k, out, uint64(1), uint64(2)))
		e, err = q.EnqueueNDRangeKernel(k, 8, 8, true)
		r.must(err)
		r.releaseLater(e)
		r.must(q.Finish())
		// Some simulators tell without being asked to.
		if _, err := e.Duration(); err != nil && asError(t, err).Code != ProfilingInfoNotAvailable {
			t.Errorf("without profiling: %v", err)
		}
	})
}

func TestRealKernelInfo(t *testing.T) {
	onDevices(t, func(r *rig) {
		k, err := r.program.CreateKernel("affine")
		r.must(err)
		r.releaseLater(k)
		most, err := info[uintptr]("clGetDeviceInfo", r.device.Name(), r.device.query(deviceMaxWorkGroupSize))
		r.must(err)
		size, err := k.WorkGroupSize(r.device)
		if err != nil || size < 1 || size > int(most) {
			t.Errorf("WorkGroupSize %d of a device's %d, %v", size, most, err)
		}
		if e := asError(t, k.SetArg(2, float64(1))); e.Code != -51 || e.Device != r.device.Name() {
			t.Errorf("a double for a float: %v", e)
		}
		if _, err := r.program.CreateKernel("nothing"); asError(t, err).Code != invalidKernelName {
			t.Errorf("a kernel that is not there: %v", err)
		}
	})
}

func TestRealBuildError(t *testing.T) {
	onDevices(t, func(r *rig) {
		p, err := r.context.CreateProgramWithSource([]string{"kernel void f(global float *x) { *x = no_such_thing; }\n"})
		r.must(err)
		r.releaseLater(p)
		err = p.BuildProgram(nil, "")
		var b *BuildError
		if !errors.As(err, &b) {
			t.Fatalf("got %v, want a *BuildError", err)
		}
		if b.Err.Code != buildProgramFailure || !strings.Contains(err.Error(), "no_such_thing") {
			t.Errorf("the log is not in it: %v", err)
		}
	})
}

// TestRealNonBlocking enqueues two transfers and a kernel, and waits once.
func TestRealNonBlocking(t *testing.T) {
	onDevices(t, func(r *rig) {
		const n = 1 << 12
		in, out := r.buffer(4*n), r.buffer(4*n)
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		r.must(r.queue.Write(in, Bytes(x)))
		r.run("affine", n, 64, out, in, float32(2), int32(1), uint32(n))
		y := make([]float32, n)
		r.must(r.queue.Read(out, Bytes(y)))
		r.must(r.queue.Finish())
		for i := range y {
			if y[i] != 2*float32(i)+1 {
				t.Fatalf("element %d is %v", i, y[i])
			}
		}
	})
}

// asError returns the *Error in err, which must hold one.
func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}
