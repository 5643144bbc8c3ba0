package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/gpu"
	"psafe/internal/testscale"
)

// needOpenCL skips where there is no OpenCL device, and fails instead on a
// machine that is said to have one.
func needOpenCL(t *testing.T) {
	list, err := gpu.List()
	if len(list) > 0 {
		return
	}
	if os.Getenv("PSAFE_REQUIRE_OPENCL") != "" {
		t.Fatalf("PSAFE_REQUIRE_OPENCL is set, but: %v", err)
	}
	t.Skipf("no OpenCL device: %v", err)
}

// psafe runs the program and returns what it wrote.
func psafe(t *testing.T, want int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := program(overridden(args), &stdout, &stderr); got != want {
		t.Fatalf("psafe %q: exit status %d, want %d: %s", args, got, want, stderr.String())
	}
	return stdout.String()
}

// TestCrosscheck: the fallback and the first OpenCL device give the same bits for
// every operation, on networks of every activation in testdata.
func TestCrosscheck(t *testing.T) {
	needOpenCL(t)
	for _, name := range testscale.Few(t, []string{"cubic-128.npz", "tiny-2-3-2-tanh.npz", "glyphs-64-32-10.npz"}, 2) {
		out := psafe(t, exitDone, "crosscheck", "--posterior", filepath.Join("..", "..", "testdata", name))
		if strings.Count(out, "equal bits") != 6 || strings.Count(out, "all overlap") != 3 {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// TestSameRecords: an OpenCL device and the CPU give the same result file, apart
// from the device's name. To open a device takes longer than these runs.
func TestSameRecords(t *testing.T) {
	needOpenCL(t)
	td := filepath.Join("..", "..", "testdata")
	points := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(points, []byte("0.5,0.2\n-1,0.75\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	images, draws, boxes := "0", "10", "30"
	if testscale.Deep(t) {
		images, draws, boxes = "0:8", "30", "700"
	}
	cubic := []string{"--posterior", filepath.Join(td, "cubic-128.npz"), "--property", filepath.Join(td, "cubic-property.json")}
	list, _ := gpu.List()
	for i, args := range testscale.Few(t, [][]string{
		{"--posterior", filepath.Join(td, "glyphs-64-32-10.npz"), "--inputs", filepath.Join(td, "glyphs-test-images-idx3-ubyte.gz"), "--index", images, "--eps", "0.01,0.03", "--clip", "0,1", "--draws", draws, "--options", "derived"},
		append(cubic[:4:4], "--draws", boxes, "--gamma", "0.05"),
		{"--posterior", filepath.Join(td, "samples-2-8-3.npz"), "--property", "argmax_is:0", "--inputs", points, "--eps", "0.1"},
		append(cubic[:4:4], "--options", "memory=1MiB", "--method", "clbp", "--precision", "float64"),
		append(cubic[:4:4], "--method", "clbp"),
	}, 3) {
		if testing.Short() && i > 0 {
			break
		}
		records := func(device string) string {
			return psafe(t, exitDone, append([]string{"certify", "--omit-timing", "--quiet", "--device", device}, args...)...)
		}
		cpu, ocl := records("cpu"), records(list[0].ID)
		if testscale.Deep(t) {
			if again := records(list[0].ID); again != ocl {
				t.Errorf("%q: two runs on %s differ", args, list[0].Name)
			}
		}
		name := `"device":"` + list[0].Name + " (" + list[0].ID + `)"`
		if !strings.Contains(ocl, name) {
			t.Errorf("%q: records do not name %s: %s", args, name, ocl)
		}
		if got, want := withoutChecksums(strings.ReplaceAll(ocl, name, `"device":"cpu"`)), withoutChecksums(cpu); got != want {
			t.Errorf("%q: records differ:\ncpu    %s\nopencl %s", args, want, got)
		}
	}
}

// TestDevices: the table has a row for the CPU and one for each OpenCL device,
// with a self-test that passed.
func TestDevices(t *testing.T) {
	needOpenCL(t)
	out := psafe(t, exitDone, "devices", "--json")
	if n := strings.Count(out, `"self_test":"passed"`); n < 1 || !strings.Contains(out, `"id":"cpu"`) {
		t.Errorf("psafe devices --json: %s", out)
	}
}
