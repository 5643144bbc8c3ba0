package posterior

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestWithInputNoise: a drawn network of the posterior with noise is one without at inputs that are off by the
// shift that was drawn, of graphs too, and the shift has the deviations given.
func TestWithInputNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 3))
	square, n := 0.0, 0
	for range 40 {
		base := randomGraph(r)
		sd := make([]float64, base.Inputs())
		for j := range sd {
			sd[j] = math.Ldexp(1, -r.IntN(4))
		}
		post, err := base.WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		if !post.Shifts() || base.Shifts() || post.Inputs() != base.Inputs() {
			t.Errorf("shifts: %v and %v", post.Shifts(), base.Shifts())
		}
		w, x := post.NewWeights(), make([]float64, len(sd))
		post.Draw(3, n, w)
		moved := slices.Clone(x)
		for j := range x {
			x[j] = r.NormFloat64()
			moved[j] = x[j] + w[1][j]
			square, n = square+w[1][j]*w[1][j]/sd[j]/sd[j], n+1
		}
		if got, want := post.Network().OutputsApprox(w, x), base.Network().OutputsApprox(w[2:], moved); !slices.Equal(got, want) {
			t.Errorf("outputs %v, want %v", got, want)
		}
	}
	if square /= float64(n); math.Abs(square-1) > 5*math.Sqrt(2/float64(n)) {
		t.Errorf("noise has %v of its variance", square)
	}
	one := someSamples(t)
	w, x, sd := one.Finite().Weights(0), make([]float64, one.Inputs()), make([]float64, one.Inputs())
	single, err := FromFinite(one.Layers, &Finite{Counts: []int64{1}, Stack: w})
	if err != nil {
		t.Fatal(err)
	}
	sd[0] = 1
	if post, err := single.WithInputNoise(sd, sd); err != nil || !post.Shifts() || !slices.Equal(post.Network().OutputsApprox(post.Mean(), x), one.Network().OutputsApprox(w, x)) {
		t.Errorf("one network: %v", err)
	}
	for kind, post := range others(t) {
		sd := make([]float64, post.Inputs())
		if _, err := post.WithInputNoise(sd, sd); err == nil || !strings.Contains(err.Error(), "independent normal weights") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", kind, err)
		}
	}
}
