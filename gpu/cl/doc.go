// Package cl binds the part of OpenCL 1.2 that psafe needs, with no cgo: the
// library is opened when the program runs, so one binary works on GPU servers
// and on machines that never heard of OpenCL. Absence is a normal state;
// [GetPlatforms] and [Open] then return an error for which [Absent] is true and
// whose one line says what to install.
//
// Type and method names follow github.com/jgillich/go-opencl (GetPlatforms,
// Platform.GetDevices, CreateContext, CreateCommandQueue,
// CreateProgramWithSource, BuildProgram, CreateKernel, SetArg,
// EnqueueNDRangeKernel, Release ...). Differences from it:
//
//   - Every return code is checked, in every build, and every failure is an
//     [*Error] that names call, code and device. Release returns one too.
//   - A device's constants are read once, by GetDevices, so that accessors such
//     as Device.Name return plain values.
//   - Data are []byte; [Bytes] views a slice of numbers as bytes without a copy,
//     and [ReadBuffer] and [FillBuffer] are typed short cuts.
//   - No command waits for an event, and none has one but a kernel that is timed:
//     queues run their commands in order.
//   - An argument that a kernel has already is not set again.
//
// # Ownership
//
// Whoever creates an object releases it. Release is idempotent and does nothing
// on a nil object; use after Release panics, as do wrong shapes. What a driver,
// a file or a device can cause is an error, never a panic. Dropping an object
// without Release leaks it in the driver, nothing worse.
//
// # Memory
//
// C keeps a pointer to Go memory beyond a call only in non-blocking transfers;
// that memory is pinned until the transfer is known to have ended: by
// [CommandQueue.Finish], [ReadBuffer] or the Release of the queue, which waits.
// The caller must leave the slice alone until then.
//
// # Concurrency
//
// All methods may be called from several goroutines, except that a [Kernel] is
// not: its arguments are state, so SetArg and EnqueueNDRangeKernel of one kernel
// belong to one goroutine at a time.
//
// # Environment
//
//   - PSAFE_OPENCL_LIBRARY names the OpenCL library to open instead of the
//     system's, as a path or as a name the dynamic linker finds. Tests use it
//     to load a library that fails on demand.
//   - OCL_ICD_VENDORS, OPENCL_VENDOR_PATH, OCL_ICD_FILENAMES are the loader's
//     own. Where none of them is set and no driver is registered although
//     NVIDIA's can be loaded (as in containers made by older NVIDIA toolkits),
//     this package sets OCL_ICD_VENDORS and OCL_ICD_FILENAMES to it; [Note]
//     then says so.
//
// The build tag noopencl leaves the binding out, and with it the dynamic
// linker: such a program is static, and finds no OpenCL anywhere.
//
// This is the only package of psafe that imports unsafe.
package cl
