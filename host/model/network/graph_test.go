package network_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

var (
	relu  = network.Activation{Kind: network.ReLU}
	leaky = network.Activation{Kind: network.LeakyReLU, Slope: 0.25}
	tanh  = network.Activation{Kind: network.Tanh}
)

// point is random, in multiples of 1/16.
func point(r *rand.Rand, n int) ([]float64, []*big.Rat) {
	x, exact := make([]float64, n), make([]*big.Rat, n)
	for j := range x {
		x[j] = float64(r.IntN(65)-32) / 16
		exact[j] = networktest.Rat(x[j])
	}
	return x, exact
}

// TestGraphs: passes and exact arithmetic compute what the definitions say.
func TestGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	kinds := map[string]int{}
	cases := testscale.Cases(t, 2000)
	for range cases {
		n := networktest.Random(r, relu, leaky)
		for _, l := range n {
			kinds[fmt.Sprintf("%T", l.Map)]++
		}
		weights := networktest.Weights(r, n)
		x, exact := point(r, n.Inputs())
		want := networktest.Rational(n, weights, exact)
		got := n.OutputsApprox(weights, x)
		if len(got) != len(want) || len(want) != n.Outputs() {
			t.Fatalf("%d and %d outputs of %d", len(got), len(want), n.Outputs())
		}
		from := make([]network.Enclosure, len(x))
		for j, v := range x {
			from[j] = network.MakeEnclosure(v)
		}
		enclosed := n.Enclose(weights, from)
		for i, y := range got {
			v, _ := want[i].Float64()
			if !(math.Abs(y-v) <= 1e-9*(1+math.Abs(v))) {
				t.Fatalf("output %d is %v, not %v, of %v", i, y, v, n)
			}
			lo, _ := enclosed[i].Lo.Rat(nil)
			hi, _ := enclosed[i].Hi.Rat(nil)
			width, _ := new(big.Rat).Sub(hi, lo).Float64()
			if lo.Cmp(want[i]) > 0 || hi.Cmp(want[i]) < 0 || !(width <= 1e-9*(1+math.Abs(v))) {
				t.Fatalf("output %d is %v, enclosed in %v to %v, of %v", i, want[i], enclosed[i].Lo, enclosed[i].Hi, n)
			}
		}
	}
	if cases >= 100 && len(kinds) != 7 {
		t.Errorf("not every kind of map was met: %v", kinds)
	}
}

// TestGraphEnclosesBoxes: of inputs that are known to lie somewhere, whatever they are.
func TestGraphEnclosesBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 2))
	for range testscale.Cases(t, 1000) {
		n := networktest.Random(r, relu, leaky)
		weights := networktest.Weights(r, n)
		lo, a := point(r, n.Inputs())
		from := make([]network.Enclosure, len(lo))
		for j, v := range lo {
			width := float64(r.IntN(3)) / 16
			from[j] = network.Enclosure{Lo: network.MakeEnclosure(v).Lo, Hi: network.MakeEnclosure(v + width).Hi}
			a[j].Add(a[j], networktest.Rat(width*float64(r.IntN(5))/4))
		}
		for i, y := range networktest.Rational(n, weights, a) {
			e := n.Enclose(weights, from)[i]
			least, _ := e.Lo.Rat(nil)
			most, _ := e.Hi.Rat(nil)
			if least.Cmp(y) > 0 || most.Cmp(y) < 0 {
				t.Fatalf("output %d is %v, enclosed in %v to %v, of %v", i, y, e.Lo, e.Hi, n)
			}
		}
	}
}

