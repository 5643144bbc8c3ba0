package gauss

import (
	"math"
	"math/big"
	"testing"
)

// oracleMoment is (51), its two terms, without a logarithm.
func oracleMoment(al, b, mean, v float64) *big.Float {
	s := newBig().Sqrt(bigOf(v))
	d := newBig().Sub(bigOf(1), newBig().Mul(bigOf(b), bigOf(v)))
	times := func(x ...*big.Float) *big.Float {
		p := bigOf(1)
		for _, f := range x {
			p.Mul(p, f)
		}
		return p
	}
	e := times(bigOf(b), bigOf(mean), bigOf(mean))
	e.Sub(e, times(bigOf(2), bigOf(al), bigOf(mean)))
	e.Add(e, times(bigOf(al), bigOf(al), bigOf(v)))
	e.Quo(e, times(bigOf(2), d))
	y := newBig().Sub(bigOf(mean), times(bigOf(al), bigOf(v)))
	y.Quo(y, times(s, newBig().Sqrt(d)))
	y.Neg(y)
	second := newBig().Quo(bigOf(1), newBig().Sqrt(d))
	if y.Cmp(bigOf(30)) > 0 { // e and y^2/2 may be beyond big.Float; their difference is -mean^2/(2v)
		e = times(bigOf(mean), bigOf(mean))
		e.Quo(e, bigOf(-2)).Quo(e, bigOf(v))
		second.Mul(second, oraclePhi).Mul(second, oracleMills(y))
	} else {
		second.Mul(second, oracleTail(y))
	}
	second.Mul(second, oracleExp(e))
	return second.Add(second, oracleTail(newBig().Quo(bigOf(mean), s)))
}

// momentApprox is the expectation by quadrature, of what is told by its definition alone.
func momentApprox(al, b, mean, v float64) float64 {
	s, sum := math.Sqrt(v), 0.0
	const steps = 40000
	from, to := -12.0, 12.0
	if b > 0 || al < 0 { // the mass of the moment lies further out
		to = 40
	}
	if kink := -mean / s; kink > from && kink < to { // Simpson's rule on both sides of it
		for _, part := range [][2]float64{{from, kink}, {kink, to}} {
			sum += simpson(part[0], part[1], steps, func(t float64) float64 { return momentDensity(al, b, mean+s*t, t) })
		}
		return sum
	}
	return simpson(from, to, steps, func(t float64) float64 { return momentDensity(al, b, mean+s*t, t) })
}

func momentDensity(al, b, w, t float64) float64 {
	z := max(w, 0)
	return math.Exp(-al*z+b*z*z/2-t*t/2) / math.Sqrt(2*math.Pi)
}

func simpson(from, to float64, n int, f func(float64) float64) float64 {
	h, sum := (to-from)/float64(n), 0.0
	for i := range n + 1 {
		w := 2.0
		if i%2 == 1 {
			w = 4
		}
		if i == 0 || i == n {
			w = 1
		}
		sum += w * f(from+h*float64(i))
	}
	return sum * h / 3
}

// TestReLUMoment: at or above the moment of exact arithmetic, with no tolerance, for arguments of all
// sizes; and near it where they are ordinary.
func TestReLUMoment(t *testing.T) {
	r := newRand(t, 51)
	for i := range cases(t, 3000) {
		wild := func(spread float64) float64 { return r.NormFloat64() * math.Exp(spread*r.NormFloat64()) }
		size := []float64{0.5, 2, 6}[i%3]
		v := math.Exp(size * r.NormFloat64())
		mean, al := wild(size)*math.Sqrt(v), wild(size)/math.Sqrt(v)
		b := 0.0
		switch i / 3 % 4 {
		case 1:
			b = r.Float64() / v
		case 2:
			b = -math.Abs(wild(size)) / v
		case 3:
			b = (1 - math.Exp(-12*r.Float64())) / v // P is near 0
		}
		got := ReLUMomentUp(al, b, mean, v)
		if math.IsInf(got, 1) || math.Abs(got) > 1e5 {
			continue
		}
		exact := oracleMoment(al, b, mean, v)
		if exact.Sign() <= 0 { // beyond the oracle's digits
			continue
		}
		if oracleExp(bigOf(got)).Cmp(widen(exact, -1)) < 0 {
			t.Errorf("Lam(%v, %v; %v, %v): %v is below the exact value", al, b, mean, v, got)
		}
		if size > 1 {
			continue
		}
		tight := got - 1e-9*(1+math.Abs(got))
		if i/3%4 == 3 {
			tight = got - 0.01*(1+math.Abs(got))
		}
		if oracleExp(bigOf(tight)).Cmp(exact) > 0 {
			t.Errorf("Lam(%v, %v; %v, %v): %v is not near the exact value", al, b, mean, v, got)
		}
	}
}

// TestReLUMomentMeans: (51) is the moment that it says.
func TestReLUMomentMeans(t *testing.T) {
	r := newRand(t, 52)
	for range cases(t, 60) {
		v := math.Exp(r.NormFloat64())
		mean, al, b := 2*r.NormFloat64()*math.Sqrt(v), r.NormFloat64()/math.Sqrt(v), (r.Float64()-0.5)/v
		if got, want := ReLUMomentUp(al, b, mean, v), math.Log(momentApprox(al, b, mean, v)); math.Abs(got-want) > 1e-8 {
			t.Errorf("Lam(%v, %v; %v, %v): %v, by quadrature %v", al, b, mean, v, got, want)
		}
	}
}

