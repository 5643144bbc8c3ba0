package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"psafe/host/job/certify"
	"psafe/internal/fault"
	"psafe/internal/outfile"
)

const (
	// respite is how long the program may take to end by itself after a signal.
	respite = time.Second
	// tidying is how long it may take to leave its files in order when it ends at once.
	tidying = time.Second / 4
)

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP ends. Whatever looks
// at it stops in order. What does not, such as a driver that compiles, a file that
// never comes to an end or a terminal that takes nothing, has the time of respite: then,
// or at a second signal, the program ends where it stands, which leaves no more
// behind than kill -9 and says the same as an ending in order. ends is for a command that has
// ended by itself and is about to say so: it does not return if that was said for it. stop is
// for when all is said.
func untilSignal(stderr io.Writer) (ctx context.Context, ends, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	came, ended := make(chan os.Signal, 2), make(chan struct{})
	var said atomic.Bool
	signal.Notify(came, signals...)
	fault.Go(nil, func() {
		select {
		case <-came:
			cancel()
		case <-ended:
			return
		}
		for {
			select {
			case <-came:
			case <-time.After(respite):
			case <-ended:
				return
			}
			if !supervising.Load() { // a child that got the signal too
				if !said.CompareAndSwap(false, true) {
					stderr = io.Discard // the command is about to say it
				}
				endNow(stderr, tidying, &certify.Interrupted{}, func(kept string) error { return &certify.Interrupted{Words: words(kept)} })
			}
		}
	})
	ends = func() {
		if !said.CompareAndSwap(false, true) {
			select {} // until endNow ends the program
		}
	}
	return ctx, ends, func() {
		signal.Stop(came)
		close(ended)
		cancel()
	}
}

// supervising tells that a child computes, which gets the signals and has its own respite; who
// supervises it kills it where it does not end (supervise.go).
var supervising atomic.Bool

// blameless is err, or that the run was interrupted if a device failed for a signal. The
// signal may come later than the error: LLVM, which compiles kernels in many drivers, answers
// SIGINT itself by removing what it is compiling, and hands it on.
func blameless(ctx context.Context, err error) error {
	if _, device := errors.AsType[*certify.DeviceError](err); !device {
		return err
	}
	select {
	case <-ctx.Done():
		return &certify.Interrupted{}
	case <-time.After(tidying):
		return err
	}
}

// endLate ends the program if it goes on for a time of respite after a run's limit: what does
// not look at its context looks at no limit. stop is for a run that has ended by itself.
func endLate(limit *time.Duration, stderr io.Writer) (stop func()) {
	if limit == nil || *limit <= 0 {
		return func() {}
	}
	late := time.AfterFunc(*limit+respite, fault.Caught(func() {
		endNow(stderr, tidying, &certify.OutOfTime{}, func(kept string) error { return &certify.OutOfTime{Words: words(kept)} })
	}))
	return func() { late.Stop() }
}

// words returns what Abandon says, behind an error.
func words(kept string) string {
	if kept == "" {
		return ""
	}
	return ": " + kept
}

// endNow ends the program, whatever it is doing, with the status of reason. say is the error to
// print, told where records are. Either takes at most the time within, on a disk or a terminal
// that takes nothing.
func endNow(stderr io.Writer, within time.Duration, reason error, say func(kept string) error) {
	code, kept := status(reason, io.Discard), ""
	left, told := make(chan string, 1), make(chan bool)
	fault.Go(nil, func() { left <- strings.Join(outfile.Abandon(reason), "; ") })
	select {
	case kept = <-left:
	case <-time.After(within):
	}
	fault.Go(nil, func() {
		defer close(told)
		tell(fmt.Sprint("done ", code))
		eraseBar(stderr)
		status(say(kept), stderr)
	})
	select {
	case <-told:
	case <-time.After(within):
	}
	os.Exit(code)
}
