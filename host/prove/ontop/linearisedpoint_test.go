package ontop

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/lab/testkit/sumtest"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// TestAtPoint: at a point of linearised networks a row is normal. What is said of its tail is that of the mean network's
// margin over the deviation of drawn functions, and at points of a box no more than of the box.
func TestAtPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	relu := network.Activation{Kind: network.ReLU}
	below, above := 0, 0
	for i := range 45 {
		var about *posterior.Posterior
		switch i % 3 {
		case 0:
			about = sumtest.RandomNoisy(rng, relu, 0.3, 2, 4, 3, 2)
		case 1:
			about = sumtest.RandomCorrelated(rng, relu, 0.3, 2, 4, 3, 2)
		default:
			about = sumtest.RandomJoint(rng, relu, 0.3, 2, 4, 3, 2)
		}
		post, err := about.Linearised()
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLinearised(post, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		y := post.LogitsApprox(x)
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
		m := y[0] - y[1]
		at := l.AtPoint(post, property.Box{Lo: x, Hi: x})
		const draws = 3000
		square := 0.0
		for d := range draws {
			f := post.DrawLinearised(5, d)(x)
			square += (f[0] - f[1] - m) * (f[0] - f[1] - m) / draws
		}
		want, got := 0.5*math.Erfc(m/math.Sqrt(2*square)), at.TailUp(&row)
		if m > 0 {
			above++
		} else {
			below++
		}
		if want > 0.03 && math.Abs(got-want) > 0.15*want*(1+math.Abs(m)/math.Sqrt(square)) {
			t.Errorf("%d: tail %v, drawn %v of a mean %v", i, got, want, m)
		}
		box := property.Box{Lo: []float64{x[0] - 0.05, x[1]}, Hi: []float64{x[0] + 0.02, x[1] + 0.1}}
		if wide := l.AtPoint(post, box).TailUp(&row); wide < got {
			t.Errorf("%d: tail %v at a point, %v in a box", i, got, wide)
		}
	}
	if below == 0 || above == 0 {
		t.Errorf("%d means below 0, %d above", below, above)
	}
}
