package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// above says that a number is at least x.
func above(hi float64, x *big.Rat) bool { return math.IsInf(hi, 1) || hi >= 0 && rat(hi).Cmp(x) >= 0 }

// TestLayer: what a layer says of rows and of units, with covariances of rows made or by factors, is at
// least what the law says in rational numbers at every point of a box; at a point it is that.
func TestLayer(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 41))
	for i := range testscale.Cases(t, 300) {
		in, out := 1+r.IntN(3), 1+r.IntN(2)
		cov := sumtest.RandomCovariance(r, math.Exp2(float64(r.IntN(12)-8)), in, out)
		if cov == nil {
			continue
		}
		l := sumtest.RandomNoisy(r, network.Activation{}, 0.1, in, out).Layers[0]
		layer, err := newLayer(&l, cov, []int{0, mostFormed}[i%2], never)
		if err != nil {
			t.Fatal(err)
		}
		width := float64(i / 2 % 2)
		z := bound.Fed{Lo: make([]float64, in), Hi: make([]float64, in), Radius: make([]float64, in)}
		for j := range in {
			z.Lo[j] = r.NormFloat64()
			z.Hi[j], z.Radius[j] = z.Lo[j]+width*r.Float64(), width*r.Float64()
		}
		over := layer.Over(z)
		c, unit := make([]float64, out), make([]float64, out)
		for o := range c {
			c[o] = r.NormFloat64()
		}
		o := r.IntN(out)
		unit[o] = 1
		mean, variance := over.Row(c, c)
		own, varies := over.Unit(o)
		k, ko := sumtest.RowCovariance(&l, cov, c), sumtest.RowCovariance(&l, cov, unit)
		l1 := 0.0
		for j := range in + 1 {
			sd := layer.marginal[o*(in+1)+j]
			if !above(sd*sd*(1+0x1p-50), ko[j][j]) {
				t.Fatalf("%d %v: marginal %v, variance %v", i, cov, sd, ko[j][j].FloatString(20))
			}
			if j < in {
				v, _ := k[j][j].Float64()
				l1 += math.Sqrt(v) * z.Radius[j]
			}
		}
		if want := math.Sqrt(2/math.Pi) * l1; mean < want*(1-1e-12) || mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d %v: mean %v, want %v", i, cov, mean, want)
		}
		for range 6 {
			p, d := append(make([]float64, in), 1), make([]float64, in+1)
			for j := range in {
				p[j] = []float64{z.Lo[j], z.Hi[j]}[r.IntN(2)]
				d[j] = z.Radius[j] * float64(2*r.IntN(2)-1)
			}
			v, vo, vd := sumtest.Form(k, p), sumtest.Form(ko, p), sumtest.Form(ko, d)
			if !above(variance, v) || !above(own, vo) || !above(varies, vd) {
				t.Fatalf("%d %v: variances %v %v %v, at a point %v %v %v", i, cov, variance, own, varies, v.FloatString(20), vo.FloatString(20), vd.FloatString(20))
			}
			if x, _ := v.Float64(); width == 0 && variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d %v: variance %v of a point, want %v", i, cov, variance, x)
			}
		}
	}
}

// TestWideBox: by factors the largest value over a box is above that at a corner by a factor that is not
// large: twice that of eigenvectors that are orthogonal.
func TestWideBox(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 42))
	const in = 20
	n := in + 1
	qa := make([]float64, n*n)
	for j := range n { // I - 2 v v' / v'v
		qa[j*n+j] = 1
	}
	v, square := make([]float64, n), 0.0
	for j := range v {
		v[j] = r.NormFloat64()
		square += v[j] * v[j]
	}
	for i := range n {
		for j := range n {
			qa[i*n+j] -= 2 * v[i] * v[j] / square
		}
	}
	cov := &posterior.Covariance{QG: []float64{1}, QA: qa, Sd: make([]float64, n)}
	for k := range cov.Sd {
		cov.Sd[k] = 1 + r.Float64()/2
	}
	l := sumtest.RandomNoisy(r, network.Activation{}, 0.1, in, 1).Layers[0]
	z := bound.Fed{Lo: make([]float64, in), Hi: make([]float64, in), Radius: make([]float64, in)}
	for j := range in {
		z.Lo[j], z.Hi[j], z.Radius[j] = -0.5, 0.5, 0.5
	}
	for _, formed := range []int{0, mostFormed} {
		layer, err := newLayer(&l, cov, formed, never)
		if err != nil {
			t.Fatal(err)
		}
		if variance, varies := layer.Over(z).Unit(0); variance > 2.25*(in/4.+1)*2 || varies > 2.25*in/4*1.01 {
			t.Errorf("formed up to %d: %v %v", formed, variance, varies)
		}
	}
}

// TestNorm: the largest eigenvalue of B B' of rows that are not orthogonal.
func TestNorm(t *testing.T) {
	if norm, err := normUp([]float64{1, 1, 1, 1}, 2, 2, never); err != nil || norm < 4 || norm > 4.001 {
		t.Errorf("%v, want 4", norm)
	}
}
