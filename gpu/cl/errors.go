package cl

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound reports that there is no OpenCL library on this machine. It is wrapped in an error
// that lists every name tried and why it failed.
var ErrNotFound = errors.New("OpenCL is not installed: " + installHint)

// ErrNoPlatform reports that the OpenCL library is there but has no driver behind it. It is wrapped
// in an error that says what could be done.
var ErrNoPlatform = errors.New("OpenCL is installed but no driver (ICD) is registered with it")

// ErrUnsupportedArgumentType reports that [Kernel.SetArg] got a Go type that is not a kernel
// argument.
var ErrUnsupportedArgumentType = errors.New("cl: unsupported kernel argument type")

// Absent reports whether err says that this machine has no OpenCL to use, which
// is a normal state: no library, or no driver. A broken or failing OpenCL is
// not absent.
func Absent(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoPlatform)
}

// Error is the failure of one OpenCL call.
type Error struct {
	// Call is the C function, for example "clEnqueueNDRangeKernel".
	Call string
	// Code is what it returned.
	Code Code
	// Device is the device's name, or the platform's where no device is
	// involved yet; empty where neither is known.
	Device string
	// Detail says which of several: a kernel's name and argument, the size of
	// a buffer. It may be empty.
	Detail string
}

// Error returns one line, for example
//
//	clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5) on "NVIDIA H100": kernel "add"
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Call, e.Code)
	if e.Device != "" {
		fmt.Fprintf(&b, " on %q", e.Device)
	}
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	return b.String()
}

// check turns a return code into an error; CL_SUCCESS is nil.
func check(call string, code int32, device string) error {
	if code == int32(Success) {
		return nil
	}
	return &Error{Call: call, Code: Code(code), Device: device}
}

// checkf is check with a detail, formatted only when there is an error.
func checkf(call string, code int32, device, format string, args ...any) error {
	if code == int32(Success) {
		return nil
	}
	return &Error{call, Code(code), device, fmt.Sprintf(format, args...)}
}

// waits are the calls that report what earlier commands did. In them
// CL_OUT_OF_RESOURCES is how NVIDIA's driver reports a kernel that touched
// memory it does not own, not that something was too large.
var waits = map[string]bool{
	"clFinish":            true,
	"clEnqueueReadBuffer": true,
}

// IsOutOfMemory reports whether err says that something did not fit, so that
// trying again with less can help: an allocation failed on the device (which
// may only show when a buffer is first used) or on the host, a buffer was larger
// than the device allows, or a launch wanted more than the device has.
func IsOutOfMemory(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case MemObjectAllocationFailure, OutOfHostMemory, InvalidBufferSize:
		return true
	case OutOfResources:
		return !waits[e.Call]
	}
	return false
}

// IsDeviceLost reports whether err says that the device, or the work on it, is
// gone: whatever its context holds must be taken as garbage, and only a new
// context (or another device) can go on.
func IsDeviceLost(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case DeviceNotAvailable, InvalidContext, InvalidCommandQueue, ExecStatusError, IllegalAccessNV:
		return true
	case OutOfResources:
		return waits[e.Call]
	}
	return false
}

// BuildError is a program that did not compile.
type BuildError struct {
	// Err is the failure of clBuildProgram.
	Err *Error
	// Options are the build options used.
	Options string
	// Log is what the compiler said, for each device that said something.
	Log string
}

// Error returns the call's line followed by the compiler's log.
func (e *BuildError) Error() string {
	s := e.Err.Error()
	if e.Options != "" {
		s += fmt.Sprintf(" with options %q", e.Options)
	}
	if e.Log == "" {
		return s + " (the compiler left no log)"
	}
	return s + "\n" + e.Log
}

// Unwrap returns the failure of clBuildProgram.
func (e *BuildError) Unwrap() error { return e.Err }
