//go:build !noopencl && (linux || darwin) && (amd64 || arm64)

package cl

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestDeviceInfo(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer c.Release()
	defer q.Release()
	d := c.devices[0]
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"Name", d.Name(), "Fake device"},
		{"Vendor", d.Vendor(), "Fakers"},
		{"platform's version", d.platform.Version(), "OpenCL 1.2 fake platform"},
		{"DriverVersion", d.DriverVersion(), "0.1"},
		{"Version", d.Version(), "OpenCL 1.2 fake"},
		{"OpenCLCVersion", d.OpenCLCVersion(), "OpenCL C 1.2 fake"},
		{"Type", d.Type(), DeviceTypeGPU},
		{"Type.String", d.Type().String(), "GPU"},
		{"MaxComputeUnits", d.MaxComputeUnits(), 7},
		{"LocalMemSize", d.LocalMemSize(), int64(32768)},
		{"GlobalMemSize", d.GlobalMemSize(), int64(1 << 30)},
		{"MaxMemAllocSize", d.MaxMemAllocSize(), int64(1 << 28)},
		{"NativeVectorWidthFloat", d.NativeVectorWidthFloat(), 4},
		{"NativeVectorWidthDouble", d.NativeVectorWidthDouble(), 2},
		{"HasDouble", d.HasDouble(), true},
		{"HasExtension", d.HasExtension("cl_khr_device_uuid"), true},
		{"HasExtension of a part", d.HasExtension("cl_khr"), false},
		{"PCIBusID", d.PCIBusID(), "0001:3b:02.3"},
		{"UUID", d.UUID(), "00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{"platform", d.platform.Name(), "Fake platform"},
	} {
		if x.got != x.want {
			t.Errorf("%s: got %v, want %v", x.what, x.got, x.want)
		}
	}
	if major, minor := d.OpenCLVersion(); major != 1 || minor != 2 {
		t.Errorf("OpenCLVersion: got %d, %d", major, minor)
	}
}

