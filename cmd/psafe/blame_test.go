package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/gpu"
	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/read/npy"
	"psafe/host/record"
	"psafe/internal/testkit/devicetest"
)

// TestCodesAreDevices: whatever code a call of OpenCL fails with, and whichever call, a device that fails
// while it gets the posterior has status 3, and the line names it; so has one that fails later and has
// no spare one. With one the run goes on.
func TestCodesAreDevices(t *testing.T) {
	var codes []cl.Code
	for code := cl.Code(-1); code > -73; code-- {
		codes = append(codes, code)
	}
	codes = append(codes, -1000, -1001, -1057, -9999, -4711)
	points := filepath.Join(t.TempDir(), "x.csv")
	writeTest(t, points, "0.5,0.1\n")
	args := []string{"--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", points, "--eps", "0.01", "--method", "lbp", "--gamma", "1", "--draws", "5"}
	for _, code := range codes {
		for i, call := range []string{"clCreateBuffer", "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clFinish", "clEnqueueNDRangeKernel"} {
			broken := &gpu.Error{Op: "Write", Err: &cl.Error{Call: call, Code: code, Device: "X"}}
			for stage, want := range []int{exitDevice, exitDevice, exitDone} {
				if stage > 0 && i > 0 { // once it is open the call does not matter
					continue
				}
				_, job, err := parseCertify(args, false)
				if err != nil {
					t.Fatal(err)
				}
				loaded := false
				job.Progress = func(int, int) { loaded = true }
				job.Open = func(p bound.Precision) (*certify.Devices, error) {
					dev := devicetest.NewFaulty(fallback.New(p))
					dev.Before = func(bound.Operation) error {
						if stage == 0 || loaded {
							return broken
						}
						return nil
					}
					d := &certify.Devices{List: []bound.Device{dev}, Blame: (&deviceFlags{device: "0:0"}).blame}
					if stage == 2 {
						d.Spare = func() bound.Device { return fallback.New(p) }
					}
					return d, nil
				}
				var text bytes.Buffer
				err = job.Each(t.Context(), func(*record.Record) {})
				if got := status(err, &text); got != want || want != exitDone && (!strings.Contains(text.String(), "device") || strings.Contains(text.String(), ".npz:")) {
					t.Errorf("%s, %v, stage %d: status %d, %s", call, code, stage, got, text.String())
				}
			}
		}
	}
}

// scaledFile is a file of testdata with some arrays multiplied.
func scaledFile(t *testing.T, name, part string, by float64) string {
	t.Helper()
	z, err := zip.OpenReader(testFile(name))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var all []npy.Named
	scaled := 0
	for _, m := range z.File {
		f, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		r, err := npy.NewReader(bytes.NewReader(text), int64(len(text)), true)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Array()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(m.Name, part) {
			scaled++
			a.DType = "<f8"
			for i := range a.Data {
				a.Data[i] *= by
			}
		}
		all = append(all, npy.Named{Name: strings.TrimSuffix(m.Name, ".npy"), Array: a})
	}
	if scaled == 0 {
		t.Fatalf("%s has no %s", name, part)
	}
	path := filepath.Join(t.TempDir(), "big-"+name)
	f, err := os.Create(path)
	if err == nil {
		err = npy.WriteZip(f, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return path
}

// TestUnfitIsFiles: numbers of a file that are too large for what is asked are the file's fault, wherever it
// is noticed: status 2, and the line names the file and no device.
func TestUnfitIsFiles(t *testing.T) {
	points := filepath.Join(t.TempDir(), "x.csv")
	writeTest(t, points, "0.5,0.1\n0.2,-0.3\n")
	for _, c := range []struct {
		file, part string
		by         float64
		more       []string
	}{
		{"tiny-2-3-2-tanh.npz", "mean", 1e39, []string{"--precision", "float32"}},
		{"tiny-2-3-2-tanh.npz", "scale", 1e39, []string{"--precision", "float32"}},
		{"tiny-2-3-2-tanh.npz", "scale", 1e25, []string{"--method", "clbp"}}, // whose squares do not fit
		{"tiny-2-3-2-tanh.npz", "scale", 1e160, []string{"--method", "clbp", "--precision", "float64"}},
		{"swag-2-8-3.npz", "deviations", 1e64, []string{"--method", "clbp", "--precision", "float64"}},
		{"swag-2-8-3.npz", "deviations", 1e64, []string{"--method", "clbp"}},
	} {
		path := scaledFile(t, c.file, c.part, c.by)
		status, _, said := endOf(append([]string{"certify", "--device", "cpu", "--quiet", "--posterior", path, "--inputs", points, "--eps", "0.01"}, c.more...)...)
		if status != exitUsage || strings.Contains(said, "device") || !strings.HasPrefix(said, "psafe: "+path+": ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s, %s times %g, %v: status %d, %s", c.file, c.part, c.by, c.more, status, said)
		}
	}
}
