//go:build !noopencl && (linux || darwin) && (amd64 || arm64)

package cl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// life calls everything the package has, releases everything, and returns all
// that went wrong.
func life(f *fake) (err error) {
	c, q, err := f.open()
	if err != nil {
		return err
	}
	// Releases are checked like all other calls.
	defer func() { err = errors.Join(err, q.Release(), c.Release()) }()

	program, err := c.CreateProgramWithSource([]string{"kernel void ", "add() {}"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, program.Release()) }()
	if err := program.BuildProgram(nil, "-cl-std=CL1.2"); err != nil {
		return err
	}
	if _, err := program.BuildLog(c.devices[0]); err != nil {
		return err
	}
	binary, err := program.Binary()
	if err != nil {
		return err
	}
	again, err := c.CreateProgramWithBinary(binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, again.Release()) }()
	if twice, err := again.Binary(); err != nil || string(twice) != "kernel void add() {}" {
		return errors.Join(err, fmt.Errorf("the binary is %q", twice))
	}
	kernel, err := program.CreateKernel("add")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kernel.Release()) }()
	if n, err := kernel.WorkGroupSize(c.devices[0]); err != nil {
		return err
	} else if n != 48 {
		return fmt.Errorf("work-groups of %d, want 48", n)
	}

	a, err := c.CreateEmptyBuffer(MemReadWrite, 64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Release()) }()
	b, err := c.CreateEmptyBuffer(MemReadWrite, 64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Release()) }()

	if err := setArgs(kernel, a, uint32(16)); err != nil {
		return err
	}
	if err := writeBuffer(q, a, 0, []float32{1, 2, 3}); err != nil {
		return err
	}
	if err := FillBuffer(q, b, 0, 16, uint32(7)); err != nil {
		return err
	}
	if err := errors.Join(q.Write(a, nil), q.Write(a, make([]byte, 8))); err != nil {
		return err
	}
	e, err := q.EnqueueNDRangeKernel(kernel, 64, 16, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Release()) }()
	if _, err := q.EnqueueNDRangeKernel(kernel, 64, 16, false); err != nil {
		return err
	}
	if err := errors.Join(q.Read(a, make([]byte, 8)), q.Finish()); err != nil {
		return err
	}
	if _, err := e.Duration(); err != nil {
		return err
	}
	got := make([]uint32, 1)
	if err := ReadBuffer(q, b, 0, got); err != nil {
		return err
	}
	if got[0] != 7 {
		return fmt.Errorf("read %d, want 7", got[0])
	}
	return q.Finish()
}

// optionalInfo are the CL_DEVICE_ values that a device need not know.
var optionalInfo = []uint32{deviceDoubleFPConfig, deviceNativeVectorDouble, devicePCIBusInfo, deviceUUID}

