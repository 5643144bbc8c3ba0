//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"psafe/internal/child"
)

// lingeringWord begins the arguments of a worker that lingers.
const lingeringWord = "__lingering"

func init() {
	if len(os.Args) > 2 && os.Args[1] == lingeringWord {
		lingers(os.Args[2])
	}
}

// lingers is a worker that says that its command ended with this status, and stays, as a driver that hangs
// while it is closed has one do.
func lingers(status string) {
	inside := child.Enter(true)
	fmt.Fprint(inside.Stdout, os.Getpid())
	fmt.Fprintln(inside.Report, "done", status)
	time.Sleep(time.Hour)
}

// TestLingering: a worker that has said that it is done and does not end is killed after a while, and the
// status is the one that it said.
func TestLingering(t *testing.T) {
	for _, want := range []int{exitDone, exitUnder} {
		t.Run(strconv.Itoa(want), func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			s := &supervised{command: []string{lingeringWord, strconv.Itoa(want)}, stdout: &stdout, stderr: &stderr, device: "0:0"}
			start := time.Now()
			err := s.supervise(t.Context())
			took, got := time.Since(start), exitDone
			if said, ok := errors.AsType[*exited](err); ok {
				got, err = said.status, nil
			}
			if err != nil || got != want || stderr.Len() > 0 {
				t.Errorf("status %d, want %d: %v, %q", got, want, err, stderr.String())
			}
			if took < grace || took > grace+time.Minute {
				t.Errorf("it ended after %v, and may linger for %v", took, grace)
			}
			pid, err := strconv.Atoi(stdout.String())
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d is still there: %v", pid, err)
			}
		})
	}
}