// TestReLUMomentEdges: what is no number, what is no moment, and certain neurons.
func TestReLUMomentEdges(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ al, b, mean, v, want float64 }{
		{1, 1, 0, 1, inf}, {1, 2, 0, 1, inf}, {1, 1, 0, 1 - 0x1p-53, inf}, {math.NaN(), 0, 0, 1, inf}, {1, math.NaN(), 0, 1, inf},
		{1, 0, math.NaN(), 1, inf}, {1, 0, 0, math.NaN(), inf}, {1, 0, 0, -1, inf}, {inf, 0, 0, 1, inf}, {-inf, 0, 0, 1, inf},
		{1, 0, inf, 1, inf}, {1, 0, 0, inf, inf}, {-1e200, 0, 1e200, 1, inf}, {-1e200, 0, 1, 1, inf}, {1, 0, -3, 0, 0}, {5, 7, 0, 0, 0},
	} {
		if got := ReLUMomentUp(c.al, c.b, c.mean, c.v); got != c.want {
			t.Errorf("Lam(%v, %v; %v, %v) = %v, want %v", c.al, c.b, c.mean, c.v, got, c.want)
		}
	}
	for _, c := range []struct{ al, b, mean, v, least, most float64 }{
		{1, 0, 3, 0, -3, -3 + 1e-14}, {-1, 2, 3, 0, 12, 12 + 1e-13}, {0, 0, 7, 2, 0, 1e-12}, {0, 0, -7, 2, 0, 1e-12},
		// Far tails: z is 0 but with probability Q(40); -al z + al^2 v/2 where 0 is far.
		{1, 0, -40, 1, -0x1p-1000, 1e-12}, {1, 0, 1e8, 1, -1e8 + 0.5 - 1e-6, -1e8 + 0.5 + 1e-6},
		{1e9, 0, 5, 1, -15.1, -15.0}, {1e200, 0, 5, 1, -15.1, -15.0}, {0, -1e300, 5, 1e-100, -1.26e301, -1.2e101},
	} {
		if got := ReLUMomentUp(c.al, c.b, c.mean, c.v); !(c.least <= got && got <= c.most) {
			t.Errorf("Lam(%v, %v; %v, %v) = %v, want %v to %v", c.al, c.b, c.mean, c.v, got, c.least, c.most)
		}
	}
}

// TestMoment: the moment of W itself, at or above what exact arithmetic makes of it, and near.
func TestMoment(t *testing.T) {
	r := newRand(t, 54)
	for i := range cases(t, 300) {
		v := math.Exp(2 * r.NormFloat64())
		mean, al, b := 3*r.NormFloat64()*math.Sqrt(v), 2*r.NormFloat64()/math.Sqrt(v), float64(i%2)*(1.9*r.Float64()-1)/v
		d := newBig().Sub(bigOf(1), newBig().Mul(bigOf(b), bigOf(v)))
		e := newBig().Mul(bigOf(b), newBig().Mul(bigOf(mean), bigOf(mean)))
		e.Sub(e, newBig().Mul(bigOf(2*al), bigOf(mean))).Add(e, newBig().Mul(bigOf(al), newBig().Mul(bigOf(al), bigOf(v))))
		e.Quo(e, newBig().Mul(bigOf(2), d))
		exact := newBig().Quo(oracleExp(e), newBig().Sqrt(d))
		got := MomentUp(al, b, mean, v)
		if oracleExp(bigOf(got)).Cmp(widen(exact, -1)) < 0 || oracleExp(bigOf(got-1e-11*(1+math.Abs(got)))).Cmp(exact) > 0 {
			t.Errorf("log E exp(-%v W + %v W^2/2), N(%v, %v): %v", al, b, mean, v, got)
		}
	}
	for _, c := range [][4]float64{{1, 1, 0, 1}, {1, 0, 0, 0}, {math.NaN(), 0, 0, 1}, {1, 0, math.Inf(1), 1}} {
		if got := MomentUp(c[0], c[1], c[2], c[3]); !math.IsInf(got, 1) {
			t.Errorf("log E of %v = %v", c, got)
		}
	}
}

func BenchmarkReLUMomentUp(b *testing.B) {
	sum := 0.0
	for i := range b.N {
		sum += ReLUMomentUp(float64(i%7)-3, 0.1, float64(i%11)-5, 1.5)
	}
	_ = sum
}

// TestMills: above Mills' ratio, and near it.
func TestMills(t *testing.T) {
	r := newRand(t, 53)
	for range cases(t, 300) {
		z := seriesEnd * math.Exp(6*r.Float64())
		exact := oracleMills(bigOf(z))
		if z < 5 {
			phi := oracleExpNeg(newBig().Quo(newBig().Mul(bigOf(z), bigOf(z)), bigOf(2)))
			exact = newBig().Quo(oracleTail(bigOf(z)), phi.Mul(phi, oraclePhi))
		}
		if got := millsUp(z); !isUpper(bigOf(got), exact) || relative(bigOf(got), exact) > 2e-13 {
			t.Errorf("M(%v): %v, exact %.20g", z, got, exact)
		}
	}
	for _, z := range []float64{1e5, millsEnd, 2 * millsEnd, 1e300} {
		got := new(big.Float).SetPrec(2000).SetFloat64(millsUp(z))
		if got.Mul(got, bigOf(z)).Cmp(bigOf(1-2/z/z)) < 0 || got.Cmp(bigOf(1+1e-12)) > 0 {
			t.Errorf("M(%v): %v", z, got)
		}
	}
}
