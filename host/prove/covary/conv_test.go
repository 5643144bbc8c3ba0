package covary

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestConv: what a convolution says of rows and of units is at least what the law says in rational numbers at
// every point of a box, the same weights being at all positions; at a point it is that, and so is the mean,
// that of the whole coefficient of each input.
func TestConv(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 61))
	for i := range testscale.Cases(t, 300) {
		m := convtest.RandomConv(r)
		cov := convtest.RandomKronecker(r, m, math.Exp2(float64(r.IntN(12)-8)))
		l := posterior.Layer{Layer: network.Layer{Map: m}}
		layer, err := NewConv(&l, m, cov, never)
		if err != nil {
			t.Fatal(err)
		}
		width, in, out := float64(i%2), m.Inputs(), m.Outputs()
		z := bound.Fed{Lo: make([]float64, in), Hi: make([]float64, in), Radius: make([]float64, in)}
		for j := range in {
			z.Lo[j] = r.NormFloat64()
			z.Hi[j], z.Radius[j] = z.Lo[j]+width*r.Float64(), width*r.Float64()
		}
		over := layer.Over(z)
		a, unit, ones := make([]float64, out), make([]float64, out), make([]float64, in)
		for o := range a {
			a[o] = r.NormFloat64() * float64(r.IntN(3))
		}
		for j := range ones {
			ones[j] = 1
		}
		o := r.IntN(out)
		unit[o] = 1
		mean, variance := over.Row(a, a)
		own, varies := over.Unit(o)
		l1 := 0.0
		for j := range in {
			v, _ := convtest.KroneckerVariance(m, cov, a, ones, 0, j).Float64()
			l1 += math.Sqrt(v) * z.Radius[j]
		}
		if want := math.Sqrt(2/math.Pi) * l1; mean < want*(1-1e-12) || mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d %+v: mean %v, want %v", i, m, mean, want)
		}
		for range 4 {
			p, d := make([]float64, in), make([]float64, in)
			for j := range in {
				p[j] = []float64{z.Lo[j], z.Hi[j]}[r.IntN(2)]
				d[j] = z.Radius[j] * float64(2*r.IntN(2)-1)
			}
			v, vo, vd := convtest.KroneckerVariance(m, cov, a, p, 1, -1), convtest.KroneckerVariance(m, cov, unit, p, 1, -1), convtest.KroneckerVariance(m, cov, unit, d, 0, -1)
			if !above(variance, v) || !above(own, vo) || !above(varies, vd) {
				t.Fatalf("%d %+v: variances %v %v %v, at a point %v %v %v", i, m, variance, own, varies, v.FloatString(20), vo.FloatString(20), vd.FloatString(20))
			}
			if x, _ := v.Float64(); width == 0 && variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d %+v: variance %v of a point, want %v", i, m, variance, x)
			}
		}
	}
}

// TestConvIntervals: of a row whose coefficients are intervals what is said holds for all of them.
func TestConvIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 64))
	for i := range testscale.Cases(t, 60) {
		m := convtest.RandomConv(r)
		cov := convtest.RandomKronecker(r, m, 1)
		layer, err := NewConv(&posterior.Layer{Layer: network.Layer{Map: m}}, m, cov, never)
		if err != nil {
			t.Fatal(err)
		}
		in, out := m.Inputs(), m.Outputs()
		z := bound.Fed{Lo: make([]float64, in), Hi: make([]float64, in), Radius: make([]float64, in)}
		ones := make([]float64, in)
		for j := range in {
			z.Lo[j] = r.NormFloat64()
			z.Hi[j], z.Radius[j], ones[j] = z.Lo[j], 1, 1
		}
		lo, hi := make([]float64, out), make([]float64, out)
		for o := range lo {
			lo[o] = r.NormFloat64()
			hi[o] = lo[o] + r.Float64()
		}
		mean, variance := layer.Over(z).Row(lo, hi)
		for range 4 {
			a := make([]float64, out)
			for o := range a {
				a[o] = []float64{lo[o], hi[o]}[r.IntN(2)]
			}
			l1 := 0.0
			for j := range in {
				v, _ := convtest.KroneckerVariance(m, cov, a, ones, 0, j).Float64()
				l1 += math.Sqrt(v)
			}
			if v := convtest.KroneckerVariance(m, cov, a, z.Lo, 1, -1); !above(variance, v) || mean < math.Sqrt(2/math.Pi)*l1*(1-1e-12) {
				t.Fatalf("%d %+v: %v %v, of one %v %v", i, m, mean, variance, l1, v.FloatString(20))
			}
		}
	}
}

// TestConvBoxesKept: of a convolution of a large image few boxes are kept, as each has what lies under every
// position: 64 of them would take gigabytes.
func TestConvBoxesKept(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 97))
	for _, c := range []struct{ side, channels, most int }{{4, 1, mostBoxes}, {24, 32, 6}} {
		m := network.Conv{In: network.Image{Height: c.side, Width: c.side, Channels: c.channels}, Filters: 1, Groups: 1,
			Window: network.Window{Size: [2]int{3, 3}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Before: [2]int{1, 1}, After: [2]int{1, 1}}}
		layer, err := NewConv(&posterior.Layer{Layer: network.Layer{Map: m}}, m, convtest.RandomKronecker(r, m, 1), never)
		if err != nil {
			t.Fatal(err)
		}
		if got := layer.boxes.most(); got != c.most {
			t.Errorf("%d x %d x %d: %d boxes are kept, want %d", c.side, c.side, c.channels, got, c.most)
		}
	}
}
