//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"psafe/internal/testscale"
)

// controls are how a library leaves the control word of the floating-point unit, and when.
func controls() (list []string) {
	for _, mode := range []string{"up", "down", "ftz", "zero", "daz"} {
		for _, when := range []string{"after", "load", "before"} {
			list = append(list, when+" "+mode)
		}
	}
	return list
}

// TestRoundingIsOurs: with a driver that leaves the threads that call it with another
// rounding mode, or with subnormal numbers flushed, records have the CPU's bits and the
// device passes its self-test.
func TestRoundingIsOurs(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	args := func(device string) []string {
		return oneImage("--index", "0:2", "--method", "clbp", "--options", "recheck=1", "--omit-timing", "--device", device)
	}
	_, cpu, _ := endOf(overridden(args("cpu"))...)
	for _, c := range testscale.Few(t, controls(), 2) {
		set(t, "PSAFE_WRAP_CONTROL="+c)
		status, out, errs := endOf(overridden(args("0:0"))...)
		got, want := withoutDevice(out), withoutDevice(cpu)
		if status != exitDone || errs != "" || got != want || !strings.Contains(out, "(0:0)") {
			t.Errorf("%s: status %d, %s: got\n%swant\n%s", c, status, errs, got, want)
		}
		if testscale.Deep(t) {
			if status, out, errs := endOf("devices"); status != exitDone || !strings.Contains(out, "passed") || strings.Contains(out, "REFUSED") {
				t.Errorf("%s: devices: status %d, %q, %q", c, status, out, errs)
			}
		}
	}
}

// withoutDevice is records without what names the device.
func withoutDevice(records string) string {
	lines := strings.SplitAfter(withoutChecksums(records), "\n")
	for i, l := range lines {
		before, rest, _ := strings.Cut(l, `"device":"`)
		_, after, _ := strings.Cut(rest, `"`)
		lines[i] = before + after
	}
	return strings.Join(lines, "")
}

// TestRoundingOfOthers: a library that was loaded before any of the program is there leaves
// it no thread that rounds as it has to, so every command says so and ends.
func TestRoundingOfOthers(t *testing.T) {
	wrap(t)
	library := os.Getenv("PSAFE_OPENCL_LIBRARY")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range testscale.Few(t, []string{"ftz", "up", "down", "zero", "daz"}, 2) {
		for _, args := range [][]string{oneImage("--device", "cpu"), {"devices"}} {
			var out, errs strings.Builder
			c := exec.Cmd{Path: exe, Args: append([]string{"psafe"}, args...), Stdout: &out, Stderr: &errs,
				Env: append(os.Environ(), "LD_PRELOAD="+library, fmt.Sprintf("PSAFE_WRAP_CONTROL=load %s", mode))}
			_ = c.Run()
			if status := c.ProcessState.ExitCode(); status != exitUsage || out.Len() > 0 {
				t.Errorf("%s: %s: status %d, %q", mode, args[0], status, out.String())
			}
			wantLine(t, mode, errs.String(), "floating-point control word", "LD_PRELOAD")
		}
	}
}
