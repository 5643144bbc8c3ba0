package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/measure"
	"psafe/internal/testscale"
)

// bigTail is Q(z) for a rational z >= 0, within 2^-300 relative, by Phi's power series: all terms
// are positive, and 1/2 - C loses 1.5 z^2 bits, of which there are more.
func bigTail(z *big.Rat) *big.Float {
	f, _ := z.Float64()
	prec := uint(400 + 1.6*f*f)
	number := func(n int64) *big.Float { return new(big.Float).SetPrec(prec).SetInt64(n) }
	x := number(0).SetRat(new(big.Rat).Mul(z, z))
	half := number(0).Quo(x, number(2))
	sum, term := number(1), number(1)
	e, power := number(1), number(1) // e^(z^2/2)
	for n := int64(1); term.Sign() > 0 && term.MantExp(nil) > -int(prec); n++ {
		term.Quo(term.Mul(term, x), number(2*n+1))
		sum.Add(sum, term)
		power.Quo(power.Mul(power, half), number(n))
		e.Add(e, power)
	}
	c := number(0).Mul(sum, number(0).SetRat(z))
	c.Quo(c, e)
	c.Quo(c, number(0).Sqrt(number(0).Mul(number(2), bigPiTo(prec))))
	return c.Sub(big.NewFloat(0.5), c)
}

// bigPiTo is pi by Machin's formula, of 8,000 bits, or as many as are asked for.
var bigPiTo = func() func(uint) *big.Float {
	const prec = 8000
	number := func(n int64) *big.Float { return new(big.Float).SetPrec(prec).SetInt64(n) }
	series := func(n, f int64) *big.Float {
		total, power := number(0), number(0).Quo(number(f), number(n))
		for i := int64(1); power.MantExp(nil) > -prec; i += 2 {
			total.Add(total, number(0).Quo(power, number(i)))
			power.Quo(power, number(-n*n))
		}
		return total
	}
	pi := number(0).Sub(series(5, 16), series(239, 4))
	return func(prec uint) *big.Float { return new(big.Float).SetPrec(prec).Set(pi) }
}()

// within reports whether x is at most err from the exact number.
func within(x arith.DD, err float64, exact *big.Float) bool {
	v := new(big.Float).SetPrec(4000).Add(big.NewFloat(x.Hi), big.NewFloat(x.Lo))
	return v.Sub(v, exact).Abs(v).Cmp(big.NewFloat(err)) <= 0
}

func TestTailNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for n := range testscale.Cases(t, 2000) {
		z := arith.DDOf(rng.Float64() * []float64{0.1, 3, 9, 39.5}[n%4])
		if n < 50 { // the far ends of nodes
			z.Hi = float64(n)/8 + 1.0/16
		}
		z.Lo = z.Hi * 0x1p-54 * rng.Float64()
		exact := bigTail(new(big.Rat).Add(exactly(z.Hi), exactly(z.Lo)))
		if q, err := tailNear(z); !within(q, err, exact) {
			t.Errorf("tailNear(%v) = %v, further than %v off", z, q, err)
		}
		exact.Sub(big.NewFloat(0.5), exact)
		c, err := centralNear(z)
		if !within(c, err, exact) {
			t.Errorf("centralNear(%v) = %v, further than %v off", z, c, err)
		}
		if z.Hi < 0.05 && err > c.Hi*arith.Unit+0x1p-380 {
			t.Errorf("centralNear(%v) is wrong by up to %v", z, err)
		}
	}
	for _, c := range []struct{ z, q float64 }{{math.Inf(1), 0}, {50, 0}, {1e300, 0}} {
		if q, err := tailNear(arith.DDOf(c.z)); q.Hi != c.q || err > arith.Eta || err == 0 && c.z < math.Inf(1) {
			t.Errorf("tailNear(%v) = %v, %v", c.z, q, err)
		}
	}
	if _, err := tailNear(arith.DDOf(math.NaN())); err != 1 {
		t.Errorf("tailNear(NaN) claims %v", err)
	}
}

// oneLayer is a posterior with the given numbers as the parameters of one layer: the last
// one is the bias.
func oneLayer(mean, sdLo, sdHi []float64) *posterior.Posterior {
	n := len(mean) - 1
	l := posterior.Layer{Layer: net.DenseLayer(n, 1, net.Activation{})}
	l.Weight = posterior.Params{Mean: mean[:n], Spread: sdHi[:n], SdLo: sdLo[:n], SdHi: sdHi[:n]}
	l.Bias = posterior.Params{Mean: mean[n:], Spread: sdHi[n:], SdLo: sdLo[n:], SdHi: sdHi[n:]}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{l}}
}

func boxOfEnds(lo, hi []float64) *weightBox {
	n := len(lo) - 1
	return &weightBox{[][]float64{lo[:n], lo[n:]}, [][]float64{hi[:n], hi[n:]}}
}

