package network

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDensePlaces: Into and From name the same places, each once, and the products over
// them are those of Forward.
func TestDensePlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, d := range []Dense{{1, 1}, {3, 5}, {7, 2}} {
		weight, z := numbers(r, d.Weights()), numbers(r, d.In)
		type place struct{ j, i, w int }
		seen := map[place]int{}
		for i := range d.Out {
			for j, w := range d.Into(i) {
				seen[place{j, i, w}]++
			}
		}
		for j := range d.In {
			for i, w := range d.From(j) {
				seen[place{j, i, w}] += 10
			}
		}
		if len(seen) != d.Weights() {
			t.Errorf("%v has %d places, want %d", d, len(seen), d.Weights())
		}
		sums, used := make([]float64, d.Out), make([]int, d.Weights())
		for p, n := range seen {
			if n != 11 {
				t.Errorf("%v: place %v is not named once by both", d, p)
			}
			used[p.w]++
			sums[p.i] += weight[p.w] * z[p.j]
		}
		for w, n := range used {
			if n != 1 {
				t.Errorf("%v: weight %d is in %d places", d, w, n)
			}
		}
		net := Network{DenseLayer(d.In, d.Out, Activation{})}
		for i, y := range net.OutputsApprox([][]float64{weight, make([]float64, d.Biases())}, z) {
			if math.Abs(y-sums[i]) > 1e-12 {
				t.Errorf("%v: output %d is %v, the places give %v", d, i, y, sums[i])
			}
		}
	}
}

func numbers(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

// TestPassGradient compares Back with differences, for every activation.
func TestPassGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, a := range someActivations() {
		net := Network{DenseLayer(4, 6, a), DenseLayer(6, 5, a), DenseLayer(5, 3, Activation{})}
		var weights [][]float64
		for _, l := range net {
			weights = append(weights, numbers(r, l.Weights()), numbers(r, l.Biases()))
		}
		x, c := numbers(r, 4), numbers(r, 3)
		value := func(x []float64) float64 {
			sum := 0.0
			for i, y := range net.OutputsApprox(weights, x) {
				sum += c[i] * y
			}
			return sum
		}
		p := net.NewPass(weights)
		p.Forward(x)
		for j, g := range p.Back(c) {
			const h = 1e-6
			up, down := append([]float64(nil), x...), append([]float64(nil), x...)
			up[j], down[j] = up[j]+h, down[j]-h
			if want := (value(up) - value(down)) / (2 * h); math.Abs(g-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%v: gradient %d is %v, differences give %v", a, j, g, want)
			}
		}
	}
}

// TestCheck: networks that cannot be, and what is said of them.
func TestCheck(t *testing.T) {
	relu := Activation{Kind: ReLU}
	for want, net := range map[string]Network{
		"no layers":                   nil,
		"layer 0 has no map":          {{}},
		"shape 0 x 2 is empty":        {DenseLayer(0, 2, Activation{})},
		"shapes do not chain":         {DenseLayer(2, 3, relu), DenseLayer(2, 1, Activation{})},
		"last layer has activation":   {DenseLayer(2, 3, relu)},
		"it must be relu, leaky_relu": {DenseLayer(2, 3, Activation{Kind: 99}), DenseLayer(3, 1, Activation{})},
		"slope must be between":       {DenseLayer(2, 3, Activation{Kind: LeakyReLU, Slope: 1}), DenseLayer(3, 1, Activation{})},
	} {
		if err := net.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if err := (Network{DenseLayer(2, 3, relu), DenseLayer(3, 1, Activation{})}).Check(); err != nil {
		t.Error(err)
	}
}

// TestWords: what String writes, ParseActivation reads, and Words lists it.
func TestWords(t *testing.T) {
	for _, a := range someActivations() {
		if b, err := ParseActivation(a.String()); err != nil || b != a {
			t.Errorf("%v reads as %v, %v", a, b, err)
		}
	}
	for _, word := range []string{"", "ReLU", "relu:0.1", "leaky_relu", "leaky_relu:", "leaky_relu:1", "leaky_relu:x", "activation(3)"} {
		if a, err := ParseActivation(word); err == nil {
			t.Errorf("%q reads as %v", word, a)
		}
	}
	if got, want := Words(), "relu, leaky_relu:SLOPE, tanh, sigmoid, softplus, elu:SLOPE, identity"; got != want {
		t.Errorf("Words() = %q, want %q", got, want)
	}
}
