package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"psafe/host/job/campaign"
	"psafe/internal/fault"
)

// testFault names by what a process of a test is to fail: "WORD KIND LINES FILES", where WORD is
// the first of its arguments and FILES, a pattern, must have so many lines before.
const testFault = "PSAFE_TEST_FAULT"

// panickyWriter panics at its last write.
type panickyWriter struct {
	io.Writer
	left int
}

func (w *panickyWriter) Write(b []byte) (int, error) {
	if w.left--; w.left < 0 {
		panic(fmt.Errorf("a writer\nof two lines"))
	}
	return w.Writer.Write(b)
}

// startFault lets this process fail as testFault says, and returns its standard output.
func startFault() io.Writer {
	var word, kind, pattern string
	var lines int
	if n, _ := fmt.Sscan(os.Getenv(testFault), &word, &kind, &lines, &pattern); n < 3 || len(os.Args) < 2 || os.Args[1] != word {
		return os.Stdout
	}
	wrong := func() {
		for pattern != "" && countIn(pattern) < lines {
			time.Sleep(time.Millisecond)
		}
		if kind == "memory" {
			var all [][]byte
			for {
				all = append(all, make([]byte, 1<<28))
				runtime.KeepAlive(all)
			}
		}
		if kind == "stack" {
			debug.SetMaxStack(1 << 20)
			lines = deep(0)
		}
		_ = make([]int, 3)[lines]
	}
	switch kind {
	case "memory": // and the command goes on if it is not for its records
		if pattern == "" {
			wrong()
		}
		fault.Go(nil, wrong)
	case "writer":
		return &panickyWriter{os.Stdout, lines}
	case "crowd":
		for range 8 {
			fault.Go(nil, wrong)
		}
	default:
		fault.Go(nil, wrong)
	}
	return os.Stdout
}

// deep overflows the stack.
func deep(n int) int {
	if n < 0 {
		return 0
	}
	return deep(n+1) + n
}

// countIn returns how many lines the files of a pattern have.
func countIn(pattern string) (n int) {
	names, _ := filepath.Glob(pattern)
	for _, name := range names {
		text, _ := os.ReadFile(name)
		n += bytes.Count(text, []byte("\n"))
	}
	return n
}

// failing starts psafe so that it fails.
func failing(t *testing.T, fault string, args ...string) ending {
	t.Helper()
	t.Setenv(testFault, fault)
	defer os.Unsetenv(testFault)
	return signalled(t, 0, args)
}

// faultLine is the line of a fault: what was panicked, what is kept, and the trace's file.
var faultLine = regexp.MustCompile(`^psafe: a fault of psafe, not of what it was given, ended it: (.*): finished records are safe( \(.*\))?; report it with its trace, (.*)\n$`)

// faulty demands a status and the line of a fault, and returns its parts and the trace, which it
// removes.
func faulty(t *testing.T, e ending, status int) (what, kept, trace string) {
	t.Helper()
	m := faultLine.FindStringSubmatch(e.text)
	if e.status != status || m == nil {
		t.Fatalf("status %d, want %d; %q", e.status, status, e.text)
	}
	text := readTest(t, m[3])
	if !strings.Contains(text, "goroutine ") || !strings.Contains(text, "fault_test.go:") || !strings.HasPrefix(text, "psafe "+version()+", go") {
		t.Errorf("%s: %s", m[3], text)
	}
	if err := os.Remove(m[3]); err != nil {
		t.Error(err)
	}
	return m[1], m[2], m[3]
}

