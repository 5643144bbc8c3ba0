package cl

import "unsafe"

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
