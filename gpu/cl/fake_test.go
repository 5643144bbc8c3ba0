//go:build !noopencl && (linux || darwin) && (amd64 || arm64)

package cl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"
)

// fake is testdata/fakecl.c, compiled and opened, with its control functions.
type fake struct {
	*library
	reset        func()
	fail         func(name string, code, skip int32)
	lose         func(after int32)
	setPlatforms func(n int32)
	devices      func(n int32)
	nullObjects  func(on int32)
	live         func() int32
	calls        func(name string) int32
	lastParam    func() uint32
	lie          func(param uint32, number uint64)
	length       func(bytes uint64)
	binary       func(code int32)
	setName      func(text *byte)
}

// compileFake compiles the fake library with more flags and returns its path.
// The file is the test's own: a library opened once stays as it is.
func compileFake(t *testing.T, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc): the fake OpenCL library cannot be made")
	}
	path := filepath.Join(t.TempDir(), "libfakecl.so")
	args := append([]string{"-shared", "-fPIC", "-o", path}, flags...)
	if out, err := exec.Command(cc, append(args, "testdata/fakecl.c", "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	return path
}

func openFake(t *testing.T, flags ...string) *fake {
	t.Helper()
	l, err := openLibrary([]string{compileFake(t, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{library: l}
	for _, s := range []symbol{
		{"fake_reset", &f.reset}, {"fake_fail", &f.fail}, {"fake_lose", &f.lose},
		{"fake_platforms", &f.setPlatforms}, {"fake_devices", &f.devices},
		{"fake_null_objects", &f.nullObjects},
		{"fake_live", &f.live}, {"fake_calls", &f.calls}, {"fake_last_param", &f.lastParam},
		{"fake_lie", &f.lie}, {"fake_length", &f.length}, {"fake_name", &f.setName}, {"fake_binary", &f.binary},
	} {
		addr, err := dlsym(l.handle, s.name)
		if err != nil {
			t.Fatal(err)
		}
		purego.RegisterFunc(s.fn, addr)
	}
	t.Cleanup(func() {
		f.reset()
		dlclose(l.handle)
	})
	return f
}

// setup returns the fake's device with a context and a queue on it.
func (f *fake) setup(t *testing.T) (*Context, *CommandQueue) {
	t.Helper()
	c, q, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	return c, q
}

// open is the way from the library to a queue.
func (f *fake) open() (c *Context, q *CommandQueue, err error) {
	platforms, err := f.library.platforms()
	if err != nil {
		return nil, nil, err
	}
	devices, err := platforms[0].GetDevices(DeviceTypeAll)
	if err != nil {
		return nil, nil, err
	}
	if c, err = CreateContext(devices); err != nil {
		return nil, nil, err
	}
	if q, err = c.CreateCommandQueue(devices[0], CommandQueueProfilingEnable); err != nil {
		return nil, nil, errors.Join(err, c.Release())
	}
	return c, q, nil
}

// child reports whether this process is one that runAlone started.
func child() bool { return os.Getenv("PSAFE_CL_TEST_CHILD") == "1" }

// runAlone runs the calling test in a process of its own, in which child is
// true: for what happens once in a process.
func runAlone(t *testing.T, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), "PSAFE_CL_TEST_CHILD=1"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with %q: %v\n%s", env, err, out)
	}
}
