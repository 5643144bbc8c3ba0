package cl

import (
	"fmt"
	"unsafe"
)

// Kernel is one function of a program, with the arguments set so far. It
// belongs to one goroutine at a time.
type Kernel struct {
	object
	name string
}

// SetArg sets one argument, from 0: a *MemObject (nil is NULL), an int32, uint32,
// uint64, float32 or float64. Other types, int among them, whose size OpenCL C
// does not share, are ErrUnsupportedArgumentType. OpenCL checks the size of an argument but
// not its type: a float32 for an int is not noticed.
func (k *Kernel) SetArg(index int, arg any) error {
	switch v := arg.(type) {
	case *MemObject:
		var mem uintptr
		if v != nil {
			mem = v.use()
		}
		return setArg(k, index, mem)
	case int32:
		return setArg(k, index, v)
	case uint32:
		return setArg(k, index, v)
	case uint64:
		return setArg(k, index, v)
	case float32:
		return setArg(k, index, v)
	case float64:
		return setArg(k, index, v)
	}
	return fmt.Errorf("%w %T: kernel %s, argument %d", ErrUnsupportedArgumentType, arg, k.name, index)
}

// setArg hands v to C, which copies it before it returns.
func setArg[T scalar](k *Kernel, index int, v T) error {
	code := k.lib.setKernelArg(k.use(), uint32(index), unsafe.Sizeof(v), unsafe.Pointer(&v))
	return checkf("clSetKernelArg", code, k.device, "kernel %s, argument %d", k.name, index)
}

// WorkGroupSize returns the most work-items that a work-group of this kernel
// may have on device: registers and local memory may allow fewer than the
// device does.
func (k *Kernel) WorkGroupSize(device *Device) (int, error) {
	id := k.use()
	n, err := info[uintptr]("clGetKernelWorkGroupInfo", device.name,
		func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
			return k.lib.getKernelWorkGroupInfo(id, device.id, kernelWorkGroupSize, size, value, got)
		})
	if err == nil && (n < 1 || n > mostWorkItems) {
		err = lie("clGetKernelWorkGroupInfo", device.name, "that kernel %s runs in work-groups of %d", k.name, n)
	}
	return int(min(n, mostWorkItems)), err
}

// Release gives the kernel back.
func (k *Kernel) Release() error {
	if k == nil {
		return nil
	}
	return k.release("clReleaseKernel", k.lib.releaseKernel)
}
