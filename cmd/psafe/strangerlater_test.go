//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/internal/testscale"
)

// manyPoints is a run of some groups. Each is confirmed, and its records written, before the next
// begins, however slow the machine is: that is what --recheck 1 does.
func manyPoints(t *testing.T) (dir string, args []string) {
	dir = t.TempDir()
	var points strings.Builder
	for i := range 300 {
		fmt.Fprintf(&points, "%.4f,%.4f\n", math.Sin(float64(i)), math.Cos(2.3*float64(i)))
	}
	path := filepath.Join(dir, "points.csv")
	if err := os.WriteFile(path, []byte(points.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"certify", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", path, "--eps", "0.01",
		"--method", "clbp", "--quiet", "--omit-timing", "--options", "cells=1,recheck=1"}
}

// numbers are records without the name of the device.
func numbers(t *testing.T, lines string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(lines) {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		delete(record, "device")
		delete(record, "checksum")
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// TestStrangerLater: a driver that ends the process in the middle of a run ends the run
// with status 3 and a line; what was finished stays, and --resume ends with the file of a
// run that nothing disturbed.
func TestStrangerLater(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	dir, args := manyPoints(t)
	out := filepath.Join(dir, "r.jsonl")
	status, whole, _ := endOf(append(args, "--device", "cpu")...)
	if status != exitDone {
		t.Fatalf("status %d", status)
	}
	for i, c := range testscale.Few(t, []struct{ action, does string }{
		{"segv", "SIGSEGV"}, {"exit0", "status 0"}, {"thread", "segmentation fault"}, {"abort", "abort"}, {"exit3", "status 3"},
	}, 1) {
		set(t, "PSAFE_WRAP="+c.action+" clEnqueueNDRangeKernel 20", "PSAFE_WRAP_WHEN="+out+certify.PartialSuffix)
		status, _, errs := endOf(append(args, "--device", "0:0", "--out", out)...)
		if status != exitDevice {
			t.Errorf("%s: status %d", c.action, status)
		}
		wantLine(t, c.action, errs, c.does, "libwrapcl.so", "in the middle of the run", "r.jsonl.partial", "--resume")
		part := readTest(t, out+certify.PartialSuffix)
		if n := strings.Count(part, "\n"); n == 0 || n == 300 {
			t.Errorf("%s: %d records", c.action, n)
		}
		set(t)
		if i > 0 && !testscale.Deep(t) { // what stays is the same, whatever ended the process
			if err := os.Remove(out + certify.PartialSuffix); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if status, _, errs = endOf(append(args, "--device", "0:0", "--out", out, "--resume")...); status != exitDone {
			t.Errorf("%s: resumed: status %d, %q", c.action, status, errs)
		}
		if got := readTest(t, out); numbers(t, got) != numbers(t, whole) {
			t.Errorf("%s: other numbers than at once", c.action)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostSigns: a driver that runs every kernel, shows every receipt, and drops minus
// signs of what is read, or written, from some moment on. The numbers are those of the
// CPU, and the records say that the device was given up.
func TestLostSigns(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	dir, args := manyPoints(t)
	out := filepath.Join(dir, "r.jsonl")
	_, whole, _ := endOf(append(args, "--device", "cpu")...)
	for _, call := range []string{"clEnqueueReadBuffer", "clEnqueueWriteBuffer"} {
		set(t, "PSAFE_WRAP=lie "+call+" 1", "PSAFE_WRAP_WHEN="+out+certify.PartialSuffix)
		n := 0
		for try := 0; try < 5 && (n == 0 || n == 300); try++ { // how records are grouped is a matter of time
			status, _, errs := endOf(append(args, "--device", "0:0", "--out", out)...)
			if status != exitDone || errs != "" {
				t.Fatalf("%s: status %d, %q", call, status, errs)
			}
			got := readTest(t, out)
			if numbers(t, got) != numbers(t, whole) {
				t.Errorf("%s: other numbers than the CPU's", call)
			}
			n = strings.Count(got, "is dropped: ")
			os.Remove(out)
		}
		if n == 0 || n == 300 {
			t.Errorf("%s: %d of 300 records say that the device was given up", call, n)
		}
	}
}

// TestWrongKernel: a driver of which one kernel is wrong from some launch on, its self-test past,
// gets nothing into a record, at the share of rechecks that there is if nobody says otherwise.
func TestWrongKernel(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	dir, args := manyPoints(t)
	args[len(args)-1] = "cells=2" // with the usual share of rechecks
	out := filepath.Join(dir, "r.jsonl")
	_, whole, _ := endOf(append(args, "--device", "cpu")...)
	kernels := testscale.Few(t, []string{"relax", "concretize", "affineshared", "affinewide", "widen", "noiserows", "mergerows", "activate", "relaxrows"}, 1)
	refused, dropped := 0, 0
	r := rand.New(rand.NewPCG(28, 4))
	for _, kernel := range kernels {
		for k := range testscale.Cases(t, 10) {
			from := 1 + r.IntN(260)
			if k == 0 {
				from = 120 // behind the self-test
			}
			set(t, fmt.Sprintf("PSAFE_WRAP_SPOIL=%s %d put+ 0 0", kernel, from))
			status, _, errs := endOf(append(args, "--device", "0:0", "--out", out)...)
			got, _ := os.ReadFile(out)
			os.Remove(out)
			switch {
			case status == exitDevice && strings.Contains(errs, "self-test"):
				refused++
				continue
			case status != exitDone:
				t.Fatalf("%s from launch %d: status %d, %q", kernel, from, status, errs)
			case numbers(t, string(got)) != numbers(t, whole):
				t.Errorf("%s from launch %d: other numbers than the CPU's", kernel, from)
			}
			if strings.Contains(string(got), "is dropped: ") {
				dropped++
			}
		}
	}
	if t.Logf("%d refused, %d dropped", refused, dropped); dropped == 0 {
		t.Error("no device was dropped")
	}
}

// TestHungDriver: a run whose driver hangs ends when a signal asks it to, and at once
// when a second does; a parent that is killed takes its child along.
func TestHungDriver(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	dir, args := manyPoints(t)
	out := filepath.Join(dir, "r.jsonl")
	set(t, "PSAFE_WRAP=hang clEnqueueNDRangeKernel 20", "PSAFE_WRAP_WHEN="+out+certify.PartialSuffix)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, signals := range testscale.Few(t, [][]syscall.Signal{
		{syscall.SIGTERM}, {syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGINT, syscall.SIGINT}, {syscall.SIGKILL}, {syscall.SIGINT, syscall.SIGINT}, {syscall.SIGHUP, syscall.SIGTERM},
	}, 3) {
		os.Remove(out + certify.PartialSuffix)
		var errs bytes.Buffer
		cmd := &exec.Cmd{Path: exe, Args: append([]string{"psafe"}, append(args, "--device", "0:0", "--out", out)...), Stderr: &errs}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a first record", func() bool {
			info, err := os.Stat(out + certify.PartialSuffix)
			return err == nil && info.Size() > 0
		})
		time.Sleep(300 * time.Millisecond)
		worker := childOf(t, cmd.Process.Pid)
		start := time.Now()
		for _, s := range signals {
			if err := cmd.Process.Signal(s); err != nil {
				t.Error(err)
			}
			if s == syscall.SIGTSTP {
				eventually(t, "both to stop", func() bool {
					return processState(cmd.Process.Pid) == "T" && processState(worker) == "T"
				})
			}
			time.Sleep(100 * time.Millisecond)
		}
		_ = cmd.Wait()
		took := time.Since(start)
		eventually(t, "the child to end", func() bool { s := processState(worker); return s == "" || s == "Z" || s == "X" })
		if signals[0] == syscall.SIGKILL {
			continue
		}
		if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
			t.Errorf("%v: status %d, %s", signals, got, errs.String())
		}
		if len(signals) > 1 && took > grace {
			t.Errorf("%v: took %v", signals, took)
		}
		wantLine(t, fmt.Sprint(signals), errs.String(), "interrupted", "r.jsonl.partial")
	}
}

// eventually waits for something that takes a moment.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// processState is the letter that /proc gives, empty where there is no such process.
func processState(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// childOf is the number of the only child of a process.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, p := range paths {
		text, _ := os.ReadFile(p)
		if n, _ := fmt.Sscan(string(text), &child); n == 1 {
			return child
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}