// TestFault: a panic, wherever it is, ends psafe by one line and status 6; what was finished is
// there, and --resume goes on from it.
func TestFault(t *testing.T) {
	args := append([]string{"certify", "--device", "cpu", "--omit-timing", "--quiet"}, interruptedRuns(t)["one record at a time"]...)
	dir := t.TempDir()
	whole, out := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "r.jsonl")
	if e := signalled(t, 0, append(args, "--out", whole)); e.status != exitDone {
		t.Fatalf("%+v", e)
	}
	partial := out + ".partial"
	for i, kind := range []string{"goroutine", "crowd"} {
		least := 5 * (i + 1)
		e := failing(t, fmt.Sprintf("certify %s %d %s", kind, least, partial), append(args, "--out", out, "--resume")...)
		what, kept, trace := faulty(t, e, exitFault)
		if want := fmt.Sprintf("runtime error: index out of range [%d] with length 3", least); what != want || filepath.Dir(trace) != dir {
			t.Errorf("%s: %q in %s", kind, what, trace)
		}
		if n := countIn(partial); n < least || kept != fmt.Sprintf(" (%d finished records are in %s)", n, partial) {
			t.Errorf("%s: %d records, %q", kind, n, kept)
		}
	}
	if e := signalled(t, 0, append(args, "--out", out, "--resume")); e.status != exitDone || readTest(t, out) != readTest(t, whole) {
		t.Errorf("after --resume: %+v", e)
	}
	// The goroutine of the command itself, with no file beside which a trace could be.
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	args = []string{"inspect", testFile("tiny-2-3-2-tanh.npz")}
	what, kept, trace := faulty(t, failing(t, "inspect writer 2", args...), exitFault)
	if !strings.Contains(what, "a writer of two lines") || kept != "" || filepath.Dir(trace) != tmp {
		t.Errorf("%q, %q, %s", what, kept, trace)
	}
	// On standard error: what it was asked for, or where no file can be.
	for name, value := range map[string]string{"PSAFE_TRACE": "1", "TMPDIR": filepath.Join(tmp, "absent")} {
		if name == "TMPDIR" && runtime.GOOS == "windows" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			e := failing(t, "inspect writer 2", args...)
			if e.status != exitFault || !strings.Contains(e.text, "goroutine 1 [running]") || strings.Count(e.text, "psafe: ") != 1 || !strings.HasSuffix(e.text, "; report it with its trace, above this line\n") {
				t.Errorf("status %d, %s", e.status, e.text)
			}
		})
	}
}

// TestFaultOfShard: a shard that a fault has ended is worth another start, and after a second
// one none; psafe status says so, and the records of all three attempts count.
func TestFaultOfShard(t *testing.T) {
	dir := smallCampaign(t)
	results := filepath.Join(dir, campaign.ResultsName)
	for i, status := range []int{exitFault, exitFaultAgain} {
		e := failing(t, fmt.Sprintf("run goroutine %d %s", 5*(i+1), filepath.Join(results, "*.partial")), runShard(dir, 0, 1)...)
		what, _, trace := faulty(t, e, status)
		if !strings.HasPrefix(what, "runtime error: index out of range") || filepath.Dir(trace) != dir {
			t.Errorf("%q in %s", what, trace)
		}
		words, err := filepath.Glob(filepath.Join(results, "*.failed"))
		if err != nil || len(words) != i+1 {
			t.Errorf("%q, %v", words, err)
		}
		if !slices.ContainsFunc(words, func(name string) bool { return strings.Contains(readTest(t, name), fmt.Sprintf(`"status":%d`, status)) }) {
			t.Errorf("nothing tells of status %d", status)
		}
		if said := psafe(t, exitDone, "status", dir); !strings.Contains(said, "failed") || !strings.Contains(said, "a fault of psafe") {
			t.Errorf("%s", said)
		}
	}
	if e := signalled(t, 0, runShard(dir, 0, 1)); e.status != exitDone {
		t.Errorf("%+v", e)
	}
	mergedTest(t, dir, exitDone)
}

// TestFaultOfChild: where a child computes, it says so itself; what Go has ended in it, its
// supervisor does. One that asks drivers is told of by who asked.
func TestFaultOfChild(t *testing.T) {
	needOpenCL(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "r.jsonl")
	args := append([]string{"certify", "--device", "0:0", "--options", "recheck=1", "--quiet", "--out", out, "--resume"}, interruptedRuns(t)["one record at a time"]...)
	for i, kind := range []string{"goroutine", "stack"} {
		what, kept, trace := faulty(t, failing(t, fmt.Sprintf("%s %s %d %s", workerWord, kind, 5*(i+1), out+".partial"), args...), exitFault)
		if want := []string{"index out of range", "stack overflow"}[i]; !strings.Contains(what, want) || !strings.Contains(kept, "r.jsonl.partial") || filepath.Dir(trace) != dir {
			t.Errorf("%q, %q, %s", what, kept, trace)
		}
	}
	e := failing(t, probeWord+" goroutine 3", "devices")
	m := regexp.MustCompile(`^psafe: note: a fault of psafe ended the process that asked .*: runtime error: index out of range \[3\].* \(report it with its trace, (.*)\) when .*\npsafe: a fault of psafe: see the note above\n$`).FindStringSubmatch(e.text)
	if e.status != exitFault || m == nil {
		t.Fatalf("%+v", e)
	}
	os.Remove(m[1])
}

