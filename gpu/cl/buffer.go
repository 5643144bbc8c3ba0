package cl

import (
	"errors"
	"fmt"
	"unsafe"
)

// MemFlag is a set of properties of a buffer.
type MemFlag uint64

// The properties. Read and write are seen from kernels.
const (
	MemReadWrite MemFlag = 1 << 0
	MemWriteOnly MemFlag = 1 << 1
	MemReadOnly  MemFlag = 1 << 2
	// MemAllocHostPtr asks for memory that the host can reach, which is what
	// [CommandQueue.CreateStagingBuffer] uses.
	MemAllocHostPtr MemFlag = 1 << 4
)

// MemObject is a buffer in a context.
type MemObject struct {
	object
	size int
}

// Size returns the buffer's length in bytes.
func (b *MemObject) Size() int { return b.size }

// Release gives the buffer back, once the commands that use it have ended.
func (b *MemObject) Release() error {
	if b == nil {
		return nil
	}
	return b.release("clReleaseMemObject", b.lib.releaseMemObject)
}

// Element is what slices that are moved to and from buffers may hold: numbers
// whose form is the same in Go and in OpenCL C.
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

// Elements returns the memory of b as numbers, without a copy. It panics when b
// is not a whole number of them, or does not start where one may lie.
func Elements[T Element](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var t T
	size := int(unsafe.Sizeof(t))
	p := unsafe.Pointer(&b[0])
	if len(b)%size != 0 || uintptr(p)%unsafe.Alignof(t) != 0 {
		panic(fmt.Sprintf("cl: Elements: %d bytes at %p are no aligned []%T", len(b), p, t))
	}
	return unsafe.Slice((*T)(p), len(b)/size)
}

// StagingBuffer is host memory that the driver allocated, page-locked where the
// hardware gains by it. A non-blocking transfer from or to it runs while kernels
// compute; from ordinary Go memory many drivers make a copy first. It is used
// as the Go side of a transfer, never as a kernel's argument.
type StagingBuffer struct {
	mem   *MemObject
	queue *CommandQueue
	data  unsafe.Pointer
}

// CreateStagingBuffer allocates size bytes of such memory. It waits for the
// queue. The queue must live until the buffer is released.
func (q *CommandQueue) CreateStagingBuffer(size int) (*StagingBuffer, error) {
	mem, err := q.context.CreateEmptyBuffer(MemReadWrite|MemAllocHostPtr, size)
	if err != nil {
		return nil, err
	}
	var code int32
	data := q.lib.enqueueMapBuffer(q.use(), mem.use(), 1, mapRead|mapWrite, 0, uintptr(size), 0, nil, nil, &code)
	if err := created("clEnqueueMapBuffer", uintptr(data), code, q.device, "%d bytes", size); err != nil {
		return nil, errors.Join(err, mem.Release())
	}
	return &StagingBuffer{mem: mem, queue: q, data: data}, nil
}

// Bytes returns the memory. It is C's: it is gone after Release.
func (s *StagingBuffer) Bytes() []byte {
	s.mem.use()
	return unsafe.Slice((*byte)(s.data), s.mem.size)
}

// Release waits for the queue, so that no transfer uses the memory any more, and
// gives it back.
func (s *StagingBuffer) Release() error {
	if s == nil || s.mem.id.Load() == 0 {
		return nil
	}
	q := s.queue
	err := check("clEnqueueUnmapMemObject",
		q.lib.enqueueUnmapMemObject(q.use(), s.mem.use(), s.data, 0, nil, nil), q.device)
	return errors.Join(err, q.Finish(), s.mem.Release())
}
