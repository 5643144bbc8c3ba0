package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// exactly is x as a rational number.
func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// anyFloat is a number of any size, with equal exponents and cancellation made likely.
func anyFloat(rng *rand.Rand, wide int) float64 {
	x := math.Ldexp(rng.Float64()*2-1, rng.IntN(2*wide+1)-wide)
	if rng.IntN(8) == 0 {
		x = math.Round(x)
	}
	return x
}

func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	loose, cases := 0, testscale.Cases(t, 20000)
	for range cases {
		wide := []int{1, 30, 400, 520}[rng.IntN(4)]
		var s Sum
		exact := new(big.Rat)
		var last [2]float64
		for range rng.IntN(40) {
			x, y := anyFloat(rng, wide), anyFloat(rng, wide)
			if rng.IntN(3) == 0 { // take the last term off again, nearly
				x, y = -last[0], last[1]*(1+float64(rng.IntN(3)-1)*0x1p-52)
			}
			last = [2]float64{x, y}
			s.Add(x, y)
			exact.Add(exact, new(big.Rat).Mul(exactly(x), exactly(y)))
		}
		lo, hi := s.Lo(), s.Hi()
		if !math.IsInf(lo, -1) && exactly(lo).Cmp(exact) > 0 {
			t.Fatalf("lo %v above the sum %v", lo, exact.FloatString(30))
		}
		if !math.IsInf(hi, 1) && exactly(hi).Cmp(exact) < 0 {
			t.Fatalf("hi %v below the sum %v", hi, exact.FloatString(30))
		}
		v, off := s.near()
		if off <= math.MaxFloat64 {
			apart := new(big.Rat).Sub(exactly(v), exact)
			if apart.Abs(apart).Cmp(exactly(off)) > 0 {
				t.Fatalf("near %v is further than %v from the sum", v, off)
			}
		}
		nearest, _ := exact.Float64()
		if math.Abs(nearest) > 1e-280 && (lo < Down(nearest) || hi > Up(nearest)) {
			loose++
		}
	}
	// Only sums that cancel nearly all of their digits may be loose.
	if loose > cases/3 {
		t.Errorf("%d sums of %d are further than a neighbour from the exact one", loose, cases)
	}
}

func TestSumOverflow(t *testing.T) {
	for _, terms := range [][][2]float64{
		{{1e300, 1e300}},
		{{-1e300, 1e300}},
		{{math.MaxFloat64, 1}, {math.MaxFloat64, 1}},
		{{math.MaxFloat64, 1}, {math.MaxFloat64, 1}, {-math.MaxFloat64, 1}},
		{{math.Inf(1), 1}},
		{{math.Inf(1), 0}},
		{{math.NaN(), 1}},
		{{math.Inf(1), 1}, {math.Inf(-1), 1}},
	} {
		var s Sum
		for _, xy := range terms {
			s.Add(xy[0], xy[1])
		}
		if lo, hi := s.Lo(), s.Hi(); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
			t.Errorf("%v: [%v, %v], want an unknown sum", terms, lo, hi)
		}
	}
}

func TestSumDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		a, b := anyFloat(rng, 60), anyFloat(rng, 60)
		exact := new(big.Rat).Add(exactly(a), exactly(b))
		lo, hi := SumDown(a, b), SumUp(a, b)
		if exactly(lo).Cmp(exact) > 0 || exactly(hi).Cmp(exact) < 0 || lo != hi && Up(lo) != hi {
			t.Fatalf("%v + %v in [%v, %v]", a, b, lo, hi)
		}
	}
	if lo := SumDown(math.MaxFloat64, math.MaxFloat64); lo > math.MaxFloat64 {
		t.Errorf("sumDown of an overflow is %v", lo)
	}
}

func TestLeastProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		w := [2]float64{anyFloat(rng, 3), anyFloat(rng, 3)}
		z := [2]float64{anyFloat(rng, 3), anyFloat(rng, 3)}
		if rng.IntN(4) == 0 { // a near tie: wLo zHi and wHi zLo differ by a rounding
			w[1], z[1] = -w[0]*(1+0x1p-52), -z[0]
		}
		wLo, wHi, zLo, zHi := min(w[0], w[1]), max(w[0], w[1]), min(z[0], z[1]), max(z[0], z[1])
		a, b := LeastProduct(wLo, wHi, zLo, zHi)
		c, d := MostProduct(wLo, wHi, zLo, zHi)
		least, most := new(big.Rat).Mul(exactly(a), exactly(b)), new(big.Rat).Mul(exactly(c), exactly(d))
		for _, x := range w {
			for _, y := range z {
				p := new(big.Rat).Mul(exactly(x), exactly(y))
				if p.Cmp(least) < 0 || p.Cmp(most) > 0 {
					t.Fatalf("%v * %v is outside of the corners of [%v, %v] x [%v, %v]", x, y, wLo, wHi, zLo, zHi)
				}
			}
		}
	}
}

// near is the float64 that is nearest to the exact sum or beside that one, and off bounds
// its distance from the exact sum; off is infinite or NaN if the sum overflowed.
func (s *Sum) near() (v, off float64) {
	v, b := TwoSum(s.p, s.rest)
	return v, Up(math.Abs(b) + s.err())
}