// randomBox draws a posterior and a box: ends near and far from the mean, on one side of
// it, infinite ones, spreads that are intervals, points or 0.
func randomBox(rng *rand.Rand, n int, extreme bool) (mean, sdLo, sdHi, lo, hi []float64) {
	for range n {
		m, s := rng.NormFloat64(), math.Exp(rng.NormFloat64()*2)
		sLo := s
		if rng.IntN(3) == 0 {
			sLo = s * (1 - 1e-3*rng.Float64())
		}
		width := 3 * math.Exp(rng.NormFloat64()*0.5)
		shift := 0.0
		if extreme {
			switch rng.IntN(8) {
			case 0:
				s, sLo = 0, 0
			case 1:
				width = 1e-9 * rng.Float64()
			case 2:
				shift = width * (1 + rng.Float64()) // beside the mean
			case 3:
				width = 60 * rng.Float64()
			case 4:
				width, shift = 0.01, 0.02
			}
		}
		l, h := m+(shift-width)*s, m+(shift+width)*s
		if extreme && rng.IntN(8) == 0 {
			l = math.Inf(-1)
		}
		if extreme && rng.IntN(8) == 0 {
			h = math.Inf(1)
		}
		mean, sdLo, sdHi, lo, hi = append(mean, m), append(sdLo, sLo), append(sdHi, s), append(lo, l), append(hi, h)
	}
	return mean, sdLo, sdHi, lo, hi
}

// TestMassAgainstMeasure: what certify says a box holds is claimed by the checker too.
func TestMassAgainstMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range testscale.Cases(t, 3000) {
		n := 2 + rng.IntN(1<<rng.IntN(9))
		mean, sdLo, sdHi, lo, hi := randomBox(rng, n, rng.IntN(2) == 0)
		logP := measure.LogMassDown(lo, hi, mean, sdLo, sdHi)
		c := boxMass(oneLayer(mean, sdLo, sdHi), boxOfEnds(lo, hi))
		if math.IsInf(logP, -1) {
			continue
		}
		p := measure.ExpDown(logP)
		if !c.reaches(exactly(p)) {
			t.Fatalf("%d weights: certify has %v, check %v", n, p, c.float())
		}
		if l := measure.Log10Down(logP); !c.reachesLog10(exactly(l)) {
			t.Fatalf("%d weights: certify has log10 %v, check %v", n, l, c.log10Approx())
		}
		if !(c.log10Approx() <= logP/math.Ln10*(1-1e-9)+1e-9) {
			t.Fatalf("%d weights: certify has log10 %v, check %v", n, logP/math.Ln10, c.log10Approx())
		}
	}
}

// TestMassExact: a mass is a lower bound, and no more than a few units off, against tails
// of 4,000 bits.
func TestMassExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for range testscale.Cases(t, 300) {
		mean, _, sd, lo, hi := randomBox(rng, 2+rng.IntN(4), true)
		exact := big.NewFloat(1).SetPrec(4000)
		lost := 1.0 // the largest tail beside a factor
		for j := range mean {
			f := exactFactor(lo[j], hi[j], mean[j], sd[j])
			if v, _ := f.Float64(); v > 0 {
				lost = max(lost, 1/v)
			}
			exact.Mul(exact, f)
		}
		got := boxMass(oneLayer(mean, sd, sd), boxOfEnds(lo, hi)).value()
		if got.Cmp(exact) > 0 {
			t.Fatalf("mass %v is above the exact one %v", got, exact)
		}
		enough := new(big.Float).Mul(exact, big.NewFloat(1-1e-13))
		if lost < 100 && got.Cmp(enough) < 0 {
			t.Fatalf("mass %v is far below the exact one %v", got, exact)
		}
	}
}

// TestMassOfSpreads: a mass is a lower bound for every standard deviation of an interval.
func TestMassOfSpreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for range testscale.Costly(t, 200) {
		mean, sdLo, sdHi, lo, hi := randomBox(rng, 2, true)
		for j := range sdLo {
			sdLo[j] *= rng.Float64()
		}
		got := boxMass(oneLayer(mean, sdLo, sdHi), boxOfEnds(lo, hi)).value()
		for range 4 {
			exact := big.NewFloat(1).SetPrec(4000)
			for j := range mean {
				exact.Mul(exact, exactFactor(lo[j], hi[j], mean[j], in(rng, sdLo[j], sdHi[j])))
			}
			if got.Cmp(exact) > 0 {
				t.Fatalf("mass %v is above that of some spreads, %v", got, exact)
			}
		}
	}
}

// exactFactor is P(lo <= N(mean, sd^2) <= hi).
func exactFactor(lo, hi, mean, sd float64) *big.Float {
	if sd == 0 {
		if lo <= mean && mean <= hi {
			return big.NewFloat(1)
		}
		return new(big.Float)
	}
	// upper is P(N > x).
	upper := func(x float64) *big.Float {
		if math.IsInf(x, 1) {
			return new(big.Float).SetPrec(4000)
		}
		if math.IsInf(x, -1) {
			return big.NewFloat(1).SetPrec(4000)
		}
		z := new(big.Rat).Sub(exactly(x), exactly(mean))
		z.Quo(z, exactly(sd))
		if f, _ := z.Float64(); f > 70 {
			return new(big.Float).SetPrec(4000)
		} else if f < -70 {
			return big.NewFloat(1).SetPrec(4000)
		}
		if z.Sign() >= 0 {
			return bigTail(z)
		}
		return new(big.Float).SetPrec(4000).Sub(big.NewFloat(1), bigTail(z.Neg(z)))
	}
	return new(big.Float).SetPrec(4000).Sub(upper(lo), upper(hi))
}

