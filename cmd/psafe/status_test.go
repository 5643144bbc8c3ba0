package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"psafe/gpu"
	"psafe/gpu/cl"
	"psafe/host/job/certify"
	"psafe/host/lab/crosscheck"
	"psafe/host/lab/paper"
	"psafe/internal/outfile"
)

// TestErrorStatus: which error ends the program with which status, in one line.
func TestErrorStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{crosscheckStatus(&crosscheck.Difference{Err: errors.New("affine differs\nat 3")}), exitDifference},
		{fmt.Errorf("o: %w", &paper.Contradiction{}), exitDifference},
		{fmt.Errorf("%w: 3 of 9 records are in r.partial", &certify.Contradiction{Err: errors.New("p_lower above p_upper")}), exitDifference},
		{errors.New("--eps is missing"), exitUsage}, {&outfile.Error{Path: "r.jsonl", Err: errors.New("full")}, exitUsage},
		{fmt.Errorf("r: %w: 3 of 5 records", &certify.DeviceError{Err: errors.New("lost")}), exitDevice},
		{fmt.Errorf("r: %w", &mistake{status: exitFaultAgain, what: "index\nout of range"}), exitFaultAgain},
		{crosscheckStatus(fmt.Errorf("lbp: %w", &gpu.Error{Op: "affine", Err: &cl.Error{Call: "clFinish", Code: -38}})), exitDevice},
		{fmt.Errorf("r: %w", &outOfMemory{what: "newosproc"}), exitMemory}, {&noChild{&os.SyscallError{Syscall: "fork", Err: syscall.ENOMEM}}, exitMemory},
		{&certify.Interrupted{Words: ": 3 of 5 records"}, exitInterrupted}, {fmt.Errorf("net.npz: %w", context.Canceled), exitInterrupted},
		{fmt.Errorf("r: %w", &certify.OutOfTime{Words: ": 3 of 5 records"}), exitTime}, {&statusError{exitUnder, errors.New("index 3")}, exitUnder}, {checkGates([]*gate{told(&gate{verdict: "safe", relation: ">=", limit: big.NewRat(1, 1)}, 1, 1, 0)}), exitUnder},
	} {
		var b bytes.Buffer
		if got := status(c.err, &b); got != c.want || strings.Count(b.String(), "\n") != min(1, got) {
			t.Errorf("%v: status %d, want %d; %q", c.err, got, c.want, b.String())
		}
	}
}

// TestStatusesAreDocumented: docs/results.md and psafe help list the same statuses, all that
// there are.
func TestStatusesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Exit status")
	table, _, _ = strings.Cut(table, "\n## ")
	var help bytes.Buffer
	usage(&help)
	_, list, _ := strings.Cut(help.String(), "Exit status:")
	known := map[int]bool{exitDone: true, exitDifference: true, exitUsage: true, exitDevice: true, exitInterrupted: true, exitTime: true, exitFault: true, exitFaultAgain: true, exitMemory: true, exitUnder: true}
	for s := range 256 {
		n := strconv.Itoa(s)
		inPage, inHelp := strings.Contains(table, "\n| "+n+" |"), strings.Contains(" "+strings.Join(strings.Fields(list), " "), " "+n+" ")
		if inPage != known[s] || inHelp != known[s] {
			t.Errorf("status %d: in docs/results.md %v, in psafe help %v, there is such a status: %v", s, inPage, inHelp, known[s])
		}
	}
}

// TestExitStatus: the statuses that psafe help lists.
func TestExitStatus(t *testing.T) {
	td := filepath.Join("..", "..", "testdata")
	posterior, images := filepath.Join(td, "glyphs-64-32-10.npz"), filepath.Join(td, "glyphs-test-images-idx3-ubyte.gz")
	certify := func(more ...string) []string {
		return append([]string{"certify", "--device", "cpu", "--posterior", posterior, "--inputs", images, "--index", "0"}, more...)
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{certify("--eps", "0.01"), exitDone},
		{certify("--eps", "0.5"), exitDone},
		{certify("--eps", "0.5", "--fail-unless", "p_lower>=0.1"), exitUnder},
		{certify("--eps", "-1"), exitUsage},
		{certify("--eps", "0", "--posterior", filepath.Join(td, "absent.npz")), exitUsage},
		{certify("--eps", "0", "--device", "no-such-device"), exitDevice},
		{certify("--eps", "0", "--device", "7:7"), exitDevice},
		{[]string{"help"}, exitDone},
		{[]string{"help", "help"}, exitDone},
		{[]string{"--help", "--help"}, exitDone},
		{[]string{"-h", "-h"}, exitDone},
		{[]string{"help", "no-such-command"}, exitUsage},
		{certify("--eps", "1e300"), exitUsage},
		{certify("--eps", "1e300", "--precision", "float64"), exitDone},
		{[]string{"certify", "--help"}, exitDone},
		{[]string{"certify", "--no-such-flag"}, exitUsage},
		{[]string{"no-such-command"}, exitUsage},
		{nil, exitUsage},
	} {
		var stdout, stderr bytes.Buffer
		if got := program(overridden(c.args), &stdout, &stderr); got != c.want {
			t.Errorf("psafe %q: exit status %d, want %d; standard error: %s", c.args, got, c.want, stderr.String())
		}
		if c.want != exitDone && c.want != exitUnder && stdout.Len() > 0 {
			t.Errorf("psafe %q: failed but wrote %q", c.args, stdout.String())
		}
	}
}
