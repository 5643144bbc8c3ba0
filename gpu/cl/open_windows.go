//go:build windows && !noopencl && (amd64 || arm64)

package cl

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/ebitengine/purego"
)

const installHint = "no OpenCL.dll (it comes with the GPU vendor's driver)"

// driverWithoutICD is empty: the registry lists drivers, and installers write it.
const driverWithoutICD = ""

// libraryNames tries the system's folder by its path first, so that an
// OpenCL.dll in the current folder is not taken for it.
func libraryNames() []string {
	names := []string{"OpenCL.dll"}
	if root := os.Getenv("SystemRoot"); root != "" {
		names = append([]string{filepath.Join(root, "System32", "OpenCL.dll")}, names...)
	}
	return names
}

func dlopen(name string) (handle uintptr, err error) {
	foreign(func() {
		var h syscall.Handle
		h, err = syscall.LoadLibrary(name)
		handle = uintptr(h)
	})
	return handle, err
}

func dlsym(handle uintptr, name string) (addr uintptr, err error) {
	foreign(func() { addr, err = syscall.GetProcAddress(syscall.Handle(handle), name) })
	return addr, err
}

// dlclose drops one reference. Its failure leaves a library loaded that nobody
// calls, which is no one's concern.
func dlclose(handle uintptr) { foreign(func() { _ = syscall.FreeLibrary(syscall.Handle(handle)) }) }

// call calls the C function at addr.
func call(addr uintptr, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(addr, args...)
	return r
}

// hasFile is not known: the linker is asked.
func hasFile(string) bool { return false }
