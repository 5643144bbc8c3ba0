package prove_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// synthetic is a posterior over sizes[0]-...-sizes[n] ReLU networks.
func synthetic(sizes []int, sd float64) *posterior.Posterior {
	r := rand.New(rand.NewPCG(1, 2))
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := 1; k < len(sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], network.Activation{Kind: network.ReLU})}
		if k == len(sizes)-1 {
			l.Activation = network.Activation{}
		}
		draw := func(n int) posterior.Params {
			mean, spread := make([]float64, n), make([]float64, n)
			for i := range mean {
				mean[i], spread[i] = float64(float32(r.NormFloat64()*0.05)), sd
			}
			return posterior.NewParams(mean, spread, posterior.ScaleSD)
		}
		l.Weight, l.Bias = draw(l.Inputs()*l.Outputs()), draw(l.Outputs())
		p.Layers = append(p.Layers, l)
	}
	return p
}

// BenchmarkConcentration: seconds for one tau, by number of inputs and by width of
// 784-h-h-10 networks. Back-substitution of the second hidden layer dominates: 4 h
// (784 h) multiplications and additions an input, mean and noise together.
func BenchmarkConcentration(b *testing.B) {
	for _, c := range []struct{ hidden, inputs int }{{64, 25}, {64, 50}, {64, 100}, {64, 200}, {32, 50}, {128, 50}, {256, 50}} {
		post := synthetic([]int{784, c.hidden, c.hidden, 10}, 0.001)
		b.Run(fmt.Sprintf("hidden%d/inputs%d", c.hidden, c.inputs), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			var tasks []property.Task
			for i := range c.inputs {
				var t property.Box
				for range 784 {
					x := r.Float64() * float64(r.IntN(2))
					t.Lo, t.Hi = append(t.Lo, x), append(t.Hi, min(1, x+0.001))
				}
				tasks = append(tasks, property.Task{Index: i, T: []property.Box{t}, S: property.ArgmaxIs(i%10, 10)})
			}
			eng, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			for b.Loop() {
				err := prove.Run(b.Context(), []*engine.Engine{eng}, prove.Config{Method: prove.CLBP, NoUpper: true}, tasks, nil,
					func(*claim.Result) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(c.inputs)*1e3, "ms/input")
			b.ReportMetric(float64(post.Weights()), "weights")
		})
	}
}
