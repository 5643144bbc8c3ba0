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
	"unicode"

	"psafe/host/job/certify"
	"psafe/internal/testscale"
)

// wrap makes PSAFE_OPENCL_LIBRARY a library that does what the other variables say; see
// testdata/wrapcl.c.
func wrap(t *testing.T, settings ...string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc): the wrapping OpenCL library cannot be made")
	}
	path := filepath.Join(t.TempDir(), "libwrapcl.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", path, "testdata/wrapcl.c", "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	t.Setenv("PSAFE_OPENCL_LIBRARY", path)
	set(t, settings...)
}

// set sets what the library does, NAME=VALUE each.
func set(t *testing.T, settings ...string) {
	for _, name := range []string{"PSAFE_WRAP", "PSAFE_WRAP_WHEN", "PSAFE_WRAP_GPU", "PSAFE_WRAP_LIE", "PSAFE_WRAP_KERNEL", "PSAFE_WRAP_NAME", "PSAFE_WRAP_CONTROL"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
	}
}

// endOf runs the program and returns its status and what it wrote.
func endOf(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = program(args, &out, &errs)
	return status, out.String(), errs.String()
}

// wantLine demands that text is one line of psafe's with all of parts.
func wantLine(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	if !strings.HasPrefix(text, "psafe: ") || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("%s: no single line: %.2000q", what, text)
	}
	for _, r := range strings.TrimSuffix(text, "\n") {
		if !unicode.IsPrint(r) {
			t.Errorf("%s: %q has %q", what, text, r)
		}
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: %q does not say %q", what, text, p)
		}
	}
}

// oneImage certifies an image in a moment.
func oneImage(more ...string) []string {
	return append([]string{"certify", "--posterior", testFile("glyphs-64-32-10.npz"), "--inputs", testFile("glyphs-test-images-idx3-ubyte.gz"),
		"--index", "0", "--eps", "0.01", "--clip", "0,1", "--quiet"}, more...)
}

// TestStrangers: whatever a driver does when it is asked what there is, auto computes on
// the CPU and says so in a line; a device that was asked for is status 3 and a line.
func TestStrangers(t *testing.T) {
	wrap(t)
	for _, c := range []struct{ action, does string }{
		{"segv", "SIGSEGV"}, {"abort", "abort"}, {"exit0", "status 0"}, {"exit3", `status 3, saying "no licence?[2J"`},
		{"kill", "killed"}, {"thread", "segmentation fault"}, {"lie", "4000000000 platforms"},
		{"report", "report"}, {"flood", "flood"}, {"hang", "did not answer in"},
	} {
		set(t, "PSAFE_WRAP="+c.action+" clGetPlatformIDs 1")
		parts, limited := []string{c.does, "libwrapcl.so"}, false
		switch c.action {
		case "report":
			parts[0] = "" // "disturbed" or "flooded"
		case "hang", "flood":
			limited = true
			t.Setenv(driverSeconds, "1")
		}
		status, out, errs := endOf(oneImage("--device", "auto")...)
		if status != exitDone || strings.Count(out, `"device":"cpu"`) != 1 {
			t.Errorf("%s: status %d, %q", c.action, status, out)
		}
		wantLine(t, c.action, errs, append(parts, "note: ")...)
		status, out, errs = endOf(oneImage("--device", "0:0")...)
		if status != exitDevice || out != "" {
			t.Errorf("%s: asked for: status %d, %q", c.action, status, out)
		}
		if c.action == "flood" { // its output goes nowhere, and it does not answer
			parts[0] = "did not answer"
		}
		wantLine(t, c.action, errs, append(parts, "--device 0:0: ")...)
		if status, out, errs = endOf("devices"); status != exitDevice || !strings.Contains(out, "cpu ") || !strings.Contains(errs, "libwrapcl.so") {
			t.Errorf("%s: devices: status %d, %q, %q", c.action, status, out, errs)
		}
		if limited {
			t.Setenv(driverSeconds, "")
		}
	}
}

// TestTalkingDriver: a driver that writes to standard output spoils no records.
func TestTalkingDriver(t *testing.T) {
	needOpenCL(t)
	wrap(t, "PSAFE_WRAP=talk clFinish 1")
	for _, device := range []string{"auto", "0:0"} {
		if status, out, errs := endOf(oneImage("--device", device)...); status != exitDone || strings.Count(out, "\n") != 1 || errs != "" {
			t.Errorf("talk: %s: status %d, %q, %q", device, status, out, errs)
		}
	}
}

