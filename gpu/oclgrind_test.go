package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
	"psafe/kernels"
)

// oclgrindLibraries are the places of Oclgrind's OpenCL driver in distributions.
var oclgrindLibraries = []string{
	"/usr/lib/oclgrind/liboclgrind-rt-icd.so",
	"/usr/lib/*/oclgrind/liboclgrind-rt-icd.so",
	"/usr/lib64/oclgrind/liboclgrind-rt-icd.so",
	"/usr/lib/*/liboclgrind-rt-icd.so",
	"/usr/lib*/liboclgrind-rt-icd.so",
	"/usr/local/lib/liboclgrind-rt-icd.so",
	"/opt/*/lib/liboclgrind-rt-icd.so",
}

const oclgrindChild = "PSAFE_TEST_UNDER_OCLGRIND"

// oclgrindDriver finds Oclgrind's OpenCL driver, or skips the test.
func oclgrindDriver(t *testing.T) string {
	for _, pattern := range oclgrindLibraries {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Skip("Oclgrind is not installed (apt install oclgrind)")
	return ""
}

// oclgrindCommand runs a test of this binary under Oclgrind.
func oclgrindCommand(test, driver, mode, log string) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	c.Env = append(os.Environ(), oclgrindChild+"="+mode, "OCL_ICD_VENDORS="+driver, "OCL_ICD_FILENAMES="+driver,
		"OCLGRIND_DATA_RACES=1", "OCLGRIND_CHECK_API=1", "OCLGRIND_LOG="+log)
	return c
}

// TestOclgrind runs TestUnderOclgrind in a process whose OpenCL device is the
// simulator Oclgrind, which reports accesses outside of buffers, data races and
// wrong uses of the API. Its log must be empty. Without PSAFE_DEEP it is a few.
func TestOclgrind(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates every access: not with -short")
	}
	driver := oclgrindDriver(t)
	modes := []string{few}
	if testscale.Deep(t) {
		modes = []string{few, optimised, unoptimised}
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) { underOclgrind(t, driver, mode) })
	}
}

// What the child does, in oclgrindChild. Oclgrind 21.10 mistakes the selects that
// the optimiser makes of vectors of comparisons, so kernels with vectors run as
// written. Its watch over uninitialised values (OCLGRIND_UNINITIALIZED) stays
// off: it does not know the optimiser's freeze, crashes at times without it, and
// takes numbers made of 64-bit arguments for uninitialised. Poison and equal bits
// are what shows such values here.
const (
	optimised   = "optimised"
	unoptimised = "unoptimised"
	few         = "few"
)

func underOclgrind(t *testing.T, driver, mode string) {
	log := filepath.Join(t.TempDir(), "log")
	child := "TestUnderOclgrind"
	if mode == few {
		child = "TestFewUnderOclgrind"
	}
	c := oclgrindCommand(child, driver, mode, log)
	start := time.Now()
	out, failure := c.CombinedOutput()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("Oclgrind left no log: %v\n%s", err, out)
	}
	if len(text) > 0 {
		t.Errorf("Oclgrind says:\n%.4000s", text)
	}
	if failure != nil {
		t.Fatalf("%v\n%s", failure, out)
	}
	t.Logf("%v", time.Since(start))
}

// TestFewUnderOclgrind is the child of TestOclgrind in mode few: every kernel but the
// self-test's runs a few times, unoptimised, which is built in a third of the time.
func TestFewUnderOclgrind(t *testing.T) {
	if os.Getenv(oclgrindChild) != few {
		t.Skip("runs in a process of TestOclgrind's")
	}
	d := open(t, devices(t)[0], bound.Float32, Options{shape: kernels.Shape{Lanes: 1, Local: 4, Run: 1}, build: quick, untested: true, Memory: 16 << 20})
	j := propagation{network.Activation{Kind: network.Tanh}, []int{3, 17, 2}, bound.Batch{Items: 3, PerBox: 2, Inputs: 2}, bound.LBP, true, 0}
	want, err := j.run(fallback.New(bound.Float32))
	check(t, err)
	got, err := j.run(d)
	check(t, err)
	if diff := differs(got, want); diff != "" {
		t.Errorf("%v: %s", j, diff)
	}
	tilesUnderOclgrind(t, d, tileShape{5, 3, 33, 5})
	for _, d.allInStages = range []bool{false, true} {
		devicetest.RunAgainst(t, d, fallback.New(bound.Float32), devicetest.Factor(0.01), devicetest.Once())
	}
}

// TestUnderOclgrind is the child of TestOclgrind: the self-test and a few
// propagations, with kernels cut as on GPUs and as on CPUs. Bits must be the
// fallback's here too.
func TestUnderOclgrind(t *testing.T) {
	mode := os.Getenv(oclgrindChild)
	if mode != optimised && mode != unoptimised {
		t.Skip("runs in a process of TestOclgrind's")
	}
	build := "-cl-opt-disable"
	if mode == optimised {
		build = ""
	}
	info := devices(t)[0]
	jobs := propagations()
	for i, s := range []kernels.Shape{{Lanes: 1, Local: 4, Run: 1}, {Lanes: 8, Local: 1, Run: 2}, {Lanes: 16, Local: 1, Run: 2}} {
		if (mode == optimised) != (s.Lanes == 1) { // unoptimised takes five times as long
			continue
		}
		for _, p := range precisions {
			// Of vectors, each width in one format: a minute each, and both widths and both
			// formats are seen.
			if p == bound.Float64 && !info.FP64 || s.Lanes == 8 && p == bound.Float64 || s.Lanes == 16 && p == bound.Float32 && info.FP64 {
				continue
			}
			t.Run(fmt.Sprintf("lanes=%d/%v", s.Lanes, p), func(t *testing.T) {
				d := open(t, info, p, Options{shape: s, build: build, Memory: 16 << 20})
				for k, j := range jobs {
					if k%6 != i {
						continue
					}
					want, err := j.run(fallback.New(p))
					check(t, err)
					got, err := j.run(d)
					check(t, err)
					if diff := differs(got, want); diff != "" {
						t.Errorf("%v: %s", j, diff)
					}
				}
				if mode == optimised {
					tilesUnderOclgrind(t, d, tileShape{5, 3, 33, 5}, tileShape{34, 33, 17, 3}, tileShape{2, 2, 16, 33})
				}
			})
		}
	}
}

// tilesUnderOclgrind runs the tiled kernels on small products with several boxes and
// with tiles that are partial in every direction.
func tilesUnderOclgrind(t *testing.T, d *Device, shapes ...tileShape) {
	for _, s := range shapes {
		for _, what := range []string{"affine", "back, 3 rows"} { // the others have the same indices
			run := tileRuns(s)[what]
			want, err := run(fallback.New(d.precision))
			check(t, err)
			got, err := run(d)
			check(t, err)
			if diff := differs(got, want); diff != "" {
				t.Errorf("%s %+v: %s", what, s, diff)
			}
		}
	}
}
