package selfcheck

import (
	"math"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// net is a small network in the making.
type net struct {
	numbers *numbers
	post    posterior.Posterior
}

func (s *net) put(m network.Map, kind network.Kind, sources ...int) {
	l := posterior.Layer{Layer: network.Layer{Map: m, Activation: network.Activation{Kind: kind}, Sources: sources}}
	j := job{scale: 0.5}
	l.Weight, l.Bias = j.gaussian(s.numbers, m.Weights()), j.gaussian(s.numbers, m.Biases())
	s.post.Layers = append(s.post.Layers, l)
}

func image(height, width, channels int) network.Image {
	return network.Image{Height: height, Width: width, Channels: channels}
}

func square(size, pad int) network.Window {
	return network.Window{Size: [2]int{size, size}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Before: [2]int{pad, pad}, After: [2]int{pad, pad}}
}

// graphOf is a small network with everything that chains do without: a convolution with padding
// under a max pool whose windows overlap, an uncertain batch norm, a shortcut beside it, a sum,
// an average and a last layer that the input feeds as well.
func graphOf(n *numbers) *posterior.Posterior {
	s := net{numbers: n, post: posterior.Posterior{Scale: posterior.ScaleSD}}
	s.put(network.Conv{In: image(4, 3, 1), Window: square(3, 1), Filters: 2, Groups: 1}, network.Identity, -1)
	s.put(network.MaxPool{In: image(4, 3, 2), Window: square(2, 0)}, network.ReLU, 0)
	s.put(network.Conv{In: image(3, 2, 2), Window: square(3, 1), Filters: 3, Groups: 1}, network.Identity, 1)
	s.put(network.Conv{In: image(3, 2, 3), Window: square(1, 0), Filters: 3, Groups: 3}, network.Tanh, 2)
	s.put(network.Conv{In: image(3, 2, 2), Window: square(1, 0), Filters: 3, Groups: 1}, network.Identity, 1)
	s.put(network.Add{N: 18, Terms: 2}, network.Identity, 3, 4)
	s.put(network.MaxPool{In: image(3, 2, 3), Window: square(2, 0)}, network.ReLU, 5)
	average := square(2, 0)
	average.Size[1] = 1
	s.put(network.AvgPool{In: image(2, 1, 3), Window: average}, network.Identity, 6)
	s.put(network.Dense{In: 3 + 12, Out: 3}, network.Identity, 7, -1)
	return &s.post
}

// imagesOf is a network whose image is so large that windows are smaller: a convolution under a max
// pool, and another with a shortcut.
func imagesOf(n *numbers) *posterior.Posterior {
	s := net{numbers: n, post: posterior.Posterior{Scale: posterior.ScaleSD}}
	s.put(network.Conv{In: image(5, 4, 1), Window: square(3, 1), Filters: 2, Groups: 1}, network.Identity, -1)
	s.put(network.MaxPool{In: image(5, 4, 2), Window: square(2, 0)}, network.ReLU, 0)
	s.put(network.Conv{In: image(4, 3, 2), Window: square(3, 1), Filters: 2, Groups: 1}, network.Identity, 1)
	s.put(network.Add{N: 24, Terms: 2}, network.ReLU, 2, 1)
	s.put(network.Dense{In: 24, Out: 3}, network.Identity, 3)
	return &s.post
}

// graphs bounds graphOf with rows over whole maps, and imagesOf with rows over windows.
func graphs(dev bound.Device, seed uint32) error {
	numbers := numbers{seed: 1<<22 + seed}
	if err := cut(dev, &numbers, graphOf(&numbers), 1<<16, 0); err != nil {
		return err
	}
	return cut(dev, &numbers, imagesOf(&numbers), 1<<15, math.Inf(1))
}

// cut runs a network by LBP, with boxes of some width for two inputs each, and by
// concentration LBP.
func cut(dev bound.Device, numbers *numbers, post *posterior.Posterior, chunk int, windows float64) error {
	m, err := bound.NewModelCut(dev, post, 8, 0, chunk, windows)
	if err != nil {
		return err
	}
	var spec bound.BoxSpec
	for range post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{0.5, 0})
	}
	j := job{sizes: []int{post.Layers[0].Inputs(), 3}, batch: bound.Batch{Items: 4, PerBox: 2, Inputs: 2}, options: signed}
	return j.asks(m, spec, numbers, func(q bound.Query, regions []property.Box) error {
		if _, err := m.Propagate(q); err != nil {
			return err
		}
		return noisyPass(m, post, regions, q.Rows, true)
	})
}

// noisyPass runs PropagateCLBP; if quantiles are apart, each region has its own, and the last one's are
// below 0 in part.
func noisyPass(m *bound.Model, post *posterior.Posterior, regions []property.Box, rows *bound.Rows, apart bool) error {
	c, err := m.NewDeviations(post, momentsOf(post))
	if err != nil {
		return err
	}
	defer c.Release()
	in, err := m.UploadNoisy(regions)
	if err != nil {
		return err
	}
	defer m.ReleaseNoisy(in)
	quantiles := func(more float64) bound.Quantiles {
		q := bound.Quantiles{Single: 2 + more, Radius: 1.5 + more, Loose: 3 + more}
		for k := range post.Layers {
			q.Many = append(q.Many, 2+more+float64(k)/4)
		}
		return q
	}
	query := bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: quantiles(0)}
	if apart {
		for i := range regions {
			query.Apart = append(query.Apart, quantiles(float64(i)/8))
		}
		query.Apart[len(regions)-1].Radius = -1
	}
	_, err = c.PropagateCLBP(query)
	return err
}
