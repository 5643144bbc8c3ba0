//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/internal/testscale"
)

// driverJob is a run that takes a moment, its records on the CPU, and how often each function of OpenCL
// is called while it opens a device, and in all of it.
type driverJob struct {
	args, env   []string
	want        string
	opened, all map[string]int
}

// newDriverJob is a run on some points of the plane, or images; calls are counted with more arguments.
func newDriverJob(t *testing.T, env []string, opened map[string]int, words string, more ...string) *driverJob {
	points := filepath.Join(t.TempDir(), "points.csv")
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "%.4f,%.4f\n", math.Sin(float64(i)), math.Cos(2.3*float64(i)))
	}
	if err := os.WriteFile(points, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	of := strings.Fields(words)
	job := &driverJob{args: append([]string{"certify", "--posterior", testFile(of[0]), "--inputs", points, "--eps", "0.01", "--quiet", "--omit-timing"}, of[1:]...)}
	if strings.HasPrefix(of[0], "glyphs") {
		job.args[4] = testFile("glyphs-test-images-idx3-ubyte.gz")
		job.args = append(job.args, "--clip", "0,1")
	}
	job.env, job.opened = env, opened // in float64 about as many
	status, out, errs := endOf(append(job.args, "--device", "cpu")...)
	if status != exitDone {
		t.Fatalf("%s: status %d, %s", words, status, errs)
	}
	job.want = numbers(t, out)
	job.all = countCalls(t, env, exitDone, slices.Concat(job.args, more, []string{"--device", "0:0"})...)
	return job
}

// openingCalls is how often each function is called to open a device: for a posterior of which nothing
// can be put on one, a chain of dense layers or not.
func openingCalls(t *testing.T, env []string, chain bool) map[string]int {
	layer := posterior.Layer{Layer: network.DenseLayer(2, 2, network.Activation{}), Weight: posterior.NewParams([]float64{1e39, 1, 1, 1}, []float64{1, 1, 1, 1}, posterior.ScaleSD),
		Bias: posterior.NewParams([]float64{0, 0}, []float64{1, 1}, posterior.ScaleSD)}
	layers := []posterior.Layer{layer}
	if !chain {
		layer.Map = network.Conv{In: network.Image{Height: 1, Width: 2, Channels: 1}, Filters: 2, Groups: 1,
			Window: network.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
		layers = append([]posterior.Layer{layer}, layers...)
	}
	var file bytes.Buffer
	if err := format.WriteNPZ(&file, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}); err != nil {
		t.Fatal(err)
	}
	huge, point := filepath.Join(t.TempDir(), "huge.npz"), filepath.Join(t.TempDir(), "point.csv")
	for path, content := range map[string][]byte{huge: file.Bytes(), point: []byte("0,1\n")} {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return countCalls(t, env, exitUsage, "certify", "--posterior", huge, "--inputs", point, "--eps", "0.01", "--device", "0:0", "--quiet")
}

// driverJobs are runs of some methods and kinds of posteriors.
func driverJobs(t *testing.T) (jobs []*driverJob) {
	opened := openingCalls(t, nil, true)
	for _, words := range testscale.Few(t, []string{
		"tiny-2-3-2-tanh.npz --method auto", "swag-2-8-3.npz --method clbp", "dropout-2-8-3.npz --method auto --precision float64",
		"tiny-2-3-2-tanh.npz --method lbp --gamma 1 --draws 5 --precision float64 --options recheck=1", "correlated-2-8-3.npz --method clbp --options cells=8", "samples-2-8-3.npz --method auto",
	}, 2) {
		jobs = append(jobs, newDriverJob(t, nil, opened, words))
	}
	return jobs
}

// countCalls is how often each function is called in a run, and each kernel launched.
func countCalls(t *testing.T, env []string, want int, args ...string) map[string]int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "counts")
	for _, s := range append([]string{"PSAFE_WRAP_COUNTS=" + path}, env...) {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
		defer os.Unsetenv(name)
	}
	if status, _, errs := endOf(args...); status != want {
		t.Fatalf("%q: status %d, %s", args, status, errs)
	}
	return readCounts(t, path)
}

// readCounts reads a file of PSAFE_WRAP_COUNTS.
func readCounts(t *testing.T, path string) map[string]int {
	counts := map[string]int{}
	for entry := range slices.Chunk([]byte(readTest(t, path)), 48) {
		counts[string(bytes.TrimRight(entry[:44], "\x00"))] = int(binary.LittleEndian.Uint32(entry[44:]))
	}
	return counts
}

