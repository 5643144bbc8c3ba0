package main

import (
	"context"
	"io"
	"os"
	"slices"

	"psafe/internal/child"
	"psafe/internal/infile"
)

// Go ends a process that gets no more memory, or no more threads, with a trace and status 2, and nothing
// in that process can say more. Its parent can. A process that computes on an OpenCL device has
// one in any case (supervise.go); any other has one where the system limits its memory, as by ulimit -v,
// since without a limit it is the system that ends a process, or nobody does.

// outOfMemory is the error of a process that got no more memory.
type outOfMemory struct {
	// what are the words of whoever refused it, where says what is finished, empty if nothing is.
	what, where string
}

func (e *outOfMemory) Error() string {
	return "out of memory (" + e.what + "): give it a machine or limits (ulimit -v, -d and -u, or a container's) with more" + e.where
}

// watchesOver says that a command runs as a child only for the sake of its limits.
func watchesOver() bool { return worker == nil && child.CanWork && infile.Limited() }

// superviseThemselves are the commands that decide by themselves where they compute.
var superviseThemselves = []string{"certify", "radius", "map", "verify", "run", "crosscheck", "bench", "paper"}

// beside runs a command of another name in a child, if its memory is limited.
func beside(ctx context.Context, name string, stdout, stderr io.Writer) (done bool, err error) {
	if !watchesOver() || slices.Contains(superviseThemselves, name) {
		return false, nil
	}
	return newSupervised(ctx, stdout, stderr, "").inChild(ctx, nil)
}

// endOfCPU is the error of a child that computed without a driver and ended without a word: the system
// kills what has too much memory, and everything else is a mistake in psafe.
func endOfCPU(end *child.End, where, kept string) error {
	if end.KilledBy(os.Kill) {
		return &outOfMemory{what: "the system has killed it", where: where}
	}
	return newMistake(end.What(), end.Said(), kept)
}
