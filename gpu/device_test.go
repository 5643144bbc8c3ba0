package gpu

import (
	"fmt"
	"os"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
	"psafe/kernels"
)

var precisions = []bound.Precision{bound.Float32, bound.Float64}

// devices lists the OpenCL devices and skips a test that has none, or fails it
// where the environment promises one.
func devices(t testing.TB) []Info {
	list, err := List()
	if len(list) > 0 {
		return list
	}
	if os.Getenv("PSAFE_REQUIRE_OPENCL") == "1" {
		t.Fatalf("PSAFE_REQUIRE_OPENCL=1 and no OpenCL device: %v", err)
	}
	t.Skipf("no OpenCL device (PSAFE_REQUIRE_OPENCL=1 makes this a failure): %v", err)
	return nil
}

func open(t testing.TB, info Info, p bound.Precision, opts Options) *Device {
	t.Helper()
	d, err := OpenInfo(info, p, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// kept are devices that tests share: to open one takes longer than most of them, as the self-test,
// which has tests of its own, compiles every kernel.
var kept = map[string]*Device{}

// keep opens a device without its self-test, or finds it opened. It is nobody's to close, and arrays
// that a test leaves on it stay.
func keep(t testing.TB, info Info, p bound.Precision, shape kernels.Shape, build string) *Device {
	t.Helper()
	key := fmt.Sprint(info.ID, p, shape, build)
	if d := kept[key]; d != nil && d.lost == nil {
		return d
	}
	// Drivers that compile a kernel at its first launch, as Mesa's do, have no self-test here to do it in.
	d, err := OpenInfo(info, p, Options{shape: shape, build: build, untested: true, Profile: true, Patience: opening})
	if err != nil {
		t.Fatal(err)
	}
	kept[key] = d
	return d
}

func TestMain(m *testing.M) {
	status := m.Run()
	for key, d := range kept {
		if err := d.Close(); err != nil && d.lost == nil {
			fmt.Fprintln(os.Stderr, key, err)
			status = 1
		}
	}
	os.Exit(status)
}

// onDevices runs f on every device in every precision it has.
func onDevices(t *testing.T, f func(t *testing.T, info Info, p bound.Precision)) {
	for _, info := range devices(t) {
		for _, p := range precisions {
			if p == bound.Float64 && !info.FP64 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", info.ID, p), func(t *testing.T) { f(t, info, p) })
		}
	}
}

// TestDevice runs the suite of all devices, on devices as they ship, after their self-test.
func TestDevice(t *testing.T) {
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		factor := 0.05
		if testscale.Deep(t) {
			factor = 0.1
		}
		devicetest.Run(t, open(t, info, p, Options{}), devicetest.Factor(factor))
	})
}

// shapes are the ways in which kernels are cut: as on GPUs, as on CPUs, and with
// work-groups that do not divide anything. Results must not depend on them.
var shapes = []kernels.Shape{
	{}, // what the device gets
	{Lanes: 1, Local: 64, Run: 1},
	{Lanes: 8, Local: 1, Run: 2},
	{Lanes: 16, Local: 3, Run: 1},
}

// TestFallbackBits: every operation has the bits of the fallback, whatever the
// shape. Outside of deep each shape but the device's own is tried in one precision.
func TestFallbackBits(t *testing.T) {
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		for i, s := range shapes {
			if i > 0 && info.FP64 && !testscale.Deep(t) && precisions[i%2] != p {
				continue
			}
			t.Run(fmt.Sprintf("lanes=%d,local=%d", s.Lanes, s.Local), func(t *testing.T) {
				factor, build := 0.05, ""
				if testscale.Deep(t) {
					factor = 0.3
				}
				if i > 0 {
					factor, build = 0.04, builds(t)
					if testscale.Deep(t) {
						factor *= 2
					}
				}
				devicetest.RunAgainst(t, keep(t, info, p, s, build), fallback.New(p), devicetest.Factor(factor))
			})
		}
	})
}
