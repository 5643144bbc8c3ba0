package sumtest

import (
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// RandomNoisy is a posterior of random normal weights of the given deviation.
func RandomNoisy(rng *rand.Rand, act network.Activation, sd float64, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := range len(sizes) - 1 {
		in, out := sizes[k], sizes[k+1]
		a := act
		if k == len(sizes)-2 {
			a = network.Activation{}
		}
		draw := func(n int, scale float64) posterior.Params {
			mean, dev := make([]float64, n), make([]float64, n)
			for j := range mean {
				mean[j], dev[j] = scale*rng.NormFloat64(), sd*scale*(0.5+rng.Float64())
				if rng.IntN(20) == 0 {
					dev[j] = 0
				}
			}
			return posterior.NewParams(mean, dev, posterior.ScaleSD)
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, a),
			Weight: draw(in*out, 1/math.Sqrt(float64(in))), Bias: draw(out, 0.3)})
	}
	return post
}

// DrawnUnsafe draws networks, or functions of networks that are linearised, and counts those that break S at a point of a grid over T, and
// those that do so at one point.
func DrawnUnsafe(post *posterior.Posterior, task *property.Task, at []float64, draws int) (somewhere, here float64) {
	w := post.NewWeights()
	pass := post.Network().NewPass(w)
	points := gridOf(task)
	forward := pass.Forward
	unsafe := func(x []float64) bool { return Unsafe(forward(x), &task.S, 0) }
	for i := range draws {
		if post.About() != nil {
			forward = post.DrawLinearised(11, i)
		} else {
			post.Draw(11, i, w)
		}
		if slices.ContainsFunc(points, unsafe) {
			somewhere++
		}
		if unsafe(at) {
			here++
		}
	}
	return somewhere / float64(draws), here / float64(draws)
}

// AnyShallow is a posterior with one hidden layer, of which some weights are constants, some
// have large standard deviations, and some are known up to intervals.
func AnyShallow(rng *rand.Rand, act network.Activation, in, hidden, out int) *posterior.Posterior {
	params := func(n int, scale float64) (g posterior.Params) {
		spread := math.Exp2(float64(rng.IntN(8) - 6))
		constant, wide := rng.IntN(4) == 0, rng.IntN(3) == 0
		for range n {
			sd := scale * spread * rng.Float64()
			if constant || rng.IntN(6) == 0 {
				sd = 0
			}
			hi := sd
			if wide {
				hi = up(sd)
			}
			g.Mean, g.Spread = append(g.Mean, scale*(2*rng.Float64()-1)), append(g.Spread, sd)
			g.SdLo, g.SdHi = append(g.SdLo, sd), append(g.SdHi, hi)
		}
		return g
	}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(in, hidden, act), Weight: params(in*hidden, 1.5), Bias: params(hidden, 0.7)},
		{Layer: network.DenseLayer(hidden, out, network.Activation{}), Weight: params(hidden*out, 1), Bias: params(out, 0.5)},
	}}
}

// AnyCell is a box of coordinates that are points, as wide as a decimal, or wider.
func AnyCell(rng *rand.Rand, in int) (b property.Box) {
	width := math.Exp2(float64(-rng.IntN(8)))
	for range in {
		x, r := 2*rng.Float64()-1, width*rng.Float64()
		lo, hi := x-r, x+r
		switch rng.IntN(4) {
		case 0:
			lo, hi = x, x
		case 1:
			lo, hi = x, up(x)
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

// AnySafe is a conjunction, a disjunction or both, that holds for the mean network, about.
func AnySafe(rng *rand.Rand, post *posterior.Posterior, x []float64) (s property.Safe) {
	y := post.LogitsApprox(x)
	for range 1 + rng.IntN(3) {
		var r property.Row
		value := 0.0
		for c := range y {
			k := float64(rng.IntN(3) - 1)
			if rng.IntN(3) == 0 {
				k = rng.Float64()
			}
			hi := k
			if k != math.Trunc(k) {
				hi = up(k)
			}
			value += k * y[c]
			r.CLo, r.CHi = append(r.CLo, k), append(r.CHi, hi)
		}
		r.D = 3*rng.Float64() - 0.2 - value
		if r.DHi = r.D; rng.IntN(2) == 0 {
			r.DHi = up(r.D)
		}
		s.Rows = append(s.Rows, r)
	}
	last := len(s.Rows) - 1
	switch rng.IntN(3) {
	case 0:
		s.Any = [][]int{nil}
		for r := range s.Rows {
			s.Any[0] = append(s.Any[0], r)
		}
	case 1:
		for r := range s.Rows {
			s.Any = append(s.Any, []int{r})
		}
	default:
		s.Any = [][]int{{0}, {last, 0}}
	}
	return s
}
