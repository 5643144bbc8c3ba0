package checktest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// Networks that are graphs, and what they compute, by definition and exactly.

// Sketch puts a small random network together.
type Sketch struct {
	Rng  *rand.Rand
	Post *posterior.Posterior
	Img  []net.Image
	Sd   float64
}

func (s *Sketch) number(size float64) float64 { return math.Round(s.Rng.NormFloat64()*size*64) / 64 }

// params are n parameters of few bits; one in six has no spread.
func (s *Sketch) params(n int, size, sd float64) posterior.Params {
	mean, dev := make([]float64, n), make([]float64, n)
	for j := range mean {
		if mean[j] = s.number(size); s.Rng.IntN(6) > 0 {
			dev[j] = sd * math.Round(1+7*s.Rng.Float64()) / 8
		}
	}
	return posterior.NewParams(mean, dev, posterior.ScaleSD)
}

// Put adds a layer that is fed by the layers from, and is its number.
func (s *Sketch) Put(m net.Map, out net.Image, act net.Activation, sd float64, from ...int) int {
	l := posterior.Layer{Layer: net.Layer{Map: m, Activation: act, Sources: from}}
	l.Weight, l.Bias = s.params(m.Weights(), 0.7, sd), s.params(m.Biases(), 0.3, sd)
	s.Post.Layers, s.Img = append(s.Post.Layers, l), append(s.Img, out)
	return len(s.Post.Layers) - 1
}

func WindowOf(size, stride, pad int) net.Window {
	return net.Window{Size: [2]int{size, size}, Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Before: [2]int{pad, pad}, After: [2]int{pad, pad}}
}

func (s *Sketch) Conv(from, size, stride, pad, filters, groups int, act net.Activation, sd float64) int {
	c := net.Conv{In: s.at(from), Window: WindowOf(size, stride, pad), Filters: filters, Groups: groups, ChannelsFirst: s.Rng.IntN(4) == 0}
	return s.Put(c, c.Out(), act, sd, from)
}

// bn is a batch norm.
func (s *Sketch) bn(from int, act net.Activation, sd float64) int {
	return s.Conv(from, 1, 1, 0, s.at(from).Channels, s.at(from).Channels, act, sd)
}

func (s *Sketch) Pool(from, size, stride, pad int, act net.Activation) int {
	m := net.MaxPool{In: s.at(from), Window: WindowOf(size, stride, pad)}
	return s.Put(m, m.Out(), act, 0, from)
}

func (s *Sketch) average(from, size, stride, pad int, counted bool) int {
	a := net.AvgPool{In: s.at(from), Window: WindowOf(size, stride, pad), CountPadding: counted}
	return s.Put(a, a.Out(), net.Activation{}, 0, from)
}

func (s *Sketch) add(act net.Activation, from ...int) int {
	return s.Put(net.Add{N: s.at(from[0]).Len(), Terms: len(from)}, s.at(from[0]), act, 0, from...)
}

func (s *Sketch) join(act net.Activation, from ...int) int {
	out, c := s.at(from[0]), net.Concat{}
	c.Height, c.Width, out.Channels = out.Height, out.Width, 0
	for _, f := range from {
		c.Channels, out.Channels = append(c.Channels, s.at(f).Channels), out.Channels+s.at(f).Channels
	}
	return s.Put(c, out, act, 0, from...)
}

func (s *Sketch) reverse(from int) int {
	n := s.at(from).Len()
	r := net.Reorder{In: n}
	for i := range n {
		r.Order = append(r.Order, int32(n-1-i))
	}
	return s.Put(r, s.at(from), net.Activation{}, 0, from)
}

func (s *Sketch) Dense(from, out int, act net.Activation, sd float64) int {
	return s.Put(net.Dense{In: s.at(from).Len(), Out: out}, net.Image{Height: 1, Width: 1, Channels: out}, act, sd, from)
}

// at is the shape of what layer k gives.
func (s *Sketch) at(k int) net.Image { return s.Img[k] }

