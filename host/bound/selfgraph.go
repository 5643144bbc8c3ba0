package bound

import (
	"math"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// selfNet is a small network in the making.
type selfNet struct {
	numbers *selfNumbers
	post    posterior.Posterior
}

func (s *selfNet) put(m network.Map, kind network.Kind, sources ...int) {
	l := posterior.Layer{Layer: network.Layer{Map: m, Activation: network.Activation{Kind: kind}, Sources: sources}}
	j := selfJob{scale: 0.5}
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
func graphOf(n *selfNumbers) *posterior.Posterior {
	s := selfNet{numbers: n, post: posterior.Posterior{Scale: posterior.ScaleSD}}
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
func imagesOf(n *selfNumbers) *posterior.Posterior {
	s := selfNet{numbers: n, post: posterior.Posterior{Scale: posterior.ScaleSD}}
	s.put(network.Conv{In: image(5, 4, 1), Window: square(3, 1), Filters: 2, Groups: 1}, network.Identity, -1)
	s.put(network.MaxPool{In: image(5, 4, 2), Window: square(2, 0)}, network.ReLU, 0)
	s.put(network.Conv{In: image(4, 3, 2), Window: square(3, 1), Filters: 2, Groups: 1}, network.Identity, 1)
	s.put(network.Add{N: 24, Terms: 2}, network.ReLU, 2, 1)
	s.put(network.Dense{In: 24, Out: 3}, network.Identity, 3)
	return &s.post
}

// selfGraph bounds graphOf with rows over whole maps, and imagesOf with rows over windows.
func selfGraph(dev Device, seed uint32) error {
	numbers := selfNumbers{seed: 1<<22 + seed}
	if err := selfCut(dev, &numbers, graphOf(&numbers), cuts{numbers: 1 << 16}); err != nil {
		return err
	}
	return selfCut(dev, &numbers, imagesOf(&numbers), cuts{numbers: 1 << 15, windows: math.Inf(1)})
}

// selfCut runs a network by LBP, with boxes of some width for two inputs each, and by
// concentration LBP.
func selfCut(dev Device, numbers *selfNumbers, post *posterior.Posterior, by cuts) error {
	m, err := newModel(dev, post, 8, by)
	if err != nil {
		return err
	}
	defer m.Release()
	var spec BoxSpec
	for range post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{0.5, 0})
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	j := selfJob{sizes: []int{post.Layers[0].Inputs(), 3}, batch: Batch{4, 2, 2}, options: signed}
	regions, rows := j.questions(numbers)
	in, err := m.UploadInputs(regions)
	if err != nil {
		return err
	}
	defer m.ReleaseInputs(in)
	dr, err := m.UploadRows(rows)
	if err != nil {
		return err
	}
	defer m.ReleaseRows(dr)
	if _, err := m.Propagate(Query{Propagation: LBP, Boxes: boxes, Inputs: in, Rows: dr, Batch: j.batch}); err != nil {
		return err
	}
	return selfNoisy(m, post, regions, dr)
}

// selfNoisy runs PropagateCLBP.
func selfNoisy(m *Model, post *posterior.Posterior, regions []property.Box, rows *Rows) error {
	c, err := m.NewDeviations(post, selfMoments(post))
	if err != nil {
		return err
	}
	defer c.Release()
	in, err := m.UploadNoisy(regions)
	if err != nil {
		return err
	}
	defer m.ReleaseNoisy(in)
	q := Quantiles{Single: 2, Radius: 1.5, Loose: 3}
	for k := range m.layers {
		q.Many = append(q.Many, 2+float64(k)/4)
	}
	_, err = c.PropagateCLBP(CLBPQuery{Inputs: in, Rows: rows, Quantiles: q})
	return err
}
