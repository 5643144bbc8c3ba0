package prove_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// shared returns a path under the folder of real posteriors, which is not part of
// this repository: PSAFE_SHARED, or "shared" beside it.
func shared(t testing.TB, elem ...string) string {
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	if testing.Short() {
		t.Skip("real posteriors take long: not with -short")
	}
	return path
}

// released reads a posterior of the 2020 paper as everyone reads it: spreads as
// standard deviations.
func released(t testing.TB, name string) *posterior.Posterior {
	p, err := format.Read(shared(t, "data", "uai2020", name), format.Options{
		Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mnistTasks are "keeps the mean network's class" for the first n test images.
func mnistTasks(t testing.TB, post *posterior.Posterior, n int, radius string) []property.Task {
	points, err := property.ReadPoints(shared(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	region, err := property.ReadRegion(property.RegionText{Eps: radius, Clip: []string{"0", "1"}}, points.Dim)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []property.Task
	for i := range n {
		box, err := points.Around(i, region)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := points.At(i)
		c := 0
		y := post.LogitsApprox(x)
		for j, v := range y {
			if v > y[c] {
				c = j
			}
		}
		tasks = append(tasks, property.Task{Index: i, Label: c, T: []property.Box{box}, S: property.ArgmaxIs(c, len(y))})
	}
	return tasks
}

// TestRealPosteriors: mean p_lower over 40 MNIST images, with the released
// posteriors, is no less than an independent program without outward rounding found to
// be provable by weight boxes; float32 costs at most 0.01 of it.
func TestRealPosteriors(t *testing.T) {
	for _, c := range testscale.Few(t, []struct {
		name  string
		eps   string
		least float64
	}{
		{"VIMODEL_MNIST_1_64_relu.net.npz", "0.025", 0.86},
		{"VIMODEL_MNIST_1_128_relu.net.npz", "0.025", 0.83},
		{"VIMODEL_MNIST_2_64_relu.net.npz", "0.001", 0.9499},
		{"VIMODEL_MNIST_2_128_relu.net.npz", "0.001", 0.98},
	}, 2) {
		t.Run(c.name, func(t *testing.T) {
			post := released(t, c.name)
			tasks := mnistTasks(t, post, 40/testscale.By(t, 2), c.eps)
			var mean [2]float64
			for p := range mean {
				for _, r := range run(t, bound.Precision(p), post, prove.Config{Method: prove.CLBP}, tasks...) {
					mean[p] += arith.ExpDown(r.LogP) / float64(len(tasks))
				}
			}
			t.Logf("mean p_lower: float32 %.4f, float64 %.4f, must be %v", mean[0], mean[1], c.least)
			if mean[0] < c.least || math.Abs(mean[0]-mean[1]) > 0.01 {
				t.Errorf("mean p_lower: float32 %.4f, float64 %.4f; must be at least %v and within 0.01", mean[0], mean[1], c.least)
			}
		})
	}
}

// TestVCASCeiling: the paper's airborne collision experiment, with its numbers of
// boxes and half-widths, proves no more than those boxes can hold (the paper
// prints 0.97 to 0.9999), and quickly.
func TestVCASCeiling(t *testing.T) {
	post := released(t, "VCAS_MODEL_512.net")
	tasks, err := property.ReadFile(shared(t, "data", "uai2020", "vcas_properties.json"), post.Outputs())
	if err != nil {
		t.Fatal(err)
	}
	mosts := []float64{-34.9, -34.9, -15.3, -15.3}
	if !testscale.Deep(t) { // the two with fewest boxes
		tasks, mosts = tasks[2:], mosts[2:]
	}
	start := time.Now()
	for i, r := range run(t, bound.Float32, post, prove.Config{Method: prove.IBP}, tasks...) {
		most := mosts[i]
		if ten := arith.Log10Down(r.LogP); !(ten <= r.CeilingLog10) || !(r.CeilingLog10 <= most) {
			t.Errorf("%s: log10 p_lower %v, ceiling %v, must be at most %v", r.Task.Name, ten, r.CeilingLog10, most)
		}
		if r.Samples != r.Task.Samples || r.Samples < 2000 {
			t.Errorf("%s: %d samples", r.Task.Name, r.Samples)
		}
	}
	t.Logf("%d properties: %v", len(tasks), time.Since(start))
}