// Sketches are kinds of networks, of an image of 4 x 4.
var Sketches = map[string]func(s *Sketch, in int, act net.Activation){
	"conv and pool": func(s *Sketch, in int, act net.Activation) {
		s.Dense(s.Pool(s.Conv(in, 2, 1, s.Rng.IntN(2), 2, 1, net.Activation{}, s.Sd), 2, 2, 0, act), 2, net.Activation{}, s.Sd)
	},
	"overlapping pools": func(s *Sketch, in int, act net.Activation) {
		k := s.Conv(s.Conv(in, 2, 1, 0, 2, 1, act, s.Sd), 2, 1, 1, 2, 1, net.Activation{}, s.Sd)
		s.Dense(s.Pool(k, 3, 1, 1, act), 2, net.Activation{}, s.Sd)
	},
	"residual": func(s *Sketch, in int, act net.Activation) {
		a := s.Conv(in, 3, 1, 1, 2, 1, act, s.Sd)
		b := s.bn(s.Conv(a, 3, 1, 1, 2, 1, net.Activation{}, s.Sd), net.Activation{}, s.Sd*float64(s.Rng.IntN(2)))
		c := s.add(act, b, a)
		s.Dense(s.average(c, 2, 2, 0, true), 2, net.Activation{}, s.Sd)
	},
	"shortcut and pool of a sum": func(s *Sketch, in int, act net.Activation) {
		a := s.Conv(in, 2, 1, 0, 2, 1, act, s.Sd)
		b := s.add(net.Activation{}, s.Conv(a, 1, 1, 0, 2, 1, net.Activation{}, s.Sd), s.Conv(a, 3, 1, 1, 2, 1, net.Activation{}, s.Sd))
		s.Dense(s.Pool(b, 2, 1, 0, act), 2, net.Activation{}, s.Sd)
	},
	"concat": func(s *Sketch, in int, act net.Activation) {
		a := s.Conv(in, 2, 2, 0, 1, 1, net.Activation{}, s.Sd)
		b := s.Conv(in, 2, 2, 0, 2, 1, act, s.Sd)
		c := s.join(act, a, b)
		s.Dense(s.reverse(s.Conv(c, 1, 1, 0, 6, 3, act, s.Sd)), 2, net.Activation{}, s.Sd)
	},
	"averages without activations": func(s *Sketch, in int, _ net.Activation) {
		a := s.average(s.Conv(in, 2, 1, 0, 2, 1, net.Activation{}, s.Sd), 2, 1, 1, s.Rng.IntN(2) == 0)
		b := s.bn(a, net.Activation{}, 0)
		s.Dense(s.add(net.Activation{}, a, b), 2, net.Activation{}, s.Sd*float64(s.Rng.IntN(2)))
	},
	"pool of the input": func(s *Sketch, in int, act net.Activation) {
		a := s.Conv(s.Pool(s.reverse(in), 2, 1, 0, net.Activation{}), 2, 1, 0, 2, 1, net.Activation{}, s.Sd)
		b := s.Pool(a, 2, 1, 0, act)
		s.Dense(s.join(net.Activation{}, b, s.Pool(a, 2, 1, 0, net.Activation{Kind: net.ReLU})), 2, net.Activation{}, s.Sd)
	},
	"pool of a pool": func(s *Sketch, in int, act net.Activation) {
		a := s.Pool(s.Conv(in, 2, 1, 1, 2, 1, net.Activation{}, s.Sd), 2, 1, 0, net.Activation{})
		s.Dense(s.Pool(a, 2, 1, 0, act), 2, net.Activation{}, s.Sd)
	},
	"certain below": func(s *Sketch, in int, act net.Activation) {
		a := s.Pool(s.Conv(in, 2, 1, 0, 2, 1, net.Activation{}, 0), 2, 1, 0, act)
		s.Dense(s.Dense(a, 3, act, 0), 2, net.Activation{}, s.Sd)
	},
}

// Sketched is a random posterior of a kind. The network begins with a copy of its input, so
// that every layer has a source.
func Sketched(rng *rand.Rand, kind string, act net.Activation, sd float64) *posterior.Posterior {
	s := &Sketch{Rng: rng, Post: &posterior.Posterior{Scale: posterior.ScaleSD}, Sd: sd}
	image := net.Image{Height: 4, Width: 4, Channels: 1}
	order := make([]int32, image.Len())
	for i := range order {
		order[i] = int32(i)
	}
	s.Put(net.Reorder{In: len(order), Order: order}, image, net.Activation{}, 0, -1)
	Sketches[kind](s, 0, act)
	return s.Post
}

