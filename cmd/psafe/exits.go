package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"psafe/gpu"
	"psafe/host/job/certify"
	"psafe/host/lab/paper"
)

// Exit statuses, as "psafe help" and docs/results.md list them.
const (
	exitDone        = 0
	exitDifference  = 1  // crosscheck or merge found a difference, certify or paper a contradiction, check a record that it refuses
	exitUsage       = 2  // a flag or a file is wrong, or a result cannot be written
	exitDevice      = 3  // the device asked for is absent, refused or broke
	exitInterrupted = 4  // interrupted; finished records are in OUT.partial, for --resume
	exitTime        = 5  // --total-time-limit ended certify or run; finished records as after 4
	exitFault       = 6  // a panic; finished records as after 4
	exitFaultAgain  = 7  // the same, in a shard of a campaign that a fault has ended before
	exitMemory      = 8  // no more memory or threads; finished records as after 4
	exitUnder       = 10 // --fail-unless refuses what was found
)

// statusError is an error that ends the program with a status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

// status prints an error as one line and returns what to exit with.
func status(err error, stderr io.Writer) int {
	var s *statusError
	var child *exited
	var device *certify.DeviceError
	var interrupted *certify.Interrupted
	var late *certify.OutOfTime
	var contradiction *certify.Contradiction
	var between *paper.Contradiction
	var wrong *mistake
	var memory *outOfMemory
	status := exitUsage
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &child):
		return child.status
	case errors.As(err, &wrong):
		status = wrong.status
	case errors.As(err, &s):
		status = s.status
	case errors.As(err, &contradiction), errors.As(err, &between):
		status = exitDifference
	case errors.As(err, &late):
		status = exitTime
	case errors.As(err, &interrupted):
		status = exitInterrupted
	case errors.Is(err, context.Canceled):
		status, err = exitInterrupted, &certify.Interrupted{}
	case errors.As(err, &memory):
		status = exitMemory
	case errors.As(err, &device), isDevices(err):
		status = exitDevice
	case errors.Is(err, syscall.ENOMEM):
		status, err = exitMemory, &outOfMemory{what: err.Error()}
	}
	printLine(stderr, red, "psafe:", strings.ReplaceAll(err.Error(), "\n", " ")+mend(err))
	return status
}

func inLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") + mend(err) }

// mend is what to do about an error that may come from any file, pipe or process.
func mend(err error) string {
	if errors.Is(err, syscall.EMFILE) {
		return ": raise the limit of open files, as by ulimit -n 1024"
	}
	return ""
}

// isDevices says that an error is an OpenCL device's, whichever command it has ended.
func isDevices(err error) bool { _, is := errors.AsType[*gpu.Error](err); return is }
