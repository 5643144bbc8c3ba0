package property

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// anyFloat draws finite float64 of every size, subnormal and huge included.
func anyFloat(r *rand.Rand) float64 {
	special := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, 0x1p-1022, 1, -1, 0.1, math.MaxFloat64, -math.MaxFloat64, 0x1p1023}
	switch r.IntN(4) {
	case 0:
		return special[r.IntN(len(special))]
	case 1:
		return r.NormFloat64()
	}
	for {
		if v := math.Float64frombits(r.Uint64()); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
}

func TestAddRoundsTightly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	biggest := exact(math.MaxFloat64)
	for range 100000 {
		a, b := anyFloat(r), anyFloat(r)
		if r.IntN(2) == 0 {
			b = a * (r.Float64() - 0.5) * math.Ldexp(1, r.IntN(80)-60) // overlapping sizes
		}
		if math.IsInf(b, 0) {
			continue
		}
		lo, hi := addDown(a, b), addUp(a, b)
		sum := new(big.Rat).Add(exact(a), exact(b))
		if new(big.Rat).Abs(sum).Cmp(biggest) > 0 {
			if sum.Sign() > 0 && (lo != math.MaxFloat64 || !math.IsInf(hi, 1)) || sum.Sign() < 0 && (!math.IsInf(lo, -1) || hi != -math.MaxFloat64) {
				t.Fatalf("%g + %g overflows to [%g, %g]", a, b, lo, hi)
			}
			continue
		}
		tight(t, fmt.Sprintf("%g + %g", a, b), lo, hi, sum)
	}
}

func TestMulEncloses(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		x, f := anyFloat(r), math.Abs(anyFloat(r))
		lo, hi, ok := mulOut(x, Decimal{f, f})
		product := new(big.Rat).Mul(exact(x), exact(f))
		if !ok {
			if new(big.Rat).Abs(product).Cmp(exact(math.MaxFloat64/2)) < 0 {
				t.Fatalf("%g * %g is said to overflow", x, f)
			}
			continue
		}
		if new(big.Rat).Abs(product).Cmp(exact(0x1p-900)) > 0 {
			tight(t, fmt.Sprintf("%g * %g", x, f), lo, hi, product)
		} else if exact(lo).Cmp(product) > 0 || exact(hi).Cmp(product) < 0 {
			t.Fatalf("%g * %g not in [%g, %g]", x, f, lo, hi)
		}
	}
}

func TestMulTakesTheFarEnd(t *testing.T) {
	for x, want := range map[float64][2]float64{3: {1.5, 6}, -3: {-6, -1.5}, 0: {0, 0}} {
		if lo, hi, ok := mulOut(x, Decimal{0.5, 2}); !ok || lo != want[0] || hi != want[1] {
			t.Errorf("%v * [0.5, 2] = [%v, %v], %v", x, lo, hi, ok)
		}
	}
}

func TestBallLinf(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	unit := &[2]Decimal{exactly(0), exactly(1)}
	for range 20000 {
		text := fmt.Sprintf("%.*f", 1+r.IntN(5), r.Float64()*0.3)
		eps, err := NewDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		v := r.Float64()
		clip := unit
		if r.IntN(2) == 0 {
			clip = nil
		}
		b, err := BallLinf([]float64{v}, []float64{v}, eps, clip)
		if err != nil {
			t.Fatal(err)
		}
		// The ends must be the two nearest for the enclosure of eps.
		lo := new(big.Rat).Sub(exact(v), exact(eps.Hi))
		hi := new(big.Rat).Add(exact(v), exact(eps.Hi))
		if clip != nil && lo.Sign() < 0 {
			lo.SetInt64(0)
		}
		if clip != nil && hi.Cmp(big.NewRat(1, 1)) > 0 {
			hi.SetInt64(1)
		}
		if exact(b.Lo[0]).Cmp(lo) > 0 || exact(up(b.Lo[0])).Cmp(lo) <= 0 || exact(b.Hi[0]).Cmp(hi) < 0 || exact(down(b.Hi[0])).Cmp(hi) >= 0 {
			t.Fatalf("v %v eps %s: [%v, %v] is not tight", v, text, b.Lo[0], b.Hi[0])
		}
		// And they must contain the set of the text itself.
		want, _ := new(big.Rat).SetString(text)
		lo.Sub(exact(v), want)
		if clip == nil && exact(b.Lo[0]).Cmp(lo) > 0 {
			t.Fatalf("v %v eps %s: lower end %v is inside", v, text, b.Lo[0])
		}
	}
}

