package cl

import "unsafe"

// functions are the C functions used, one typed Go function each. Handles are
// uintptr: they point to the driver's memory, which the collector never moves.
// Pointers to Go memory are *T or unsafe.Pointer, never uintptr, so that the
// collector sees them until the call returns.
type functions struct {
	getPlatformIDs  func(n uint32, ids *uintptr, got *uint32) int32
	getPlatformInfo func(platform uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	getDeviceIDs    func(platform uintptr, kind uint64, n uint32, ids *uintptr, got *uint32) int32
	getDeviceInfo   func(device uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32

	createContext  func(properties *uintptr, n uint32, devices *uintptr, notify, user uintptr, code *int32) uintptr
	releaseContext func(context uintptr) int32

	createCommandQueue  func(context, device uintptr, properties uint64, code *int32) uintptr
	releaseCommandQueue func(queue uintptr) int32
	finish              func(queue uintptr) int32

	createBuffer     func(context uintptr, flags uint64, size uintptr, host unsafe.Pointer, code *int32) uintptr
	releaseMemObject func(mem uintptr) int32

	createProgramWithSource func(context uintptr, n uint32, sources **byte, lengths *uintptr, code *int32) uintptr
	createProgramWithBinary func(context uintptr, n uint32, devices, lengths *uintptr, binaries **byte, status, code *int32) uintptr
	buildProgram            func(program uintptr, n uint32, devices *uintptr, options *byte, notify, user uintptr) int32
	getProgramBuildInfo     func(program, device uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	getProgramInfo          func(program uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	releaseProgram          func(program uintptr) int32

	createKernel           func(program uintptr, name *byte, code *int32) uintptr
	getKernelWorkGroupInfo func(kernel, device uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	setKernelArg           func(kernel uintptr, index uint32, size uintptr, value unsafe.Pointer) int32
	releaseKernel          func(kernel uintptr) int32

	enqueueNDRangeKernel func(queue, kernel uintptr, dims uint32, offset, global, local *uintptr,
		nwait uint32, wait, event *uintptr) int32
	enqueueReadBuffer func(queue, mem uintptr, blocking uint32, offset, size uintptr, data unsafe.Pointer,
		nwait uint32, wait, event *uintptr) int32
	enqueueWriteBuffer func(queue, mem uintptr, blocking uint32, offset, size uintptr, data unsafe.Pointer,
		nwait uint32, wait, event *uintptr) int32
	enqueueFillBuffer func(queue, mem uintptr, pattern unsafe.Pointer, patternSize, offset, size uintptr,
		nwait uint32, wait, event *uintptr) int32

	getEventProfilingInfo func(event uintptr, name uint32, size uintptr, value unsafe.Pointer, got *uintptr) int32
	releaseEvent          func(event uintptr) int32
}

// symbol is a C name and the address of the Go function that is to call it.
type symbol struct {
	name string
	fn   any
}

// symbols lists every function, all of them required.
func (f *functions) symbols() []symbol {
	return []symbol{
		{"clGetPlatformIDs", &f.getPlatformIDs},
		{"clGetPlatformInfo", &f.getPlatformInfo},
		{"clGetDeviceIDs", &f.getDeviceIDs},
		{"clGetDeviceInfo", &f.getDeviceInfo},
		{"clCreateContext", &f.createContext},
		{"clReleaseContext", &f.releaseContext},
		// Deprecated since 2.0, but the one that 1.2 has; drivers keep it.
		{"clCreateCommandQueue", &f.createCommandQueue},
		{"clReleaseCommandQueue", &f.releaseCommandQueue},
		{"clFinish", &f.finish},
		{"clCreateBuffer", &f.createBuffer},
		{"clReleaseMemObject", &f.releaseMemObject},
		{"clCreateProgramWithSource", &f.createProgramWithSource},
		{"clCreateProgramWithBinary", &f.createProgramWithBinary},
		{"clBuildProgram", &f.buildProgram},
		{"clGetProgramBuildInfo", &f.getProgramBuildInfo},
		{"clGetProgramInfo", &f.getProgramInfo},
		{"clReleaseProgram", &f.releaseProgram},
		{"clCreateKernel", &f.createKernel},
		{"clGetKernelWorkGroupInfo", &f.getKernelWorkGroupInfo},
		{"clSetKernelArg", &f.setKernelArg},
		{"clReleaseKernel", &f.releaseKernel},
		{"clEnqueueNDRangeKernel", &f.enqueueNDRangeKernel},
		{"clEnqueueReadBuffer", &f.enqueueReadBuffer},
		{"clEnqueueWriteBuffer", &f.enqueueWriteBuffer},
		{"clEnqueueFillBuffer", &f.enqueueFillBuffer},
		{"clGetEventProfilingInfo", &f.getEventProfilingInfo},
		{"clReleaseEvent", &f.releaseEvent},
	}
}
