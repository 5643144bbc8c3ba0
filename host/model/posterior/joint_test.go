package posterior

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// jointly is a 2-1-2 network with these factors, of [W b] row by row.
func jointly(first, second *Covariance) (*Posterior, error) {
	p, err := correlated(&Covariance{Rank: 1, Factor: make([]float64, 4)})
	if err != nil {
		return nil, err
	}
	return FromJoint(p.Layers, []*Covariance{first, second})
}

// TestDrawJoint: draws have the covariance of the factors one below the other, across layers too.
func TestDrawJoint(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 10))
	const rank = 2
	numbers := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = r.NormFloat64()
		}
		return list
	}
	first, second := &Covariance{Rank: rank, Factor: numbers(3 * rank)}, &Covariance{Rank: rank, Factor: numbers(4 * rank)}
	p, err := jointly(first, second)
	if err != nil {
		t.Fatal(err)
	}
	// Parameters in the order of draws: layer 0's three, weights 0 and 1, biases 0 and 1.
	var rows [][]float64
	for e := range 3 {
		rows = append(rows, first.Factor[e*rank:(e+1)*rank])
	}
	for _, e := range []int{0, 2, 1, 3} {
		rows = append(rows, second.Factor[e*rank:(e+1)*rank])
	}
	want := func(a, b int) (sum float64) {
		for c := range rank {
			sum += rows[a][c] * rows[b][c]
		}
		return sum
	}
	covariance(t, draws(p, 6, 3000), []float64{1, 2, 3, 4, 5, 6, 7}, want)
	at := 0
	marginals, _ := p.Marginals(forever)
	for a, list := range p.SDApprox() {
		marginal := marginals.Params()[a].SdHi
		for i, sd := range list {
			if math.Abs(sd*sd-want(at, at)) > 1e-12 || !(marginal[i] >= sd) || marginal[i] > sd*(1+1e-9) {
				t.Errorf("standard deviation %v, %v of the marginals, want %v", sd, marginal[i], math.Sqrt(want(at, at)))
			}
			at++
		}
	}
}

// TestJoint: what such a posterior says of itself, and what is none.
func TestJoint(t *testing.T) {
	first, second := &Covariance{Rank: 1, Factor: []float64{1, 0, 0}}, &Covariance{Rank: 1, Factor: []float64{1, 0, 0, 1}}
	p, err := jointly(first, second)
	if err != nil || p.OnTop() == nil || p.RequireRows() != nil || p.Independent() || p.Random() != 0 || p.Covariances() != nil {
		t.Fatalf("%v, %v, %v", err, p.OnTop(), p.RequireRows())
	}
	want := "this posterior is normal weights with one covariance of all layers, of rank 1, not independent normal weights: use --method clbp or --method statistical"
	if err := p.RequireIndependent(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	for want, c := range map[string]*Covariance{
		"layer 1: covariance: full of 2 columns": {Rank: 2, Factor: make([]float64, 8)},
		"layer 1: covariance: kron of 0 columns": {QG: make([]float64, 4), Sd: make([]float64, 4), QA: make([]float64, 4)},
		"a factor of 3 numbers in 1 columns":     {Rank: 1, Factor: []float64{1, 2, 3}},
	} {
		if _, err := jointly(first, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := jointly(nil, nil); err == nil || !strings.Contains(err.Error(), "no layer has a factor") {
		t.Error(err)
	}
	if p, err = jointly(nil, second); err != nil || p.JointRank() != 1 {
		t.Errorf("a certain layer: %v", err)
	}
	p.Layers[1].NoBias = true
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "has no bias, and the covariance moves it") {
		t.Error(err)
	}
	p.Layers[1].NoBias, p.Kind = false, KindCorrelated
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "has not the data of that kind") {
		t.Errorf("taken for layers independent of each other: %v", err)
	}
	independent := small(ScaleSD)
	independent.joint = []*Covariance{first, second}
	if err := independent.Validate(); err == nil || !strings.Contains(err.Error(), "or data of another") {
		t.Errorf("independent weights with a covariance: %v", err)
	}
	const in = 4096
	large := []Layer{{Layer: network.DenseLayer(in, 1, network.Activation{})}}
	large[0].Weight.Mean, large[0].Bias.Mean = make([]float64, in), []float64{0}
	p, err = FromJoint(large, []*Covariance{{Rank: in, Factor: make([]float64, (in+1)*in)}})
	if err != nil || p.RequireRows() == nil || !strings.Contains(p.RequireRows().Error(), "of at most 16777216 numbers") {
		t.Errorf("%v, rows: %v", err, p.RequireRows())
	}
}
