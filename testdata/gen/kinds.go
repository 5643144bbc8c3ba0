package main

import (
	"math/rand/v2"
	"path/filepath"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Three posteriors that are not independent normal weights, over one 2-8-3 ReLU
// network that says which of three directions in the plane, 120 degrees apart, an
// input points to. All numbers are whole multiples of 1/4096.

// hiddenUnits are 64 times the eight directions of the compass, classDirections 64
// times those of the classes, all rounded.
var (
	hiddenUnits     = [8][2]int{{64, 0}, {45, 45}, {0, 64}, {-45, 45}, {-64, 0}, {-45, -45}, {0, -64}, {45, -45}}
	classDirections = [3][2]int{{0, 64}, {-55, -32}, {55, -32}}
)

// sampleCounts are the counts of the samples; the last wildSamples of them are
// far from the others, so that properties hold for some samples and fail for some.
var sampleCounts = []int64{5, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}

const wildSamples = 3

// compass is the network: layers with means.
func compass() []posterior.Layer {
	layers := []posterior.Layer{
		{Layer: network.DenseLayer(2, 8, network.Activation{Kind: network.ReLU})},
		{Layer: network.DenseLayer(8, 3, network.Activation{})},
	}
	for k := range layers {
		l := &layers[k]
		l.Weight.Mean, l.Bias.Mean = make([]float64, l.Inputs()*l.Outputs()), make([]float64, l.Outputs())
	}
	for j, d := range hiddenUnits {
		for i, x := range d {
			layers[0].Weight.Mean[i*8+j] = float64(x) / 64
		}
		for c, e := range classDirections {
			layers[1].Weight.Mean[j*3+c] = float64(d[0]*e[0]+d[1]*e[1]) / 4096
		}
	}
	return layers
}

// arraysOf gives the means in the order of posterior.Draw.
func arraysOf(layers []posterior.Layer) [][]float64 {
	var list [][]float64
	for _, l := range layers {
		list = append(list, l.Weight.Mean, l.Bias.Mean)
	}
	return list
}

// noise is a whole number from -most to most, over 64.
func noise(rng *rand.Rand, most int) float64 {
	return float64(rng.IntN(2*most+1)-most) / 64
}

func writeKinds(dir string) error {
	rng := rand.New(rand.NewPCG(20240301, 0))
	layers := compass()
	samples := &posterior.Finite{Counts: sampleCounts, Stack: make([][]float64, 4)}
	var spread, deviation [][]float64
	for a, mean := range arraysOf(layers) {
		for i := range sampleCounts {
			most := 6
			if i >= len(sampleCounts)-wildSamples {
				most = 60
			}
			for _, m := range mean {
				samples.Stack[a] = append(samples.Stack[a], m+noise(rng, most))
			}
		}
		sd, columns := make([]float64, len(mean)), make([]float64, 3*len(mean))
		for e := range sd {
			sd[e] = float64(rng.IntN(5)) / 64
		}
		for e := range columns {
			columns[e] = noise(rng, 5)
		}
		spread, deviation = append(spread, sd), append(deviation, columns)
	}
	finite, err := posterior.FromFinite(layers, samples)
	if err != nil {
		return err
	}
	swag, err := posterior.FromSWAG(layers, posterior.ScaleSD, spread, 3, deviation)
	if err != nil {
		return err
	}
	dropout, err := posterior.FromDropout(layers, []float64{0, 0.2})
	if err != nil {
		return err
	}
	// A last layer that varies in two directions, by what all classes have in common, and a little each.
	rng = rand.New(rand.NewPCG(20261126, 0))
	covariance := &posterior.Covariance{Rank: 4, Factor: make([]float64, 27*4)}
	for e := range 27 {
		row := covariance.Factor[e*4 : (e+1)*4]
		row[0], row[1], row[2], row[3] = noise(rng, 3), noise(rng, 3), 0.25, noise(rng, 1)
	}
	correlated, err := posterior.FromCovariances(layers, []*posterior.Covariance{nil, covariance})
	if err != nil {
		return err
	}
	for name, p := range map[string]*posterior.Posterior{"samples": finite, "swag": swag, "dropout": dropout, "correlated": correlated} {
		p.Source.Note = "go run ./testdata/gen"
		if err := writeNPZ(filepath.Join(dir, name+"-2-8-3.npz"), p); err != nil {
			return err
		}
	}
	return nil
}
