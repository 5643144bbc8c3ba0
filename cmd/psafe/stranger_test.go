//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	old := shortApprox
	shortApprox = 0 // jobs of tests are short
	t.Cleanup(func() { shortApprox = old })
}

// set sets what the library does, NAME=VALUE each.
func set(t *testing.T, settings ...string) {
	for _, name := range []string{"PSAFE_WRAP", "PSAFE_WRAP_WHEN", "PSAFE_WRAP_GPU", "PSAFE_WRAP_LIE", "PSAFE_WRAP_SPOIL", "PSAFE_WRAP_NAME", "PSAFE_WRAP_CONTROL", "PSAFE_WRAP_COUNTS", "PSAFE_WRAP_BINARY"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
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
	for i, c := range []struct{ action, does string }{
		{"segv", "SIGSEGV"}, {"abort", "abort"}, {"exit0", "status 0"}, {"exit3", `status 3, saying "no licence?[2J"`},
		{"kill", "killed"}, {"thread", "segmentation fault"}, {"lie", "4000000000 platforms"},
		{"report", "report"}, {"flood", "flood"}, {"hang", "did not answer in"},
	} {
		set(t, "PSAFE_WRAP="+c.action+" clGetPlatformIDs 1")
		parts := []string{c.does, "libwrapcl.so"}
		t.Setenv(driverSeconds, "")
		switch c.action {
		case "report":
			parts[0] = "" // "disturbed" or "flooded"
		case "hang", "flood":
			t.Setenv(driverSeconds, "1")
		}
		status, out, errs := endOf(oneImage("--device", "auto")...)
		if status != exitDone || strings.Count(out, `"device":"cpu"`) != 1 {
			t.Errorf("%s: status %d, %q", c.action, status, out)
		}
		wantLine(t, c.action, errs, append(parts, "note: ")...)
		if i%5 != 0 && c.action != "hang" && !testscale.Deep(t) { // how auto learns of it is how all do
			continue
		}
		status, out, errs = endOf(oneImage("--device", "0:0")...)
		if status != exitDevice || out != "" {
			t.Errorf("%s: asked for: status %d, %q", c.action, status, out)
		}
		if c.action == "flood" { // its output goes nowhere, and it does not answer
			parts[0] = "did not answer"
		}
		wantLine(t, c.action, errs, append(parts, "--device 0:0: ")...)
		if i%5 != 0 && !testscale.Deep(t) {
			continue
		}
		if status, out, errs = endOf("devices"); status != exitDevice || !strings.Contains(out, "cpu ") || !strings.Contains(errs, "libwrapcl.so") {
			t.Errorf("%s: devices: status %d, %q, %q", c.action, status, out, errs)
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
	for i, lie := range testscale.Few(t, []string{"101F 0", "101F 18446744073709551615", "1010 0", "1002 0", "103A 4294967295"}, 1) { // all in gpu/cl
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

// TestOneStart: for auto a driver that is in order starts once, and compiles and is tested once.
func TestOneStart(t *testing.T) {
	needOpenCL(t)
	wrap(t, "PSAFE_WRAP_GPU=1")
	asked, auto := countCalls(t, nil, exitDone, oneImage("--device", "0:0")...), countCalls(t, nil, exitDone, oneImage("--device", "auto")...)
	for _, call := range []string{"clCreateContext", "clBuildProgram"} {
		if n := asked[call]; n == 0 || auto[call] != n {
			t.Errorf("%s is called %d times by auto, %d times where the device is named", call, auto[call], n)
		}
	}
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
