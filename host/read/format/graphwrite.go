package format

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
)

// graphWriter states canonical layers as a header of version 2.
type graphWriter struct {
	m *meta
	p *posterior.Posterior
	// names and images are those of the layers so far; an image is nil where the reader will
	// have a list.
	names  []string
	images []*network.Image
	last   string
}

// graph states the layers of p in the header, each under the name of its kind and number.
func (m *meta) graph(p *posterior.Posterior) error {
	m.Version = metaGraph
	if covaries(p.Kind) {
		m.Version = metaCovariance
	}
	w := &graphWriter{m: m, p: p}
	for k := range p.Layers {
		if err := w.layer(k); err != nil {
			return fmt.Errorf("layer %d: %w", k, err)
		}
	}
	return nil
}

// layer states layer k, and what it takes to read it again as it is.
func (w *graphWriter) layer(k int) error {
	l := &w.p.Layers[k]
	out := metaLayer{Activation: l.Activation.String()}
	var image *network.Image
	feed := w.p.Network().Feed(k)
	if k == 0 && len(w.p.Input.Shape) == 0 {
		out.In = l.Inputs()
	}
	// want is the image that the layer takes.
	var want *network.Image
	switch m := l.Map.(type) {
	case network.Dense:
		out.Kind, out.In, out.Out = graph.Dense, m.In, m.Out
		out.parameters = graph.Parameters{Weight: []int{m.In, m.Out}, Bias: m.Out}
		if len(feed) == 1 && w.image(feed[0]) != nil && w.image(feed[0]).Height*w.image(feed[0]).Width > 1 {
			feed = []int{w.flatten(feed[0])}
		}
	case network.Conv:
		want, image = &m.In, new(m.Out())
		w.conv(k, m, &out)
	case network.AvgPool:
		want, image = &m.In, new(m.Out())
		out.Kind, out.CountPadding = graph.AvgPool, m.CountPadding
		out.window(&m.Window)
	case network.MaxPool:
		want, image = &m.In, new(m.Out())
		out.Kind = graph.MaxPool
		out.window(&m.Window)
	case network.Reorder:
		out.Kind = graph.Reorder
		if len(m.Order) != m.In || !inOrder(m.Order) {
			for _, i := range m.Order {
				out.Take = append(out.Take, int(i))
			}
		}
	case network.Add:
		out.Kind = graph.Add
		if len(feed) != m.Terms {
			return fmt.Errorf("a sum of %d terms fed by %d layers cannot be written", m.Terms, len(feed))
		}
		if image = w.image(feed[0]); !w.alike(feed, func(im *network.Image) bool { return image != nil && im != nil && *im == *image }) {
			image, feed = nil, w.flattened(feed)
		}
	case network.Concat:
		out.Kind = graph.Concat
		if !w.concats(feed, m) {
			return fmt.Errorf("a concatenation of channels %v fed by layers %v cannot be written", m.Channels, feed)
		}
		fits := func(im *network.Image) bool { return im != nil && im.Height == m.Height && im.Width == m.Width }
		if !w.alike(feed, fits) {
			feed = w.flattened(feed)
			if m.Height*m.Width > 1 {
				out.Shape = []int{m.Height, m.Width}
			}
		}
		if out.Shape != nil || fits(w.image(feed[0])) {
			image = &network.Image{Height: m.Height, Width: m.Width, Channels: m.Outputs() / (m.Height * m.Width)}
		}
	default:
		return fmt.Errorf("a %T cannot be written", l.Map)
	}
	if want != nil {
		first := out.Order == orderFirst
		if im := w.image(feed[0]); len(feed) == 1 && im != nil && (first || *im != *want) {
			feed = []int{w.flatten(feed[0])}
		}
		if out.Shape = []int{want.Height, want.Width, want.Channels}; first {
			out.Shape = []int{want.Channels, want.Height, want.Width}
		}
	}
	w.push(out, feed, image, k)
	return nil
}

