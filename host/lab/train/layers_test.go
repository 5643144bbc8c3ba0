package train

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// TestGraphGradient compares the gradient of the whole objective with central differences, of
// networks with convolutions and pools, at fixed draws.
func TestGraphGradient(t *testing.T) {
	for _, task := range []Task{Regression, Classification} {
		for _, a := range []network.Activation{{Kind: network.Tanh}, {Kind: network.ReLU}} {
			for _, layers := range []string{"conv:2x2x2,pool:2/1,dense:3", "conv:3x2x3/2,average:2/1,conv:2x1x1", "dense:4"} {
				c := small()
				c.Activation, c.Layers, c.Image, c.PriorFanIn = a, layers, network.Image{Height: 5, Width: 5, Channels: 1}, true
				if strings.HasPrefix(layers, "dense") {
					c.Image = network.Image{}
				}
				checkGradient(t, c, random(task, 4, 25, 2))
			}
		}
	}
}

// TestGraphLoss: the mean loss over draws is that of networks drawn from the posterior, in which
// all positions of a convolution share their weights.
func TestGraphLoss(t *testing.T) {
	c := small()
	c.Layers, c.InitSD = "conv:1x1x1,average:4", 0.5
	data := random(Regression, 3, 16, 1)
	net, err := newNetwork(&c, 16, 1, rand.New(rand.NewPCG(5, 5)))
	if err != nil {
		t.Fatal(err)
	}
	post, err := net.posterior()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(6, 6))
	b := net.newBatch(3)
	b.load(data, []int{0, 1, 2})
	const draws = 40000
	sum, other, square := 0.0, 0.0, 0.0
	w := post.NewWeights()
	for i := range draws {
		b.drawNoise(rng)
		sum += b.forward() / draws
		post.Draw(1, i, w)
		one := 0.0
		for e := range 3 {
			d := post.Network().OutputsApprox(w, data.Point(e))[0] - data.Target[e]
			one += (d*d/(2*net.targetVariance) + math.Log(2*math.Pi*net.targetVariance)/2) / 3
		}
		other, square = other+one/draws, square+one*one/draws
	}
	if sd := math.Sqrt((square - other*other) / draws); math.Abs(sum-other) > 8*sd {
		t.Errorf("mean loss %v, of drawn networks %v with deviation %v", sum, other, sd)
	}
}

// TestGraphLearns: which side of an image is bright.
func TestGraphLearns(t *testing.T) {
	data := random(Classification, 200, 36, 2)
	for i := range data.Label {
		side := data.Point(i)
		for j := range side {
			if (j%6 < 3) == (data.Label[i] == 0) {
				side[j] += 1
			}
		}
	}
	c := small()
	c.Layers, c.Epochs, c.LearningRate, c.KLWeight = "conv:4x3x3,pool:2,dense:8", 20, 0.02, 0.01
	p, err := Run(t.Context(), data, c)
	if err != nil {
		t.Fatal(err)
	}
	if s := Evaluate(p, data, 1); s.Accuracy < 0.9 || p.Weights() != 40+16*8+8+18 || p.Network().Chain() {
		t.Errorf("accuracy %v, %d weights", s.Accuracy, p.Weights())
	}
}

// TestLayersRefused: words that are no layers, and layers that do not fit the data.
func TestLayersRefused(t *testing.T) {
	for words, want := range map[string]string{
		"conv":                                "has \"conv\"; give conv:",
		"conv:3":                              "give conv:",
		"conv:3x3x0":                          "give conv:",
		"conv:3x3x3/0":                        "give conv:",
		"pool:2":                              "not behind a convolution",
		"conv:2x2x2,average:2/x":              "give conv:",
		"conv:2x2x2,,":                        "give conv:",
		"dense:3/2":                           "give conv:",
		"dense:3,conv:2x2x2":                  "behind a dense layer",
		"conv:2x2x2,dense:3,flat":             "give conv:",
		"conv:2x7x2":                          "does not fit",
		"conv:2x2x2,pool:2,dense:99999999999": "give conv:",
		"dense:9999999":                       "more than 10000000 weights",
	} {
		c := small()
		c.Layers = words
		_, err := Run(t.Context(), random(Classification, 4, 36, 2), c)
		if err == nil || !strings.Contains(err.Error(), "Layers "+want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", words, want, err)
		}
	}
	c := small()
	c.Layers = "conv:2x2x2"
	if _, err := Run(t.Context(), random(Classification, 4, 35, 2), c); err == nil || !strings.Contains(err.Error(), "Image is 5x5x1, but the data have 35") {
		t.Errorf("35 numbers: %v", err)
	}
}
