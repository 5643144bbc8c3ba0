package cl

import "unsafe"

// MemFlag is a set of properties of a buffer.
type MemFlag uint64

// MemReadWrite is a buffer that kernels read and write.
const MemReadWrite MemFlag = 1 << 0

// MemObject is a buffer in a context.
type MemObject struct {
	object
	size int
}

// Size returns the buffer's length in bytes.
func (b *MemObject) Size() int { return b.size }

// Release gives the buffer back, which the driver keeps until the commands that use it have ended.
func (b *MemObject) Release() error {
	if b == nil {
		return nil
	}
	b.lib.buffersReleased.Add(1)
	return b.release("clReleaseMemObject", b.lib.releaseMemObject)
}

// Element describes what slices that are moved to and from buffers may hold: numbers whose form is
// the same in Go and in OpenCL C.
type Element interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Bytes returns the memory of s as bytes, without a copy.
func Bytes[T Element](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}
