// Command psafe certifies Bayesian neural networks: see "psafe help".
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

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

func main() {
	os.Exit(guarded(os.Args[1:], os.Stdout, os.Stderr))
}

// program is psafe: it returns the exit status.
func program(args []string, stdout, stderr io.Writer) int {
	out, errs := &door{w: stdout}, &door{w: stderr}
	code := dispatch(args, out, errs)
	if err := out.failed("standard output"); err != nil && code == exitDone {
		return status(err, errs) // results that nobody got are none
	}
	return code
}

// dispatch answers the words that are no command, and runs the one that there is.
func dispatch(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch first := args[0]; {
	case first == probeWord:
		return runProbe(args[1:])
	case first == workerWord:
		return runWorker(args[1:])
	case first == "--version": // one line, as VNN-LIB demands of solvers
		fmt.Fprintln(stdout, version())
		return exitDone
	case first == "--name":
		fmt.Fprintln(stdout, "psafe")
		return exitDone
	case isHelp(first) && (len(args) == 1 || isHelp(args[1])):
		usage(stdout)
		return exitDone
	case isHelp(first):
		args = append([]string{args[1], "--help"}, args[2:]...)
	}
	ctx, ends, stop := untilSignal(stderr)
	defer stop()
	err := blameless(ctx, execute(ctx, args, stdout, stderr))
	ends()
	return status(err, stderr)
}

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
	fmt.Fprintln(stderr, "psafe:", plain(strings.ReplaceAll(err.Error(), "\n", " "))+mend(err))
	return status
}
