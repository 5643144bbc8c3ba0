package ontop

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestDropped: at a point the tail of dropout is the probability of the masks that fail, but for a lattice;
// over a cell it is at least that of those that fail somewhere.
func TestDropped(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 14))
	for i := range testscale.Cases(t, 150) {
		n := 1 + r.IntN(6)
		layers := sumtest.RandomNoisy(r, network.Activation{Kind: network.ReLU}, 0, 2, n, 2).Layers
		rate := []float64{0, 0.7 * r.Float64()}
		post, err := posterior.FromDropout(layers, rate)
		if err != nil {
			t.Fatal(err)
		}
		masked, err := NewMasked(post)
		if err != nil {
			t.Fatal(err)
		}
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}, D: r.NormFloat64()}
		row.DHi = row.D
		cell := randomCell(r, n, 2, float64(i%2))
		known := &Row{n: n}
		for _, a := range masked.merged(&row, masked.newRow()).a {
			known.mean = append(known.mean, arith.Exactly(a))
		}
		f := known.form(cell)
		least, size := func(mask int, up float64) float64 {
			value, along := row.D+layers[1].Bias.Mean[0]-layers[1].Bias.Mean[1], make([]float64, 2)
			for j := range n {
				if mask>>j&1 == 1 {
					a := (layers[1].Weight.Mean[j*2] - layers[1].Weight.Mean[j*2+1]) / (1 - rate[1])
					value += a*f.at[j] - math.Abs(a)*f.half[j]
					along[0], along[1] = along[0]+a*f.slope[j][0], along[1]+a*f.slope[j][1]
				}
			}
			return value - math.Abs(along[0])*cell.radius[0] - math.Abs(along[1])*cell.radius[1] - up
		}, 0.0
		for j := range n {
			size += math.Abs(known.mean[j].Lo*f.at[j]) / (1 - rate[1])
		}
		failing := func(up float64) (sum float64) {
			for mask := range 1 << n {
				p := 1.0
				for j := range n {
					p *= []float64{rate[1], 1 - rate[1]}[mask>>j&1]
				}
				if least(mask, up) <= 0 {
					sum += p
				}
			}
			return sum
		}
		tail := masked.On(cell).Tails([]property.Row{row}, 0, false)[0]
		if want := failing(-1e-9); tail < want*(1-1e-12) {
			t.Errorf("%d: tail %v, fail with probability %v", i, tail, want)
		}
		if most := failing(size / 200); i%2 == 0 && tail > most+1e-9 {
			t.Errorf("%d: tail %v at a point, fail with probability %v", i, tail, most)
		}
	}
}

// TestDroppedMoves: two inputs of which one rises as the other falls. Their sum does not move, but one alone
// does, if the other is dropped.
func TestDroppedMoves(t *testing.T) {
	layers := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 15)), network.Activation{Kind: network.ReLU}, 0, 1, 2, 2).Layers
	copy(layers[1].Weight.Mean, []float64{1, 0, 1, 0})
	clear(layers[1].Bias.Mean)
	const rate = 0.1
	post, err := posterior.FromDropout(layers, []float64{0, rate})
	if err != nil {
		t.Fatal(err)
	}
	masked, err := NewMasked(post)
	if err != nil {
		t.Fatal(err)
	}
	row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}, D: 0.5, DHi: 0.5}
	lines := []line{{0, []float64{1}}, {0, []float64{-1}}}
	cell := &Cell{radius: []float64{1}, lower: lines, upper: lines, lo: []float64{-1, -1}, hi: []float64{1, 1}}
	if tail, fail := masked.On(cell).Tails([]property.Row{row}, 0, false)[0], 2*rate*(1-rate); tail < fail {
		t.Errorf("tail %v, fail with probability %v", tail, fail)
	}
}