// TestPlaces: Into, From, Lowered and the definitions name the same places of weights.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 3))
	for range testscale.Cases(t, 1000) {
		for _, l := range networktest.Random(r, relu) {
			m, linear := l.Map.(network.Linear)
			if !linear {
				continue
			}
			type place struct{ j, i, w int }
			seen := map[place]int{}
			count := func(j, i, w, by int) {
				if w < 0 || w >= m.Weights() || j < 0 || j >= m.Inputs() || i < 0 || i >= m.Outputs() {
					t.Fatalf("%+v: weight %d from %d to %d is not there", m, w, j, i)
				}
				seen[place{j, i, w}] += by
			}
			for i := range m.Outputs() {
				once := map[int]bool{}
				for j, w := range m.Into(i) {
					if once[w] {
						t.Fatalf("%+v: weight %d twice into output %d", m, w, i)
					}
					once[w] = true
					count(j, i, w, 1)
				}
			}
			for j := range m.Inputs() {
				for i, w := range m.From(j) {
					count(j, i, w, 10)
				}
			}
			low := m.Lowered()
			for p := range low.Positions {
				for k := range low.Taps {
					for o := range low.Channels {
						if j, w := low.Input(p, k), low.Param(k, o); j >= 0 && w >= 0 {
							count(j, p*low.Channels+o, w, 100)
						}
					}
				}
			}
			z, exact := point(r, m.Inputs())
			weight, bias := networktest.Weights(r, network.Network{l})[0], make([]float64, m.Biases())
			for b := range bias {
				bias[b] = float64(b + 1)
			}
			sum := make([]float64, m.Outputs())
			for i := range sum {
				sum[i] = bias[m.BiasOf(i)]
			}
			for p, n := range seen {
				if n != 111 {
					t.Fatalf("%+v: place %v is named %d times", m, p, n)
				}
				sum[p.i] += weight[p.w] * z[p.j]
			}
			for i, want := range networktest.Map(m, weight, bias, exact) {
				if v, _ := want.Float64(); sum[i] != v { // no rounding with such numbers
					t.Fatalf("%+v: output %d is %v by its places, not %v", m, i, sum[i], v)
				}
			}
		}
	}
}

// TestFixedLowered: the coefficients of maps without weights are those of the definitions, and
// all are not negative.
func TestFixedLowered(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 4))
	for range testscale.Cases(t, 1000) {
		for _, l := range networktest.Random(r, relu) {
			m, fixed := l.Map.(network.Fixed)
			if !fixed {
				continue
			}
			_, exact := point(r, m.Inputs())
			low := m.Lowered()
			if _, linear := l.Map.(network.Linear); linear || low.Channels != 1 || low.Positions != m.Outputs() || m.Weights() != 0 || m.Biases() != 0 {
				t.Fatalf("%+v: %d channels, %d positions", m, low.Channels, low.Positions)
			}
			for i, want := range networktest.Map(m, nil, nil, exact) {
				lo, hi := new(big.Rat), new(big.Rat)
				for k := range low.Taps {
					j := low.Input(i, k)
					if j < 0 {
						continue
					}
					least, most := networktest.Rat(low.CoefficientLo[k]), networktest.Rat(low.CoefficientHi[k])
					if least.Sign() < 0 || most.Cmp(least) < 0 {
						t.Fatalf("%+v: coefficient from %v to %v", m, least, most)
					}
					if exact[j].Sign() < 0 {
						least, most = most, least
					}
					lo.Add(lo, least.Mul(least, exact[j]))
					hi.Add(hi, most.Mul(most, exact[j]))
				}
				width, _ := new(big.Rat).Sub(hi, lo).Float64()
				if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 || width > 1e-12 {
					t.Fatalf("%+v: output %d is %v, not from %v to %v", m, i, want, lo, hi)
				}
			}
		}
	}
}

// TestMembers: those of a max pool are what Map takes the greatest of.
func TestMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 5))
	met, cases := 0, testscale.Cases(t, 2000)
	for range cases {
		for _, l := range networktest.Random(r, relu) {
			m, pool := l.Map.(network.MaxPool)
			if !pool {
				continue
			}
			met++
			_, exact := point(r, m.Inputs())
			members := m.Members()
			size := len(members) / m.Outputs()
			for i, want := range networktest.Map(m, nil, nil, exact) {
				var most *big.Rat
				for _, j := range members[i*size : (i+1)*size] {
					if j >= 0 && (most == nil || exact[j].Cmp(most) > 0) {
						most = exact[j]
					}
				}
				if most == nil || most.Cmp(want) != 0 {
					t.Fatalf("%+v: output %d is %v, not %v", m, i, most, want)
				}
			}
		}
	}
	if cases >= 100 && met == 0 {
		t.Error("no max pool")
	}
}

