package prove_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestRealConsistency: bounds of real posteriors agree with networks drawn from them.
// Inputs are what the networks take: images, or numbers around 0.
func TestRealConsistency(t *testing.T) {
	for _, c := range testscale.Few(t, []struct {
		path        string
		activations []network.Activation
		radius      float64
		// factor multiplies the spread, so that P_safe is neither 0 nor 1.
		factor float64
	}{
		{"uai2020/VCAS_MODEL_512.net", []network.Activation{relu}, 0.001, 0.3},
		{"uai2020/VIMODEL_128_relu.net.npz", []network.Activation{relu}, 0.05, 0.05},
		{"uai2020/VIMODEL.net.npz", []network.Activation{tanh}, 0.05, 0.05},
		{"uai2020/VIMODEL_MNIST_1_64_relu.net.npz", []network.Activation{relu}, 0.01, 20},
		{"uai2020/VIMODEL_MNIST_1_128_relu.net.npz", []network.Activation{relu}, 0.01, 20},
		{"uai2020/VIMODEL_MNIST_2_64_relu.net.npz", []network.Activation{relu}, 0.005, 15},
		{"uai2020/VIMODEL_MNIST_2_128_relu.net.npz", []network.Activation{relu}, 0.005, 15},
		{"batten2024/MNIST_MLP_2_50.h5", []network.Activation{relu}, 0.01, 5},
		{"deepbayes/mnist_vogn_128", nil, 0.01, 20},
		{"journal/hcas_vogn_50x2", nil, 0.01, 10},
		{"journal/uci_concrete_tanh", nil, 0.02, 20},
		{"journal/mnist_NA_FCN_Posterior_32_1_1_0.25_0.1", nil, 0.005, 1},
		{"journal/mnist_NA_FCN_Posterior_64_2_1_0.25_0.1", nil, 0.01, 1.5},
		{"journal/mnist_VOGN_FCN_Posterior_64_3_5_0.25_0.1", nil, 0.005, 8},
	}, 2) {
		t.Run(c.path, func(t *testing.T) {
			post, err := format.Read(shared(t, append([]string{"data"}, strings.Split(c.path, "/")...)...),
				format.Options{Scale: posterior.ScaleSD, Activations: c.activations})
			if err != nil {
				t.Fatal(err)
			}
			realConsistency(t, scaled(post, c.factor), c.radius)
		})
	}
}

func realConsistency(t *testing.T, post *posterior.Posterior, radius float64) {
	tasks := realTasks(t, post, radius)
	st := run(t, bound.Float32, post, prove.Config{Method: prove.Statistical, Samples: 50, Seed: 3, Confidence: 1 - 2*sureness, NoUpper: true, Cells: 8}, tasks...)
	methods := []prove.Method{prove.CLBP, prove.LBP}
	if post.Inputs() <= 8 && (testscale.Deep(t) || len(post.Layers) != 2) { // sums of neurons take seconds
		methods = append(methods, prove.Auto)
	}
	for _, m := range methods {
		cfg := prove.Config{Method: m, Cells: 8}
		if m == prove.LBP {
			cfg = prove.Config{Method: m, Samples: 10, Gamma: 3, Seed: 4, NoUpper: true}
		}
		for i, r := range run(t, bound.Float32, post, cfg, tasks...) {
			lo, hi, limits := r.Lower(), r.Upper(), st[i].Statistic
			t.Logf("task %d %s: %.4f to %.4f; of %d networks %d safe, %d unsafe", i, r.Method, lo, hi, limits.Samples, limits.Safe, limits.Unsafe)
			if lo > limits.Upper || hi < limits.Lower || lo > hi {
				t.Errorf("task %d %s: %v to %v; %+v", i, r.Method, lo, hi, limits)
			}
			// Networks drawn and evaluated here, at the corners.
			if drawn := simulate(rand.New(rand.NewPCG(8, uint64(i))), &testNet{layers: post.Layers}, &tasks[i], ends(tasks[i].T[0]), 40); lo > drawn.upper() {
				t.Errorf("task %d %s: p_lower %v, P_safe is at most %v", i, r.Method, lo, drawn.upper())
			}
		}
	}
}

// ends are two opposite corners of a box and its middle.
func ends(b property.Box) [][]float64 {
	mid := make([]float64, len(b.Lo))
	for j, lo := range b.Lo {
		mid[j] = min(lo+(b.Hi[j]-lo)/2, b.Hi[j])
	}
	return [][]float64{b.Lo, mid, b.Hi}
}

// realTasks are three tasks: the mean network keeps its class, has the next best one,
// and never has that; or an output stays above something less, and more.
func realTasks(t *testing.T, post *posterior.Posterior, radius float64) []property.Task {
	var tasks []property.Task
	r := rand.New(rand.NewPCG(12, 1))
	var points *property.Points
	if post.Inputs() == 784 {
		var err error
		if points, err = property.ReadPoints(shared(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"), property.InputOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		box := property.Box{}
		for j := range post.Inputs() {
			x := r.NormFloat64() * 0.5
			if points != nil {
				at, _ := points.At(i)
				x = at[j]
			}
			box.Lo, box.Hi = append(box.Lo, x-radius), append(box.Hi, x+radius)
		}
		y := post.LogitsApprox(ends(box)[1])
		best, next := 0, 1
		for j, v := range y {
			switch {
			case v > y[best]:
				best, next = j, best
			case j > 0 && v > y[next]:
				next = j
			}
		}
		s := property.Safe{}
		switch {
		case len(y) == 1:
			s = atLeast(y[0] + 0.3*float64(i-1))
		case i == 1:
			s = property.ArgmaxIs(next, len(y))
		case i == 2:
			s = property.ArgmaxIsNever(next, len(y))
		default:
			s = property.ArgmaxIs(best, len(y))
		}
		task := inner(safeOn(s, box))
		task.Index = i
		tasks = append(tasks, task)
	}
	return tasks
}
