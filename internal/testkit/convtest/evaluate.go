package convtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Path is a network with weights: a second implementation of every kind of map, in plain
// loops over images, for comparison by simulation.
type Path struct {
	Layers []posterior.Layer
	// Weights has the weights and the biases of each layer, in turn.
	Weights [][]float64
	// pre and out are what At returned last.
	pre, out [][]float64
	in       []float64
}

// NewPath is the mean network.
func NewPath(post *posterior.Posterior) *Path {
	p := &Path{Layers: post.Layers, pre: make([][]float64, len(post.Layers)), out: make([][]float64, len(post.Layers))}
	for _, l := range post.Layers {
		p.Weights = append(p.Weights, append([]float64(nil), l.Weight.Mean...), append([]float64(nil), l.Bias.Mean...))
	}
	return p
}

// Draw draws all weights.
func (p *Path) Draw(r *rand.Rand) { p.each(func(sd float64) float64 { return sd * r.NormFloat64() }) }

// InBox puts each weight at an end of its interval of half-width gamma standard deviations, or
// anywhere in it.
func (p *Path) InBox(r *rand.Rand, gamma float64) {
	ends := r.Float64()
	p.each(func(sd float64) float64 {
		if r.Float64() < ends {
			return sd * gamma * float64(2*r.IntN(2)-1)
		}
		return sd * gamma * (2*r.Float64() - 1)
	})
}

func (p *Path) each(deviation func(sd float64) float64) {
	for k := range p.Layers {
		for a, g := range []*posterior.Params{&p.Layers[k].Weight, &p.Layers[k].Bias} {
			for e, mean := range g.Mean {
				p.Weights[2*k+a][e] = mean
				if sd := g.SdHi[e]; sd > 0 {
					p.Weights[2*k+a][e] += deviation(sd)
				}
			}
		}
	}
}

// At evaluates every layer at x: before its activation and after it. What it returned before is
// overwritten.
func (p *Path) At(x []float64) (pre, out [][]float64) {
	for k := range p.Layers {
		l := &p.Layers[k]
		p.in = p.in[:0]
		for _, s := range sources(p.Layers, k) {
			if s < 0 {
				p.in = append(p.in, x...)
			} else {
				p.in = append(p.in, p.out[s]...)
			}
		}
		p.pre[k] = apply(l.Map, p.pre[k][:0], p.Weights[2*k], p.Weights[2*k+1], p.in)
		p.out[k] = p.out[k][:0]
		for _, t := range p.pre[k] {
			p.out[k] = append(p.out[k], l.Activation.Approx(t))
		}
	}
	return p.pre, p.out
}

// Logits are the outputs of the last layer at x.
func (p *Path) Logits(x []float64) []float64 {
	_, out := p.At(x)
	return out[len(out)-1]
}

// Input returns what feeds layer k, after At(x).
func (p *Path) Input(k int, x []float64) []float64 {
	var z []float64
	for _, s := range sources(p.Layers, k) {
		if s < 0 {
			z = append(z, x...)
		} else {
			z = append(z, p.out[s]...)
		}
	}
	return z
}

// sources returns what feeds layer k.
func sources(layers []posterior.Layer, k int) []int {
	if s := layers[k].Sources; s != nil {
		return s
	}
	return []int{k - 1}
}

// apply appends a map's outputs to y.
func apply(m network.Map, y, weight, bias, z []float64) []float64 {
	switch m := m.(type) {
	case network.Dense:
		y = append(y, bias...)
		for _, x := range z {
			for i := range y {
				y[i] += x * weight[i]
			}
			weight = weight[m.Out:]
		}
	case network.Conv:
		return convolve(&m, y, weight, bias, z)
	case network.MaxPool:
		return pool(m.In, m.Out(), &m.Window, y, z, func(members []float64) float64 {
			most := math.Inf(-1)
			for _, v := range members {
				most = max(most, v)
			}
			return most
		})
	case network.AvgPool:
		return pool(m.In, m.Out(), &m.Window, y, z, func(members []float64) float64 {
			sum, n := 0.0, len(members)
			for _, v := range members {
				sum += v
			}
			if m.CountPadding {
				n = m.Window.Size[0] * m.Window.Size[1]
			}
			return sum / float64(n)
		})
	case network.Add:
		for i := range m.N {
			v := 0.0
			for t := range m.Terms {
				v += z[t*m.N+i]
			}
			y = append(y, v)
		}
	case network.Concat:
		for at := range m.Height * m.Width {
			first := 0
			for _, n := range m.Channels {
				y = append(y, z[first+at*n:first+(at+1)*n]...)
				first += n * m.Height * m.Width
			}
		}
	case network.Reorder:
		for _, j := range m.Order {
			y = append(y, z[j])
		}
	default:
		panic(fmt.Sprintf("convtest: nobody evaluates a %T", m))
	}
	return y
}

// convolve is cross-correlation, in the order in which it is written down.
func convolve(c *network.Conv, y, weight, bias, z []float64) []float64 {
	out, w := c.Out(), &c.Window
	each, filters := c.In.Channels/c.Groups, c.Filters/c.Groups
	for row := range out.Height {
		for col := range out.Width {
			for o := range c.Filters {
				v := bias[o]
				for a := range w.Size[0] {
					for b := range w.Size[1] {
						r, q := row*w.Stride[0]+a*w.Dilation[0]-w.Before[0], col*w.Stride[1]+b*w.Dilation[1]-w.Before[1]
						if r < 0 || r >= c.In.Height || q < 0 || q >= c.In.Width {
							continue
						}
						for ch := range each {
							from := o/filters*each + ch
							at := (r*c.In.Width+q)*c.In.Channels + from
							if c.ChannelsFirst {
								at = (from*c.In.Height+r)*c.In.Width + q
							}
							v += z[at] * weight[((a*w.Size[1]+b)*each+ch)*c.Filters+o]
						}
					}
				}
				y = append(y, v)
			}
		}
	}
	return y
}

func pool(in, out network.Image, w *network.Window, y, z []float64, of func([]float64) float64) []float64 {
	members := make([]float64, 0, 16)
	for row := range out.Height {
		for col := range out.Width {
			for ch := range in.Channels {
				members = members[:0]
				for a := range w.Size[0] {
					for b := range w.Size[1] {
						r, q := row*w.Stride[0]+a*w.Dilation[0]-w.Before[0], col*w.Stride[1]+b*w.Dilation[1]-w.Before[1]
						if r >= 0 && r < in.Height && q >= 0 && q < in.Width {
							members = append(members, z[(r*in.Width+q)*in.Channels+ch])
						}
					}
				}
				y = append(y, of(members))
			}
		}
	}
	return y
}
