package gpu

import (
	"errors"
	"fmt"

	"psafe/gpu/cl"
)

// Error reports what a device or its driver did wrong, or could not do. Its message is one line
// that names the operation, and within it the OpenCL call, the code and the device. Whoever does
// not import this package can tell the two cases that call for different answers by an interface
// with the method in question.
type Error struct {
	// Op is the operation, for example "affine" or "NewArray".
	Op string
	// Err is the cause, in most cases a *cl.Error.
	Err error

	outOfMemory, lost bool
}

func (e *Error) Error() string { return "gpu: " + e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// OutOfMemory reports that something did not fit, so that the same job in
// smaller batches may succeed on this device.
func (e *Error) OutOfMemory() bool { return e.outOfMemory || cl.IsOutOfMemory(e.Err) }

// DeviceLost reports that the device cannot be trusted any more: what it holds
// is garbage, and every later operation fails with the same error.
func (e *Error) DeviceLost() bool { return e.lost || cl.IsDeviceLost(e.Err) }

// IsOutOfMemory reports whether err is an Error with OutOfMemory.
func IsOutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.OutOfMemory()
}

// IsDeviceLost reports whether err is an Error with DeviceLost.
func IsDeviceLost(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.DeviceLost()
}

// fail wraps the error of an operation; a device that is lost stays lost.
func (d *Device) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Op: op, Err: err}
	}
	if e.DeviceLost() && d.lost == nil {
		d.lost = e
		d.kept.forget()
	}
	return e
}

// distrust is the error of a device that did something other than it was told.
func (d *Device) distrust(op, format string, args ...any) error {
	return d.fail(op, &Error{Op: op, Err: fmt.Errorf("%q %s", d.info.Name, fmt.Sprintf(format, args...)), lost: true})
}
