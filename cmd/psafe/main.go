// Command psafe certifies Bayesian neural networks: see "psafe help".
package main

import (
	"fmt"
	"io"
	"os"
)

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
