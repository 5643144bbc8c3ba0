package cl

import (
	"errors"
	"fmt"
	"unsafe"
)

// CommandQueue is the queue of commands of one device, which run in order, one
// after another.
type CommandQueue struct {
	object
}

// Finish returns when all commands have ended. Many drivers report here what
// went wrong in a kernel.
func (q *CommandQueue) Finish() error {
	id := q.use()
	// Others may enqueue while clFinish waits for what there is now.
	flying := q.lib.flying(q)
	if err := check("clFinish", q.lib.finish(id), q.device); err != nil {
		return err
	}
	q.lib.landed(flying...)
	return nil
}

// Release gives the queue back. If a non-blocking transfer of Go memory may
// still be running, it waits for it first.
func (q *CommandQueue) Release() error {
	if q == nil || q.id.Load() == 0 {
		return nil
	}
	var err error
	if len(q.lib.flying(q)) > 0 {
		err = q.Finish()
	}
	return errors.Join(err, q.release("clReleaseCommandQueue", q.lib.releaseCommandQueue))
}

// EnqueueNDRangeKernel runs the kernel, with the arguments it has now, for each
// point of a grid of len(global) dimensions, 1 to 3, after the events in wait.
// offset is the grid's origin, or nil for zeros; local is the shape of a
// work-group, or nil to let the driver choose; it must divide global. Shapes of
// unequal length or with negative numbers panic. The caller releases the event.
func (q *CommandQueue) EnqueueNDRangeKernel(kernel *Kernel, offset, global, local []int, wait []*Event) (*Event, error) {
	dims := len(global)
	o, g, l := shape("offset", offset, dims), shape("global", global, dims), shape("local", local, dims)
	n, waiting := list(eventIDs(wait))
	var event uintptr
	code := q.lib.enqueueNDRangeKernel(q.use(), kernel.use(), uint32(dims), o, g, l, n, waiting, &event)
	return q.enqueued("clEnqueueNDRangeKernel", event, code, "kernel %s, global %v, local %v", kernel.name, global, local)
}

// shape converts a shape of a grid; nil stays NULL.
func shape(what string, s []int, dims int) *uintptr {
	if len(s) == 0 {
		return nil
	}
	if len(s) != dims {
		panic(fmt.Sprintf("cl: EnqueueNDRangeKernel: %s %v for a grid of %d dimensions", what, s, dims))
	}
	c := make([]uintptr, dims)
	for i, n := range s {
		if n < 0 {
			panic(fmt.Sprintf("cl: EnqueueNDRangeKernel: negative size in %s %v", what, s))
		}
		c[i] = uintptr(n)
	}
	return &c[0]
}

// EnqueueMarkerWithWaitList returns an event that happens when those in wait
// have, or all commands enqueued before where wait is empty.
func (q *CommandQueue) EnqueueMarkerWithWaitList(wait []*Event) (*Event, error) {
	n, waiting := list(eventIDs(wait))
	var event uintptr
	code := q.lib.enqueueMarkerWithWaitList(q.use(), n, waiting, &event)
	return q.enqueued("clEnqueueMarkerWithWaitList", event, code, "")
}

// EnqueueWriteBuffer copies data to buffer, from its byte offset on, after the
// events in wait. If blocking, it returns when that is done; else the memory
// of data is pinned until the transfer is known to have ended, and the caller
// must not change it before. The caller releases the event. A write beyond the
// buffer's end panics.
func (q *CommandQueue) EnqueueWriteBuffer(buffer *MemObject, blocking bool, offset int, data []byte, wait []*Event) (*Event, error) {
	return q.transfer("clEnqueueWriteBuffer", q.lib.enqueueWriteBuffer, buffer, blocking, offset, data, wait)
}

// EnqueueReadBuffer copies buffer, from its byte offset on, to data; all else is
// as in EnqueueWriteBuffer.
func (q *CommandQueue) EnqueueReadBuffer(buffer *MemObject, blocking bool, offset int, data []byte, wait []*Event) (*Event, error) {
	return q.transfer("clEnqueueReadBuffer", q.lib.enqueueReadBuffer, buffer, blocking, offset, data, wait)
}

