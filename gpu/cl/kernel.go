package cl

import (
	"fmt"
	"math"
	"unsafe"
)

// Kernel is one function of a program, with the arguments set so far. It
// belongs to one goroutine at a time.
type Kernel struct {
	object
	name string
	// arguments are what those were set to last, as long as no buffer but so many has been released: what
	// is the same is not set again, but another buffer may have the handle of one that is gone.
	arguments []argument
	released  int64
}

// argument is what an argument was set to, of so many bytes; of none if that is not known.
type argument struct {
	bits uint64
	size uintptr
}

// SetArg sets one argument, from 0: a *MemObject (nil is NULL), an int32, uint32,
// uint64, float32 or float64. Other types, int among them, whose size OpenCL C
// does not share, are ErrUnsupportedArgumentType. OpenCL checks the size of an argument but
// not its type: a float32 for an int is not noticed.
func (k *Kernel) SetArg(index int, arg any) error {
	a := argument{size: 4}
	switch v := arg.(type) {
	case *MemObject:
		a.size = unsafe.Sizeof(uintptr(0))
		if v != nil {
			a.bits = uint64(v.use())
		}
	case int32:
		a.bits = uint64(uint32(v))
	case uint32:
		a.bits = uint64(v)
	case uint64:
		a = argument{v, 8}
	case float32:
		a.bits = uint64(math.Float32bits(v))
	case float64:
		a = argument{math.Float64bits(v), 8}
	default:
		return fmt.Errorf("%w %T: kernel %s, argument %d", ErrUnsupportedArgumentType, arg, k.name, index)
	}
	if now := k.lib.buffersReleased.Load(); now != k.released {
		k.arguments, k.released = k.arguments[:0], now
	}
	for len(k.arguments) <= index {
		k.arguments = append(k.arguments, argument{})
	}
	if k.arguments[index] == a {
		return nil
	}
	k.arguments[index] = argument{}
	bits := a.bits // little-endian, as all that OpenCL is opened on; C copies it before it returns
	code := k.lib.setKernelArg(k.use(), uint32(index), a.size, unsafe.Pointer(&bits))
	if err := checkf("clSetKernelArg", code, k.device, "kernel %s, argument %d", k.name, index); err != nil {
		return err
	}
	k.arguments[index] = a
	return nil
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
