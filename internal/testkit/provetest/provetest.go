// Package provetest has networks and tasks for tests of host/prove and its rooms. Only tests import
// it.
package provetest

import (
	"math"
	"math/rand/v2"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/networktest"
	"slices"
)

// RandomNet is a network of the given sizes with one kind of hidden activation,
// and its weights as an attack takes them.
func RandomNet(r *rand.Rand, kind network.Kind, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	gaussian := func(n int, size float64) posterior.Params {
		g := posterior.Params{Mean: make([]float64, n), Spread: make([]float64, n), SdLo: make([]float64, n), SdHi: make([]float64, n)}
		for j := range g.Mean {
			g.Mean[j] = size * r.NormFloat64()
		}
		return g
	}
	for k := 1; k < len(sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], network.Activation{})}
		if k+1 < len(sizes) {
			l.Activation.Kind = kind
			if kind == network.LeakyReLU {
				l.Activation.Slope = 0.1
			}
		}
		l.Weight, l.Bias = gaussian(l.Inputs()*l.Outputs(), 1.5/math.Sqrt(float64(l.Inputs()))), gaussian(l.Outputs(), 0.3)
		post.Layers = append(post.Layers, l)
	}
	return post
}

// Noisy is a ReLU network of the given sizes whose weights have standard deviations of up to sd. If some
// are certain, each list of weights is, one time in five.
func Noisy(r *rand.Rand, sd float64, some bool, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	params := func(n int, size float64) posterior.Params {
		mean, spread := make([]float64, n), make([]float64, n)
		certain := some && r.IntN(5) == 0
		for i := range mean {
			mean[i] = size * r.NormFloat64()
			if !certain {
				spread[i] = sd * r.Float64()
			}
		}
		return posterior.NewParams(mean, spread, posterior.ScaleSD)
	}
	for k := 1; k < len(sizes); k++ {
		a := network.Activation{Kind: network.ReLU}
		if k == len(sizes)-1 {
			a = network.Activation{}
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], a),
			Weight: params(sizes[k-1]*sizes[k], 1), Bias: params(sizes[k], 0.5)})
	}
	return post
}

func BoxAround(x []float64, radius float64) property.Box {
	b := property.Box{Lo: slices.Clone(x), Hi: slices.Clone(x)}
	for j := range x {
		b.Lo[j] -= radius
		b.Hi[j] += radius
	}
	return b
}

// Fixed is a list of weights without deviations.
func Fixed(mean ...float64) posterior.Params {
	return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
}

// AtLeast is the task y_0 >= a on boxes of one input.
func AtLeast(a float64, ends ...float64) property.Task {
	task := property.Task{S: property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: -a, DHi: -a}}, Any: [][]int{{0}}}}
	for i := 0; i < len(ends); i += 2 {
		task.T = append(task.T, property.Box{Lo: ends[i : i+1], Hi: ends[i+1 : i+2]})
	}
	task.Inner = task.T
	return task
}

// Deep is a posterior of so many layers of 6 neurons on 3 inputs, and tasks of which some are
// shown at once, some when T is cut and some never.
func Deep(layers int, sd float64, tasks int) (*posterior.Posterior, []property.Task) {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	at := 0
	params := func(n int, size float64) posterior.Params {
		p := posterior.Params{Mean: make([]float64, n), Spread: make([]float64, n), SdLo: make([]float64, n), SdHi: make([]float64, n)}
		for i := range n {
			at++
			p.Mean[i], p.Spread[i], p.SdLo[i], p.SdHi[i] = size*math.Sin(float64(at*at)), sd, sd, sd
		}
		return p
	}
	in := 3
	for k := range layers {
		act := network.Activation{Kind: network.ReLU}
		if k == layers-1 {
			act.Kind = network.Identity
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(in, 6, act), Weight: params(in*6, 0.7), Bias: params(6, 0.1)})
		in = 6
	}
	sets := func(c int) property.Safe { return property.ArgmaxIs(c, 6) }
	var list []property.Task
	for i := range tasks {
		x := []float64{math.Sin(float64(i)), math.Cos(float64(3 * i)), math.Sin(float64(7*i + 1))}
		y := post.LogitsApprox(x)
		label := slices.Index(y, slices.Max(y))
		box := property.Box{}
		for _, v := range x {
			box.Lo, box.Hi = append(box.Lo, v-0.02*float64(i%4)), append(box.Hi, v+0.02*float64(i%4))
		}
		list = append(list, property.Task{Index: i, Label: label, T: []property.Box{box}, Inner: []property.Box{box}, S: sets(label)})
	}
	return post, list
}

// Forked is 1.5 x - forks times small x, as the sum of what so many layers make of x and x
// itself; behind it are layers of these activations, and the last layer.
func Forked(forks int, small float64, behind ...network.Activation) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	add := func(weight []float64, act network.Activation, sources ...int) {
		l := network.DenseLayer(len(weight), 1, act)
		l.Sources = sources
		post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: Fixed(weight...), Bias: Fixed(0)})
	}
	add([]float64{1}, network.Activation{}, -1)
	from, weight := []int{0}, []float64{1.5}
	for i := range forks {
		add([]float64{-small}, network.Activation{}, 0)
		from, weight = append(from, i+1), append(weight, 1)
	}
	for _, a := range behind {
		add(weight, a, from...)
		from, weight = []int{len(post.Layers) - 1}, []float64{1}
	}
	add(weight, network.Activation{}, from...)
	return post
}

// Graph is a random network of every kind of map with normal weights.
func Graph(r *rand.Rand, acts ...network.Activation) *posterior.Posterior {
	n := networktest.Random(r, acts...)
	weights := networktest.Weights(r, n)
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k, l := range n {
		params := func(mean []float64) posterior.Params {
			sd := make([]float64, len(mean))
			for i := range sd {
				sd[i] = float64(r.IntN(9)) / 32
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		p.Layers = append(p.Layers, posterior.Layer{Layer: l, Weight: params(weights[2*k]), Bias: params(weights[2*k+1])})
	}
	if err := p.Validate(); err != nil {
		panic(err)
	}
	return p
}
