package probability

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith/gauss"
)

// testBox is a box with a Gaussian around it; sd is the true one.
type testBox struct{ lo, hi, mean, sdLo, sd, sdHi []float64 }

// randomBox draws d weights: mostly intervals around the mean, some beyond it,
// some half-infinite, with ends on the mean, narrow or wide, and a true sd at
// either end of, or inside, its bounds.
func randomBox(r *rand.Rand, d int) testBox {
	b := testBox{}
	for range d {
		mean := math.Ldexp(r.NormFloat64(), r.IntN(12)-6)
		sd := math.Exp(6*r.Float64() - 5)
		lo, hi := mean-sd*6*r.Float64(), mean+sd*6*r.Float64()
		switch r.IntN(10) {
		case 0:
			lo = mean + sd*2*r.Float64()
			hi = lo + sd*3*r.Float64()
		case 1:
			hi = mean - sd*2*r.Float64()
			lo = hi - sd*3*r.Float64()
		case 2:
			lo = math.Inf(-1)
		case 3:
			hi = math.Inf(1)
		case 4:
			lo = mean
		case 5:
			hi = mean
		case 6:
			lo, hi = mean-sd*1e-6*r.Float64(), mean+sd*1e-6*r.Float64()
		case 7:
			w := 3 + 5*r.Float64()
			lo, hi = mean-sd*w, mean+sd*w
		}
		sdLo, sdHi := sd, sd
		spread := []float64{0, 1e-15, 0.3}[r.IntN(3)]
		switch r.IntN(3) {
		case 0:
			sdLo = sd * (1 - spread)
		case 1:
			sdHi = sd * (1 + spread)
		case 2:
			sdLo, sdHi = sd*(1-spread), sd*(1+spread)
		}
		b.lo, b.hi, b.mean = append(b.lo, lo), append(b.hi, hi), append(b.mean, mean)
		b.sdLo, b.sd, b.sdHi = append(b.sdLo, sdLo), append(b.sd, sd), append(b.sdHi, sdHi)
	}
	return b
}

// TestMass compares boxes of 1 to 3 weights with the oracle.
func TestMass(t *testing.T) {
	r := newRand(t, 11)
	for range cases(t, 2000) {
		b := randomBox(r, 1+r.IntN(3))
		truth := oracleMass(b.lo, b.hi, b.mean, b.sd)
		if l := LogMassDown(b.lo, b.hi, b.mean, b.sdLo, b.sdHi); !isLower(expOf(l), truth) || l > 0 {
			t.Errorf("%x: LogMassDown = %x, truth %s", b, l, truth.Text('g', 20))
		}
	}
}

// TestMassExactSD has sdLo = sdHi, where the bound must be tight: 5e-12 relative, and for an interval beyond the mean (a difference of tails) 5e-12 of its larger
// tail.
func TestMassExactSD(t *testing.T) {
	r := newRand(t, 12)
	for range cases(t, 1500) {
		b := randomBox(r, 1)
		truth := oracleMass(b.lo, b.hi, b.mean, b.sd)
		if truth.Sign() == 0 {
			continue
		}
		budget := 5e-12
		near := max(b.lo[0]-b.mean[0], b.mean[0]-b.hi[0]) / b.sd[0]
		if near > 0 {
			p, _ := truth.Float64()
			budget *= 1 + gauss.TailUp(near)/p
		}
		down := LogMassDown(b.lo, b.hi, b.mean, b.sd, b.sd)
		if e := relative(expOf(down), truth); e > budget {
			t.Errorf("%x: %x is loose by %g", b, down, e)
		}
		if !isLower(expOf(down), truth) {
			t.Errorf("%x: %x is above %s", b, down, truth.Text('g', 20))
		}
	}
}

// TestMassWorstSD checks that the bound over an interval of sd holds at 21 values of
// it and is met at one of them.
func TestMassWorstSD(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{-1, 1}, {-2, 0.5}, {0.5, 1}, {0.5, 4}, {2, 3}, {-3, -2}, {-1, -0.2}, {1, math.Inf(1)}, {math.Inf(-1), -1}, {math.Inf(-1), 2}, {0, 1}} {
		const sdLo, sdHi = 0.5, 2.0
		lo, hi, mean := []float64{c.lo}, []float64{c.hi}, []float64{0}
		down := LogMassDown(lo, hi, mean, []float64{sdLo}, []float64{sdHi})
		best := math.Inf(1)
		for i := range 21 {
			truth := oracleInterval(c.lo, c.hi, 0, sdLo+(sdHi-sdLo)*float64(i)/20)
			if !isLower(expOf(down), truth) {
				t.Errorf("[%v,%v]: %v fails for sd number %d", c.lo, c.hi, down, i)
			}
			best = min(best, relative(expOf(down), truth))
		}
		if best > 1e-11 {
			t.Errorf("[%v,%v]: the bound is not met by any sd, loose by %g", c.lo, c.hi, best)
		}
	}
}

