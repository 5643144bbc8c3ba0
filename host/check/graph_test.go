package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// Networks that are graphs, and what they compute, by definition and exactly.

// sketch puts a small random network together.
type sketch struct {
	rng  *rand.Rand
	post *posterior.Posterior
	img  []net.Image
	sd   float64
}

func (s *sketch) number(size float64) float64 { return math.Round(s.rng.NormFloat64()*size*64) / 64 }

// params are n parameters of few bits; one in six has no spread.
func (s *sketch) params(n int, size, sd float64) posterior.Params {
	mean, dev := make([]float64, n), make([]float64, n)
	for j := range mean {
		if mean[j] = s.number(size); s.rng.IntN(6) > 0 {
			dev[j] = sd * math.Round(1+7*s.rng.Float64()) / 8
		}
	}
	return posterior.NewParams(mean, dev, posterior.ScaleSD)
}

// put adds a layer that is fed by the layers from, and is its number.
func (s *sketch) put(m net.Map, out net.Image, act net.Activation, sd float64, from ...int) int {
	l := posterior.Layer{Layer: net.Layer{Map: m, Activation: act, Sources: from}}
	l.Weight, l.Bias = s.params(m.Weights(), 0.7, sd), s.params(m.Biases(), 0.3, sd)
	s.post.Layers, s.img = append(s.post.Layers, l), append(s.img, out)
	return len(s.post.Layers) - 1
}

func windowOf(size, stride, pad int) net.Window {
	return net.Window{Size: [2]int{size, size}, Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Before: [2]int{pad, pad}, After: [2]int{pad, pad}}
}

func (s *sketch) conv(from, size, stride, pad, filters, groups int, act net.Activation, sd float64) int {
	c := net.Conv{In: s.at(from), Window: windowOf(size, stride, pad), Filters: filters, Groups: groups, ChannelsFirst: s.rng.IntN(4) == 0}
	return s.put(c, c.Out(), act, sd, from)
}

// bn is a batch norm.
func (s *sketch) bn(from int, act net.Activation, sd float64) int {
	return s.conv(from, 1, 1, 0, s.at(from).Channels, s.at(from).Channels, act, sd)
}

func (s *sketch) pool(from, size, stride, pad int, act net.Activation) int {
	m := net.MaxPool{In: s.at(from), Window: windowOf(size, stride, pad)}
	return s.put(m, m.Out(), act, 0, from)
}

func (s *sketch) average(from, size, stride, pad int, counted bool) int {
	a := net.AvgPool{In: s.at(from), Window: windowOf(size, stride, pad), CountPadding: counted}
	return s.put(a, a.Out(), net.Activation{}, 0, from)
}

func (s *sketch) add(act net.Activation, from ...int) int {
	return s.put(net.Add{N: s.at(from[0]).Len(), Terms: len(from)}, s.at(from[0]), act, 0, from...)
}

func (s *sketch) join(act net.Activation, from ...int) int {
	out, c := s.at(from[0]), net.Concat{}
	c.Height, c.Width, out.Channels = out.Height, out.Width, 0
	for _, f := range from {
		c.Channels, out.Channels = append(c.Channels, s.at(f).Channels), out.Channels+s.at(f).Channels
	}
	return s.put(c, out, act, 0, from...)
}

func (s *sketch) reverse(from int) int {
	n := s.at(from).Len()
	r := net.Reorder{In: n}
	for i := range n {
		r.Order = append(r.Order, int32(n-1-i))
	}
	return s.put(r, s.at(from), net.Activation{}, 0, from)
}

func (s *sketch) dense(from, out int, act net.Activation, sd float64) int {
	return s.put(net.Dense{In: s.at(from).Len(), Out: out}, net.Image{Height: 1, Width: 1, Channels: out}, act, sd, from)
}

// at is the shape of what layer k gives.
func (s *sketch) at(k int) net.Image { return s.img[k] }

