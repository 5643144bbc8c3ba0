package gpu

import (
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
)

// BenchmarkConvolutions: concentration LBP of convolutional networks by formula, as certify
// runs it on each device, with all values of tau that it tries:
//
//	go test ./gpu -run '^$' -bench Convolutions -benchtime 1x -timeout 2h
func BenchmarkConvolutions(b *testing.B) {
	for _, c := range []struct {
		net    string
		images int
		eps    float64
	}{{"mnist_lenet", 100, 0}, {"mnist_lenet", 100, 0x1p-9}, {"lenet5", 1, 0x1p-10}, {"lenet5", 100, 0x1p-10}, {"resnet8", 1, 0}, {"resnet8", 1, 0x1p-12}} {
		n := convtest.Named(c.net)
		post := n.Posterior(1)
		var tasks []property.Task
		for i := range c.images {
			x := convtest.Picture(uint64(1000+2*i), n.Image)
			class := 0
			y := post.LogitsApprox(x)
			for j, v := range y {
				if v > y[class] {
					class = j
				}
			}
			task := convtest.KeepsClass(post, x, c.eps, class)
			task.Index = i
			tasks = append(tasks, task)
		}
		name := c.net + "/point"
		if c.eps > 0 {
			name = c.net + "/ball"
		}
		if c.images > 1 {
			name += "s"
		}
		b.Run(name, func(b *testing.B) {
			benchDevices(b, func(b *testing.B, dev bound.Device) {
				e, err := engine.New(dev, nil, post, 8)
				check(b, err)
				defer e.Close()
				mean := 0.0
				for b.Loop() {
					mean = 0
					check(b, prove.Run(b.Context(), []*engine.Engine{e}, prove.Config{Method: prove.CLBP, Cells: 1, NoUpper: true}, tasks, nil,
						func(r *claim.Result) error { mean += r.Lower() / float64(len(tasks)); return nil }))
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(len(tasks))*1e3, "ms/image")
				b.ReportMetric(mean, "mean_p_lower")
			})
		})
	}
}
