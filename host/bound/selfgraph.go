package bound

import (
	"math"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// graphOf is a small network with everything that chains do without: a convolution with padding
// under a max pool whose windows overlap, an uncertain batch norm, a shortcut beside it, a sum,
// an average and a last layer that the input feeds as well.
func graphOf(n *selfNumbers) *posterior.Posterior {
	window := func(size, stride, pad int) network.Window {
		two := func(x int) [2]int { return [2]int{x, x} }
		return network.Window{Size: two(size), Stride: two(stride), Dilation: two(1), Before: two(pad), After: two(pad)}
	}
	relu, tanh := network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.Tanh}
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	put := func(m network.Map, a network.Activation, sources ...int) {
		l := posterior.Layer{Layer: network.Layer{Map: m, Activation: a, Sources: sources}}
		j := selfJob{scale: 0.5}
		l.Weight, l.Bias = j.gaussian(n, m.Weights()), j.gaussian(n, m.Biases())
		p.Layers = append(p.Layers, l)
	}
	none := network.Activation{}
	put(network.Conv{In: network.Image{Height: 5, Width: 4, Channels: 1}, Window: window(3, 1, 1), Filters: 2, Groups: 1}, none, -1)
	put(network.MaxPool{In: network.Image{Height: 5, Width: 4, Channels: 2}, Window: window(2, 1, 0)}, relu, 0)
	put(network.Conv{In: network.Image{Height: 4, Width: 3, Channels: 2}, Window: window(3, 1, 1), Filters: 3, Groups: 1}, none, 1)
	put(network.Conv{In: network.Image{Height: 4, Width: 3, Channels: 3}, Window: window(1, 1, 0), Filters: 3, Groups: 3}, tanh, 2)
	put(network.Conv{In: network.Image{Height: 4, Width: 3, Channels: 2}, Window: window(1, 1, 0), Filters: 3, Groups: 1}, none, 1)
	put(network.Add{N: 36, Terms: 2}, none, 3, 4)
	put(network.MaxPool{In: network.Image{Height: 4, Width: 3, Channels: 3}, Window: window(2, 1, 0)}, relu, 5)
	put(network.AvgPool{In: network.Image{Height: 3, Width: 2, Channels: 3}, Window: window(2, 1, 0)}, none, 6)
	put(network.Dense{In: 6 + 20, Out: 3}, none, 7, -1)
	return p
}

// selfGraph runs graphOf by LBP, with boxes of some width for two inputs each, and by
// concentration LBP: with rows over whole maps, of half a layer's units at a time, and over windows, of
// some starts at a time.
func selfGraph(dev Device, seed uint32) error {
	if err := selfGraphCut(dev, seed, cuts{numbers: 1 << 16}); err != nil {
		return err
	}
	return selfGraphCut(dev, seed, cuts{numbers: 1 << 13, windows: math.Inf(1)})
}

func selfGraphCut(dev Device, seed uint32, by cuts) error {
	numbers := selfNumbers{seed: 1<<22 + seed}
	post := graphOf(&numbers)
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
	j := selfJob{sizes: []int{20, 3}, batch: Batch{4, 2, 2}, options: signed}
	regions, rows := j.questions(&numbers)
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