func (q *CommandQueue) transfer(call string,
	enqueue func(queue, mem uintptr, blocking uint32, offset, size uintptr, data unsafe.Pointer, nwait uint32, wait, event *uintptr) int32,
	buffer *MemObject, blocking bool, offset int, data []byte, wait []*Event,
) (*Event, error) {
	mem := buffer.use()
	inside(call, buffer, offset, len(data))
	if len(data) == 0 {
		return q.nothing(blocking, wait)
	}
	queue, data0 := q.use(), unsafe.Pointer(&data[0])
	n, waiting := list(eventIDs(wait))
	var event uintptr
	if blocking {
		code := enqueue(queue, mem, 1, uintptr(offset), uintptr(len(data)), data0, n, waiting, &event)
		return q.enqueued(call, event, code, "%d bytes at offset %d", len(data), offset)
	}
	e := q.fly(data0)
	code := enqueue(queue, mem, 0, uintptr(offset), uintptr(len(data)), data0, n, waiting, &event)
	if err := created(call, event, code, q.device, "%d bytes at offset %d", len(data), offset); err != nil {
		q.lib.landed(e)
		return nil, err
	}
	e.flies(event)
	return e, nil
}

// Run is EnqueueNDRangeKernel over a grid of one dimension, without an event: nobody asks when that ends.
func (q *CommandQueue) Run(kernel *Kernel, global, local int) error {
	grid := [2]uintptr{uintptr(global), uintptr(local)}
	code := q.lib.enqueueNDRangeKernel(q.use(), kernel.use(), 1, nil, &grid[0], &grid[1], 0, nil, nil)
	return checkf("clEnqueueNDRangeKernel", code, q.device, "kernel %s, global %d, local %d", kernel.name, global, local)
}

// Write copies data to the start of buffer, without an event: data is pinned, and the caller must not
// change it, until Finish or ReadBuffer has returned for this queue.
func (q *CommandQueue) Write(buffer *MemObject, data []byte) error {
	return q.move("clEnqueueWriteBuffer", q.lib.enqueueWriteBuffer, buffer, false, 0, data)
}

// Read copies the start of buffer to data, which is there once Finish or ReadBuffer has returned for
// this queue; all else is as in Write.
func (q *CommandQueue) Read(buffer *MemObject, data []byte) error {
	return q.move("clEnqueueReadBuffer", q.lib.enqueueReadBuffer, buffer, false, 0, data)
}

// move is a transfer without an event. One that blocks has seen all before it to their ends.
func (q *CommandQueue) move(call string,
	enqueue func(queue, mem uintptr, blocking uint32, offset, size uintptr, data unsafe.Pointer, nwait uint32, wait, event *uintptr) int32,
	buffer *MemObject, blocking bool, offset int, data []byte,
) error {
	mem, queue := buffer.use(), q.use()
	inside(call, buffer, offset, len(data))
	if len(data) == 0 {
		if blocking {
			return q.Finish()
		}
		return nil
	}
	data0 := unsafe.Pointer(&data[0])
	var blocks uint32
	var e *Event
	var ended []*Event
	if blocking {
		blocks, ended = 1, q.lib.flying(q)
	} else {
		e = q.fly(data0)
	}
	code := enqueue(queue, mem, blocks, uintptr(offset), uintptr(len(data)), data0, 0, nil, nil)
	if err := checkf(call, code, q.device, "%d bytes at offset %d", len(data), offset); err != nil {
		q.lib.landed(e)
		return err
	}
	if e != nil {
		e.flies(0)
	}
	q.lib.landed(ended...)
	return nil
}

// nothing is a transfer of no bytes, which OpenCL 1.2 refuses: it only waits.
func (q *CommandQueue) nothing(blocking bool, wait []*Event) (*Event, error) {
	e, err := q.EnqueueMarkerWithWaitList(wait)
	if err != nil || !blocking {
		return e, err
	}
	if err := e.Wait(); err != nil {
		return nil, errors.Join(err, e.Release())
	}
	return e, nil
}

// Fill repeats pattern, of 1, 2, 4, 8 ... 128 bytes, over size bytes of buffer from offset on; both
// must be multiples of its length. It has no event.
func (q *CommandQueue) Fill(buffer *MemObject, pattern []byte, offset, size int) error {
	mem := buffer.use()
	inside("clEnqueueFillBuffer", buffer, offset, size)
	if len(pattern) == 0 {
		panic("cl: Fill: empty pattern")
	}
	if size == 0 {
		return nil
	}
	code := q.lib.enqueueFillBuffer(q.use(), mem, unsafe.Pointer(&pattern[0]), uintptr(len(pattern)),
		uintptr(offset), uintptr(size), 0, nil, nil)
	return checkf("clEnqueueFillBuffer", code, q.device, "%d bytes at offset %d", size, offset)
}

// inside panics unless size bytes from offset on lie in the buffer: not all
// drivers check.
func inside(call string, b *MemObject, offset, size int) {
	if offset < 0 || size < 0 || offset > b.size-size {
		panic(fmt.Sprintf("cl: %s: %d bytes at offset %d of a buffer of %d", call, size, offset, b.size))
	}
}
