//go:build noopencl || !((linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64)) || (windows && (amd64 || arm64)))

package cl

import "errors"

const installHint = "this build of the program has no OpenCL in it (built with -tags noopencl, " +
	"or for a system other than 64-bit Linux, macOS or Windows)"

const driverWithoutICD = ""

// libraryNames holds a name that is never opened, so that opening fails as it
// does where the library is missing.
func libraryNames() []string { return []string{"OpenCL"} }

func dlopen(name string) (uintptr, error) {
	return 0, errors.New(name + ": this build cannot open libraries")
}

// dlopen never returns a handle, so what follows an open is never reached.

func dlsym(uintptr, string) (uintptr, error) { return 0, errors.ErrUnsupported }

func dlclose(uintptr) {}

func call(uintptr, []uintptr) uintptr { return 0 }

func hasFile(string) bool { return false }