// TestStrangeDevices: devices that lie, and GPUs that break in their self-test.
func TestStrangeDevices(t *testing.T) {
	needOpenCL(t)
	wrap(t, "PSAFE_WRAP_NAME=\x1b[2J\x1b]0;owned\a\r\nx")
	if status, out, errs := endOf("devices"); status != exitDone || !strings.Contains(out, "?[2J?]0;owned???x") || errs != "" {
		t.Errorf("a name with escapes: status %d, %q, %q", status, out, errs)
	}
	for i, lie := range []string{"101F 0", "101F 18446744073709551615", "1010 0", "1002 0", "103A 4294967295"} {
		set(t, "PSAFE_WRAP_LIE="+lie, "PSAFE_WRAP_GPU=1")
		status, out, errs := endOf(oneImage()...)
		if status != exitDone || !strings.Contains(out, `"device":"cpu"`) {
			t.Errorf("%s: status %d, %q", lie, status, out)
		}
		wantLine(t, lie, errs, "does not believe")
		if i > 0 && !testscale.Deep(t) {
			continue
		}
		if status, _, errs = endOf("devices"); status != exitDevice || !strings.Contains(errs, "does not believe") {
			t.Errorf("%s: devices: status %d, %q", lie, status, errs)
		}
	}
	set(t, "PSAFE_WRAP_GPU=1")
	if status, out, errs := endOf(oneImage()...); status != exitDone || !strings.Contains(out, "(0:0)") || errs != "" {
		t.Errorf("a GPU: status %d, %q, %q", status, out, errs)
	}
	set(t, "PSAFE_WRAP_GPU=1", "PSAFE_WRAP=segv clEnqueueNDRangeKernel 30")
	status, out, errs := endOf(oneImage()...)
	if status != exitDone || !strings.Contains(out, `"device":"cpu"`) || !strings.Contains(errs, "left out: ") || !strings.Contains(errs, "SIGSEGV") {
		t.Errorf("a GPU that crashes: status %d, %q, %q", status, out, errs)
	}
	if status, out, errs = endOf("devices"); status != exitDevice || !strings.Contains(out, "REFUSED: ") || !strings.Contains(errs, "SIGSEGV") {
		t.Errorf("devices: status %d, %q, %q", status, out, errs)
	}
}

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
		"--method", "lbp", "--quiet", "--omit-timing", "--recheck", "1"}
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
	for _, c := range testscale.Few(t, []struct{ action, does string }{
		{"segv", "SIGSEGV"}, {"exit0", "status 0"}, {"thread", "segmentation fault"}, {"abort", "abort"}, {"exit3", "status 3"},
	}, 2) {
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
			n = strings.Count(got, "chunks on cpu after")
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
	args = args[:len(args)-2] // --recheck 1
	out := filepath.Join(dir, "r.jsonl")
	_, whole, _ := endOf(append(args, "--device", "cpu")...)
	kernels := testscale.Few(t, []string{"drawbox", "relax", "concretize", "affine", "affineshared", "affinewide", "mergerows", "activate", "relaxrows"}, 1)
	refused, dropped := 0, 0
	r := rand.New(rand.NewPCG(28, 4))
	for _, kernel := range kernels {
		for k := range testscale.Cases(t, 10) {
			from := 1 + r.IntN(600)
			if k == 0 {
				from = 255 // which was in 46 records
			}
			set(t, fmt.Sprintf("PSAFE_WRAP_KERNEL=%s %d", kernel, from))
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

// TestNoLibraryNoChild: without an OpenCL library no process is started.
func TestNoLibraryNoChild(t *testing.T) {
	t.Setenv("PSAFE_OPENCL_LIBRARY", filepath.Join(t.TempDir(), "libNone.so"))
	old := startChild
	defer func() { startChild = old }()
	startChild = nil // would panic
	if status, out, errs := endOf(oneImage()...); status != exitDone || !strings.Contains(out, `"device":"cpu"`) || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// TestReport: what is not a child's answer to the letter is none.
func TestReport(t *testing.T) {
	device := `device {"id":"0:0","name":"N","type":"GPU","memory_bytes":5,"max_alloc_bytes":5,"compute_units":1,"fp64":true,"self_test":""}`
	good := strings.Join([]string{probeFirst, device, `note "n"`, `failed "f"`, `absent "a"`, `passed "float32"`, `refused "r"`, "end", ""}, "\n")
	if p, ok := readReport(good); !ok || len(p.devices) != 1 || len(p.notes) != 1 || len(p.failed) != 2 || p.absent == nil || len(p.passed) != 1 {
		t.Errorf("%+v, %v", p, ok)
	}
	for what, bad := range map[string]string{
		"empty":         "",
		"no end":        strings.TrimSuffix(good, "end\n"),
		"cut":           good[:len(good)-1],
		"behind":        good + "end\n",
		"before":        "\n" + good,
		"another word":  strings.Replace(good, "note", "nota", 1),
		"no text":       strings.Replace(good, `"n"`, `5`, 1),
		"escape":        strings.Replace(good, `"n"`, `"\u001b[2J"`, 1),
		"device escape": strings.Replace(good, `"N"`, `"\u001b[2J"`, 1),
		"unknown field": strings.Replace(good, `"fp64"`, `"fp65"`, 1),
		"two objects":   strings.Replace(good, device, device+"{}", 1),
		"identifier":    strings.Replace(good, `"0:0"`, `"0:0;"`, 1),
		"negative":      strings.Replace(good, `"memory_bytes":5`, `"memory_bytes":-5`, 1),
		"tested":        strings.Replace(good, `"self_test":""`, `"self_test":"passed"`, 1),
		"long":          strings.Replace(good, `"n"`, `"`+strings.Repeat("n", mostText+1)+`"`, 1),
		"many":          strings.Replace(good, device, strings.Repeat(device+"\n", mostDevices)+device, 1),
	} {
		if p, ok := readReport(bad); ok {
			t.Errorf("%s: taken for %+v", what, p)
		}
	}
}

// TestDevicesFull: a full disk is an error.
func TestDevicesFull(t *testing.T) {
	t.Setenv("PSAFE_OPENCL_LIBRARY", filepath.Join(t.TempDir(), "libNone.so"))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"devices"}, {"devices", "--json"}} {
		var errs bytes.Buffer
		if status := program(args, full, &errs); status != exitUsage || !strings.Contains(errs.String(), "standard output: cannot be written") {
			t.Errorf("%q: status %d, %q", args, status, errs.String())
		}
	}
}

// TestPatienceMistaken: a time limit that is none is refused, and not left out.
func TestPatienceMistaken(t *testing.T) {
	for _, text := range []string{"abc", "0", "-3", "inf", "nan", "1e9"} {
		t.Setenv(driverSeconds, text)
		if status, _, errs := endOf("devices"); status != exitUsage || !strings.Contains(errs, driverSeconds) {
			t.Errorf("%s: status %d, %q", text, status, errs)
		}
	}
}
