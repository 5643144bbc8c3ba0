package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"psafe/host/run"
)

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
		{certify("--eps", "0.5", "--fail-under", "0.1"), exitUnder},
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
		if got := program(c.args, &stdout, &stderr); got != c.want {
			t.Errorf("psafe %q: exit status %d, want %d; standard error: %s", c.args, got, c.want, stderr.String())
		}
		if c.want != exitDone && c.want != exitUnder && stdout.Len() > 0 {
			t.Errorf("psafe %q: failed but wrote %q", c.args, stdout.String())
		}
	}
}

// TestErrorStatus: what errors of a run, which no flag brings about, are as statuses.
func TestErrorStatus(t *testing.T) {
	for want, err := range map[int]error{
		exitDifference:  fmt.Errorf("%w: 3 of 9 records are in r.partial", &run.Contradiction{Err: errors.New("p_lower above p_upper")}),
		exitDevice:      &run.DeviceError{Err: errors.New("lost")},
		exitInterrupted: &run.Interrupted{},
	} {
		var stderr bytes.Buffer
		if got := status(err, &stderr); got != want || bytes.Count(stderr.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%v: status %d, want %d; %q", err, got, want, stderr.String())
		}
	}
}