func TestMassCorners(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	half := math.Log(0.5)
	for _, c := range []struct {
		name                     string
		lo, hi, mean, sdLo, sdHi float64
		down                     float64 // exact, or near where 0 > x > -Inf
	}{
		{"free", -inf, inf, 3, 1, 2, 0},
		{"free, sd 0", -inf, inf, 3, 0, 0, 0},
		{"sd 0 inside", 1, 2, 1.5, 0, 0, 0},
		{"sd 0 at the end", 1, 2, 2, 0, 0, 0},
		{"sd 0 point", 1, 1, 1, 0, 0, 0},
		{"sd 0 outside", 1, 2, 2.5, 0, 0, -inf},
		{"sd maybe 0, outside", 1, inf, 0, 0, 1, -inf},
		{"sd maybe 0, point beside", 1, 1, 0, 0, 1, -inf},
		{"sd maybe 0, point on mean", 0, 0, 0, 0, 1, -inf},
		{"sd maybe 0, inside", 0, inf, 0, 0, 1, half},
		{"point", 0, 0, 0, 1, 1, -inf},
		{"empty", 1, 0.5, 0, 1, 1, -inf},
		{"+Inf point", inf, inf, 0, 1, 1, -inf},
		{"-Inf point", -inf, -inf, 0, 0, 1, -inf},
		{"half", 0, inf, 0, 1, 1, half},
		{"other half", -inf, 0, 0, 1, 2, half},
		{"overflowing distance", -math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, 1, 1, half},
		{"NaN lo", nan, 1, 0, 1, 1, -inf},
		{"NaN hi", 0, nan, 0, 1, 1, -inf},
		{"NaN mean, free", -inf, inf, nan, 1, 1, -inf},
		{"infinite mean", -inf, inf, inf, 1, 1, -inf},
		{"NaN sdLo", 0, 1, 0, nan, 1, -inf},
		{"NaN sdHi", 0, 1, 0, 1, nan, -inf},
		{"infinite sd", -1, 1, 0, 1, inf, -inf},
		{"negative sd", 0, 1, 0, -1, 1, -inf},
		{"sd reversed", 0, 1, 0, 2, 1, -inf},
	} {
		one := func(x float64) []float64 { return []float64{x} }
		down := LogMassDown(one(c.lo), one(c.hi), one(c.mean), one(c.sdLo), one(c.sdHi))
		near := func(got, want float64) bool {
			return got == want || want < 0 && !math.IsInf(want, 0) && math.Abs(got-want) < 1e-12
		}
		if !near(down, c.down) {
			t.Errorf("%s: got %v, want %v", c.name, down, c.down)
		}
	}
	lo, hi, mean, sd := []float64{2, nan}, []float64{1, 1}, []float64{0, 0}, []float64{1, 1}
	if d := LogMassDown(lo, hi, mean, sd, sd); !math.IsInf(d, -1) {
		t.Errorf("empty and NaN: %v", d)
	}
	if d := LogMassDown(nil, nil, nil, nil, nil); d != 0 {
		t.Errorf("dimension 0: %v", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("unequal lengths must panic")
		}
	}()
	LogMassDown([]float64{0}, []float64{1}, []float64{0}, []float64{1}, nil)
}

// centredBox is a mean-centred box of half-width gamma sd.
func centredBox(d int, gamma float64) testBox {
	r := rand.New(rand.NewPCG(1, 2))
	b := testBox{}
	for range d {
		mean, sd := r.NormFloat64(), math.Exp(r.NormFloat64()-3)
		b.mean, b.sd = append(b.mean, mean), append(b.sd, sd)
		b.lo, b.hi = append(b.lo, mean-gamma*sd), append(b.hi, mean+gamma*sd)
	}
	return b
}

// TestMassManyWeights compares 10^6 factors with erf(gamma/sqrt 2)^d, to
// 1e-8 relative (the ends lo, hi are themselves rounded, by up to 2^-53 |mean|/sd).
func TestMassManyWeights(t *testing.T) {
	for _, c := range []struct {
		d     int
		gamma float64
	}{{1_000_000, 5.3}, {100_000, 2.5}, {100_000, 0.5}} {
		b := centredBox(c.d, c.gamma)
		down := LogMassDown(b.lo, b.hi, b.mean, b.sd, b.sd)
		want := float64(c.d) * centredLogApprox(c.gamma)
		if math.Abs(down-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("d = %d, gamma = %v: %v, want about %v", c.d, c.gamma, down, want)
		}
	}
}

// TestFreeWeightsCostNothing: exactly 0 whatever the number of chunks.
func TestFreeWeightsCostNothing(t *testing.T) {
	b := centredBox(3*chunk, 1)
	for j := range b.lo {
		b.lo[j], b.hi[j] = math.Inf(-1), math.Inf(1)
	}
	if d := LogMassDown(b.lo, b.hi, b.mean, b.sd, b.sd); d != 0 {
		t.Errorf("free box has log-mass %g", d)
	}
}

func BenchmarkLogMassDown118282(b *testing.B) {
	x := centredBox(118282, 4.9)
	for range b.N {
		sink = LogMassDown(x.lo, x.hi, x.mean, x.sd, x.sd)
	}
}
