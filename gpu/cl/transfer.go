package cl

import (
	"errors"
	"unsafe"
)

// ReadBuffer fills data from buffer, from its element offset on, after the
// events in wait, and returns when that is done.
func ReadBuffer[T Element](q *CommandQueue, buffer *MemObject, offset int, data []T, wait ...*Event) error {
	return done(q.EnqueueReadBuffer(buffer, true, offset*sizeOf[T](), Bytes(data), wait))
}

// FillBuffer sets count elements of buffer, from its element offset on, to
// value, after the events in wait, and returns when that is done.
func FillBuffer[T Element](q *CommandQueue, buffer *MemObject, offset, count int, value T, wait ...*Event) error {
	size := sizeOf[T]()
	e, err := q.EnqueueFillBuffer(buffer, Bytes([]T{value}), offset*size, count*size, wait)
	if err == nil {
		err = e.Wait()
	}
	return done(e, err)
}

// done releases the event of a command that nobody else will look at.
func done(e *Event, err error) error { return errors.Join(err, e.Release()) }

func sizeOf[T Element]() int {
	var t T
	return int(unsafe.Sizeof(t))
}
