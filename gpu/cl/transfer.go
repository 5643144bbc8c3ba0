package cl

import (
	"runtime"
	"unsafe"
)

// transfer is one that the driver does after its call has returned: its Go memory is pinned while it is in
// library.inFlight.
type transfer struct {
	queue *CommandQueue
	pins  runtime.Pinner
}

// fly pins the Go memory of a transfer before it is enqueued.
func (q *CommandQueue) fly(data unsafe.Pointer) *transfer {
	t := &transfer{queue: q}
	t.pins.Pin(data)
	q.lib.mu.Lock()
	defer q.lib.mu.Unlock()
	q.lib.inFlight[t] = true
	return t
}

// flying returns the transfers of q that have not been seen to end.
func (l *library) flying(q *CommandQueue) (list []*transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.inFlight {
		if t.queue == q {
			list = append(list, t)
		}
	}
	return list
}

// landed unpins the memory of transfers that have ended.
func (l *library) landed(list ...*transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range list {
		if l.inFlight[t] {
			t.pins.Unpin()
			delete(l.inFlight, t)
		}
	}
}

// ReadBuffer fills data from buffer, from its element offset on, and returns when that is done, and all
// that was enqueued before.
func ReadBuffer[T Element](q *CommandQueue, buffer *MemObject, offset int, data []T) error {
	return q.move("clEnqueueReadBuffer", q.lib.enqueueReadBuffer, buffer, true, offset*sizeOf[T](), Bytes(data))
}

// FillBuffer sets count elements of buffer, from its element offset on, to
// value, and returns when that is done.
func FillBuffer[T Element](q *CommandQueue, buffer *MemObject, offset, count int, value T) error {
	size := sizeOf[T]()
	if err := q.Fill(buffer, Bytes([]T{value}), offset*size, count*size); err != nil || count == 0 {
		return err
	}
	return q.Finish()
}

func sizeOf[T Element]() int {
	var t T
	return int(unsafe.Sizeof(t))
}