// push adds a layer to the header; k is that of the posterior, or -1.
func (w *graphWriter) push(l metaLayer, feed []int, image *network.Image, k int) {
	l.Name = fmt.Sprintf("%s_%d", l.Kind, len(w.m.Layers))
	if len(feed) != 1 || w.name(feed[0]) != w.last {
		for _, s := range feed {
			l.From = append(l.From, w.name(s))
		}
	}
	w.last = l.Name
	if k < 0 {
		w.m.Layers = append(w.m.Layers, l)
		return
	}
	w.names, w.images = append(w.names, l.Name), append(w.images, image)
	w.m.push(w.p, k, l)
}

// name returns what feeds a layer: source s, or the flatten behind it, which has numbers from
// flattenAt down.
func (w *graphWriter) name(s int) string {
	switch {
	case s == -1 && w.last == "":
		return "" // the first layer: nothing is before it
	case s == -1:
		return graph.InputName
	case s <= flattenAt:
		return w.m.Layers[flattenAt-s].Name
	}
	return w.names[s]
}

const flattenAt = -2

// image returns the image of what a source gives, nil if that is a list.
func (w *graphWriter) image(s int) *network.Image {
	if s < 0 {
		return nil
	}
	return w.images[s]
}

// flatten states that source s is taken as a list, in the order that it has.
func (w *graphWriter) flatten(s int) int {
	at := len(w.m.Layers)
	w.push(metaLayer{Kind: graph.Flatten}, []int{s}, nil, -1)
	return flattenAt - at
}

// flattened takes all that are images as lists.
func (w *graphWriter) flattened(feed []int) []int {
	feed = slices.Clone(feed)
	for i, s := range feed {
		if w.image(s) != nil {
			feed[i] = w.flatten(s)
		}
	}
	return feed
}

// alike reports whether all sources are images that fit.
func (w *graphWriter) alike(feed []int, fits func(*network.Image) bool) bool {
	return !slices.ContainsFunc(feed, func(s int) bool { return !fits(w.image(s)) })
}

// concats reports whether each source is one image of a Concat.
func (w *graphWriter) concats(feed []int, m network.Concat) bool {
	if len(feed) != len(m.Channels) {
		return false
	}
	for i, s := range feed {
		n := w.p.Inputs()
		if s >= 0 {
			n = w.p.Layers[s].Outputs()
		}
		if n != m.Channels[i]*m.Height*m.Width {
			return false
		}
	}
	return true
}

// conv states a convolution, layer k; with one number for each channel it is a batch norm, unless it has a
// covariance.
func (w *graphWriter) conv(k int, m network.Conv, out *metaLayer) {
	if m.ChannelsFirst {
		out.Order = orderFirst
	}
	size := m.Window.Size
	if m.Gain() && !(covariances(w.p) != nil && covariances(w.p)[k] != nil) {
		out.Kind, out.parameters = graph.BatchNorm, graph.Parameters{Weight: []int{m.Filters}, Bias: m.Filters}
		return
	}
	out.Kind, out.Filters = graph.Conv2D, m.Filters
	if m.Groups > 1 {
		out.Groups = m.Groups
	}
	out.window(&m.Window)
	out.parameters = graph.Parameters{Weight: []int{size[0], size[1], m.In.Channels / m.Groups, m.Filters}, Bias: m.Filters}
	if m.ChannelsFirst {
		out.parameters.Axes = []int{2, 3, 1, 0}
	}
}

// window states a window.
func (l *metaLayer) window(w *network.Window) {
	l.Kernel, l.Strides = w.Size[:], w.Stride[:]
	if w.Dilation != [2]int{1, 1} {
		l.Dilation = w.Dilation[:]
	}
	if none := [2]int{}; w.Before != none || w.After != none {
		l.Padding = &metaPadding{Padding: graph.Padding{Pairs: [][2]int{{w.Before[0], w.After[0]}, {w.Before[1], w.After[1]}}}}
	}
}

// inOrder reports whether entry i is i.
func inOrder(order []int32) bool {
	for i, j := range order {
		if int(j) != i {
			return false
		}
	}
	return true
}
