package checktest

import (
	"math"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
)

// DrawnNetwork is a draw of the posterior as a network of the checker's.
func DrawnNetwork(post *posterior.Posterior, seed int, w [][]float64) (pre func(x []float64) [][]float64) {
	post.Draw(17, seed, w)
	return func(x []float64) [][]float64 { return floatsAt(post, w, x) }
}

// floatsAt are the pre-activations of all layers at x, in float64 and by definition.
func floatsAt(post *posterior.Posterior, w [][]float64, x []float64) (pre [][]float64) {
	out := map[int][]float64{-1: x}
	for k := range post.Layers {
		l := &post.Layers[k]
		var z []float64
		for _, s := range post.Network().Feed(k) {
			z = append(z, out[s]...)
		}
		pre = append(pre, appliedFloat(l.Map, w[2*k], w[2*k+1], z))
		for _, t := range pre[k] {
			out[k] = append(out[k], l.Activation.Approx(t))
		}
	}
	return pre
}

// appliedFloat is applied, faster, but for the maps without weights as the readers lower them.
func appliedFloat(m net.Map, w, b, z []float64) []float64 {
	y := make([]float64, m.Outputs())
	switch m := m.(type) {
	case net.Dense:
		for i := range y {
			y[i] = b[i]
			for j, v := range z {
				y[i] += w[j*len(y)+i] * v
			}
		}
	case net.Conv:
		group := m.In.Channels / m.Groups
		for i := range y {
			o := i % m.Filters
			y[i] = b[o]
			windowed(m.In, m.Window, m.Out(), i/m.Filters, func(a, r, x int) {
				for c := range group {
					ch := o/(m.Filters/m.Groups)*group + c
					j := (r*m.In.Width+x)*m.In.Channels + ch
					if m.ChannelsFirst {
						j = (ch*m.In.Height+r)*m.In.Width + x
					}
					y[i] += w[(a*group+c)*m.Filters+o] * z[j]
				}
			})
		}
	case net.MaxPool:
		members := m.Members()
		size := len(members) / len(y)
		for i := range y {
			y[i] = -arith.Inf
			for _, j := range members[i*size : (i+1)*size] {
				if j >= 0 {
					y[i] = max(y[i], z[j])
				}
			}
		}
	case interface{ Lowered() *net.Lowered }:
		low := m.Lowered()
		for i := range y {
			for k := range low.Taps {
				if j := low.Input(i, k); j >= 0 {
					y[i] += low.CoefficientLo[k] * z[j]
				}
			}
		}
	}
	return y
}

// Allows returns how many of n draws may do what has probability p, but for very bad luck.
func Allows(p float64, n int) int {
	mean := p * float64(n)
	return int(mean + 6*math.Sqrt(mean) + 6)
}
