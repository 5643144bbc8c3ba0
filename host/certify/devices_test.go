package certify_test

import (
	"os"
	"testing"

	"psafe/fallback"
	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
)

// onDevice certifies on one device.
func onDevice(t *testing.T, dev bound.Device, post *posterior.Posterior, cfg certify.Config, tasks []property.Task) []*certify.Result {
	t.Helper()
	eng, err := certify.NewEngine(dev, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	return runOn(t, []*certify.Engine{eng}, cfg, tasks...)
}

// TestDevicesAgree: results on OpenCL devices are those of the fallback, every number
// of them.
func TestDevicesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	infos, err := gpu.List()
	if len(infos) == 0 {
		if os.Getenv("PSAFE_REQUIRE_OPENCL") == "1" {
			t.Fatalf("PSAFE_REQUIRE_OPENCL=1 and no OpenCL device: %v", err)
		}
		t.Skipf("no OpenCL device: %v", err)
	}
	for _, info := range infos {
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			if p == bound.Float64 && !info.FP64 {
				continue
			}
			t.Run(info.ID+"/"+p.String(), func(t *testing.T) {
				dev, err := gpu.OpenInfo(info, p, gpu.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer dev.Close()
				for _, c := range []struct {
					file string
					cfgs []certify.Config
				}{
					{"tiny-2-3-2-tanh.npz", []certify.Config{
						{Strategy: certify.CLBP, Samples: 30, Confidence: 0.99}, {Strategy: certify.Auto, Method: bound.LBP, Cells: 8},
						{Strategy: certify.Statistical, Samples: 50, Seed: 2, Confidence: 0.9},
					}},
					{"two-weights-product.npz", []certify.Config{{Strategy: certify.CLBP}}},
					{"samples-2-8-3.npz", []certify.Config{{Strategy: certify.Finite, Samples: 20, Confidence: 0.9}}},
					{"swag-2-8-3.npz", []certify.Config{{Strategy: certify.Statistical, Samples: 40, Confidence: 0.9, Cells: 16}}},
					{"dropout-2-8-3.npz", []certify.Config{{Strategy: certify.Statistical, Samples: 40, Confidence: 0.9, Cells: 16}}},
				} {
					post := read(t, c.file)
					tasks := manyTasks(4, post, 6)
					for _, cfg := range c.cfgs {
						want := onDevice(t, fallback.New(p), post, cfg, tasks)
						if diff := sameResults(onDevice(t, dev, post, cfg, tasks), want); diff != "" {
							t.Errorf("%s %+v: %s", c.file, cfg, diff)
						}
					}
				}
			})
		}
	}
}
