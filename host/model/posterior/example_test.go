package posterior_test

import (
	"fmt"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// line is y = w x + b with w ~ N(1, 0.1^2) and b ~ N(0, 0.2^2).
func line() *posterior.Posterior {
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{
		Layer:  network.DenseLayer(1, 1, network.Activation{}),
		Weight: posterior.NewParams([]float64{1}, []float64{0.1}, posterior.ScaleSD),
		Bias:   posterior.NewParams([]float64{0}, []float64{0.2}, posterior.ScaleSD),
	}}}
}

// A posterior can be made in memory; Validate says what is wrong with it.
func ExamplePosterior_Validate() {
	p := line()
	fmt.Println(p.Validate(), p.Weights(), p.Describe())
	p.Layers[0].Bias.SdHi[0] = -1
	fmt.Println(p.Validate())
	// Output:
	// <nil> 2 independent normal weights
	// layer 0 bias: standard deviation[0] is -1 (stored 0.2): it must be finite and not negative
}

// Networks are drawn by number, so that a draw can be made again.
func ExamplePosterior_Draw() {
	p := line()
	w := p.NewWeights()
	for i := range 2 {
		p.Draw(7, i, w)
		fmt.Printf("network %d: y = %.3f x %+.3f\n", i, w[0][0], w[1][0])
	}
	// Output:
	// network 0: y = 1.163 x -0.115
	// network 1: y = 1.065 x +0.518
}

// The bounds of a standard deviation enclose what the stored number stands for.
func ExampleScale_SD() {
	lo, hi := posterior.ScaleVariance.SD(2)
	fmt.Println(lo, hi, lo*lo <= 2 && hi*hi >= 2)
	// Output: 1.414213562373095 1.4142135623730951 true
}
