package moments

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestStretches: at or above -al z + b z^2/2 at every t, but for what float64 makes of z, and near it; and so are moments.
func TestStretches(t *testing.T) {
	r, all := rand.New(rand.NewPCG(53, 7)), networktest.Activations(0.1, 1)
	for i := range testscale.Cases(t, 2000) {
		a := all[i%len(all)]
		v := math.Exp(1.5*r.NormFloat64() - 1)
		n := bounds{mean: arith.Exactly(2 * r.NormFloat64()), variance: arith.Exactly(v)}
		al, b := math.Exp(1.5*r.NormFloat64())*r.NormFloat64(), 0.0
		switch i / 7 % 3 {
		case 1:
			b = 0.9 * r.Float64() / v
		case 2:
			b = -math.Exp(3 * r.NormFloat64())
		}
		const tol = 0.01
		f := stretches(a, arith.Of(al, al+math.Abs(al)*0x1p-50), b, n, tol)
		for range 6 {
			x := n.mean.Lo + 4*math.Sqrt(v)*r.NormFloat64()
			if r.IntN(4) == 0 {
				x *= 20
			}
			z := a.Approx(x)
			want, got := b*z*z/2-al*z, math.Inf(1)
			for j := range f.parts {
				if s := &f.parts[j]; s.from <= x && x <= s.to {
					got = s.power + s.slope*x + s.bend*x*x/2
				}
			}
			if room := 1e-12 * (1 + math.Abs(al*z) + math.Abs(b*z*z)); got < want-room {
				t.Errorf("case %d, %v at %v: %v is below %v", i, a, x, got, want)
			}
		}
		about := momentApprox(a, al, b, n.mean.Lo, v)
		got := f.valueUp(n.mean.Lo, v)
		if wide := 0.03 * (math.Abs(al) + math.Abs(b)) * (math.Sqrt(v) + v); got < about-tol/10-wide || got > about+tol+wide {
			t.Errorf("case %d, %v, al %v, b %v, %v: %v, about %v, %d", i, a, al, b, n, got, about, len(f.parts))
		}
	}
}

// TestLineAbove: where the moment is nearly infinite it is that of what ELU is above 0, a line, however far out.
func TestLineAbove(t *testing.T) {
	const mean, v = -0.29, 0.027
	f := stretches(network.Activation{Kind: network.ELU, Slope: 1}, arith.Exactly(0), 0.998/v, bounds{arith.Exactly(mean), arith.Exactly(v)}, 0.05)
	if got := f.valueUp(mean, v); !(got > 1 && got < 3) {
		t.Errorf("a moment of e^%v, of %d parts", got, len(f.parts))
	}
}

// TestNegative: of outputs below 0 a row has the largest of its coefficients; and boxes of some width are for ReLU alone.
func TestNegative(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(53, 8)), network.Activation{Kind: network.Tanh}, 0.001, 1, 1, 1)
	for k, mean := range []float64{-2, 1} {
		post.Layers[k].Weight.Mean[0], post.Layers[k].Bias.Mean[0] = mean, 0
	}
	c, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	at := property.Box{Lo: []float64{1}, Hi: []float64{1}} // z is -0.96, and the row between 0.5 - 0.96 most and 0.5
	fails := func(most float64, box property.Box, row Row) (float64, error) {
		s := property.Safe{Rows: []property.Row{{CLo: []float64{0}, CHi: []float64{most}, D: 0.5, DHi: 0.5}}, Any: [][]int{{0}}}
		return c.FailUp(t.Context(), box, &s, 1e-6, &Proof{Rows: []Row{row}})
	}
	if fail, err := fails(1, at, Row{Rate: 4}); err != nil || fail < 1 {
		t.Errorf("a row that is negative fails with %v, %v", fail, err)
	}
	if fail, err := fails(0.25, at, Row{Rate: 100}); err != nil || fail > 0.01 {
		t.Errorf("a row that is positive fails with %v, %v", fail, err)
	}
	if fail, err := fails(0.25, property.Box{Lo: []float64{0.99}, Hi: []float64{1.01}}, Row{Rate: 100, Budget: 1e-9, Shares: []byte{64}}); err == nil {
		t.Errorf("over a box it fails with %v", fail)
	}
}

// TestStretchesNearTheEdge: where 1 - b v is small a line is no piece that bends less; and a sum of deviations sees what
// is where the activation bends.
func TestStretchesNearTheEdge(t *testing.T) {
	for _, c := range []struct {
		kind             network.Kind
		al, b, mean, sd  float64
		least, most, off float64
	}{
		{network.ELU, 0, 256.6, -0.4792, 0.06241, 26, 27, 0.2},
		{network.Sigmoid, -46.57, 0, -1019.5, 121.5, 8, 8.4, 0.6},
	} {
		a, v := network.Activation{Kind: c.kind, Slope: 1}, c.sd*c.sd
		n := bounds{arith.Exactly(c.mean), arith.Exactly(v)}
		got := stretches(a, arith.Exactly(c.al), c.b, n, 0.01).valueUp(c.mean, v)
		if about := momentApprox(a, c.al, c.b, c.mean, v); !(got > c.least && got < c.most) || math.Abs(got-about) > c.off {
			t.Errorf("%v: %v, about %v", a, got, about)
		}
	}
}

// momentApprox is about the moment, by a sum over deviations from the mean.
func momentApprox(a network.Activation, al, b, mean, v float64) float64 {
	const steps = 1 << 14
	sd, room := math.Sqrt(v), 1-max(b, 0)*v
	ends := 40.0
	if a.SizeUp(math.Inf(1)) == math.Inf(1) { // most may be further out
		ends = (math.Abs(mean)/sd*(1-room)+math.Abs(al)*sd)/room + 40/math.Sqrt(room)
	}
	var powers [steps + 1]float64
	for i := range powers {
		x := ends * (2*float64(i)/steps - 1)
		z := a.Approx(mean + sd*x)
		powers[i] = b*z*z/2 - al*z - x*x/2
	}
	top, sum := slices.Max(powers[:]), 0.0
	for _, p := range powers {
		sum += math.Exp(p - top)
	}
	return top + math.Log(sum*2*ends/steps/math.Sqrt(2*math.Pi))
}
