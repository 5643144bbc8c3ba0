package posterior

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// correlated is a 2-1-2 network whose last layer has the covariance.
func correlated(c *Covariance) (*Posterior, error) {
	layers := []Layer{{Layer: network.DenseLayer(2, 1, network.Activation{Kind: network.ReLU})}, {Layer: network.DenseLayer(1, 2, network.Activation{})}}
	layers[0].Weight.Mean, layers[0].Bias.Mean = []float64{1, 2}, []float64{3}
	layers[1].Weight.Mean, layers[1].Bias.Mean = []float64{4, 5}, []float64{6, 7}
	return FromCovariances(layers, []*Covariance{nil, c})
}

// TestDrawCorrelated: draws have the covariance that the file states, by definition: that of Factor z, of Factor z with a z for
// each row, or of QG (E o Sd) QA', entries being those of [W b] row by row.
func TestDrawCorrelated(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 9))
	numbers := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = r.NormFloat64()
		}
		return list
	}
	kron := &Covariance{QG: numbers(4), Sd: []float64{0.5, 2, 1, 0}, QA: numbers(4)}
	for _, c := range []*Covariance{{Rank: 3, Factor: numbers(12)}, kron, {Rank: 2, Factor: numbers(8), Apart: true}} {
		p, err := correlated(c)
		if err != nil {
			t.Fatal(err)
		}
		// columns[z] is what number z adds to the entries W00 b0 W10 b1.
		var columns [][]float64
		for z := range 4 {
			column := make([]float64, 4)
			for e := range 4 {
				switch o, j, i, k := e/2, e%2, z/2, z%2; {
				case c.Apart && o == i:
					column[e] = c.Factor[e*2+k]
				case c.Apart:
				case !c.Full():
					column[e] = c.QG[o*2+i] * c.Sd[i*2+k] * c.QA[j*2+k]
				case z < c.Rank:
					column[e] = c.Factor[e*c.Rank+z]
				}
			}
			columns = append(columns, column)
		}
		// Parameters in the order of draws: layer 0's three, weights 0 and 1, biases 0 and 1.
		entry := []int{-1, -1, -1, 0, 2, 1, 3}
		want := func(a, b int) float64 {
			sum := 0.0
			for _, column := range columns {
				if entry[a] >= 0 && entry[b] >= 0 {
					sum += column[entry[a]] * column[entry[b]]
				}
			}
			return sum
		}
		covariance(t, draws(p, 5, 3000), []float64{1, 2, 3, 4, 5, 6, 7}, want)
		for a, list := range p.SDApprox() {
			for i, sd := range list {
				at := []int{0, 2, 3, 5}[a] + i
				if math.Abs(sd*sd-want(at, at)) > 1e-12 {
					t.Errorf("%v: standard deviation %v, want %v", c, sd, math.Sqrt(want(at, at)))
				}
			}
		}
	}
}

