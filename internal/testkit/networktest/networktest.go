// Package networktest draws networks of every kind of map and evaluates them, apart from package
// network. Only tests import it.
package networktest

import (
	"fmt"
	"math/big"
	"math/rand/v2"

	"psafe/host/model/network"
)

// node is a layer, -1 being the input, and what shape its outputs have.
type node struct {
	layer int
	shape network.Image
}

type builder struct {
	*rand.Rand
	net   network.Network
	nodes []node
	acts  []network.Activation
	// first says that the input has its channels first, and so that only convolutions and
	// orders may take it.
	first bool
}

// Random is a small valid network with a few random layers of random kinds, some of them fed by
// several, whose activations are of acts and none. Its maps are a few numbers wide, its windows
// have any stride, dilation and padding.
func Random(r *rand.Rand, acts ...network.Activation) network.Network {
	b := &builder{Rand: r, acts: append(acts, network.Activation{}), first: r.IntN(3) == 0}
	b.nodes = []node{{-1, network.Image{Height: 1 + r.IntN(5), Width: 3 + r.IntN(4), Channels: 1 + r.IntN(3)}}}
	b.conv(0)
	for range 2 + r.IntN(5) {
		kinds := []func(int){b.conv, b.conv, b.norm, b.average, b.most, b.sum, b.join, b.order}
		kinds[r.IntN(len(kinds))](b.pick())
	}
	b.end()
	if err := b.net.Check(); err != nil {
		panic(fmt.Sprintf("networktest: %v in %v", err, b.net))
	}
	return b.net
}

// pick is a node, most often the last.
func (b *builder) pick() int {
	if last := len(b.nodes) - 1; b.IntN(3) > 0 {
		return last
	} else {
		return 1 + b.IntN(last)
	}
}

// add puts a layer behind some nodes.
func (b *builder) add(m network.Map, shape network.Image, from ...int) {
	l := network.Layer{Map: m, Activation: b.acts[b.IntN(len(b.acts))]}
	for _, n := range from {
		l.Sources = append(l.Sources, b.nodes[n].layer)
	}
	if len(from) == 1 && l.Sources[0] == len(b.net)-1 && b.IntN(2) == 0 {
		l.Sources = nil
	}
	b.nodes = append(b.nodes, node{len(b.net), shape})
	b.net = append(b.net, l)
}

// window is one that fits an image, at most 3 long.
func (b *builder) window(s network.Image, pool bool) network.Window {
	for {
		var w network.Window
		fits := true
		for d, n := range []int{s.Height, s.Width} {
			w.Size[d], w.Stride[d], w.Dilation[d] = 1+b.IntN(3), 1+b.IntN(3), 1
			if !pool {
				w.Before[d], w.After[d] = b.IntN(3), b.IntN(3)
				w.Dilation[d] = 1 + b.IntN(2)
			} else if w.Size[d] > 1 {
				w.Before[d], w.After[d] = b.IntN(w.Size[d]), b.IntN(w.Size[d])
			}
			fits = fits && (w.Size[d]-1)*w.Dilation[d]+1 <= n+w.Before[d]+w.After[d]
		}
		if fits && (!pool || network.MaxPool{In: s, Window: w}.Check() == nil) {
			return w
		}
	}
}

func (b *builder) conv(n int) {
	s := b.nodes[n].shape
	groups := []int{1, 1, s.Channels}[b.IntN(3)]
	c := network.Conv{In: s, Window: b.window(s, false), Filters: groups * (1 + b.IntN(2)), Groups: groups, ChannelsFirst: b.first && n == 0}
	b.add(c, c.Out(), n)
}

// norm is a convolution as a batch norm is one.
func (b *builder) norm(n int) {
	s := b.nodes[n].shape
	one := [2]int{1, 1}
	b.add(network.Conv{In: s, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: s.Channels, Groups: s.Channels}, s, n)
}

func (b *builder) average(n int) {
	s := b.nodes[n].shape
	p := network.AvgPool{In: s, Window: b.window(s, true), CountPadding: b.IntN(2) == 0}
	b.add(p, p.Out(), n)
}

// most is a max pool, if the node may have one.
func (b *builder) most(n int) {
	s := b.nodes[n].shape
	b.net[b.nodes[n].layer].Activation = network.Activation{}
	p := network.MaxPool{In: s, Window: b.window(s, true)}
	b.add(p, p.Out(), n)
}

func (b *builder) sum(n int) {
	b.norm(n)
	b.add(network.Add{N: b.nodes[n].shape.Len(), Terms: 2}, b.nodes[n].shape, len(b.nodes)-1, n)
}

func (b *builder) join(n int) {
	s := b.nodes[n].shape
	one := [2]int{1, 1}
	c := network.Conv{In: s, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: 1 + b.IntN(2), Groups: 1}
	b.add(c, c.Out(), n)
	j := network.Concat{Height: s.Height, Width: s.Width, Channels: []int{s.Channels, c.Filters}}
	s.Channels += c.Filters
	b.add(j, s, n, len(b.nodes)-1)
}

// order takes some numbers in any order.
func (b *builder) order(n int) {
	s := b.nodes[n].shape
	o := network.Reorder{In: s.Len()}
	for _, j := range b.Perm(o.In)[:1+b.IntN(o.In)] {
		o.Order = append(o.Order, int32(j))
	}
	b.add(o, network.Image{Height: 1, Width: len(o.Order), Channels: 1}, n)
}

// end is a dense layer behind all layers that nothing uses yet.
func (b *builder) end() {
	used := map[int]bool{}
	for k := range b.net {
		for _, s := range b.net.Feed(k) {
			used[s] = true
		}
	}
	l := network.Layer{Sources: []int{}}
	in := 0
	for k := range b.net {
		if !used[k] {
			l.Sources, in = append(l.Sources, k), in+b.net[k].Outputs()
		}
	}
	if b.IntN(4) == 0 {
		l.Sources, in = append(l.Sources, -1), in+b.net.Inputs()
	}
	l.Map = network.Dense{In: in, Out: 1 + b.IntN(3)}
	b.net = append(b.net, l)
}

// Weights are random parameters of a network, multiples of 1/16 between -2 and 2, as
// network.Enclose takes them.
func Weights(r *rand.Rand, n network.Network) [][]float64 {
	var lists [][]float64
	for _, l := range n {
		for _, size := range []int{l.Weights(), l.Biases()} {
			list := make([]float64, size)
			for i := range list {
				list[i] = float64(r.IntN(65)-32) / 16
			}
			lists = append(lists, list)
		}
	}
	return lists
}

// Rational evaluates a network in rational numbers, exactly if its activations have one kink;
// the values of others are float64.
func Rational(n network.Network, weights [][]float64, x []*big.Rat) []*big.Rat {
	out := make([][]*big.Rat, len(n))
	for k, l := range n {
		var z []*big.Rat
		for _, s := range n.Feed(k) {
			if s < 0 {
				z = append(z, x...)
			} else {
				z = append(z, out[s]...)
			}
		}
		out[k] = Map(l.Map, weights[2*k], weights[2*k+1], z)
		for i, t := range out[k] {
			out[k][i] = value(l.Activation, t)
		}
	}
	return out[len(n)-1]
}

func value(a network.Activation, t *big.Rat) *big.Rat {
	below, kinked := a.Kinked()
	switch {
	case !kinked:
		v, _ := t.Float64()
		return Rat(a.Approx(v))
	case t.Sign() < 0:
		return new(big.Rat).Mul(t, Rat(below))
	}
	return t
}

// Rat is a float64 as a rational number.
func Rat(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
