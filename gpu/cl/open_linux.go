//go:build linux && !android && !noopencl && (amd64 || arm64 || loong64 || ppc64le || riscv64)

package cl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

const installHint = "no libOpenCL.so.1 (on Debian and Ubuntu: apt install ocl-icd-libopencl1, " +
	"and the GPU vendor's driver, or pocl-opencl-icd to compute on the CPU)"

// driverWithoutICD is NVIDIA's driver, the one that is often in a container
// without being registered there.
const driverWithoutICD = "libnvidia-opencl.so.1"

// libraryNames are the names to try, in order. The second exists without the
// first on boards whose vendor ships the driver as libOpenCL itself.
func libraryNames() []string { return []string{"libOpenCL.so.1", "libOpenCL.so"} }

// hasFile reports whether a library is where the dynamic linker would find it: at its
// path, in a folder of LD_LIBRARY_PATH, or in the linker's list.
func hasFile(name string) bool {
	if strings.Contains(name, "/") {
		_, err := os.Stat(name)
		return err == nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	list, err := os.ReadFile("/etc/ld.so.cache")
	return err == nil && bytes.Contains(list, []byte("/"+name+"\x00"))
}
