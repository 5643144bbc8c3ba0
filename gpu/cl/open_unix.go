//go:build !noopencl && ((linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64)))

package cl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// dlopen opens a shared library, with all its symbols resolved now and visible
// to the drivers it loads, as if the program were linked with it.
func dlopen(name string) (uintptr, error) {
	// The linker's error message is kept per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func dlsym(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// dlclose drops one reference. Its failure leaves a library loaded that nobody
// calls, which is no one's concern.
func dlclose(handle uintptr) { _ = purego.Dlclose(handle) }

// register makes *fn call the C function at addr.
func register(fn any, addr uintptr) { purego.RegisterFunc(fn, addr) }
