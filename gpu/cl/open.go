package cl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// libraryVariable names the environment variable that overrides which library
// is opened.
const libraryVariable = "PSAFE_OPENCL_LIBRARY"

// icdVariables are how users tell OpenCL loaders where drivers are: the first
// two ocl-icd's, the last (and the first, as a folder) Khronos's. Where one is
// set, the user has decided.
var icdVariables = []string{"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"}

// opened is the process's library.
var opened = sync.OnceValue(func() (o struct {
	lib  *library
	note string
	err  error
}) {
	override := os.Getenv(libraryVariable)
	o.lib, o.note, o.err = open(candidates(), driverWithoutICD)
	if o.err != nil && override != "" {
		o.err = fmt.Errorf("%w; %s is set to %q", o.err, libraryVariable, override)
	}
	return o
})

// candidates are the libraries to try, in order.
func candidates() []string {
	if override := os.Getenv(libraryVariable); override != "" {
		return []string{override}
	}
	return libraryNames()
}

// LibraryName names, for messages, the library that Open tries first.
func LibraryName() string { return clean(candidates()[0], "") }

// Open opens OpenCL once per process and asks it whether it has any platform;
// later calls return the first call's answer. Calling it is optional.
func Open() error { return opened().err }

// Note returns what a user should know about how OpenCL was found, in one line:
// that a driver was used which is not registered. It is empty in the normal
// case.
func Note() string { return opened().note }

// open opens a library and makes sure that there is a driver behind it. Where
// there is none but driver can be loaded, it opens the library a second time,
// with driver announced: loaders read their environment when first called, and
// anew only when they were unloaded.
func open(names []string, driver string) (l *library, note string, err error) {
	l, err = openLibrary(names)
	if err != nil {
		if errors.Is(err, ErrNotFound) && driver != "" && loadable(driver) {
			err = fmt.Errorf("%w; the driver %s is here, only the loader is missing", err, driver)
		}
		return nil, "", err
	}
	_, err = l.platformIDs()
	if !errors.Is(err, ErrNoPlatform) {
		if err != nil {
			return nil, "", err
		}
		return l, "", nil
	}
	if driver == "" || !loadable(driver) {
		return nil, "", err
	}
	cause := fmt.Errorf("%w, although %s can be loaded: register it with "+
		"`mkdir -p /etc/OpenCL/vendors && echo %s > /etc/OpenCL/vendors/nvidia.icd`", err, driver, driver)
	for _, v := range icdVariables {
		if os.Getenv(v) != "" {
			return nil, "", fmt.Errorf("%w, or correct %s", cause, v)
		}
	}
	l, err = announce(l, names, driver)
	if err != nil {
		return nil, "", fmt.Errorf("%w (opening it directly failed too: %v)", cause, err)
	}
	return l, fmt.Sprintf("no OpenCL driver (ICD) is registered; using %s directly", driver), nil
}

// announce unloads l and opens it again with driver as its only one.
func announce(l *library, names []string, driver string) (*library, error) {
	dlclose(l.handle)
	for _, v := range []string{"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"} {
		if err := os.Setenv(v, driver); err != nil {
			return nil, err
		}
	}
	l, err := openLibrary(names)
	if err != nil {
		return nil, err
	}
	if _, err := l.platformIDs(); err != nil {
		return nil, err
	}
	return l, nil
}

// loadable reports whether the dynamic linker can load name.
func loadable(name string) bool {
	handle, err := dlopen(name)
	if err != nil {
		return false
	}
	dlclose(handle)
	return true
}

// Installed reports whether there is an OpenCL library that could be opened. Where
// its file is found where the dynamic linker looks, nothing of it is loaded, so that
// whoever does not trust it may leave the opening to another process; else the linker
// is asked.
func Installed() bool {
	names := candidates()
	return slices.ContainsFunc(names, hasFile) || slices.ContainsFunc(names, loadable)
}
