package cl

import (
	"errors"
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// Event is the completion of one command. A nil Event has happened already.
type Event struct {
	object
	queue *CommandQueue
	// pins holds the Go memory of a non-blocking transfer while the event is
	// in library.inFlight.
	pins runtime.Pinner
}

// enqueued makes the event of a command from what its call returned.
func (q *CommandQueue) enqueued(call string, id uintptr, code int32, format string, args ...any) (*Event, error) {
	if err := created(call, id, code, q.device, format, args...); err != nil {
		return nil, err
	}
	e := &Event{queue: q}
	e.init(q.lib, id, "Event", q.device)
	return e, nil
}

// fly pins the Go memory of a transfer before it is enqueued, and returns the
// event that is to be.
func (q *CommandQueue) fly(data unsafe.Pointer) *Event {
	e := &Event{queue: q}
	e.pins.Pin(data)
	q.lib.mu.Lock()
	defer q.lib.mu.Unlock()
	q.lib.inFlight[e] = false
	return e
}

// flies completes the event that fly returned, when its command is enqueued; id is 0 if it has none.
func (e *Event) flies(id uintptr) {
	q := e.queue
	e.init(q.lib, id, "Event", q.device)
	q.lib.mu.Lock()
	defer q.lib.mu.Unlock()
	q.lib.inFlight[e] = true
}

// flying returns the transfers enqueued in q that have not been seen to end.
func (l *library) flying(q *CommandQueue) []*Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var events []*Event
	for e, enqueued := range l.inFlight {
		if enqueued && e.queue == q {
			events = append(events, e)
		}
	}
	return events
}

// landed unpins the memory of those events that are transfers; they have ended.
func (l *library) landed(events ...*Event) {
	if len(events) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if _, ok := l.inFlight[e]; ok {
			e.pins.Unpin()
			delete(l.inFlight, e)
		}
	}
}

// isInFlight reports whether e's transfer may still be using Go memory.
func (l *library) isInFlight(e *Event) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.inFlight[e]
	return ok
}

// Wait returns when the command has ended; its error is the command's.
func (e *Event) Wait() error { return WaitForEvents([]*Event{e}) }

// WaitForEvents returns when all commands have ended. The error is that of the
// first that failed. The events must be of one context; nil ones are skipped.
func WaitForEvents(events []*Event) error {
	events = slices.DeleteFunc(slices.Clone(events), func(e *Event) bool { return e == nil })
	if len(events) == 0 {
		return nil
	}
	l := events[0].lib
	n, ids := list(eventIDs(events))
	err := check("clWaitForEvents", l.waitForEvents(n, ids), events[0].device)
	if err == nil {
		l.landed(events...)
		return nil
	}
	// Some of the commands may not have ended: only those that say so have.
	var failure *Error
	errors.As(err, &failure)
	for _, e := range events {
		status, err := e.status()
		if err != nil || status > 0 {
			continue
		}
		l.landed(e)
		if status < 0 && failure.Code == ExecStatusError {
			// "One of them failed" is all this code says; the event knows how.
			failure.Device, failure.Code = e.device, Code(status)
			failure.Detail = "a command that was waited for failed"
		}
	}
	return err
}

// status returns the state of the command: 0 when complete, negative when it
// ended with that code, positive before.
func (e *Event) status() (int32, error) {
	id := e.id.Load()
	return info[int32]("clGetEventInfo", e.device, func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return e.lib.getEventInfo(id, eventExecutionStatus, size, value, got)
	})
}

// Release gives the event back. Where it is that of a non-blocking transfer of
// Go memory, it waits first, and returns what Wait does.
func (e *Event) Release() error {
	if e == nil {
		return nil
	}
	var err error
	if e.id.Load() != 0 && e.lib.isInFlight(e) {
		err = e.Wait()
	}
	return errors.Join(err, e.release("clReleaseEvent", e.lib.releaseEvent))
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
// must have ended. A nil event has no moments: that is the error
// CL_PROFILING_INFO_NOT_AVAILABLE.
func (e *Event) GetProfilingInfo(moment ProfilingInfo) (int64, error) {
	if e == nil {
		return 0, &Error{Call: "clGetEventProfilingInfo", Code: ProfilingInfoNotAvailable, Detail: "no command was enqueued"}
	}
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

// eventIDs are the handles of a wait list.
func eventIDs(events []*Event) []uintptr {
	var ids []uintptr
	for _, e := range events {
		if e != nil {
			ids = append(ids, e.use())
		}
	}
	return ids
}
