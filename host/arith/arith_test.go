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
		if quick := AddUp(a, b); quick < hi || quick > Up(hi) {
			t.Fatalf("%v + %v: %v, want %v or the next", a, b, quick, hi)
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

// TestExpOf against 400 bits.
func TestExpOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range testscale.Cases(t, 3000) {
		y := DD{-math.Exp(rng.NormFloat64()*5 + 1), 0}
		y.Hi = max(y.Hi, -1e6)
		y.Lo = y.Hi * 0x1p-54 * rng.Float64()
		v, k := ExpOf(y)
		got := NewBig().Add(big.NewFloat(v.Hi), big.NewFloat(v.Lo))
		got.SetMantExp(got, k)
		exact := BigExp(NewBig().Neg(NewBig().Add(big.NewFloat(y.Hi), big.NewFloat(y.Lo))))
		apart := NewBig().Quo(got, exact)
		if f, _ := apart.Sub(apart, BigUnit).Float64(); math.Abs(f) > expErr {
			t.Fatalf("expOf(%v) is %v off", y, f)
		}
	}
}

// TestEnclosedOperations: members' results are members.
func TestEnclosedOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 28))
	in := func(what string, x *big.Rat, v Interval) {
		t.Helper()
		if math.IsInf(v.Lo, 0) || math.IsInf(v.Hi, 0) {
			return
		}
		if exactly(v.Lo).Cmp(x) > 0 || exactly(v.Hi).Cmp(x) < 0 {
			t.Fatalf("%s: %v is not in %v", what, x.FloatString(40), v)
		}
	}
	member := func(v Interval) float64 { return [3]float64{v.Lo, v.Hi, Middle(v.Lo, v.Hi)}[rng.IntN(3)] }
	for range 20000 {
		wide := []int{1, 30, 300}[rng.IntN(3)]
		a, b := Exactly(anyFloat(rng, wide)), Exactly(anyFloat(rng, wide))
		if rng.IntN(2) == 0 {
			a.Hi = max(a.Lo, anyFloat(rng, wide))
			b.Hi = max(b.Lo, anyFloat(rng, wide))
		}
		x, y := exactly(member(a)), exactly(member(b))
		in("plus", new(big.Rat).Add(x, y), a.Plus(b))
		in("minus", new(big.Rat).Sub(x, y), a.Minus(b))
		in("times", new(big.Rat).Mul(x, y), a.Times(b))
		in("abs", new(big.Rat).Abs(x), a.Abs())
		if b = b.Abs(); b.Lo > 0 {
			in("over", new(big.Rat).Quo(x, exactly(member(b))), a.Over(b))
		}
		square := a.Abs()
		r := square.Sqrt()
		if exactly(r.Lo).Mul(exactly(r.Lo), exactly(r.Lo)).Cmp(exactly(square.Lo)) > 0 || exactly(r.Hi).Mul(exactly(r.Hi), exactly(r.Hi)).Cmp(exactly(square.Hi)) < 0 {
			t.Fatalf("root of %v is not in %v", square, r)
		}
	}
}

// TestUp: the neighbours, of every kind of number.
func TestUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	cases := []float64{0, Eta, -Eta, 1, -1, 0x1p-1022, math.MaxFloat64, -math.MaxFloat64, Inf, -Inf, math.NaN()}
	for range 2000 {
		cases = append(cases, anyFloat(rng, 1000))
	}
	for _, x := range cases {
		for _, of := range [][2]float64{{Up(x), math.Nextafter(x, Inf)}, {Down(x), math.Nextafter(x, -Inf)}} {
			if of[0] != of[1] && !(math.IsNaN(of[0]) && math.IsNaN(x)) {
				t.Errorf("beside %v: %v, want %v", x, of[0], of[1])
			}
		}
	}
}

// TestProducts: products and roots are on their side, and neighbours.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		a, b := anyFloat(rng, 300), anyFloat(rng, 300)
		exact := new(big.Rat).Mul(exactly(a), exactly(b))
		lo, hi := ProductDown(a, b), ProductUp(a, b)
		if exactly(lo).Cmp(exact) > 0 || exactly(hi).Cmp(exact) < 0 || lo != hi && Up(lo) != hi && math.Abs(lo) > 0x1p-900 {
			t.Fatalf("%v * %v in [%v, %v]", a, b, lo, hi)
		}
		a = math.Abs(a)
		r := exactly(SqrtUp(a))
		if r.Mul(r, r).Cmp(exactly(a)) < 0 {
			t.Fatalf("root of %v: %v", a, SqrtUp(a))
		}
	}
}

// TestSqrt2OverPi: its square times pi is above 2, and that of the number below it is not.
func TestSqrt2OverPi(t *testing.T) {
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510", 10, 150, big.ToZero)
	if err != nil {
		t.Fatal(err)
	}
	for x, above := range map[float64]bool{Sqrt2OverPiUp: true, Sqrt2OverPiUp - 0x1p-52: false} {
		square := new(big.Float).SetPrec(300).SetFloat64(x)
		square.Mul(square, square).Mul(square, pi)
		if (square.Cmp(big.NewFloat(2)) > 0) != above {
			t.Errorf("%v: its square times pi is %v", x, square)
		}
	}
}
