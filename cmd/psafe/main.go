// Command psafe certifies Bayesian neural networks: see "psafe help".
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"psafe/fallback"
	"psafe/host/paper"
	"psafe/host/run"
	"psafe/internal/fpcontrol"
	"psafe/internal/nearest"
)

// Exit statuses, as "psafe help" and docs/cli.md list them.
const (
	exitDone        = 0
	exitDifference  = 1  // crosscheck or merge found a difference, certify or paper a contradiction, check a record that it refuses
	exitUsage       = 2  // a flag or a file is wrong, or a result cannot be written
	exitDevice      = 3  // the device asked for is absent, refused or broke
	exitInterrupted = 4  // interrupted; finished records are in OUT.partial, for --resume
	exitTime        = 5  // --total-time-limit ended certify or run; finished records as after 4
	exitFault       = 6  // a panic; finished records as after 4
	exitFaultAgain  = 7  // the same, in a shard of a campaign that a fault has ended before
	exitUnder       = 10 // --fail-under or --fail-unless refuses what was found
)

// statusError is an error that ends the program with a status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// command is one word after psafe.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

// commands in the order of help.
func commands() []command {
	return []command{
		{"certify", "lower and upper bounds of P_safe for inputs and properties", runCertify},
		{"verify", "a VNN-LIB query about a network or a posterior: sat, unsat or unknown", runVerify},
		{"supports", "what verify can do, for tools that drive VNN-LIB solvers", runSupports},
		{"plan", "a campaign of many certify jobs: every task of it, with an id of its own", runPlan},
		{"run", "a shard of a campaign: certify what is missing of it", runCampaign},
		{"status", "how far a campaign is: done, running, failed, missing, and when it ends", runStatus},
		{"merge", "one result file of a campaign: every task once", runMerge},
		{"submit", "a campaign for Slurm or Kubernetes, as a script or as Jobs", runSubmit},
		{"check", "prove the bounds of result files again, independently", runCheck},
		{"inspect", "layers, sizes and spread of a posterior", runInspect},
		{"predict", "logits and classes at points, of the mean network and of drawn ones", runPredict},
		{"convert", "any readable posterior to psafe's own .npz or to safetensors", runConvert},
		{"import", "arrays of any names (safetensors, .npz) with a map that says what they are", runImport},
		{"exporter", "print the Python file that saves posteriors of torch, Pyro, TFP and others", runExporter},
		{"devices", "what psafe can compute on, with self-tests", runDevices},
		{"crosscheck", "the same job on two devices, compared number by number", runCrosscheck},
		{"bench", "speed of each operation, beside the device's own limits", runBench},
		{"summary", "what result files say in brief: counts, means, groups, gaps, contradictions", runSummary},
		{"plot", "figures of result files, as SVG or PNG", runPlot},
		{"report", "a page of result files to look at in a browser, in one HTML file", runReport},
		{"paper", "the experiments of the UAI 2020 paper, with tables and figures", runPaper},
		{"train", "Bayes by Backprop for small networks, dense or with convolutions", runTrain},
		{"completion", "completion of commands and flags for bash, zsh and fish", runCompletion},
		{"man", "manual pages", runMan},
	}
}

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

// dispatch runs the command that the first word names.
func dispatch(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch args[0] {
	case probeWord:
		return runProbe(args[1:])
	case workerWord:
		return runWorker(args[1:])
	case "help", "--help", "-h":
		if len(args) > 1 && !slices.Contains([]string{"help", "--help", "-h"}, args[1]) {
			return dispatch([]string{args[1], "--help"}, stdout, stderr)
		}
		usage(stdout)
		return exitDone
	case "version":
		return status(runVersion(context.Background(), args[1:], stdout, stderr), stderr)
	case "--version": // one line, as VNN-LIB demands of solvers
		fmt.Fprintln(stdout, version())
		return exitDone
	case "--name":
		fmt.Fprintln(stdout, "psafe")
		return exitDone
	}
	if err := fpcontrol.Err(); err != nil {
		return status(err, stderr)
	}
	if _, err := fallback.Vectors(); err != nil {
		return status(err, stderr)
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		ctx, ends, stop := untilSignal(stderr)
		defer stop()
		err := blameless(ctx, c.run(ctx, args[1:], stdout, stderr))
		ends()
		return status(err, stderr)
	}
	if strings.HasPrefix(args[0], "-") {
		fmt.Fprintf(stderr, "psafe: %.60q comes before any command: name one first, as in psafe certify --posterior net.npz: psafe help lists them\n", args[0])
		return exitUsage
	}
	fmt.Fprintf(stderr, "psafe: no command %.60q: psafe help lists them%s\n", args[0], nearest.Hint(args[0], commandNames()))
	return exitUsage
}

// status prints an error as one line and returns what to exit with.
func status(err error, stderr io.Writer) int {
	var s *statusError
	var child *exited
	var device *run.DeviceError
	var interrupted *run.Interrupted
	var late *run.OutOfTime
	var contradiction *run.Contradiction
	var between *paper.Contradiction
	var wrong *mistake
	status := exitUsage
	switch {
	case err == nil, errors.Is(err, errHelp):
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
		status, err = exitInterrupted, &run.Interrupted{}
	case errors.As(err, &device):
		status = exitDevice
	}
	fmt.Fprintln(stderr, "psafe:", plain(strings.ReplaceAll(err.Error(), "\n", " "))+mend(err))
	return status
}

// errHelp says that --help was asked for and printed.
var errHelp = errors.New("help")

const programAbout = `psafe certifies Bayesian neural networks: given a posterior over weights, it
proves bounds of the probability that the network keeps a property on a
whole region of inputs.
`

const exitText = `0 done (whatever the verdicts), 1 crosscheck or merge found a difference,
certify, paper or summary bounds that contradict each other, or check a record
that does not pass or a missing task, 2 a flag or file is wrong or a result cannot be
written, 3 the device is absent, refused or broke, or its driver crashed or hung,
4 interrupted (SIGINT, SIGTERM, SIGHUP), 5 the --total-time-limit is up, 6 a fault
of psafe itself, 7 the same again in a shard of a campaign, 10 a p_lower is under
--fail-under or a share of the inputs is not what --fail-unless asks for. After 1
and 3 to 7, records that certify had finished are in OUT.partial, and certify or
paper with --resume goes on from there; run goes on whenever it is started again.
`

func usage(w io.Writer) {
	fmt.Fprint(w, programAbout+`
Usage: psafe COMMAND [flags]

Commands:
`)
	for _, c := range append(commands(), versionCommand) {
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, `  help        this text; "psafe help COMMAND" lists a command's flags

Exit status: `+exitText)
}