func TestChance(t *testing.T) {
	up17 := math.Nextafter(1, 2)
	for _, c := range []struct {
		fail      float64
		reached   []float64
		unreached []float64
		log10     []float64
		notLog10  []float64
	}{
		{0.25, []float64{0, 0.5, 0.75}, []float64{math.Nextafter(0.75, 1), 1}, []float64{-1, -0.1249387366083}, []float64{-0.1249387366082, 0}},
		{0, []float64{1}, []float64{up17}, []float64{-1, 0}, []float64{1e-300}},
		{1, []float64{0}, []float64{5e-324}, nil, []float64{-1e9}},
		{1e-20, []float64{1 - 0x1p-53}, []float64{1}, []float64{-4.342944819032519e-21, -1}, []float64{-4.3429448190325181e-21, -1e-22, 0}},
		{5e-324, []float64{1 - 0x1p-53}, []float64{1}, []float64{-1e-323}, []float64{0}},
	} {
		of := complement(c.fail)
		for _, p := range c.reached {
			if !of.reaches(exactly(p)) {
				t.Errorf("1-%v does not reach %v", c.fail, p)
			}
		}
		for _, p := range c.unreached {
			if of.reaches(exactly(p)) {
				t.Errorf("1-%v reaches %v", c.fail, p)
			}
		}
		for _, l := range c.log10 {
			if !of.reachesLog10(exactly(l)) {
				t.Errorf("1-%v does not reach 10^%v", c.fail, l)
			}
		}
		for _, l := range c.notLog10 {
			if of.reachesLog10(exactly(l)) {
				t.Errorf("1-%v reaches 10^%v", c.fail, l)
			}
		}
	}
	for _, none := range []chance{{}, {x: arith.NewBig()}, {x: arith.NewBig(), y: arith.BigUnit}} {
		if none.reaches(exactly(5e-324)) || none.reachesLog10(exactly(-1e300)) || none.float() != 0 {
			t.Errorf("%v claims something", none)
		}
	}
	tiny := chance{x: arith.NewBig().SetMantExp(arith.BigUnit, -18085)} // 10^-5444.1
	if !tiny.reachesLog10(exactly(-5445)) || tiny.reachesLog10(exactly(-5444)) {
		t.Errorf("2^-18085 is about 10^%v", tiny.log10Approx())
	}
}

// TestBoxOf: end-points are those of certify's boxes, and drawn numbers those of devices.
func TestBoxOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for range testscale.Cases(t, 200) {
		mean, sdLo, sdHi, _, _ := randomBox(rng, 2+rng.IntN(60), true)
		if rng.IntN(3) == 0 {
			mean[0], sdLo[0], sdHi[0] = 1e5*mean[0], 1e-12, 1e-12 // narrower than float32
		}
		post := oneLayer(mean, sdLo, sdHi)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			f := formats[p.String()]
			gamma := p.Nearest(4 * rng.Float64())
			spec := bound.BoxSpec{Gamma: [][]float64{slices.Repeat([]float64{gamma}, 3)}, Sampled: rng.IntN(2) == 0, Seed: rng.Uint64(), First: rng.Uint64N(1 << 40)}
			want, err := bound.HostBox(post, p, spec, 2)
			if err != nil {
				t.Fatal(err)
			}
			var draw func(a, w int) float32
			if spec.Sampled {
				draw = func(a, w int) float32 { return arith.Normal(spec.Seed, spec.First+2, uint32(a), uint32(w)) }
			}
			got, err := boxOf(post, &f, []float64{gamma}, draw)
			if err != nil {
				t.Fatal(err)
			}
			for a := range want.Lo {
				if !slices.Equal(got.lo[a], want.Lo[a]) || !slices.Equal(got.hi[a], want.Hi[a]) {
					t.Fatalf("%v, gamma %v: array %d is %v to %v, certify's %v to %v", p, gamma, a, got.lo[a], got.hi[a], want.Lo[a], want.Hi[a])
				}
			}
		}
	}
}

func TestBoxOfErrors(t *testing.T) {
	post := oneLayer([]float64{1, 1e30}, []float64{1, 1e37}, []float64{1, 1e37})
	f := formats["float32"]
	for _, gamma := range []float64{-1, math.NaN(), math.Inf(1), 100} {
		if _, err := boxOf(post, &f, []float64{gamma}, nil); err == nil {
			t.Errorf("gamma %v makes a box", gamma)
		}
	}
}
