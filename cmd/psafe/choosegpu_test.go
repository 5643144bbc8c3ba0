//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/internal/vector"
)

// TestChooseGPU: auto takes a GPU unless a job is known to be short, and says what it took.
func TestChooseGPU(t *testing.T) {
	needOpenCL(t)
	least := shortApprox
	wrap(t, "PSAFE_WRAP_GPU=1")
	shortApprox = least
	set, err := vector.InUse()
	if err != nil {
		t.Fatal(err)
	}
	most := least * loops[set].rate * float64(runtime.GOMAXPROCS(0))
	for _, c := range []struct {
		work         float64
		device, said string
	}{{0, "0:0+cpu", "the GPU "}, {0.99 * most, "cpu", "the CPU by loops (vectors: "}} {
		s := &supervised{stderr: io.Discard, work: func() float64 { return c.work }, explain: true}
		device, err := s.chooseDevice(t.Context(), bound.Float32)
		if device != c.device || err != nil || len(s.notes) != 1 || !strings.HasPrefix(s.notes[0], "computing on "+c.said) {
			t.Errorf("%v multiplications: %q, %v, %q", c.work, device, err, s.notes)
		}
	}
	for work, want := range map[float64]bool{1.01 * most: false, 1: true} {
		if _, short := (&supervised{work: func() float64 { return work }}).short(); short != want {
			t.Errorf("%v multiplications: short %v", work, short)
		}
	}
	if _, short := (&supervised{}).short(); short {
		t.Error("a command of which nothing is known is short")
	}
}

// TestCoresBeside: with the CPU's cores beside a device records are those of either, but for the device's name; auto
// takes them beside a GPU, and who names a device has that alone.
func TestCoresBeside(t *testing.T) {
	needOpenCL(t)
	for cores, want := range map[int]int{1: 0, 2: 1, 4: 3, 16: 12, 17: 12} {
		if got := coresBeside(cores); got != want {
			t.Errorf("%d of %d cores work beside a device, not %d", got, cores, want)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	wrap(t, "PSAFE_WRAP_GPU=1", "GOMAXPROCS=2")
	records := func(device string) (string, []string) {
		status, out, errs := endOf(overridden(oneImage("--index", "0:24", "--method", "clbp", "--omit-timing", "--device", device))...)
		if status != exitDone {
			t.Fatalf("%s: status %d, %s", device, status, errs)
		}
		name := regexp.MustCompile(`"device":"[^"]*"`)
		return regexp.MustCompile(`"(device|checksum)":"[^"]*"`).ReplaceAllString(out, ""), slices.Compact(name.FindAllString(out, -1))
	}
	want, _ := records("cpu")
	for device, beside := range map[string]bool{"auto": true, "gpu": false} {
		got, names := records(device)
		if len(names) != 1 || strings.HasSuffix(names[0], `(0:0) + cpu"`) != beside || got != want {
			t.Errorf("%s: devices %q, records %.500s", device, names, got)
		}
	}
}