// sketches are kinds of networks, of an image of 4 x 4.
var sketches = map[string]func(s *sketch, in int, act net.Activation){
	"conv and pool": func(s *sketch, in int, act net.Activation) {
		s.dense(s.pool(s.conv(in, 2, 1, s.rng.IntN(2), 2, 1, net.Activation{}, s.sd), 2, 2, 0, act), 2, net.Activation{}, s.sd)
	},
	"overlapping pools": func(s *sketch, in int, act net.Activation) {
		k := s.conv(s.conv(in, 2, 1, 0, 2, 1, act, s.sd), 2, 1, 1, 2, 1, net.Activation{}, s.sd)
		s.dense(s.pool(k, 3, 1, 1, act), 2, net.Activation{}, s.sd)
	},
	"residual": func(s *sketch, in int, act net.Activation) {
		a := s.conv(in, 3, 1, 1, 2, 1, act, s.sd)
		b := s.bn(s.conv(a, 3, 1, 1, 2, 1, net.Activation{}, s.sd), net.Activation{}, s.sd*float64(s.rng.IntN(2)))
		c := s.add(act, b, a)
		s.dense(s.average(c, 2, 2, 0, true), 2, net.Activation{}, s.sd)
	},
	"shortcut and pool of a sum": func(s *sketch, in int, act net.Activation) {
		a := s.conv(in, 2, 1, 0, 2, 1, act, s.sd)
		b := s.add(net.Activation{}, s.conv(a, 1, 1, 0, 2, 1, net.Activation{}, s.sd), s.conv(a, 3, 1, 1, 2, 1, net.Activation{}, s.sd))
		s.dense(s.pool(b, 2, 1, 0, act), 2, net.Activation{}, s.sd)
	},
	"concat": func(s *sketch, in int, act net.Activation) {
		a := s.conv(in, 2, 2, 0, 1, 1, net.Activation{}, s.sd)
		b := s.conv(in, 2, 2, 0, 2, 1, act, s.sd)
		c := s.join(act, a, b)
		s.dense(s.reverse(s.conv(c, 1, 1, 0, 6, 3, act, s.sd)), 2, net.Activation{}, s.sd)
	},
	"averages without activations": func(s *sketch, in int, _ net.Activation) {
		a := s.average(s.conv(in, 2, 1, 0, 2, 1, net.Activation{}, s.sd), 2, 1, 1, s.rng.IntN(2) == 0)
		b := s.bn(a, net.Activation{}, 0)
		s.dense(s.add(net.Activation{}, a, b), 2, net.Activation{}, s.sd*float64(s.rng.IntN(2)))
	},
	"pool of the input": func(s *sketch, in int, act net.Activation) {
		a := s.conv(s.pool(s.reverse(in), 2, 1, 0, net.Activation{}), 2, 1, 0, 2, 1, net.Activation{}, s.sd)
		b := s.pool(a, 2, 1, 0, act)
		s.dense(s.join(net.Activation{}, b, s.pool(a, 2, 1, 0, net.Activation{Kind: net.ReLU})), 2, net.Activation{}, s.sd)
	},
	"pool of a pool": func(s *sketch, in int, act net.Activation) {
		a := s.pool(s.conv(in, 2, 1, 1, 2, 1, net.Activation{}, s.sd), 2, 1, 0, net.Activation{})
		s.dense(s.pool(a, 2, 1, 0, act), 2, net.Activation{}, s.sd)
	},
	"certain below": func(s *sketch, in int, act net.Activation) {
		a := s.pool(s.conv(in, 2, 1, 0, 2, 1, net.Activation{}, 0), 2, 1, 0, act)
		s.dense(s.dense(a, 3, act, 0), 2, net.Activation{}, s.sd)
	},
}

// sketched is a random posterior of a kind. The network begins with a copy of its input, so
// that every layer has a source.
func sketched(rng *rand.Rand, kind string, act net.Activation, sd float64) *posterior.Posterior {
	s := &sketch{rng: rng, post: &posterior.Posterior{Scale: posterior.ScaleSD}, sd: sd}
	image := net.Image{Height: 4, Width: 4, Channels: 1}
	order := make([]int32, image.Len())
	for i := range order {
		order[i] = int32(i)
	}
	s.put(net.Reorder{In: len(order), Order: order}, image, net.Activation{}, 0, -1)
	sketches[kind](s, 0, act)
	return s.post
}

// evaluated are the pre-activations of all layers, by definition and exactly but for curves and
// thirds.
func evaluated(post *posterior.Posterior, weights [][]*big.Rat, x []*big.Rat) (pre [][]*big.Rat) {
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
			out[k] = append(out[k], valueOf(l.Activation, v))
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
				plus(i, w[j*m.Out+i], z[j])
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

// kinds are the sketches that a test goes through.
func kinds(t *testing.T, cases int, f func(t *testing.T, rng *rand.Rand, kind string)) {
	for kind := range sketches {
		t.Run(strings.ReplaceAll(kind, " ", "_"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(15, uint64(len(kind))))
			for range testscale.Cases(t, cases) {
				f(t, rng, kind)
			}
		})
	}
}

