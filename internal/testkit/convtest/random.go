package convtest

import (
	"math"
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Shape describes what a random network has.
type Shape struct {
	// Blocks is how many groups of layers come before the last, dense one.
	Blocks int
	// Spread is the size of standard deviations beside that of means; a sixth of them is 0.
	Spread float64
	// Linear networks have no activation and no max pool.
	Linear bool
	// Kinds are the activations that are drawn; nil for rectifiers, mostly, and others.
	Kinds []network.Activation
	// Outputs is the number of logits.
	Outputs int
	// Side, above 0, is the least height and width of the image: of networks that may have paths of
	// different strides, too.
	Side int
}

// Random is a network of a small image, of random layers of every kind.
func Random(r *rand.Rand, s Shape) *posterior.Posterior {
	g := &random{builder: builder{post: &posterior.Posterior{Scale: posterior.ScaleSD}}, r: r, s: s}
	g.shape = network.Image{Height: 1 + r.IntN(4), Width: 1 + r.IntN(4), Channels: 1 + r.IntN(2)}
	if s.Side > 0 {
		g.shape.Height, g.shape.Width = g.shape.Height+s.Side-1, g.shape.Width+s.Side-1
	}
	g.input = g.shape
	for range s.Blocks {
		g.block()
	}
	g.weighted(network.Dense{In: g.shape.Len(), Out: s.Outputs}, network.Image{Height: 1, Width: 1, Channels: s.Outputs}, g.shape.Len(), s.Spread)
	if err := g.post.Validate(); err != nil {
		panic("convtest: Random: " + err.Error())
	}
	return g.post
}

type random struct {
	builder
	r     *rand.Rand
	s     Shape
	input network.Image
}

// block adds some layers.
func (g *random) block() {
	kinds := 8
	if g.s.Side > 0 {
		kinds = 9
	}
	switch g.r.IntN(kinds) {
	case 0, 1:
		g.conv(1 + g.r.IntN(3))
		g.activate()
	case 2:
		g.conv(1 + g.r.IntN(3))
		g.maxPool()
	case 3:
		g.maxPool()
	case 4:
		g.avgPool()
		if g.r.IntN(2) == 0 {
			g.activate()
		}
	case 5:
		g.residual()
	case 6:
		g.norm()
		if g.r.IntN(2) == 0 {
			g.activate()
		}
	case 7:
		g.join()
	case 8:
		g.strides()
	}
}

// strides adds a convolution that skips places of the last layer to one that takes each, with as many
// places.
func (g *random) strides() {
	start, shape := g.last(), g.shape
	var skips, takes network.Window
	for d, n := range []int{shape.Height, shape.Width} {
		skips.Size[d], skips.Stride[d], skips.Dilation[d] = 1, 2, 1
		takes.Size[d], takes.Stride[d], takes.Dilation[d] = n/2+1, 1, 1
	}
	ends := make([]int, 2)
	for i, w := range []network.Window{skips, takes} {
		g.shape, g.next = shape, []int{start}
		c := network.Conv{In: shape, Window: w, Filters: 2, Groups: 1}
		ends[i] = g.weighted(c, c.Out(), c.Weights()/2, g.s.Spread)
	}
	g.next = ends
	g.put(network.Add{N: g.shape.Len(), Terms: 2}, g.shape, certain(), certain())
	g.activate()
}

// last is the number of the last layer, -1 for the input.
func (g *random) last() int { return len(g.post.Layers) - 1 }

func (g *random) shapeOf(k int) network.Image {
	if k < 0 {
		return g.input
	}
	return g.shapes[k]
}

// weighted adds a layer with random weights; in is how many inputs meet an output.
func (g *random) weighted(m network.Map, out network.Image, in int, spread float64) int {
	draw := func(n int, size float64) posterior.Params {
		mean, sd := make([]float64, n), make([]float64, n)
		for j := range mean {
			mean[j] = size * g.r.NormFloat64()
			if g.r.IntN(6) > 0 {
				sd[j] = size * spread * (0.2 + g.r.Float64())
			}
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	return g.put(m, out, draw(m.Weights(), 1.5/math.Sqrt(float64(in))), draw(m.Biases(), 0.5))
}

func (g *random) activate() {
	if g.s.Linear {
		return
	}
	kinds := g.s.Kinds
	if kinds == nil {
		if network.Kinds != 7 { // identity and the six that follow
			panic("convtest: Random does not draw an activation that there is")
		}
		kinds = []network.Activation{relu, relu, relu, relu, {Kind: network.Tanh}, {Kind: network.Sigmoid}, {Kind: network.Softplus},
			{Kind: network.ELU, Slope: 0.01 + 0.9*g.r.Float64()}, {Kind: network.LeakyReLU, Slope: 0.01 + 0.9*g.r.Float64()}}
	}
	g.post.Layers[g.last()].Activation = kinds[g.r.IntN(len(kinds))]
}

// window fits an image, with padding less than its size where pool says so.
func (g *random) window(s network.Image, pool bool) network.Window {
	var w network.Window
	for d, n := range []int{s.Height, s.Width} {
		w.Size[d], w.Stride[d], w.Dilation[d] = 1+g.r.IntN(min(3, n)), 1+g.r.IntN(2), 1
		if !pool && w.Size[d] > 1 && (w.Size[d]-1)*2 < n && g.r.IntN(3) == 0 {
			w.Dilation[d] = 2
		}
		if w.Size[d] > 1 && g.r.IntN(2) == 0 {
			w.Before[d], w.After[d] = g.r.IntN(w.Size[d]), g.r.IntN(w.Size[d])
			if pool && (n+w.Before[d]+w.After[d]-w.Size[d])/w.Stride[d]*w.Stride[d]-w.Before[d] >= n {
				w.After[d] = 0
			}
		}
	}
	return w
}

// conv is a convolution of the last layer, some with groups or channels first.
func (g *random) conv(filters int) int {
	c := network.Conv{In: g.shape, Window: g.window(g.shape, false), Filters: filters, Groups: 1, ChannelsFirst: g.r.IntN(5) == 0}
	if g.r.IntN(4) == 0 {
		c.Groups = c.In.Channels
		c.Filters = c.Groups * (1 + g.r.IntN(2))
	}
	return g.weighted(c, c.Out(), c.Weights()/c.Filters, g.s.Spread)
}

// same is a convolution that keeps height and width.
func (g *random) same(filters int) int {
	size := 1 + 2*g.r.IntN(2)
	c := network.Conv{In: g.shape, Window: square(size, 1, size/2), Filters: filters, Groups: 1}
	return g.weighted(c, c.Out(), c.Weights()/c.Filters, g.s.Spread)
}

// norm is a batch norm: certain, or as uncertain as everything.
func (g *random) norm() int {
	if g.last() < 0 {
		return g.conv(2)
	}
	c := network.Conv{In: g.shape, Window: square(1, 1, 0), Filters: g.shape.Channels, Groups: g.shape.Channels}
	return g.weighted(c, g.shape, 1, g.s.Spread*float64(g.r.IntN(2)))
}

// maxPool pools the last layer, which has an activation or feeds others too: then a copy.
func (g *random) maxPool() {
	if g.s.Linear {
		g.avgPool()
		return
	}
	if k := g.last(); k < 0 || g.post.Layers[k].Activation.Kind != network.Identity || g.r.IntN(6) == 0 {
		g.copied()
	}
	m := network.MaxPool{In: g.shape, Window: g.window(g.shape, true)}
	g.put(m, m.Out(), certain(), certain())
	if g.r.IntN(3) > 0 {
		g.activate()
	}
}

// copied is the last layer in its own order.
func (g *random) copied() {
	order := make([]int32, g.shape.Len())
	for i := range order {
		order[i] = int32(i)
	}
	g.put(network.Reorder{In: len(order), Order: order}, g.shape, certain(), certain())
}

func (g *random) avgPool() {
	a := network.AvgPool{In: g.shape, Window: g.window(g.shape, true), CountPadding: g.r.IntN(2) == 0}
	g.put(a, a.Out(), certain(), certain())
}

// residual adds one or two convolutions of the last layer to it, or to one more of it.
func (g *random) residual() {
	start := g.last()
	shape := g.shape
	g.same(shape.Channels)
	if g.r.IntN(2) == 0 {
		g.activate()
		g.same(shape.Channels)
	}
	if g.r.IntN(3) == 0 {
		g.norm()
	}
	end, skip := g.last(), start
	if g.r.IntN(2) == 0 {
		g.shape, g.next = shape, []int{start}
		skip = g.same(shape.Channels)
	}
	g.next = []int{end, skip}
	g.put(network.Add{N: shape.Len(), Terms: 2}, shape, certain(), certain())
	if g.r.IntN(2) == 0 {
		g.activate()
	}
}

// join puts two convolutions of the last layer together.
func (g *random) join() {
	start, shape := g.last(), g.shape
	one := g.same(1 + g.r.IntN(2))
	g.activate()
	g.shape, g.next = shape, []int{start}
	two := g.same(1)
	c := network.Concat{Height: shape.Height, Width: shape.Width, Channels: []int{g.shapeOf(one).Channels, g.shapeOf(two).Channels}}
	g.next = []int{one, two}
	out := network.Image{Height: shape.Height, Width: shape.Width, Channels: c.Channels[0] + c.Channels[1]}
	g.put(c, out, certain(), certain())
	if g.r.IntN(2) == 0 {
		g.activate()
	}
}

// TwoConvolutions are two of these sizes behind each other, padded so that the image keeps its size.
func TwoConvolutions(image network.Image, below, above int) *posterior.Posterior {
	b := &builder{post: &posterior.Posterior{Scale: posterior.ScaleSD}, shape: image}
	b.conv(1100, below, 1, below/2, .5, tinySd)
	b.relu()
	b.conv(1110, above, 1, above/2, .5, tinySd)
	b.relu()
	b.dense(1120, 2, 1, tinySd)
	return b.post
}
