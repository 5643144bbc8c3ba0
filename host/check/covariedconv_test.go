package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/covary"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestCovariedConv: of convolutional networks with Kronecker covariances, what certify claims is proved again,
// and as many drawn networks as can be are within the bounds of both.
func TestCovariedConv(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 62))
	lower, upper, draws, cases := 0, 0, 300, 240
	if testscale.Deep(t) {
		draws, cases = 10000, 1000
	}
	for i := range testscale.Costly(t, cases) {
		post := convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(3), Outputs: 2 + rng.IntN(2)})
		post = convtest.Kronecker(rng, post, []float64{0.03, 0.1, 0.2}[rng.IntN(3)])
		task := keptClass(rng, post, []float64{0, 1.0 / 64, 1.0 / 16}[rng.IntN(3)])
		p := []bound.Precision{bound.Float32, bound.Float64}[i%2]
		r := certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%2*3}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, draws)
		if low {
			lower++
		}
		if up {
			upper++
		}
	}
	t.Logf("%d lower bounds, %d upper", lower, upper)
	if testscale.Factor(t) >= 0.1 && lower == 0 {
		t.Error("nothing was tested")
	}
}

// covariedConv is a random convolution, its covariance, and both of it here.
func covariedConv(t *testing.T, rng *rand.Rand) (net.Conv, *posterior.Covariance, *posterior.Layer, *covaried) {
	t.Helper()
	m := convtest.RandomConv(rng)
	c := convtest.RandomKronecker(rng, m, math.Exp2(float64(rng.IntN(12)-8)))
	shape, _, err := shapeOf(m, net.Activation{})
	if err != nil {
		t.Fatal(err)
	}
	l := &posterior.Layer{Layer: net.Layer{Map: m}}
	return m, c, l, newCovaried(l, c, mostFormedInputs, shape.at)
}

// TestCovariedConvBox: what is said of a row of a convolution over a box is at least what the law says, in
// rational numbers, at corners of it, and at a point it is that; so is the mean.
func TestCovariedConvBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 63))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 200) {
		m, c, _, v := covariedConv(t, rng)
		in, out, width := m.Inputs(), m.Outputs(), float64(i%2)
		z, radius, row := newSpan(in), make([]float64, in), make([]float64, out)
		for j := range in {
			z.lo[j] = rng.NormFloat64()
			z.hi[j], radius[j] = z.lo[j]+width*rng.Float64(), width*rng.Float64()
		}
		for o := range row {
			row[o] = rng.NormFloat64() * float64(rng.IntN(3))
		}
		// least is the variance of the row at z, its last entry being that of the bias.
		least := func(row, z []float64) *big.Rat {
			sum, n, filters := new(big.Rat), v.in+1, v.out
			for e, sd := range c.Sd {
				g := new(big.Rat)
				for o, a := range row {
					for t, q := range append(append([]int32{}, v.at.under(o/filters)...), int32(in)) {
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
		got := v.ofRow(row, row, radius, z)
		l1 := 0.0
		for j := range in {
			one := make([]float64, in+1)
			one[j] = 1
			x, _ := least(row, one).Float64()
			l1 += math.Sqrt(x) * radius[j]
		}
		if want := math.Sqrt(2/math.Pi) * l1; got.mean < want*(1-1e-12) || got.mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d %+v: mean %v, want %v", i, m, got.mean, want)
		}
		o, unit := rng.IntN(out), make([]float64, out)
		unit[o] = 1
		own, varies := v.ofUnits(z)[o], v.ofVariation(radius)[o]
		for range 4 {
			p, d := append(make([]float64, in), 1), make([]float64, in+1)
			for j := range in {
				p[j] = []float64{z.lo[j], z.hi[j]}[rng.IntN(2)]
				d[j] = radius[j] * float64(2*rng.IntN(2)-1)
			}
			want := least(row, p)
			x, _ := want.Float64()
			if rat(got.variance).Cmp(want) < 0 || width == 0 && got.variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d %+v: variance %v, at a point %v", i, m, got.variance, x)
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
		z, radius, row := newSpan(in), make([]float64, in), make([]float64, m.Outputs())
		for j := range in {
			z.lo[j] = rng.NormFloat64()
			z.hi[j], radius[j] = z.lo[j]+width*rng.Float64(), width*rng.Float64()
		}
		for o := range row {
			row[o] = rng.NormFloat64() * float64(rng.IntN(3))
		}
		over := conv.Over(bound.Fed{Lo: z.lo, Hi: z.hi, Radius: radius})
		same := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9*want+1e-60 {
				t.Fatalf("%d %+v: %s %v, certify has %v", i, m, what, got, want)
			}
		}
		got := v.ofRow(row, row, radius, z)
		mean, variance := over.Row(row, row)
		same("mean", got.mean, mean)
		same("variance", got.variance, variance)
		units, variation := v.ofUnits(z), v.ofVariation(radius)
		for o := range row {
			variance, varies := over.Unit(o)
			same("variance of an output", units[o], variance)
			same("variance of how far an output varies", variation[o], varies)
		}
	}
}