// TestDrawConvolution: of a convolution entries are those of one matrix of filters and taps, (row, column,
// channel), which is at all positions.
func TestDrawConvolution(t *testing.T) {
	conv := network.Conv{In: network.Image{Height: 2, Width: 1, Channels: 1}, Window: network.Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Filters: 2, Groups: 1}
	c := &Covariance{QG: []float64{1, 2, 0, 1}, Sd: []float64{1, 0, 3, 1}, QA: []float64{1, 1, 0.5, 1}}
	layers := []Layer{{Layer: network.Layer{Map: conv}}, {Layer: network.DenseLayer(4, 1, network.Activation{})}}
	layers[0].Weight.Mean, layers[0].Bias.Mean = []float64{4, 5}, []float64{6, 7}
	layers[1].Weight.Mean, layers[1].Bias.Mean = make([]float64, 4), []float64{0}
	p, err := FromCovariances(layers, []*Covariance{c, nil})
	if err != nil || p.RequireRows() != nil || p.OnTop() == nil {
		t.Fatal(err, p.RequireRows(), p.OnTop())
	}
	// Parameters in the order of draws: weights of both filters, then biases, and what is certain.
	entry := []int{0, 2, 1, 3}
	want := func(a, b int) float64 {
		sum := 0.0
		for z := range 4 {
			x := 1.0
			for _, at := range []int{a, b} {
				if at >= len(entry) {
					return 0
				}
				e := entry[at]
				x *= c.QG[e/2*2+z/2] * c.Sd[z] * c.QA[e%2*2+z%2]
			}
			sum += x
		}
		return sum
	}
	covariance(t, draws(p, 5, 3000), []float64{4, 5, 6, 7, 0, 0, 0, 0, 0}, want)
	marginals, _ := p.Marginals(forever)
	for a, list := range p.SDApprox()[:2] {
		for i, sd := range list {
			if at := 2*a + i; math.Abs(sd*sd-want(at, at)) > 1e-12 || !(marginals.Params()[a].SdHi[i] >= sd) {
				t.Errorf("standard deviation %v, want %v", sd, math.Sqrt(want(at, at)))
			}
		}
	}
	conv.Filters, conv.Groups, conv.In.Channels = 2, 2, 2
	layers[0].Map = conv
	for _, c := range []*Covariance{c, {Rank: 1, Factor: make([]float64, 4)}} {
		if _, err := FromCovariances(layers, []*Covariance{c, nil}); err == nil || !strings.Contains(err.Error(), "without groups") {
			t.Error(err)
		}
	}
	conv.Groups, conv.In.Channels = 1, 1
	layers[0].Map = conv
	if _, err := FromCovariances(layers, []*Covariance{{Rank: 1, Factor: make([]float64, 4)}, nil}); err == nil || !strings.Contains(err.Error(), "a full covariance is for dense layers") {
		t.Error(err)
	}
}

// TestCorrelated: what such a posterior says of itself, and what is none.
func TestCorrelated(t *testing.T) {
	full := &Covariance{Rank: 1, Factor: []float64{1, 0, 0, 1}}
	p, err := correlated(full)
	if err != nil || p.OnTop() != nil || p.Independent() || p.Random() != 0 {
		t.Fatalf("%v, %v", err, p.OnTop())
	}
	want := "this posterior is normal weights with full covariance in layer 1, not independent normal weights: use --method clbp or --method statistical"
	if err := p.RequireIndependent(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if f := p.Features(1); f.Outputs() != 1 || f.LogitsApprox([]float64{1, 1})[0] != 6 || f.Random() != 0 {
		t.Errorf("features: %v", f.LogitsApprox([]float64{1, 1}))
	}
	for want, c := range map[string]*Covariance{
		"neither a factor alone nor":            {Rank: 1, Factor: full.Factor, QA: []float64{1}},
		"a factor of 3 numbers in 1 columns":    {Rank: 1, Factor: []float64{1, 2, 3}},
		"a factor of 4 numbers in 0 columns":    {Factor: full.Factor},
		"rows have a factor, and no QG":         {Apart: true, QG: full.Factor, Sd: full.Factor, QA: full.Factor},
		"QG, sd and QA have 4, 3 and 4 numbers": {QG: full.Factor, Sd: []float64{1, 1, 1}, QA: full.Factor},
		"sd: row 1: entry 0 is -1: it must not": {QG: full.Factor, Sd: []float64{1, 1, -1, 1}, QA: full.Factor},
		"factor: row 2: entry 0 is NaN":         {Rank: 1, Factor: []float64{1, 0, math.NaN(), 1}},
		"QA: row 1: entry 1 is +Inf":            {QG: full.Factor, Sd: full.Factor, QA: []float64{1, 0, 0, math.Inf(1)}},
	} {
		if _, err := correlated(c); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "layer 1") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p.Layers[1].NoBias = true
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "has no bias, and the covariance moves it") {
		t.Error(err)
	}
	p.Layers[1].NoBias, p.covariances[0] = false, &Covariance{Rank: 1, Factor: []float64{1, 1, 1}}
	if err := p.OnTop(); err == nil || !strings.Contains(err.Error(), "last layer alone is random") {
		t.Errorf("random in two layers: %v", err)
	}
	p.covariances = nil
	if err := p.Validate(); err == nil {
		t.Error("a posterior of that kind without covariances is valid")
	}
	if err := small(ScaleSD).OnTop(); err == nil {
		t.Error("independent weights everywhere are on top")
	}
}