// TestEveryCallFails makes each call of each function fail in turn: the error
// must name the call, the code and the device, and nothing may leak.
func TestEveryCallFails(t *testing.T) {
	f := openFake(t)
	if err := life(f); err != nil {
		t.Fatalf("with no failure: %v", err)
	}
	if n := f.live(); n != 0 {
		t.Fatalf("with no failure: %d objects not released", n)
	}
	calls := map[string]int32{}
	for _, s := range f.symbols() {
		calls[s.name] = f.calls(s.name)
		if calls[s.name] == 0 {
			t.Errorf("%s is bound but never called by this test", s.name)
		}
	}
	const code = OutOfHostMemory
	tried := 0
	for name, n := range calls {
		for skip := range n {
			f.reset()
			f.fail(name, int32(code), skip)
			err := life(f)
			live := f.live()
			tried++
			where := fmt.Sprintf("%s, call %d of %d", name, skip+1, n)
			if flying := len(f.inFlight); flying != 0 {
				t.Errorf("%s: %d transfers in flight", where, flying)
			}
			if err == nil {
				if name != "clGetDeviceInfo" || !slices.Contains(optionalInfo, f.lastParam()) {
					t.Errorf("%s: the failure went unnoticed", where)
				}
				continue
			}
			e := asError(t, err)
			if e.Call != name || e.Code != code {
				t.Errorf("%s: got %v", where, err)
			}
			early := strings.HasPrefix(name, "clGetPlatform") || strings.HasPrefix(name, "clGetDevice")
			if e.Device != "Fake device" && !early {
				t.Errorf("%s: the error is on %q, not on the device", where, e.Device)
			}
			if !IsOutOfMemory(err) || IsDeviceLost(err) {
				t.Errorf("%s: IsOutOfMemory %v, IsDeviceLost %v, want true, false", where, IsOutOfMemory(err), IsDeviceLost(err))
			}
			if leaked := int32(0); strings.HasPrefix(name, "clRelease") {
				leaked = 1 // what the driver would not release
				if live != leaked {
					t.Errorf("%s: %d objects live, want %d", where, live, leaked)
				}
			} else if live != 0 {
				t.Errorf("%s: %d objects leaked", where, live)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d calls were made to fail", tried)
	}
}

// TestNullObjects: a driver that returns neither object nor error.
func TestNullObjects(t *testing.T) {
	f := openFake(t)
	f.nullObjects(1)
	_, _, err := f.open()
	if err == nil || !strings.Contains(err.Error(), "clCreateContext: ") || !strings.Contains(err.Error(), "returned nothing") {
		t.Errorf("got %v", err)
	}
}

func TestBuildLog(t *testing.T) {
	f := openFake(t)
	c, q := f.setup(t)
	defer q.Release()
	defer c.Release()
	// The fake's log is the source it received; the empty text checks lengths.
	p, err := c.CreateProgramWithSource([]string{"line 1: ", "", "no such thing"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	f.fail("clBuildProgram", int32(buildProgramFailure), 0)
	err = p.BuildProgram(nil, "-Dx=1")
	var b *BuildError
	if !errors.As(err, &b) {
		t.Fatalf("got %v, want a *BuildError", err)
	}
	if b.Log != "line 1: no such thing" || b.Options != "-Dx=1" {
		t.Errorf("got log %q, options %q", b.Log, b.Options)
	}
	want := `clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11) on "Fake device" with options "-Dx=1"` + "\nline 1: no such thing"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if e := asError(t, err); e.Code != buildProgramFailure {
		t.Errorf("wraps %v", e)
	}
}

// TestDeviceLost loses the device in the middle of a run, at every step.
func TestDeviceLost(t *testing.T) {
	f := openFake(t)
	for after := int32(0); ; after++ {
		f.reset()
		f.lose(after)
		err := life(f)
		if err == nil {
			if after < 8 {
				t.Errorf("life makes only %d queue calls", after)
			}
			return
		}
		if !IsDeviceLost(err) || IsOutOfMemory(err) {
			t.Fatalf("lost after %d calls: IsDeviceLost %v, IsOutOfMemory %v: %v", after, IsDeviceLost(err), IsOutOfMemory(err), err)
		}
		if n := f.live(); n != 0 {
			t.Errorf("lost after %d calls: %d objects leaked", after, n)
		}
		// A lost device never says that a transfer has ended, so its memory stays
		// pinned, as long as the library lives: this one ends with the test.
		f.landed(slices.Collect(maps.Keys(f.inFlight))...)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Call: "clEnqueueNDRangeKernel", Code: OutOfResources, Device: "NVIDIA H100"}
	if got, want := e.Error(), `clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5) on "NVIDIA H100"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := Code(-4711).String(), "unknown OpenCL code (-4711)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		call      string
		code      Code
		oom, lost bool
	}{
		{"clCreateBuffer", MemObjectAllocationFailure, true, false},
		{"clCreateBuffer", InvalidBufferSize, true, false},
		{"clFinish", MemObjectAllocationFailure, true, false},
		{"clEnqueueNDRangeKernel", OutOfResources, true, false},
		{"clFinish", OutOfResources, false, true},
		{"clEnqueueReadBuffer", OutOfResources, false, true},
		{"clFinish", InvalidCommandQueue, false, true},
		{"clFinish", IllegalAccessNV, false, true},
		{"clEnqueueNDRangeKernel", -54, false, false},
	} {
		err := fmt.Errorf("wrapped: %w", check(c.call, int32(c.code), ""))
		if IsOutOfMemory(err) != c.oom || IsDeviceLost(err) != c.lost {
			t.Errorf("%v: IsOutOfMemory %v, IsDeviceLost %v, want %v, %v", err, IsOutOfMemory(err), IsDeviceLost(err), c.oom, c.lost)
		}
	}
	for _, err := range []error{nil, errors.New("x"), ErrNotFound} {
		if IsOutOfMemory(err) || IsDeviceLost(err) {
			t.Errorf("%v is no OpenCL error", err)
		}
	}
}
