//go:build !noopencl && (linux || darwin) && (amd64 || arm64)

package cl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wantIn checks that an error's text is one line and holds all of parts.
func wantIn(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q is not in: %v", p, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}

func TestNoLibrary(t *testing.T) {
	_, _, err := open([]string{"libNoSuchA.so.1", "libNoSuchB.so"}, "libNoSuchC.so")
	if !errors.Is(err, ErrNotFound) || !Absent(err) {
		t.Errorf("%v is not ErrNotFound", err)
	}
	wantIn(t, err, "not installed", "libNoSuchA.so.1", "libNoSuchB.so")
}

func TestLoaderMissing(t *testing.T) {
	driver := compileFake(t)
	_, _, err := open([]string{"libNoSuchA.so.1"}, driver)
	if !Absent(err) {
		t.Errorf("%v: not Absent", err)
	}
	wantIn(t, err, "libNoSuchA.so.1", driver, "only the loader is missing")
}

func TestNotALibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libOpenCL.so.1")
	if err := os.WriteFile(path, []byte("some text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := open([]string{path}, "")
	wantIn(t, err, path)
	if !Absent(err) {
		t.Errorf("%v: not Absent", err)
	}
}

func TestMissingSymbol(t *testing.T) {
	path := compileFake(t, "-DOMIT")
	_, _, err := open([]string{path}, "")
	if Absent(err) {
		t.Error("a broken library is not an absent one")
	}
	wantIn(t, err, path, "OpenCL 1.2", "clEnqueueFillBuffer")

	// The next name is tried.
	good := compileFake(t)
	l, _, err := open([]string{path, good}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer dlclose(l.handle)
	if l.name != good {
		t.Errorf("opened %s, want %s", l.name, good)
	}
}

func TestNoPlatform(t *testing.T) {
	f := openFake(t)
	for _, n := range []int32{-1, 0} { // the ICD extension's code, and a plain zero
		f.setPlatforms(n)
		platforms, err := f.library.platforms()
		if len(platforms) != 0 || !errors.Is(err, ErrNoPlatform) || !Absent(err) {
			t.Errorf("got %v, %v", platforms, err)
		}
		wantIn(t, err, "no driver")
	}
}

func TestNoDevice(t *testing.T) {
	f := openFake(t)
	platforms, err := f.library.platforms()
	if err != nil {
		t.Fatal(err)
	}
	f.devices(0)
	if devices, err := platforms[0].GetDevices(DeviceTypeGPU); len(devices) != 0 || err != nil {
		t.Errorf("got %v, %v, want none and no error", devices, err)
	}
}

// clearICD makes the user have said nothing about drivers.
func clearICD(t *testing.T) {
	for _, v := range icdVariables {
		t.Setenv(v, "")
	}
}

// TestUnregisteredDriver: the loader knows no driver, but one can be loaded.
func TestUnregisteredDriver(t *testing.T) {
	driver := compileFake(t)
	t.Run("announced", func(t *testing.T) {
		clearICD(t)
		l, note, err := open([]string{compileFake(t, "-DNO_ICD")}, driver)
		if err != nil {
			t.Fatal(err)
		}
		defer dlclose(l.handle)
		if platforms, err := l.platforms(); len(platforms) != 1 || err != nil {
			t.Errorf("got %v, %v", platforms, err)
		}
		if !strings.Contains(note, driver) {
			t.Errorf("note %q does not name the driver", note)
		}
	})
	t.Run("the user has decided", func(t *testing.T) {
		clearICD(t)
		t.Setenv("OPENCL_VENDOR_PATH", "/nowhere")
		_, _, err := open([]string{compileFake(t, "-DNO_ICD")}, driver)
		if !errors.Is(err, ErrNoPlatform) {
			t.Errorf("got %v", err)
		}
		wantIn(t, err, driver, "nvidia.icd", "correct OPENCL_VENDOR_PATH")
	})
	t.Run("no driver", func(t *testing.T) {
		clearICD(t)
		_, note, err := open([]string{compileFake(t, "-DNO_ICD")}, "libNoSuch.so")
		if !errors.Is(err, ErrNoPlatform) || note != "" {
			t.Errorf("got %q, %v", note, err)
		}
	})
}

// TestUnregisteredDriverReal does the same with the machine's loader and PoCL.
func TestUnregisteredDriverReal(t *testing.T) {
	const driver = "libpocl.so.2"
	if child() {
		l, err := openLibrary(libraryNames())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = l.platformIDs(); !errors.Is(err, ErrNoPlatform) {
			t.Fatalf("got %v, want no platform", err)
		}
		if l, err = announce(l, libraryNames(), driver); err != nil {
			t.Fatal(err)
		}
		if platforms, err := l.platforms(); len(platforms) != 1 || err != nil {
			t.Fatalf("got %v, %v", platforms, err)
		}
		return
	}
	if Open() != nil || !loadable(driver) {
		t.Skipf("no OpenCL loader with %s here", driver)
	}
	runAlone(t, "OCL_ICD_VENDORS=", "OCL_ICD_FILENAMES=", "OPENCL_VENDOR_PATH="+t.TempDir())
}

// TestPublicAbsent and TestPublicOverride go the public way, by environment.
func TestPublicAbsent(t *testing.T) {
	if !child() {
		runAlone(t, libraryVariable+"=/nowhere/libOpenCL.so.1")
		return
	}
	platforms, err := GetPlatforms()
	if len(platforms) != 0 || !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v, %v", platforms, err)
	}
	wantIn(t, err, libraryVariable+` is set to "/nowhere/libOpenCL.so.1"`)
	if again := Open(); again != err {
		t.Errorf("second answer %v differs", again)
	}
}

func TestPublicOverride(t *testing.T) {
	if !child() {
		runAlone(t, libraryVariable+"="+compileFake(t))
		return
	}
	platforms, err := GetPlatforms()
	if err != nil {
		t.Fatal(err)
	}
	if len(platforms) != 1 || platforms[0].Name() != "Fake platform" || Note() != "" {
		t.Errorf("got %v, note %q", platforms, Note())
	}
}
