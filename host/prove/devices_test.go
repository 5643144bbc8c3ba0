package prove_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"psafe/fallback"
	"psafe/gpu"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// onDevice certifies on one device.
func onDevice(t *testing.T, dev bound.Device, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) []*claim.Result {
	t.Helper()
	eng, err := engine.New(dev, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	return runOn(t, []*engine.Engine{eng}, cfg, tasks...)
}

// autoOfCells is auto where T is cut.
var autoOfCells = prove.Config{Method: prove.Auto, Cells: 8}

// twoHidden is a random network with two hidden layers, for which auto has no sums of neurons.
func twoHidden() *posterior.Posterior { return chainOf(rand.New(rand.NewPCG(4, 2)), 2, 4, 4, 2) }

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
		for _, p := range testscale.Few(t, []bound.Precision{bound.Float32, bound.Float64}, 1) {
			if p == bound.Float64 && !info.FP64 {
				continue
			}
			t.Run(info.ID+"/"+p.String(), func(t *testing.T) {
				dev, err := gpu.OpenInfo(info, p, gpu.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer dev.Close()
				tanh := []prove.Config{
					{Method: prove.CLBP, Cells: fewCells(t), Samples: 30, Confidence: 0.99},
					{Method: prove.Statistical, Samples: 50, Seed: 2, Confidence: 0.9},
				}
				if testscale.Deep(t) { // of one hidden layer: the processor sums over neurons for seconds
					tanh = append(tanh, autoOfCells)
				}
				for _, c := range []struct {
					name string
					post *posterior.Posterior
					cfgs []prove.Config
				}{
					{"tiny-2-3-2-tanh.npz", nil, tanh},
					{"two hidden layers", twoHidden(), []prove.Config{autoOfCells}},
					{"two-weights-product.npz", nil, []prove.Config{{Method: prove.CLBP, Cells: fewCells(t)}}},
					{"samples-2-8-3.npz", nil, []prove.Config{{Method: prove.Finite, Samples: 20, Confidence: 0.9}}},
					{"swag-2-8-3.npz", nil, []prove.Config{{Method: prove.Statistical, Samples: 40, Confidence: 0.9, Cells: 16}}},
					{"dropout-2-8-3.npz", nil, []prove.Config{{Method: prove.Statistical, Samples: 40, Confidence: 0.9, Cells: 16}}},
				} {
					post := c.post
					if post == nil {
						post = read(t, c.name)
					}
					n := 2
					if testscale.Deep(t) {
						n = 6
					}
					tasks := manyTasks(4, post, n)
					for _, cfg := range c.cfgs {
						want := onDevice(t, fallback.New(p), post, cfg, tasks)
						if diff := sameResults(onDevice(t, dev, post, cfg, tasks), want); diff != "" {
							t.Errorf("%s %+v: %s", c.name, cfg, diff)
						}
					}
				}
			})
		}
	}
}
