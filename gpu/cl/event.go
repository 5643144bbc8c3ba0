package cl

import (
	"time"
	"unsafe"
)

// Event is a command of which the time is asked.
type Event struct{ object }

// Release gives the event back.
func (e *Event) Release() error {
	if e == nil {
		return nil
	}
	return e.release("clReleaseEvent", e.lib.releaseEvent)
}

// ProfilingInfo is a moment in the life of a command.
type ProfilingInfo uint32

// The moments between which a command runs.
const (
	ProfilingInfoCommandStart ProfilingInfo = 0x1282
	ProfilingInfoCommandEnd   ProfilingInfo = 0x1283
)

// GetProfilingInfo returns a moment, in nanoseconds of the device's clock. The
// queue must have been made with [CommandQueueProfilingEnable], and the command
// must have ended.
func (e *Event) GetProfilingInfo(moment ProfilingInfo) (int64, error) {
	id := e.use()
	t, err := info[uint64]("clGetEventProfilingInfo", e.device, func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return e.lib.getEventProfilingInfo(id, uint32(moment), size, value, got)
	})
	return int64(t), err
}

// Duration returns how long the command ran on the device, under the conditions
// of GetProfilingInfo.
func (e *Event) Duration() (time.Duration, error) {
	start, err := e.GetProfilingInfo(ProfilingInfoCommandStart)
	if err != nil {
		return 0, err
	}
	end, err := e.GetProfilingInfo(ProfilingInfoCommandEnd)
	return time.Duration(end - start), err
}
