//go:build darwin && !ios && !noopencl && (amd64 || arm64)

package cl

const installHint = "no OpenCL.framework (it is part of macOS: is this another system, or a sandbox?)"

// driverWithoutICD is empty: drivers are part of the framework.
const driverWithoutICD = ""

// libraryNames is one path, which is not a file: the framework lies in the
// dynamic linker's shared cache, so it can be opened but not found by stat.
func libraryNames() []string {
	return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
}

// hasFile is not known: the system's library has no file of its own.
func hasFile(string) bool { return false }