func TestBallLinfClipOutward(t *testing.T) {
	a, _ := NewDecimal("0.1")
	b, _ := NewDecimal("0.7")
	box, err := BallLinf([]float64{0.5}, []float64{0.5}, exactly(1), &[2]Decimal{a, b})
	if err != nil || box.Lo[0] != a.Lo || box.Hi[0] != b.Hi || a.Lo == a.Hi || b.Lo == b.Hi {
		t.Errorf("%v %v", box, err)
	}
	box, err = BallLinf([]float64{0}, []float64{0}, exactly(0), nil)
	if err != nil || math.Signbit(box.Lo[0]) || math.Signbit(box.Hi[0]) {
		t.Errorf("negative zero: %v %v", box, err)
	}
}

func TestBallLinfErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	unit := &[2]Decimal{exactly(0), exactly(1)}
	for _, c := range []struct {
		lo, hi []float64
		eps    Decimal
		clip   *[2]Decimal
		want   []string
	}{
		{[]float64{0}, []float64{0}, exactly(-0.5), nil, []string{"eps -0.5"}},
		{[]float64{0}, []float64{0}, Decimal{-1, 1}, nil, []string{"eps"}},
		{[]float64{0}, []float64{0}, Decimal{nan, nan}, nil, []string{"eps"}},
		{[]float64{0}, []float64{0}, Decimal{0, inf}, nil, []string{"eps"}},
		{[]float64{0}, []float64{0}, exactly(0), &[2]Decimal{exactly(1), exactly(0)}, []string{"clip", "empty"}},
		{[]float64{0}, []float64{0}, exactly(0), &[2]Decimal{{nan, nan}, exactly(0)}, []string{"clip"}},
		{[]float64{0, nan}, []float64{0, nan}, exactly(0), nil, []string{"coordinate 1", "NaN"}},
		{[]float64{0, inf}, []float64{0, inf}, exactly(0), nil, []string{"coordinate 1", "Inf"}},
		{[]float64{2}, []float64{1}, exactly(0), nil, []string{"coordinate 0"}},
		{[]float64{.5, .5, 1.25}, []float64{.5, .5, 1.25}, exactly(0.125), unit, []string{"coordinate 2", "1.25", "clip interval from 0 to 1"}},
		{[]float64{-3}, []float64{-3}, exactly(0.125), unit, []string{"coordinate 0", "-3"}},
		{[]float64{1}, []float64{1e308}, exactly(1e308), nil, []string{"coordinate 0", "range"}},
		{[]float64{-1e308}, []float64{1}, exactly(1e308), nil, []string{"coordinate 0", "range"}},
	} {
		_, err := BallLinf(c.lo, c.hi, c.eps, c.clip)
		wantError(t, err, c.want...)
	}
	wantPanic(t, func() { _, _ = BallLinf(make([]float64, 2), make([]float64, 3), exactly(0), nil) }, "2", "3")
	p := &Points{Source: "x.csv", Dim: 1, n: 1, per: 1, blocks: []block{{[]float64{5}, []float64{5}}}}
	_, err := p.Ball(0, exactly(1), unit)
	wantError(t, err, "x.csv: point 0: coordinate 0")
	wantPanic(t, func() { p.At(1) }, "1 of 1")
	wantPanic(t, func() { p.At(-1) }, "-1 of 1")
}

func TestBallLinfSpeed(t *testing.T) {
	v := make([]float64, 784)
	for j := range v {
		v[j] = float64(j) / 783
	}
	eps, _ := NewDecimal("0.01")
	// Exact numbers would be allocated; the two ends of the box alone are.
	n := testing.AllocsPerRun(100, func() {
		if _, err := BallLinf(v, v, eps, &[2]Decimal{exactly(0), exactly(1)}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 5 {
		t.Errorf("%v allocations for an image", n)
	}
}