// TestGraphGradients compares Back and AddParameterGradient with differences.
func TestGraphGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 6))
	for range testscale.Cases(t, 300) {
		n := networktest.Random(r, tanh, leaky)
		weights := networktest.Weights(r, n)
		for _, list := range weights { // so that no maximum and no kink is met exactly
			for i := range list {
				list[i] = 0.5*list[i] + 0.01*r.NormFloat64()
			}
		}
		x, _ := point(r, n.Inputs())
		for j := range x {
			x[j] += 0.01 * r.NormFloat64()
		}
		c := make([]float64, n.Outputs())
		for i := range c {
			c[i] = r.NormFloat64()
		}
		value := func() float64 {
			sum := 0.0
			for i, y := range n.OutputsApprox(weights, x) {
				sum += c[i] * y
			}
			return sum
		}
		p := n.NewPass(weights)
		p.Forward(x)
		p.Back(c) // and once more, as nothing of the first may stay
		grad := p.Back(c)
		compare := func(what string, at *float64, got float64) {
			const h = 1e-6
			v := *at
			middle := value()
			*at = v + h
			up := value()
			*at = v - h
			down := value()
			*at = v
			kink := math.Abs(up+down-2*middle) > 1e-7*(1+math.Abs(middle))
			if want := (up - down) / (2 * h); !kink && !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
				t.Fatalf("gradient of %s is %v, differences give %v, of %v", what, got, want, n)
			}
		}
		for j := range x {
			compare(fmt.Sprintf("input %d", j), &x[j], grad[j])
		}
		for k, l := range n {
			dw, db := make([]float64, l.Weights()), make([]float64, l.Biases())
			p.AddParameterGradient(k, dw, db)
			for w := range dw {
				compare(fmt.Sprintf("layer %d weight %d", k, w), &weights[2*k][w], dw[w])
			}
			for b := range db {
				compare(fmt.Sprintf("layer %d bias %d", k, b), &weights[2*k+1][b], db[b])
			}
		}
	}
}

// TestGraphRounding: logits computed from an input that is a little off, in weights that are
// rounded to float32, are as far off as RoundingApprox says, about.
func TestGraphRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 7))
	for range testscale.Cases(t, 300) {
		n := networktest.Random(r, tanh, relu)
		weights := networktest.Weights(r, n)
		x, _ := point(r, n.Inputs())
		off, dx := make([]float64, len(x)), make([]float64, len(x))
		for j := range x {
			dx[j] = 1e-6
			off[j] = x[j] + dx[j]*(2*r.Float64()-1)
		}
		p := n.NewPass(weights)
		y := append([]float64(nil), p.Forward(x)...)
		e := p.RoundingApprox(network.Rounding{}, dx)
		for i, v := range n.OutputsApprox(weights, off) {
			if !(math.Abs(v-y[i]) <= 6*e[i]+1e-12) {
				t.Fatalf("logit %d is off by %v, the estimate is %v, of %v", i, v-y[i], e[i], n)
			}
		}
	}
}

// TestWork counts the terms of a small network by hand.
func TestWork(t *testing.T) {
	image := network.Image{Height: 4, Width: 4, Channels: 1}
	n := network.Network{
		{Map: network.Conv{In: image, Window: window(3, 1), Filters: 2, Groups: 1}},                       // 2 x 2 x 2, of 9 terms and a bias each
		{Map: network.MaxPool{In: network.Image{Height: 2, Width: 2, Channels: 2}, Window: window(2, 1)}}, // 2 of 4
		network.DenseLayer(2, 3, network.Activation{}),                                                    // 3 of 2 and a bias
	}
	if got := n.Work(); n.Check() != nil || got != 8*10+2*4+3*3 {
		t.Errorf("%d terms, %v", got, n.Check())
	}
}

func window(size, stride int) network.Window {
	return network.Window{Size: [2]int{size, size}, Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}}
}

