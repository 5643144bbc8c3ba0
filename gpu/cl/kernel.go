package cl

import (
	"fmt"
	"unsafe"
)

// Kernel is one function of a program, with the arguments set so far. It
// belongs to one goroutine at a time.
type Kernel struct {
	object
	name    string
	numArgs int
}

// LocalBuffer is a kernel argument: that many bytes of local memory for each
// work-group.
type LocalBuffer int

// Name returns the kernel's name.
func (k *Kernel) Name() string { return k.name }

// NumArgs returns how many arguments the kernel takes.
func (k *Kernel) NumArgs() int { return k.numArgs }

// SetArgs sets all arguments, in order; another number of them is an error.
func (k *Kernel) SetArgs(args ...any) error {
	if len(args) != k.numArgs {
		return &Error{"clSetKernelArg", InvalidKernelArgs, k.device,
			fmt.Sprintf("kernel %s takes %d arguments, got %d", k.name, k.numArgs, len(args))}
	}
	for i, arg := range args {
		if err := k.SetArg(i, arg); err != nil {
			return err
		}
	}
	return nil
}

// SetArg sets one argument, from 0: a *MemObject (nil is NULL), an int8, uint8,
// int16, uint16, int32, uint32, int64, uint64, float32, float64, or a
// LocalBuffer. Other types, int among them, whose size OpenCL C does not share,
// are ErrUnsupportedArgumentType. OpenCL checks the size of an argument but
// not its type: a float32 for an int is not noticed.
func (k *Kernel) SetArg(index int, arg any) error {
	switch v := arg.(type) {
	case *MemObject:
		var mem uintptr
		if v != nil {
			mem = v.use()
		}
		return setArg(k, index, mem)
	case LocalBuffer:
		return k.set(index, uintptr(max(v, 0)), nil)
	case int8:
		return setArg(k, index, v)
	case uint8:
		return setArg(k, index, v)
	case int16:
		return setArg(k, index, v)
	case uint16:
		return setArg(k, index, v)
	case int32:
		return setArg(k, index, v)
	case uint32:
		return setArg(k, index, v)
	case int64:
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

func setArg[T scalar](k *Kernel, index int, v T) error {
	return k.set(index, unsafe.Sizeof(v), unsafe.Pointer(&v))
}

// set hands value to C, which copies it before it returns.
func (k *Kernel) set(index int, size uintptr, value unsafe.Pointer) error {
	code := k.lib.setKernelArg(k.use(), uint32(index), size, value)
	return checkf("clSetKernelArg", code, k.device, "kernel %s, argument %d", k.name, index)
}

// WorkGroupSize returns the most work-items that a work-group of this kernel
// may have on device: registers and local memory may allow fewer than the
// device does.
func (k *Kernel) WorkGroupSize(device *Device) (int, error) {
	return k.workGroupInfo(device, kernelWorkGroupSize)
}

// PreferredWorkGroupSizeMultiple returns what the size of a work-group should
// be a multiple of: the width of a warp or wave.
func (k *Kernel) PreferredWorkGroupSizeMultiple(device *Device) (int, error) {
	return k.workGroupInfo(device, kernelPreferredWorkGroupSizeMul)
}

func (k *Kernel) workGroupInfo(device *Device, name uint32) (int, error) {
	id := k.use()
	n, err := info[uintptr]("clGetKernelWorkGroupInfo", device.name,
		func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
			return k.lib.getKernelWorkGroupInfo(id, device.id, name, size, value, got)
		})
	return int(n), err
}

// Release gives the kernel back.
func (k *Kernel) Release() error {
	if k == nil {
		return nil
	}
	return k.release("clReleaseKernel", k.lib.releaseKernel)
}
