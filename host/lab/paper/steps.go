package paper

import (
	"fmt"
	"slices"
	"strings"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/host/tell/plot"
)

const (
	// stepsGamma is the half-width of the weight box in standard deviations.
	stepsGamma = 2
	// stepsNetworks is how many networks of the weight box are drawn, with
	// stepsSeed, each at stepsPoints inputs.
	stepsNetworks = 16
	stepsSeed     = 1
	stepsPoints   = 81
)

// Steps takes T = [0, 2] and a weight box through a network of two hidden neurons,
// by intervals and by linear bounds, as in the paper's figure 2. What is drawn is
// what the operations of dev wrote. The first neuron may be on or off; the output
// is about the difference of both, which rise with x: intervals take the one at its
// greatest and the other at its least, as if both had an x of their own.
func Steps(dev bound.Device) (*plot.Steps, error) {
	return steps(dev, stepsPosterior(), 0, 2)
}

// stepsPosterior is y = 1.2 relu(x - 0.8) - 0.6 relu(0.8 x + 0.4) + 0.2 on average.
func stepsPosterior() *posterior.Posterior {
	gaussian := func(mean ...float64) posterior.Params {
		return posterior.NewParams(mean, slices.Repeat([]float64{0.05}, len(mean)), posterior.ScaleSD)
	}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(1, 2, network.Activation{Kind: network.ReLU}), Weight: gaussian(1, 0.8), Bias: gaussian(-0.8, 0.4)},
		{Layer: network.DenseLayer(2, 1, network.Activation{}), Weight: gaussian(1.2, -0.6), Bias: gaussian(0.2)},
	}}
}

// steps propagates T = [lo, hi] through a network of one input, one hidden layer
// and one output.
func steps(dev bound.Device, post *posterior.Posterior, lo, hi float64) (*plot.Steps, error) {
	r := &recorder{Device: dev}
	if _, err := r.propagate(post, lo, hi); err != nil {
		return nil, err
	}
	s := &plot.Steps{T: [2]float64{lo, hi}, Gamma: fmt.Sprint(stepsGamma), Networks: stepsNetworks}
	for i := range post.Layers[0].Outputs() {
		s.Hidden = append(s.Hidden, plot.StepsNeuron{
			Formula: affineWords(post.Layers[0], i, "x"),
			Pre:     r.ends("affine", "preLo", "preHi", i), Z: r.ends("activate", "zLo", "zHi", i),
			Lower: r.relaxed("aLo", "bLo", i), Upper: r.relaxed("aHi", "bHi", i),
		})
	}
	// Row 0 bounds y and row 1 bounds -y, both from below.
	ibp, lbp := r.margin()
	s.Output = plot.StepsOutput{
		Formula: affineWords(post.Layers[1], 0, "z"),
		IBP:     [2]float64{ibp[0], -ibp[1]}, LBP: [2]float64{lbp[0], -lbp[1]},
		Lower: r.row(0), Negated: r.row(1),
	}
	return s, r.drawApprox(post, s)
}

// propagate runs LBP, which runs IBP too, on y and -y.
func (r *recorder) propagate(post *posterior.Posterior, lo, hi float64) (*bound.Margins, error) {
	m, err := bound.NewModel(r, post, stepsGamma)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	boxes, err := m.Draw(stepsBox())
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	inputs, err := m.UploadInputs([]property.Box{{Lo: []float64{lo}, Hi: []float64{hi}}})
	if err != nil {
		return nil, err
	}
	defer m.ReleaseInputs(inputs)
	one, minus := []float64{1}, []float64{-1}
	set, err := m.UploadRows([][]property.Row{{{CLo: one, CHi: one}, {CLo: minus, CHi: minus}}})
	if err != nil {
		return nil, err
	}
	defer m.ReleaseRows(set)
	return m.Propagate(bound.Query{Propagation: bound.LBP, Boxes: boxes, Inputs: inputs, Rows: set, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}})
}

// stepsBox is one weight box around the mean.
func stepsBox() bound.BoxSpec {
	return bound.BoxSpec{Gamma: [][]float64{{stepsGamma}, {stepsGamma}}}
}

// drawApprox evaluates networks of the posterior that lie in the weight box, those
// of a sequence of draws that do.
func (r *recorder) drawApprox(post *posterior.Posterior, s *plot.Steps) error {
	for k := range stepsPoints {
		t := float64(k) / (stepsPoints - 1)
		s.XApprox = append(s.XApprox, s.T[0]*(1-t)+s.T[1]*t)
	}
	for i := 0; len(s.Output.YApprox) < stepsNetworks; i++ {
		if i == 1000*stepsNetworks {
			return fmt.Errorf("%d of %d drawn networks lie in the weight box: %d are wanted", len(s.Output.YApprox), i, stepsNetworks)
		}
		w := post.NewWeights()
		post.Draw(stepsSeed, i, w)
		if r.holds(w) {
			addApprox(s, w)
		}
	}
	return nil
}

// holds reports whether a weight vector is in the weight box.
func (r *recorder) holds(w [][]float64) bool {
	for a, list := range w {
		for i, v := range list {
			if box := r.wrote["drawbox"][a]; v < box["lo"][i] || v > box["hi"][i] {
				return false
			}
		}
	}
	return true
}

// addApprox evaluates one network, in ordinary float64.
func addApprox(s *plot.Steps, w [][]float64) {
	y := make([]float64, len(s.XApprox))
	for k := range y {
		y[k] = w[3][0]
	}
	for i := range s.Hidden {
		pre := make([]float64, len(y))
		for k, x := range s.XApprox {
			pre[k] = w[0][i]*x + w[1][i]
			y[k] += w[2][i] * max(pre[k], 0)
		}
		s.Hidden[i].PreApprox = append(s.Hidden[i].PreApprox, pre)
	}
	s.Output.YApprox = append(s.Output.YApprox, y)
}

// affineWords writes neuron i of a layer with the half-widths of the weight box:
// (1 ± 0.1) x - 0.8 ± 0.1. Several inputs are numbered.
func affineWords(l posterior.Layer, i int, input string) string {
	half := func(sd float64) string { return fmt.Sprintf("± %.3g", stepsGamma*sd) }
	var b strings.Builder
	for j, e := range l.Dense().Into(i) {
		mean := l.Weight.Mean[e]
		switch {
		case j > 0 && mean < 0:
			b.WriteString(" − ")
			mean = -mean
		case j > 0:
			b.WriteString(" + ")
		}
		fmt.Fprintf(&b, "(%.3g %s) %s", mean, half(l.Weight.SdHi[e]), input)
		if l.Inputs() > 1 {
			fmt.Fprintf(&b, "%d", j+1)
		}
	}
	sign, mean := "+", l.Bias.Mean[i]
	if mean < 0 {
		sign, mean = "−", -mean
	}
	fmt.Fprintf(&b, " %s (%.3g %s)", sign, mean, half(l.Bias.SdHi[i]))
	return b.String()
}
