package prove_test

import (
	"fmt"
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

// journal reads a deepbayes directory as everyone reads it.
func journal(t testing.TB, elem ...string) *posterior.Posterior {
	p, err := format.Read(shared(t, append([]string{"data"}, elem...)...), format.Options{Scale: posterior.ScaleSD})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scaled multiplies every standard deviation.
func scaled(p *posterior.Posterior, factor float64) *posterior.Posterior {
	for _, l := range p.Layers {
		for _, g := range []posterior.Params{l.Weight, l.Bias} {
			for j := range g.Spread {
				g.Spread[j] *= factor
				g.SdLo[j], g.SdHi[j] = g.Spread[j], g.Spread[j]
			}
		}
	}
	return p
}

func TestRealConcentration(t *testing.T) {
	na32 := journal(t, "journal", "mnist_NA_FCN_Posterior_32_1_1_0.25_0.1")
	na64 := journal(t, "journal", "mnist_NA_FCN_Posterior_64_2_1_0.25_0.1")
	batten, err := format.Read(shared(t, "data", "batten2024", "MNIST_MLP_2_50.h5"), format.Options{
		Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range testscale.Few(t, []struct {
		name  string
		post  *posterior.Posterior
		eps   string
		n     int
		least float64
	}{
		{"NA 32x1", na32, "0", 12, 0.9647},
		{"NA 32x1", na32, "0.01", 12, 0.858},
		{"NA 64x2", na64, "0.01", 12, 0.99},
		{"NA 64x2", na64, "0.02", 12, 0.985},
		{"NA 64x2", na64, "0.03", 12, 0.81},
		{"MLP 2x50", batten, "0.025", 12, 0.91},
		{"2x64 sd x 10", scaled(released(t, "VIMODEL_MNIST_2_64_relu.net.npz"), 10), "0.001", 15, 0.93},
		{"2x128 sd x 10", scaled(released(t, "VIMODEL_MNIST_2_128_relu.net.npz"), 10), "0.001", 15, 0.99},
	}, 2) {
		t.Run(fmt.Sprintf("%s/%s", c.name, c.eps), func(t *testing.T) {
			var tasks []property.Task = mnistTasks(t, c.post, c.n, c.eps)
			start := time.Now()
			mean := 0.0
			for _, r := range run(t, bound.Float32, c.post, prove.Config{Method: prove.CLBP}, tasks...) {
				mean += arith.ExpDown(r.LogP) / float64(len(tasks))
				t.Logf("%d: %.6f tau %g", r.Task.Index, arith.ExpDown(r.LogP), r.Tau)
			}
			t.Logf("mean p_lower %.4f, must be %v, %v", mean, c.least, time.Since(start))
			if mean < c.least {
				t.Errorf("mean p_lower %.4f, must be at least %v", mean, c.least)
			}
		})
	}
}