// TestPinned: the memory of a transfer outlives all references of the program to it.
func TestPinned(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer c.Release()
	defer q.Release()
	const n = 1 << 16
	b, err := c.CreateEmptyBuffer(MemReadWrite, n)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	want := bytes.Repeat([]byte("psafe---"), n/8)
	for name, settle := range map[string]func() error{
		"Finish":          q.Finish,
		"read":            func() error { return ReadBuffer(q, b, 0, make([]byte, 1)) },
		"read of nothing": func() error { return ReadBuffer(q, b, 0, []byte{}) },
	} {
		if err := q.Write(b, bytes.Clone(want)); err != nil {
			t.Fatal(err)
		}
		if len(f.inFlight) != 1 {
			t.Errorf("%s: %d transfers in flight, want 1", name, len(f.inFlight))
		}
		// Freed memory would be used again, and hold zeros.
		for range 4 {
			runtime.GC()
			for range 64 {
				_ = bytes.Clone(make([]byte, n))
			}
		}
		if err := settle(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.inFlight) != 0 {
			t.Errorf("%s: %d transfers in flight after it", name, len(f.inFlight))
		}
		got := make([]byte, n)
		if err := ReadBuffer(q, b, 0, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the buffer holds something else", name)
		}
		if err := FillBuffer(q, b, 0, n, byte(0)); err != nil {
			t.Fatal(err)
		}
	}

	// The Release of a queue waits for its transfers, and for no other's.
	q2, err := c.CreateCommandQueue(c.devices[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []*CommandQueue{q, q2} {
		if err := q.Write(b, bytes.Clone(want)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q2.Release(); err != nil {
		t.Error(err)
	}
	if len(f.inFlight) != 1 || len(f.flying(q)) != 1 {
		t.Errorf("%d transfers in flight, %d of the other queue, want 1, 1", len(f.inFlight), len(f.flying(q)))
	}
	if err := q.Finish(); err != nil {
		t.Error(err)
	}

	// A transfer that was refused pins nothing.
	f.fail("clEnqueueWriteBuffer", int32(OutOfResources), 0)
	if err := q.Write(b, make([]byte, n)); err == nil {
		t.Error("no error")
	}
	if len(f.inFlight) != 0 {
		t.Errorf("%d transfers in flight after a refused one", len(f.inFlight))
	}
}

func TestRelease(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	b, err := c.CreateEmptyBuffer(MemReadWrite, 8)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, o := range []interface{ Release() error }{b, q, c} {
			if err := o.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	if n := f.live(); n != 0 {
		t.Errorf("%d objects live", n)
	}
	for _, o := range []interface{ Release() error }{
		(*Context)(nil), (*CommandQueue)(nil), (*Program)(nil), (*Kernel)(nil), (*MemObject)(nil), (*Event)(nil),
	} {
		if err := o.Release(); err != nil {
			t.Errorf("%T: %v", o, err)
		}
	}
	wantPanic(t, "use of a CommandQueue after its Release", func() { _ = q.Finish() })
	wantPanic(t, "use of a Context after its Release", func() { _, _ = c.CreateEmptyBuffer(MemReadWrite, 8) })
	wantPanic(t, "use of a MemObject after its Release", func() { _ = q.Fill(b, []byte{0}, 0, 8) })
}

func TestMistakes(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer c.Release()
	defer q.Release()
	b, err := c.CreateEmptyBuffer(MemReadWrite, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	p, err := c.CreateProgramWithSource([]string{""})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	k, err := p.CreateKernel("add")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()

	wantPanic(t, "9 bytes at offset 0 of a buffer of 8", func() { _ = writeBuffer(q, b, 0, make([]byte, 9)) })
	wantPanic(t, "4 bytes at offset 8 of a buffer of 8", func() { _ = ReadBuffer(q, b, 2, make([]float32, 1)) })
	wantPanic(t, "at offset -4", func() { _ = FillBuffer(q, b, -1, 1, float32(0)) })
	wantPanic(t, "at offset 4", func() { _ = FillBuffer(q, b, 1, 2, float32(0)) })
	wantPanic(t, "of 0 bytes", func() { _, _ = c.CreateEmptyBuffer(MemReadWrite, 0) })
	wantPanic(t, "no devices", func() { _, _ = CreateContext(nil) })

	if err := k.SetArg(0, 1); !errors.Is(err, ErrUnsupportedArgumentType) || !strings.Contains(err.Error(), "int: kernel add, argument 0") {
		t.Errorf("an int as argument: %v", err)
	}
	if e := asError(t, k.SetArg(2, b)); e.Code != -49 || !strings.Contains(e.Detail, "argument 2") {
		t.Errorf("argument out of range: %v", e)
	}
}

// TestTransfersOfNothing: they do not reach the driver.
func TestTransfersOfNothing(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer c.Release()
	defer q.Release()
	b, err := c.CreateEmptyBuffer(MemReadWrite, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if err := errors.Join(writeBuffer(q, b, 0, []float32{}), q.Write(b, nil), q.Read(b, nil), ReadBuffer(q, b, 0, []float32{}), FillBuffer(q, b, 0, 0, float32(1))); err != nil {
		t.Error(err)
	}
	if n := f.calls("clEnqueueWriteBuffer") + f.calls("clEnqueueReadBuffer") + f.calls("clEnqueueFillBuffer"); n != 0 {
		t.Errorf("%d transfers of nothing reached the driver", n)
	}
}

// TestBinary: what the driver does not want of a binary is an error, and nothing leaks; a program that gives
// none away has none.
func TestBinary(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer c.Release()
	defer q.Release()
	f.binary(-42)
	if p, err := c.CreateProgramWithBinary([]byte("x")); p != nil || asError(t, err).Code != -42 || f.live() != 2 {
		t.Errorf("%v, %v, %d objects", p, err, f.live())
	}
	f.binary(0)
	p, err := c.CreateProgramWithBinary([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	f.lie(programBinarySizes, 0)
	if b, err := p.Binary(); b != nil || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func wantPanic(t *testing.T, part string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s, ok := recover().(string); !ok || !strings.Contains(s, part) {
			t.Errorf("panic %q, want %q in it", s, part)
		}
	}()
	f()
}

// TestArgumentsKept: an argument that a kernel has is not set again, unless that failed, or a buffer has
// been released since, whose handle another may have.
func TestArgumentsKept(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer c.Release()
	defer q.Release()
	program, err := c.CreateProgramWithSource([]string{"kernel void add() {}"})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Release()
	if err := program.BuildProgram(nil, ""); err != nil {
		t.Fatal(err)
	}
	kernel, err := program.CreateKernel("add")
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Release()
	buffer := func() *MemObject {
		b, err := c.CreateEmptyBuffer(MemReadWrite, 64)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, b := buffer(), buffer()
	defer a.Release()
	for i, s := range []struct {
		index int
		to    any
		calls int // so far
		first func()
	}{
		{0, a, 1, nil}, {0, a, 1, nil}, {0, b, 2, nil}, {1, b, 3, nil}, {0, a, 4, nil},
		{1, uint32(7), 5, nil}, {1, int32(7), 5, nil}, {1, uint64(7), 6, nil}, {1, uint32(7), 7, nil}, {1, float32(7), 8, nil}, {1, float64(7), 9, nil},
		{0, a, 10, func() { b.Release() }}, {0, a, 10, nil}, {0, (*MemObject)(nil), 11, nil}, {0, a, 12, nil},
		{1, int32(9), 13, func() { f.fail("clSetKernelArg", int32(OutOfResources), 0) }}, {1, float64(7), 14, nil},
		{1, int32(9), 15, func() { f.fail("clSetKernelArg", int32(OutOfResources), 0) }}, {1, int32(9), 16, nil}, {1, int32(9), 16, nil},
	} {
		if s.first != nil {
			s.first()
		}
		err := kernel.SetArg(s.index, s.to)
		if n := f.calls("clSetKernelArg"); n != int32(s.calls) || (err != nil) != (i == 15 || i == 17) {
			t.Errorf("%d: argument %d to %v: %d calls, want %d; %v", i, s.index, s.to, n, s.calls, err)
		}
	}
}
