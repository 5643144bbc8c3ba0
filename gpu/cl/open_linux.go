//go:build linux && !android && !noopencl && (amd64 || arm64 || loong64 || ppc64le || riscv64)

package cl

const installHint = "no libOpenCL.so.1 (on Debian and Ubuntu: apt install ocl-icd-libopencl1, " +
	"and the GPU vendor's driver, or pocl-opencl-icd to compute on the CPU)"

// driverWithoutICD is NVIDIA's driver, the one that is often in a container
// without being registered there.
const driverWithoutICD = "libnvidia-opencl.so.1"

// libraryNames are the names to try, in order. The second exists without the
// first on boards whose vendor ships the driver as libOpenCL itself.
func libraryNames() []string { return []string{"libOpenCL.so.1", "libOpenCL.so"} }
