package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// covariedConv is a random convolution, its covariance, and both of it here.
func covariedConv(t *testing.T, rng *rand.Rand) (net.Conv, *posterior.Covariance, *posterior.Layer, *Covaried) {
	t.Helper()
	m := convtest.RandomConv(rng)
	c := convtest.RandomKronecker(rng, m, math.Exp2(float64(rng.IntN(12)-8)))
	shape, _, err := relax.ShapeOf(m, net.Activation{})
	if err != nil {
		t.Fatal(err)
	}
	l := &posterior.Layer{Layer: net.Layer{Map: m}}
	return m, c, l, NewCovaried(l, c, MostFormedInputs, shape.At)
}

// TestCovariedConvBox: what is said of a row of a convolution over a box is at least what the law says, in
// rational numbers, at corners of it, and at a point it is that; so is the mean.
func TestCovariedConvBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 63))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 200) {
		m, c, _, v := covariedConv(t, rng)
		in, out, width := m.Inputs(), m.Outputs(), float64(i%2)
		z, radius, row := relax.NewSpan(in), make([]float64, in), make([]float64, out)
		for j := range in {
			z.Lo[j] = rng.NormFloat64()
			z.Hi[j], radius[j] = z.Lo[j]+width*rng.Float64(), width*rng.Float64()
		}
		for o := range row {
			row[o] = rng.NormFloat64() * float64(rng.IntN(3))
		}
		// least is the variance of the row at z, its last entry being that of the bias.
		least := func(row, z []float64) *big.Rat {
			sum, n, filters := new(big.Rat), v.In+1, v.Out
			for e, sd := range c.Sd {
				g := new(big.Rat)
				for o, a := range row {
					for t, q := range append(append([]int32{}, v.at.Under(o/filters)...), int32(in)) {
						if q >= 0 {
							x := rat(a)
							x.Mul(x, rat(c.QG[o%filters*filters+e/n])).Mul(x, rat(c.QA[t*n+e%n]))
							g.Add(g, x.Mul(x, rat(z[q])))
						}
					}
				}
				g.Mul(g, rat(sd))
				sum.Add(sum, g.Mul(g, g))
			}
			return sum
		}
		if i%5 > 2 { // out of range of products of three, and beside that next to nothing
			for o := range row {
				row[o] *= 0x1p250
			}
			if i%5 == 4 {
				row[0] *= 0x1p-1200
			}
		}
		got := v.OfRow(row, row, radius, z)
		l1 := 0.0
		for j := range in {
			one := make([]float64, in+1)
			one[j] = 1
			x, _ := least(row, one).Float64()
			l1 += math.Sqrt(x) * radius[j]
		}
		if want := math.Sqrt(2/math.Pi) * l1; got.Mean < want*(1-1e-12) || got.Mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d %+v: mean %v, want %v", i, m, got.Mean, want)
		}
		o, unit := rng.IntN(out), make([]float64, out)
		unit[o] = 1
		own, varies := v.OfUnits(z)[o], v.OfVariation(radius)[o]
		for range 4 {
			p, d := append(make([]float64, in), 1), make([]float64, in+1)
			for j := range in {
				p[j] = []float64{z.Lo[j], z.Hi[j]}[rng.IntN(2)]
				d[j] = radius[j] * float64(2*rng.IntN(2)-1)
			}
			want := least(row, p)
			x, _ := want.Float64()
			if rat(got.Variance).Cmp(want) < 0 || width == 0 && got.Variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d %+v: variance %v, at a point %v", i, m, got.Variance, x)
			}
			if rat(own).Cmp(least(unit, p)) < 0 || rat(varies).Cmp(least(unit, d)) < 0 {
				t.Fatalf("%d %+v: of unit %d %v and %v", i, m, o, own, varies)
			}
		}
	}
}

// TestCovariedConvAsCertify: of rows and outputs of a convolution check says what certify does but for roundings.
// Better bounds would choose other lines of max pools and activations than certify has, and refuse its records.
func TestCovariedConvAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 96))
	for i := range testscale.Cases(t, 1000) {
		m, c, l, v := covariedConv(t, rng)
		conv, err := covary.NewConv(l, m, c, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		in, width := m.Inputs(), math.Exp2(float64(rng.IntN(8)-7))
		z, radius, row := relax.NewSpan(in), make([]float64, in), make([]float64, m.Outputs())
		for j := range in {
			z.Lo[j] = rng.NormFloat64()
			z.Hi[j], radius[j] = z.Lo[j]+width*rng.Float64(), width*rng.Float64()
		}
		for o := range row {
			row[o] = rng.NormFloat64() * float64(rng.IntN(3))
		}
		over := conv.Over(bound.Fed{Lo: z.Lo, Hi: z.Hi, Radius: radius})
		same := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9*want+1e-60 {
				t.Fatalf("%d %+v: %s %v, certify has %v", i, m, what, got, want)
			}
		}
		got := v.OfRow(row, row, radius, z)
		mean, variance := over.Row(row, row)
		same("mean", got.Mean, mean)
		same("variance", got.Variance, variance)
		units, variation := v.OfUnits(z), v.OfVariation(radius)
		for o := range row {
			variance, varies := over.Unit(o)
			same("variance of an output", units[o], variance)
			same("variance of how far an output varies", variation[o], varies)
		}
	}
}
