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

// Release gives the queue back. If a transfer of Go memory may
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

// EnqueueNDRangeKernel runs the kernel, with the arguments it has now, for global work-items in groups of
// local, which divides global. Where it is timed, the caller releases the event.
func (q *CommandQueue) EnqueueNDRangeKernel(kernel *Kernel, global, local int, timed bool) (*Event, error) {
	const call, detail = "clEnqueueNDRangeKernel", "kernel %s, global %d, local %d"
	grid := [2]uintptr{uintptr(global), uintptr(local)}
	var id uintptr
	var event *uintptr
	if timed {
		event = &id
	}
	code := q.lib.enqueueNDRangeKernel(q.use(), kernel.use(), 1, nil, &grid[0], &grid[1], 0, nil, event)
	if !timed {
		return nil, checkf(call, code, q.device, detail, kernel.name, global, local)
	}
	if err := created(call, id, code, q.device, detail, kernel.name, global, local); err != nil {
		return nil, err
	}
	e := &Event{}
	e.init(q.lib, id, "Event", q.device)
	return e, nil
}

// Write copies data to the start of buffer, after the call: data is pinned, and the caller must not
// change it, until Finish or ReadBuffer has returned for this queue.
func (q *CommandQueue) Write(buffer *MemObject, data []byte) error {
	return q.move("clEnqueueWriteBuffer", q.lib.enqueueWriteBuffer, buffer, false, 0, data)
}

// Read copies the start of buffer to data, which is there once Finish or ReadBuffer has returned for
// this queue; all else is as in Write.
func (q *CommandQueue) Read(buffer *MemObject, data []byte) error {
	return q.move("clEnqueueReadBuffer", q.lib.enqueueReadBuffer, buffer, false, 0, data)
}

// move is a transfer. One that blocks has seen all before it to their ends.
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
	var t *transfer
	var ended []*transfer
	if blocking {
		blocks, ended = 1, q.lib.flying(q)
	} else {
		t = q.fly(data0)
	}
	code := enqueue(queue, mem, blocks, uintptr(offset), uintptr(len(data)), data0, 0, nil, nil)
	if err := checkf(call, code, q.device, "%d bytes at offset %d", len(data), offset); err != nil {
		q.lib.landed(t)
		return err
	}
	q.lib.landed(ended...)
	return nil
}

// Fill repeats pattern, of 1, 2, 4, 8 ... 128 bytes, over size bytes of buffer from offset on; both
// must be multiples of its length.
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
