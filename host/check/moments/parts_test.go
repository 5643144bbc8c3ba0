package moments

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/internal/testscale"
)

// TestHeightOfPart: the tail is at most what a part says at its ends, where it has ends.
func TestHeightOfPart(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 23))
	for i := range testscale.Cases(t, 200) {
		h := math.Exp(r.NormFloat64())
		of := part{rate: h, square: h * h * (0.5 + r.NormFloat64()), from: r.Float64() / (h * h)}
		of.to = of.from + 3*r.Float64()/(h*h)
		height := of.heightUp()
		for k := range 11 {
			v := of.from + (of.to-of.from)*float64(k)/10
			if room := height + of.square*v - gauss.TiltedTailUp(h*math.Sqrt(v)); room < -1e-6 {
				t.Errorf("case %d: %v too low at the variance %v of %+v", i, -room, v, of)
			}
		}
		of.to, of.square = arith.Inf, h*h*(0.5+0.1*float64(i%3-1))
		if got := of.heightUp(); (got == arith.Inf) != (of.square < arith.Exactly(h).Square().Hi/2) {
			t.Errorf("case %d: no end, %v times h^2: %v", i, of.square/(h*h), got)
		}
	}
}

// TestFitParts: what says nothing of the parts is refused.
func TestFitParts(t *testing.T) {
	planes, two := make([]Plane, 6), []float64{1, 2}
	for _, c := range []struct {
		says string
		row  Row
	}{
		{"", Row{Planes: planes, Squares: two, Upto: two[:1]}},
		{"", Row{Planes: planes[:3]}},
		{"2 parts between 0", Row{Planes: planes, Squares: two}},
		{"0 parts between 1", Row{Planes: planes, Upto: two[:1]}},
		{"shares", Row{Planes: planes, Squares: two, Upto: two[:1], Shares: []byte{1}}},
		{"none", Row{Planes: planes, Squares: two, Upto: []float64{math.NaN()}}},
		{"none", Row{Planes: planes, Squares: []float64{1, math.Inf(1)}, Upto: two[:1]}},
		{"5 planes", Row{Planes: planes[:5], Squares: two, Upto: two[:1]}},
	} {
		err := c.row.fitParts(3)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", c.row, err, c.says)
		}
	}
}

// TestEverywhere: with b < 0 the moment of a normal number exceeds corners within bounds by no more than is said (51f).
func TestEverywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 26))
	for i := range testscale.Cases(t, 300) {
		al, b := r.NormFloat64(), -math.Exp(r.NormFloat64())
		of := bounds{arith.Exactly(r.NormFloat64()), arith.Exactly(0.2 + r.Float64())}
		if i%2 == 0 {
			of.mean.Hi += 2
		} else {
			of.variance.Hi += 2
		}
		exact := func(share float64) float64 {
			return gauss.MomentUp(al, b, of.mean.Lo+share*(of.mean.Hi-of.mean.Lo), of.variance.Lo+share*(of.variance.Hi-of.variance.Lo))
		}
		by := Plane{} // through the ends
		if slope := exact(1) - exact(0); i%2 == 0 {
			by.Mean = slope / (of.mean.Hi - of.mean.Lo)
		} else {
			by.Variance = slope / (of.variance.Hi - of.variance.Lo)
		}
		got := everywhereUp(0, al, b, of, by)
		for k := range 21 {
			share := float64(k) / 20
			mean, v := of.mean.Lo+share*(of.mean.Hi-of.mean.Lo), of.variance.Lo+share*(of.variance.Hi-of.variance.Lo)
			if seen := exact(share) - by.Mean*mean - by.Variance*v; got < seen-1e-12 {
				t.Errorf("case %d: %v, seen %v of %v, %v over %+v", i, got, seen, al, b, of)
			}
		}
	}
}