// driverFault is what a driver does in a run, and what it may come to.
type driverFault struct {
	env, args []string
	// crashes says that the process of the driver ends, late that the device was open before.
	crashes, late bool
}

// drawFault draws one for a run.
func drawFault(r *rand.Rand, j *driverJob) driverFault {
	if r.IntN(6) == 0 {
		kernel := []string{"drawbox", "relax", "concretize", "affine", "affineshared", "affinewide", "mergerows", "activate", "relaxrows", "digest", "poison"}[r.IntN(11)]
		return driverFault{env: []string{fmt.Sprintf("PSAFE_WRAP_SPOIL=%s %d put+ 0 0", kernel, 1+r.IntN(600))}}
	}
	functions := []string{"clCreateBuffer", "clEnqueueFillBuffer", "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueNDRangeKernel", "clSetKernelArg", "clFinish"}
	var f driverFault
	var action string
	function := functions[r.IntN(len(functions))]
	switch r.IntN(8) {
	case 0:
		action = "lie"
		function = []string{"clEnqueueReadBuffer", "clEnqueueWriteBuffer"}[r.IntN(2)]
	case 1:
		action, f.crashes = []string{"segv", "abort", "exit0", "exit3", "kill", "thread"}[r.IntN(6)], true
	case 2, 3:
		action = "hang"
		f.env = append(f.env, driverSeconds+"=10")
	default:
		code := -(1 + r.IntN(72))
		if r.IntN(8) == 0 {
			code = []int{-1000, -1001, -9999, -38}[r.IntN(4)]
		}
		if action = fmt.Sprint(code); r.IntN(4) == 0 {
			action += "x"
		}
	}
	opened, all := j.opened[function], j.all[function]
	n := 1 + r.IntN(max(1, opened))
	if f.late = r.IntN(5) > 0; f.late {
		n = opened + 1 + int(math.Exp(r.Float64()*math.Log(float64(max(1, all-opened)))))
	}
	f.env = append(f.env, fmt.Sprintf("PSAFE_WRAP=%s %s %d", action, function, n))
	return f
}

// TestDrawnDrivers: whatever a driver does, and whenever, a run ends; its numbers are those of the CPU; and
// if they are not all there, the status says that the device is to blame. Nothing but the end of its
// process ends a run on a device that was opened and has the posterior. PSAFE_TEST_SEED draws other runs.
func TestDrawnDrivers(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	seed := drawnSeed(t, 43)
	jobs := driverJobs(t)
	for i := range testscale.Costly(t, 60) {
		t.Run(fmt.Sprintf("%d-%d", seed, i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			j := jobs[r.IntN(len(jobs))]
			f := drawFault(r, j)
			start := time.Now()
			outcome := j.under(t, f)
			t.Logf("%v, %v: %s after %.0f s", f.env, j.args[2:3], outcome, time.Since(start).Seconds())
		})
	}
}

// drawnSeed is PSAFE_TEST_SEED, or what there is otherwise.
func drawnSeed(t *testing.T, seed uint64) uint64 {
	if text := os.Getenv("PSAFE_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return seed
}

// under does a run on a driver with a fault.
func (j *driverJob) under(t *testing.T, f driverFault) (outcome string) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "psafe", slices.Concat(j.args, f.args, []string{"--device", "0:0", "--out", out})...)
	cmd.Env, cmd.Stderr = slices.Concat(os.Environ(), j.env, f.env), &errs
	_ = cmd.Run()
	status, said := cmd.ProcessState.ExitCode(), errs.String()
	what := fmt.Sprintf("%v, %v: status %d, %q", f.env, j.args, status, said)
	if ctx.Err() != nil {
		t.Errorf("%s: did not end", what)
		return "never"
	}
	records, err := os.ReadFile(out)
	part, partErr := os.ReadFile(out + certify.PartialSuffix)
	switch {
	case status == exitDone && err == nil && errors.Is(partErr, os.ErrNotExist):
		if numbers(t, string(records)) != j.want {
			t.Errorf("%s: other numbers than the CPU's", what)
		}
		if strings.Contains(string(records), "is dropped: ") {
			return "dropped"
		}
		return "done"
	case status != exitDevice || err == nil || !strings.HasPrefix(said, "psafe: --device 0:0: ") || strings.Count(said, "\n") != 1:
		t.Errorf("%s: wrong status or words", what)
	case len(part) > 0 && !strings.HasPrefix(j.want, numbers(t, string(part))):
		t.Errorf("%s: other numbers than the CPU's in the part", what)
	case !f.crashes && (len(part) > 0 || strings.Contains(said, "in the middle of the run")):
		t.Errorf("%s: the CPU did not go on", what)
	}
	return "refused"
}