// Evaluated are the pre-activations of all layers, by definition and exactly but for curves and
// thirds.
func Evaluated(post *posterior.Posterior, weights [][]*big.Rat, x []*big.Rat) (pre [][]*big.Rat) {
	out := map[int][]*big.Rat{-1: x}
	for k := range post.Layers {
		l := &post.Layers[k]
		var z []*big.Rat
		for _, s := range post.Network().Feed(k) {
			z = append(z, out[s]...)
		}
		t := applied(l.Map, weights[2*k], weights[2*k+1], z)
		pre = append(pre, t)
		for _, v := range t {
			out[k] = append(out[k], ValueOf(l.Activation, v))
		}
	}
	return pre
}

func applied(m net.Map, w, b, z []*big.Rat) []*big.Rat {
	y := make([]*big.Rat, m.Outputs())
	for i := range y {
		y[i] = new(big.Rat)
	}
	plus := func(i int, a, b *big.Rat) { y[i].Add(y[i], new(big.Rat).Mul(a, b)) }
	one := big.NewRat(1, 1)
	switch m := m.(type) {
	case net.Dense:
		for i := range y {
			plus(i, b[i], one)
			for j := range z {
				plus(i, w[j*len(y)+i], z[j])
			}
		}
	case net.Conv:
		out, group := m.Out(), m.In.Channels/m.Groups
		for i := range y {
			o := i % m.Filters
			plus(i, b[o], one)
			windowed(m.In, m.Window, out, i/m.Filters, func(a, y, x int) {
				for c := range group {
					ch := o/(m.Filters/m.Groups)*group + c
					j := (y*m.In.Width+x)*m.In.Channels + ch
					if m.ChannelsFirst {
						j = (ch*m.In.Height+y)*m.In.Width + x
					}
					plus(i, w[(a*group+c)*m.Filters+o], z[j])
				}
			})
		}
	case net.AvgPool:
		for i := range y {
			n := 0
			windowed(m.In, m.Window, m.Out(), i/m.In.Channels, func(_, r, x int) {
				plus(i, z[(r*m.In.Width+x)*m.In.Channels+i%m.In.Channels], one)
				n++
			})
			if m.CountPadding {
				n = m.Window.Size[0] * m.Window.Size[1]
			}
			y[i].Quo(y[i], big.NewRat(int64(n), 1))
		}
	case net.MaxPool:
		for i := range y {
			y[i] = nil
			windowed(m.In, m.Window, m.Out(), i/m.In.Channels, func(_, r, x int) {
				if v := z[(r*m.In.Width+x)*m.In.Channels+i%m.In.Channels]; y[i] == nil || v.Cmp(y[i]) > 0 {
					y[i] = v
				}
			})
		}
	case net.Add:
		for i := range y {
			for t := range m.Terms {
				plus(i, z[t*m.N+i], one)
			}
		}
	case net.Concat:
		i := 0
		for at := range m.Height * m.Width {
			first := 0
			for _, n := range m.Channels {
				for c := range n {
					plus(i, z[first+at*n+c], one)
					i++
				}
				first += m.Height * m.Width * n
			}
		}
	case net.Reorder:
		for i, j := range m.Order {
			plus(i, z[j], one)
		}
	}
	return y
}

// windowed calls f for each place of the window at a position that lies in the image.
func windowed(in net.Image, w net.Window, out net.Image, position int, f func(tap, y, x int)) {
	for a := range w.Size[0] {
		for b := range w.Size[1] {
			y := position/out.Width*w.Stride[0] + a*w.Dilation[0] - w.Before[0]
			x := position%out.Width*w.Stride[1] + b*w.Dilation[1] - w.Before[1]
			if y >= 0 && y < in.Height && x >= 0 && x < in.Width {
				f(a*w.Size[1]+b, y, x)
			}
		}
	}
}

// Kinds are the sketches that a test goes through.
func Kinds(t *testing.T, cases int, f func(t *testing.T, rng *rand.Rand, kind string)) {
	for kind := range Sketches {
		t.Run(strings.ReplaceAll(kind, " ", "_"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(15, uint64(len(kind))))
			for range testscale.Cases(t, cases) {
				f(t, rng, kind)
			}
		})
	}
}

// BallOf is a box of the input.
func BallOf(rng *rand.Rand, n int, eps float64) (b property.Box) {
	for range n {
		x := math.Round(rng.NormFloat64()*32) / 32
		b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
	}
	return b
}

// DrawnIn is numbers of intervals, many of them at an end.
func DrawnIn(rng *rand.Rand, lo, hi []float64) (list []*big.Rat) {
	for j := range lo {
		list = append(list, Exactly(In(rng, lo[j], hi[j])))
	}
	return list
}
