//go:build !noopencl && ((linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64)))

package cl

import "github.com/ebitengine/purego"

// dlopen opens a shared library, with all its symbols resolved now and visible
// to the drivers it loads, as if the program were linked with it.
func dlopen(name string) (handle uintptr, err error) {
	foreign(func() { handle, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL) })
	return handle, err
}

func dlsym(handle uintptr, name string) (addr uintptr, err error) {
	foreign(func() { addr, err = purego.Dlsym(handle, name) })
	return addr, err
}

// dlclose drops one reference. Its failure leaves a library loaded that nobody
// calls, which is no one's concern.
func dlclose(handle uintptr) { foreign(func() { _ = purego.Dlclose(handle) }) }

// call calls the C function at addr.
func call(addr uintptr, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(addr, args...)
	return r
}
