package probability

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLargeKept: what is kept of each pair of numbers is at least the exact share for all A that
// may have moved there, and at most a little more than the largest of them.
func TestLargeKept(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 1))
	share := func(g *Large, a float64, k int, sd float64) float64 {
		if a == 0 {
			return 1
		}
		return math.Erfc(-(g.Above/a-g.Mean[k])/sd/math.Sqrt2) / 2
	}
	less := 0
	for range 3000 {
		width := []float64{0, 1. / 128, 0.3}[r.IntN(3)]
		x := 3 * r.Float64()
		a := Split{Lo: []float64{-x - 0.1*r.Float64()}, Hi: []float64{-x}, P: []float64{r.Float64()}, Square: []float64{width * width}}
		sd := math.Exp(r.NormFloat64())
		g := &Large{Above: math.Exp(r.NormFloat64()), Mean: []float64{2 * r.NormFloat64()}, SdLo: sd, SdHi: sd * (1 + 1e-3*r.Float64())}
		got := g.keptUp(make([]float64, 1), a.P, g.mostUp(&a), 0)[0] / a.P[0]
		want := 0.0
		for _, f := range []float64{0, 0.5, 1} {
			at := max(0, x-width*f)
			for _, sd := range []float64{g.SdLo, g.SdHi} {
				want = max(want, share(g, at, 0, sd))
			}
		}
		if got < want*(1-1e-13) || got > want*(1+0.01*(1+g.Mean[0]*g.Mean[0]/sd/sd))+1e-17 {
			t.Fatalf("a = %v, %v wide, %+v: %v is kept, %v would be right", -x, width, g, got, want)
		}
		if got < 1 {
			less++
		}
	}
	if less < 1000 {
		t.Errorf("only %d of 3000 left something out", less)
	}
	one := []float64{0.25}
	for _, g := range []*Large{
		{Above: 1, Mean: []float64{math.Inf(-1)}, SdLo: 1, SdHi: 1},
		{Above: 1, Mean: []float64{math.NaN()}, SdLo: 1, SdHi: 1},
		{Above: 1, Mean: []float64{1}},               // T is 1, as is Above/|A|
		{Above: 1, Mean: []float64{0.9}, SdHi: 1e-3}, // no least deviation
	} {
		a := Split{Lo: []float64{-1}, Hi: []float64{-1}, P: one, Square: []float64{0}}
		if got := g.keptUp(make([]float64, 1), one, g.mostUp(&a), 0)[0]; got != 0.25 {
			t.Errorf("%+v keeps %v of 0.25", g, got)
		}
	}
}

// TestLargeLattice: what is left out is the negative part's, number by number of High.
func TestLargeLattice(t *testing.T) {
	var p Product
	p.Pos.Add(1, 1, 0.5, 0)
	p.Neg.Add(-2, -2, 0.25, 0)
	p.Neg.Add(-1, -1, 0.25, 0)
	p.Low.Add(1, 1, 1, 0)
	p.High.Add(1, 1, 0.5, 0)
	p.High.Add(3, 3, 0.5, 0)
	p.Large = &Large{Above: 4, Mean: []float64{math.Inf(-1), 3}, SdLo: 1, SdHi: 1}
	l := p.lattice(1, 0)
	sum := l.Lost
	for _, m := range l.P {
		sum += m
	}
	// Of 3 with -2 T > 2 is out, with -1 T > 4.
	want := 0.5 + 0.5*0.5 + 0.5*0.25*(math.Erfc(1/math.Sqrt2)/2+math.Erfc(-1/math.Sqrt2)/2)
	if sum < want || sum > want+2e-3 {
		t.Errorf("%v is left, not %v", sum, want)
	}
}