// TestOutOfMemory: where memory that the system limits runs out, the parent says so in a line, with a status
// of its own, whatever the command; what is finished is there.
func TestOutOfMemory(t *testing.T) {
	if runtime.GOOS != "linux" || race {
		t.Skip("how much Go needs is known for Linux")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "r.jsonl")
	slow := slices.Clone(interruptedRuns(t)["one record at a time"]) // with more cells
	slow = slow[:slices.Index(slow, "--options")]
	for _, c := range []struct {
		limit, fault, says string
		args               []string
	}{
		{"-v 4194304", workerWord + " memory 0", "", []string{"inspect", testFile("cubic-128.npz")}},
		{"-d 2000000", workerWord + " memory 1 " + out + ".partial", ": what is finished is in " + out + ".partial: add --resume to go on from there",
			append([]string{"certify", "--device", "cpu", "--quiet", "--out", out, "--options", "cells=400"}, slow...)},
	} {
		cmd := exec.Command(sh, append([]string{"-c", "ulimit " + c.limit + ` && exec "$0" "$@"`, "psafe"}, c.args...)...)
		cmd.Env = append(os.Environ(), testFault+"="+c.fault)
		said, _ := cmd.CombinedOutput()
		_, line, _ := strings.Cut("\n"+string(said), "\npsafe: ")
		if code := cmd.ProcessState.ExitCode(); code != exitMemory || !strings.HasPrefix(line, "out of memory (") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, c.says+"\n") || strings.Contains(string(said), "goroutine") {
			t.Errorf("%s: status %d, %.2000s", c.args[0], code, said)
		}
	}
}

// TestFewDescriptors: where descriptors run out, the line says what to do; at 8, which is what
// Go itself needs, a run on the CPU works.
func TestFewDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("how many Go needs is known for Linux")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	limited := func(args ...string) (int, string) { // without what make or a shell has left open
		cmd := exec.Command(sh, append([]string{"-c", `exec 3>&- 4>&- 5>&- 6>&- 7>&-; ulimit -n 8 && exec "$0" "$@"`, "psafe"}, args...)...)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	certify := []string{"certify", "--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"), "--method", "clbp", "--quiet", "--out"}
	if code, said := limited(append(certify, filepath.Join(dir, "r.jsonl"), "--device", "cpu")...); code != exitDone || said != "" {
		t.Errorf("on the CPU: status %d, %s", code, said)
	}
	if code, said := limited("plan", testFile("campaign.yaml"), "--out", filepath.Join(dir, "c")); code != exitUsage || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, ": too many open files: raise the limit of open files, as by ulimit -n 1024\n") {
		t.Errorf("plan: status %d, %s", code, said)
	}
}

// TestClosedStreams: without standard input, output and error, files are what they are.
func TestClosedStreams(t *testing.T) {
	noSignals(t) // nor descriptors to close
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	args := []string{"certify", "--device", "cpu", "--omit-timing", "--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"), "--method", "clbp", "--progress", "json", "--out"}
	for _, closed := range []string{"", "<&- >&- 2>&-"} {
		out := filepath.Join(dir, fmt.Sprintf("r%d.jsonl", len(closed)))
		cmd := exec.Command(sh, append([]string{"-c", `exec "$0" "$@" ` + closed, "psafe"}, append(args, out)...)...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", closed, err, said)
		}
		if readTest(t, out) != readTest(t, filepath.Join(dir, "r0.jsonl")) {
			t.Errorf("%s: another file", closed)
		}
	}
}
