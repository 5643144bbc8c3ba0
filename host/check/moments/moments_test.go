package moments

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestHeightUp: above what is seen at random points, and near it.
func TestHeightUp(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 2))
	for i := range testscale.Cases(t, 300) {
		v, m := math.Exp(r.NormFloat64()), 3*r.NormFloat64()
		n := bounds{arith.Of(m, m+5*r.Float64()), arith.Of(v, v*(1+2*r.Float64()))}
		al, b, by := r.NormFloat64(), (r.Float64()*1.6-0.8)/n.variance.Hi, Plane{r.NormFloat64(), r.NormFloat64()}
		if i%2 == 1 { // flat in the middle, and bent
			al *= 4 / math.Sqrt(v)
			mean, variance := n.mean.Middle(), n.variance.Middle()
			slope := func(dm, dv float64) float64 {
				return gauss.ReLUMomentUp(al, b, mean+dm, variance+dv) - gauss.ReLUMomentUp(al, b, mean-dm, variance-dv)
			}
			const step = 1e-4
			by = Plane{slope(step, 0) / (2 * step), slope(0, step) / (2 * step)}
		}
		const tol = 1e-3
		got, seen := n.heightUp(relu{al, b}, by, tol), math.Inf(-1)
		for j := range 900 {
			mean, variance := n.mean.Lo+(n.mean.Hi-n.mean.Lo)*float64(j%30)/29, n.variance.Lo+(n.variance.Hi-n.variance.Lo)*float64(j/30)/29
			mean, variance = min(mean, n.mean.Hi), min(variance, n.variance.Hi)
			h := gauss.ReLUMomentUp(al, b, mean, variance) - by.Mean*mean - by.Variance*variance
			if seen = max(seen, h); h-1e-10*(1+math.Abs(h)) > got {
				t.Errorf("case %d: %v is below %v at %v, %v", i, got, h, mean, variance)
			}
		}
		if got > seen+tol+0.03 {
			t.Errorf("case %d: %v, seen %v", i, got, seen)
		}
	}
	// Along the variance alone, where the surface is about log Q(6/s) and bends down.
	thin, by := bounds{arith.Exactly(6), arith.Of(0.5, 3)}, Plane{0, (gauss.ReLUMomentUp(50, 0, 6, 1.2001) - gauss.ReLUMomentUp(50, 0, 6, 1.1999)) / 2e-4}
	if got, inside := thin.heightUp(relu{50, 0}, by, 1e-3), gauss.ReLUMomentUp(50, 0, 6, 1.2)-1.2*by.Variance; got < inside-1e-9 || got > inside+0.1 {
		t.Errorf("%v along the variance, %v inside", got, inside)
	}
	// Variances over 15 decades, for which values do not suffice: the largest pieces are cut first, by quotients.
	n := bounds{arith.Of(-3.618e7, 2.1674e6), arith.Of(4.1665e-4, 3.42e11)}
	if got := n.heightUp(relu{3.38e-8, 1.1145e-18}, Plane{1.436e-25, 2.85e-42}, 1e-3); got < 0 || got > 0.7 {
		t.Errorf("%v where 0.693 are claimed", got)
	}
	for _, n := range []bounds{{arith.Of(0, 1), arith.Of(0, 1)}, {arith.Of(1, 0), arith.Of(1, 2)}, {arith.Of(0, 1), arith.Of(1, arith.Inf)}} {
		if got := n.heightUp(relu{1, 0}, Plane{}, 1e-3); got != arith.Inf {
			t.Errorf("%v: %v", n, got)
		}
	}
}

// TestCertainLayer: where weights of the second layer are certain, so is the variance of its neurons.
func TestCertainLayer(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(51, 3)), network.Activation{Kind: network.ReLU}, 0.3, 1, 3, 4, 2)
	clear(post.Layers[1].Weight.SdLo)
	clear(post.Layers[1].Weight.SdHi)
	c, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.around(t.Context(), property.Box{Lo: []float64{0.5}, Hi: []float64{0.5}}, 1e-6, slices.Repeat([]Row{{Rate: 1}}, 4*statements))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range a.neurons[1] {
		if own := variance(&post.Layers[1].Bias, i); n.variance.Lo > own.Lo || n.variance.Hi < own.Hi || n.variance.Hi > own.Hi*(1+1e-9) {
			t.Errorf("neuron %d has the variance %v, that of its bias is %v", i, n.variance, own)
		}
	}
}

// TestAnyRate: what a statement says holds whatever its rate is, and is near where that is a good one.
func TestAnyRate(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 4))
	post := sumtest.RandomNoisy(r, network.Activation{Kind: network.ReLU}, 0.3, 1, 1, 1)
	for i := range testscale.Cases(t, 2000) {
		mean, sd, w, tau := r.NormFloat64(), math.Exp(r.NormFloat64()), math.Exp(r.NormFloat64()), math.Exp(-1-20*r.Float64())
		best := math.Sqrt(2*math.Log(1/tau)) / (w * sd)
		rate := min(best*math.Exp([]float64{0, 1, 5, 500}[i%4]*r.NormFloat64()), math.MaxFloat64)
		a := &around{Chain: &Chain{post.Layers}, neurons: [][]bounds{{{arith.Exactly(mean), arith.Exactly(sd).Square()}}}}
		e := newExponent(1)
		e.al[0], e.alHi[0] = -w, -w
		up := a.shownUp(0, e, tau, Row{Rate: rate}) // w max(t, 0) is seldom above
		if more := gauss.TailDown(arith.Exactly(up).Over(arith.Exactly(w)).Minus(arith.Exactly(mean)).Over(arith.Exactly(sd)).Hi); !(up >= 0) || more > tau {
			t.Errorf("case %d: by the rate %v at most %v but for %v, it is above with %v", i, rate, up, tau, more)
		}
		if rate == best && up > w*max(0, mean)+w*sd*(math.Sqrt(2*math.Log(1/tau))+1) {
			t.Errorf("case %d: at most %v but for %v", i, up, tau)
		}
	}
}