// TestMapsRefused: shapes that cannot be.
func TestMapsRefused(t *testing.T) {
	image := network.Image{Height: 4, Width: 4, Channels: 2}
	padding := func(w network.Window, before, after int) network.Window {
		w.Before, w.After = [2]int{before, before}, [2]int{after, after}
		return w
	}
	dilated := window(2, 1)
	dilated.Dilation = [2]int{2, 1}
	for name, c := range map[string]struct {
		m    network.Map
		want string
	}{
		"no image":            {network.Conv{Window: window(1, 1), Filters: 1, Groups: 1}, "is empty"},
		"huge image":          {network.Conv{In: network.Image{Height: 1 << 12, Width: 1 << 12, Channels: 2}, Window: window(1, 1), Filters: 1, Groups: 1}, "more than 2^24"},
		"no window":           {network.Conv{In: image, Filters: 1, Groups: 1}, "must be at least 1"},
		"no stride":           {network.Conv{In: image, Window: window(2, 0), Filters: 1, Groups: 1}, "must be at least 1"},
		"negative padding":    {network.Conv{In: image, Window: padding(window(2, 1), -1, 0), Filters: 1, Groups: 1}, "at least 0"},
		"large window":        {network.Conv{In: image, Window: window(5, 1), Filters: 1, Groups: 1}, "does not fit"},
		"huge padding":        {network.Conv{In: image, Window: padding(window(2, 1), 1<<21, 0), Filters: 1, Groups: 1}, "more than 2^20"},
		"no groups":           {network.Conv{In: image, Window: window(2, 1), Filters: 2}, "by 0 groups"},
		"groups of channels":  {network.Conv{In: image, Window: window(2, 1), Filters: 3, Groups: 3}, "by 3 groups"},
		"groups of filters":   {network.Conv{In: image, Window: window(2, 1), Filters: 3, Groups: 2}, "by 2 groups"},
		"no filters":          {network.Conv{In: image, Window: window(2, 1), Groups: 1}, "0 filters"},
		"average of nothing":  {network.AvgPool{In: image, Window: padding(window(2, 1), 2, 0)}, "in the padding"},
		"maximum of nothing":  {network.MaxPool{In: image, Window: padding(window(2, 1), 0, 2)}, "in the padding"},
		"dilated and padded":  {network.MaxPool{In: image, Window: padding(dilated, 1, 1)}, "in the padding"},
		"large pool":          {network.MaxPool{In: image, Window: window(5, 1)}, "does not fit"},
		"sum of one":          {network.Add{N: 3, Terms: 1}, "a sum of 1"},
		"sum of nothing":      {network.Add{Terms: 2}, "a sum of 2 lists of 0"},
		"huge sum":            {network.Add{N: 1 << 24, Terms: 2}, "too large"},
		"one image":           {network.Concat{Height: 2, Width: 2, Channels: []int{3}}, "it takes two"},
		"image of no numbers": {network.Concat{Height: 2, Width: 2, Channels: []int{3, 0}}, "is empty"},
		"empty order":         {network.Reorder{In: 3}, "is empty"},
		"number 3 of 3":       {network.Reorder{In: 3, Order: []int32{3}}, "number 3 of 3"},
		"number -1":           {network.Reorder{In: 3, Order: []int32{-1}}, "number -1 of 3"},
	} {
		if err := c.m.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %v", name, c.want, err)
		}
	}
}

// TestGraphsRefused: networks that cannot be.
func TestGraphsRefused(t *testing.T) {
	dense := func(in, out int, a network.Activation, sources ...int) network.Layer {
		l := network.DenseLayer(in, out, a)
		l.Sources = sources
		return l
	}
	none := network.Activation{}
	pool := func(sources ...int) network.Layer {
		return network.Layer{Map: network.MaxPool{In: network.Image{Height: 2, Width: 1, Channels: 1}, Window: network.Window{Size: [2]int{2, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}, Sources: sources}
	}
	for want, n := range map[string]network.Network{
		"layer 0 is fed by []: it takes":                     {{Map: network.Dense{In: 2, Out: 2}, Sources: []int{}}},
		"layer 0 is fed by [0]":                              {dense(2, 2, none, 0)},
		"layer 1 is fed by layer 1":                          {dense(2, 2, relu), dense(2, 2, none, 1)},
		"layer 1 is fed by layer -2":                         {dense(2, 2, relu), dense(2, 2, none, -2)},
		"layer 1 is fed twice by layer 0":                    {dense(2, 2, relu), dense(4, 2, none, 0, 0)},
		"layer 1 takes 3 inputs but layers [0 -1]":           {dense(2, 2, relu), dense(3, 2, none, 0, -1)},
		"nothing uses the outputs of layer 0":                {dense(2, 2, relu), dense(2, 2, none, -1)},
		"layer 1, a max pool, comes after the activation":    {dense(2, 2, relu), pool(), dense(1, 1, none)},
		"layer 1, a max pool, is fed by [-1]: it must be":    {dense(2, 2, none), pool(-1), dense(3, 1, none, 0, 1)},
		"layer 2, a max pool, is fed by [0 1]: it must":      {dense(2, 1, none), dense(2, 1, none, -1), pool(0, 1), dense(1, 1, none)},
		"last layer is a network.MaxPool: it must be dense":  {dense(2, 2, none), pool()},
		"last layer has activation relu: the property speak": {dense(2, 2, none), pool(), dense(1, 1, relu)},
	} {
		if err := n.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
		if n.Chain() && !strings.Contains(want, "has activation") {
			t.Errorf("%s: a chain", want)
		}
	}
	good := network.Network{dense(2, 2, none), pool(), dense(3, 1, none, 1, -1)}
	if err := good.Check(); err != nil || good.Chain() {
		t.Errorf("%v, %v", err, good.Chain())
	}
	chain := network.Network{dense(2, 2, relu, -1), dense(2, 1, none)}
	if err := chain.Check(); err != nil || !chain.Chain() {
		t.Errorf("%v, %v", err, chain.Chain())
	}
}