// ballOf is a box of the input.
func ballOf(rng *rand.Rand, n int, eps float64) (b property.Box) {
	for range n {
		x := math.Round(rng.NormFloat64()*32) / 32
		b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
	}
	return b
}

// drawnIn is numbers of intervals, many of them at an end.
func drawnIn(rng *rand.Rand, lo, hi []float64) (list []*big.Rat) {
	for j := range lo {
		list = append(list, exactly(in(rng, lo[j], hi[j])))
	}
	return list
}

// TestGraphBoxes draws networks and inputs inside of the boxes: nothing of any layer may be out of
// its bounds, no maximum above its line, and no row below its bound.
func TestGraphBoxes(t *testing.T) {
	kinds(t, 60/testscale.By(t, 2), func(t *testing.T, rng *rand.Rand, kind string) {
		act := activations[1+rng.IntN(2)]
		post := sketched(rng, kind, act, 1.0/16)
		x := ballOf(rng, 16, []float64{0, 1.0 / 64, 0.25}[rng.IntN(3)])
		f := formats["float64"]
		gamma := make([]float64, len(post.Layers))
		for k := range gamma {
			gamma[k] = []float64{0, 0.5, 2}[rng.IntN(3)]
		}
		b, err := boxOf(post, &f, gamma, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.network(post)
		if err != nil {
			t.Fatal(err)
		}
		rows := property.ArgmaxIs(0, 2).Rows
		for _, by := range []struct {
			lines bool
			try   uint64
		}{{false, 0}, {true, 0}, {true, 1}} {
			n.lines, n.by.try = by.lines, by.try
			lo, dead := n.rowsLo(x, rows)
			n.by.drawn = 0
			p := n.newPass(span{x.Lo, x.Hi})
			for k := range len(n.layers) - 1 {
				p.hiddenLayer(k)
			}
			for range 12 {
				var w [][]*big.Rat
				for a := range b.lo {
					w = append(w, drawnIn(rng, b.lo[a], b.hi[a]))
				}
				pre := evaluated(post, w, drawnIn(rng, x.Lo, x.Hi))
				for k := range p.hidden {
					p.holds(t, k, pre, dead[k])
				}
				last := pre[len(pre)-1]
				for r := range rows {
					v := exactly(rows[r].D)
					for i, y := range last {
						v.Add(v, new(big.Rat).Mul(exactly(rows[r].CLo[i]), y))
					}
					if math.IsNaN(lo[r]) || !math.IsInf(lo[r], 0) && exactly(lo[r]).Cmp(v) > 0 {
						t.Fatalf("%+v gamma %v: row %d is %v, its bound %v", by, gamma, r, v.FloatString(12), lo[r])
					}
				}
			}
		}
	})
}

// holds checks that what is known of layer k is true of these pre-activations.
func (p *pass) holds(t *testing.T, k int, pre [][]*big.Rat, dead []bool) {
	t.Helper()
	h := &p.hidden[k]
	for i, v := range pre[k] {
		if !p.graph.used[k][i] {
			continue
		}
		if lo, hi := h.pre.lo[i], h.pre.hi[i]; !(lo <= hi) || lo > -arith.Inf && exactly(lo).Cmp(v) > 0 || hi < arith.Inf && exactly(hi).Cmp(v) < 0 {
			t.Fatalf("layer %d: neuron %d is %v, its bounds %v and %v", k, i, v.FloatString(12), lo, hi)
		}
		if dead[i] && v.Sign() > 0 {
			t.Fatalf("layer %d: neuron %d is positive and called dead", k, i)
		}
		if h.pool == nil || math.IsInf(h.pool.above[i], 0) {
			continue
		}
		star := pre[p.graph.from[k][0]][h.pool.star[i]]
		line := new(big.Rat).Mul(exactly(h.pool.slope[i]), star)
		if line.Add(line, exactly(h.pool.above[i])).Cmp(v) < 0 || star.Cmp(v) > 0 {
			t.Fatalf("layer %d: maximum %d is %v, its star %v, its line %v", k, i, v.FloatString(12), star.FloatString(12), line.FloatString(12))
		}
		if line.Cmp(exactly(h.arg.lo[i])) < 0 || line.Cmp(exactly(h.arg.hi[i])) > 0 {
			t.Fatalf("layer %d: the line of maximum %d is %v, outside of its range from %v to %v", k, i, line.FloatString(12), h.arg.lo[i], h.arg.hi[i])
		}
	}
}
