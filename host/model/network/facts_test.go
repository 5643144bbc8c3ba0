package network

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// someActivations are every kind of the table, with several slopes where it has one.
func someActivations() []Activation {
	var all []Activation
	for k := range Kind(Kinds) {
		if table[k].slope == no {
			all = append(all, Activation{Kind: k})
			continue
		}
		for _, s := range []float64{1e-3, 0.1, 0.5, 0.999, 1} {
			if a := (Activation{Kind: k, Slope: s}); a.Check() == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// TestFacts holds every fact of the table against the function's values: a kind whose
// entry says something else about it than is true does not pass.
func TestFacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	draw := func() float64 { return r.NormFloat64() * math.Exp(3*r.NormFloat64()) }
	const slack = 1e-12
	for _, a := range someActivations() {
		f := a.facts()
		below, kinked := a.Kinked()
		for range 20000 {
			x, y := draw(), draw()
			sx, sy := a.Approx(x), a.Approx(y)
			small := slack * (1 + math.Abs(x) + math.Abs(y))
			if x <= y && sx > sy+small {
				t.Fatalf("%v falls from %v at %v to %v at %v", a, sx, x, sy, y)
			}
			if lo, hi := a.ValueDown(x), a.ValueUp(x); !(lo <= sx+small && sx-small <= hi && hi-lo <= 1e-9*(1+math.Abs(x))) {
				t.Fatalf("%v(%v) = %v is not in [%v, %v], or that is wide", a, x, sx, lo, hi)
			}
			if a.NonNeg() && sx < 0 || f.deadBelow == yes && x <= 0 && sx != 0 {
				t.Fatalf("%v(%v) = %v is negative, or not dead", a, x, sx)
			}
			if d := math.Abs(sx - sy); d > f.lipschitz*math.Abs(x-y)+small {
				t.Fatalf("%v has slope %v between %v and %v, more than %v", a, d/math.Abs(x-y), x, y, f.lipschitz)
			}
			if v := math.Abs(sx); v > f.growth*math.Abs(x)+f.offset+small || v > f.bound {
				t.Fatalf("|%v(%v)| = %v exceeds its growth or its bound", a, x, v)
			}
			if want := max(x, below*x); kinked && math.Abs(sx-want) > small {
				t.Fatalf("%v(%v) = %v, its kink says %v", a, x, sx, want)
			}
			const h = 1e-6
			if d := (a.Approx(x+h) - a.Approx(x-h)) / (2 * h); math.Abs(x) > 2*h && math.Abs(x) < 100 && math.Abs(d-a.DerivativeApprox(x, sx)) > 1e-6 {
				t.Fatalf("the derivative of %v at %v is %v, differences give %v", a, x, a.DerivativeApprox(x, sx), d)
			}
		}
		f.checkTight(t, a)
	}
}

// checkTight demands that what the table calls absent is absent: numbers that are too
// large are no error, but prove less.
func (f *facts) checkTight(t *testing.T, a Activation) {
	least, most, steepest := 0.0, 0.0, 0.0
	for x := -60.0; x <= 60; x += 1.0 / 64 {
		v := a.Approx(x)
		least, most = min(least, v), max(most, math.Abs(v))
		steepest = max(steepest, (a.Approx(x+1e-3)-v)/1e-3)
	}
	if (least >= 0) != (f.nonNeg == yes) {
		t.Errorf("%v: nonNeg is %v, the least value seen %v", a, f.nonNeg == yes, least)
	}
	if f.lipschitz > steepest*1.001 {
		t.Errorf("%v: Lipschitz constant %v, the steepest slope seen %v", a, f.lipschitz, steepest)
	}
	if f.bound < inf && f.bound > most*1.001 || f.bound == inf && most < 2 && a.Kind != LeakyReLU {
		t.Errorf("%v: bound %v, the largest value seen %v", a, f.bound, most)
	}
	if dead := a.Approx(-1) == 0 && a.Approx(-100) == 0; dead != (f.deadBelow == yes) {
		t.Errorf("%v: deadBelow is %v", a, f.deadBelow == yes)
	}
}

// TestMissingFacts adds 2 max(t, 0) to the table, with one entry missing at a time: no
// such table lets the program start. The complete entry does.
func TestMissingFacts(t *testing.T) {
	double := facts{
		word: "double_relu", slope: no,
		value: func(_ Activation, t float64) float64 { return 2 * max(t, 0) },
		derivative: func(_ Activation, t, _ float64) float64 {
			if t > 0 {
				return 2
			}
			return 0
		},
		up:       func(_ Activation, t, sign float64) float64 { return sign * 2 * max(t, 0) },
		monotone: yes, nonNeg: yes, deadBelow: yes, kinked: no, below: func(Activation) float64 { return 0 },
		bend: straight, lipschitz: 2, growth: 2, bound: inf,
	}
	if missing := double.missing(); missing != "" {
		t.Fatalf("a complete entry lacks %q", missing)
	}
	for name, without := range map[string]func(f *facts){
		"word": func(f *facts) { f.word = "" }, "slope": func(f *facts) { f.slope = unsaid },
		"value": func(f *facts) { f.value = nil }, "derivative": func(f *facts) { f.derivative = nil },
		"up": func(f *facts) { f.up = nil }, "monotone": func(f *facts) { f.monotone = no }, "nonNeg": func(f *facts) { f.nonNeg = unsaid },
		"deadBelow": func(f *facts) { f.deadBelow = unsaid }, "kinked": func(f *facts) { f.kinked = unsaid },
		"below": func(f *facts) { f.below = nil }, "bend": func(f *facts) { f.bend = nil }, "lipschitz": func(f *facts) { f.lipschitz = 0 },
		"growth": func(f *facts) { f.growth = 0 }, "bound": func(f *facts) { f.bound = 0 },
	} {
		f := double
		if without(&f); f.missing() != name {
			t.Errorf("an entry without %s lacks %q", name, f.missing())
		}
	}
}

// TestUnknownKind: a number that is no kind is refused by Check and answers nothing.
func TestUnknownKind(t *testing.T) {
	for _, kind := range []Kind{-1, Kinds, Kinds + 7} {
		a := Activation{Kind: kind}
		if err := a.Check(); err == nil || !strings.Contains(err.Error(), "relu") {
			t.Errorf("kind %d is accepted: %v", kind, err)
		}
		for name, ask := range map[string]func(){
			"NonNeg": func() { a.NonNeg() }, "DeadBelow": func() { a.DeadBelow() }, "Kinked": func() { a.Kinked() },
			"Lipschitz": func() { a.Lipschitz() }, "SizeUp": func() { a.SizeUp(1) }, "BendWithin": func() { a.BendWithin(1, 2) }, "ValueUp": func() { a.ValueUp(1) },
			"ValueDown": func() { a.ValueDown(1) }, "Approx": func() { a.Approx(1) }, "DerivativeApprox": func() { a.DerivativeApprox(1, 1) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of kind %d gives an answer", name, kind)
					}
				}()
				ask()
			}()
		}
	}
}

// TestSizeUp: L2 norms through an activation are bounds, by simulation, and those of
// functions that grow as t does keep the bits of their argument.
func TestSizeUp(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, a := range someActivations() {
		for range 50 {
			mean, sd := 3*r.NormFloat64(), r.ExpFloat64()
			before, after := 0.0, 0.0
			for range 2000 {
				x := mean + sd*r.NormFloat64()
				before, after = before+x*x, after+a.Approx(x)*a.Approx(x)
			}
			if up := a.SizeUp(math.Sqrt(before / 2000)); math.Sqrt(after/2000) > up*(1+1e-12) {
				t.Errorf("%v: norm %v goes to %v, bound %v", a, math.Sqrt(before/2000), math.Sqrt(after/2000), up)
			}
		}
	}

	if got := (&facts{growth: 2.1, bound: inf}).sizeUp(0.1); new(big.Rat).SetFloat64(got).Cmp(big.NewRat(21, 100)) < 0 || got > 0.2100001 {
		t.Errorf("growth 2.1 takes norm 0.1 to %v", got)
	}
	if got := (Activation{Kind: ReLU}).SizeUp(0.1); got != 0.1 {
		t.Errorf("relu takes norm 0.1 to %v", got)
	}
	for _, size := range []float64{0, 0.1, 1e300} {
		if got := (Activation{Kind: Sigmoid}).SizeUp(size); got != 1 {
			t.Errorf("sigmoid takes norm %v to %v", size, got)
		}
	}
}

// TestBend: second derivatives by differences are within what is said of intervals, which is near them where these
// are short.
func TestBend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, a := range someActivations() {
		for range 2000 {
			lo := 8 * r.Float64()
			hi := lo + math.Exp(2*r.NormFloat64()-2)
			if r.IntN(8) == 0 {
				hi = inf
			}
			if r.IntN(2) == 0 {
				lo, hi = -hi, -lo
			}
			least, most := a.BendWithin(lo, hi)
			const h = 1e-4
			x := max(lo, -20) + 2*h + (min(hi, 20)-max(lo, -20)-4*h)*r.Float64()
			if x-h < lo || x+h > hi {
				continue
			}
			bend := (a.Approx(x+h) - 2*a.Approx(x) + a.Approx(x-h)) / (h * h)
			if bend < least-1e-6 || bend > most+1e-6 {
				t.Fatalf("%v bends by %v at %v, within [%v, %v] by [%v, %v]", a, bend, x, lo, hi, least, most)
			}
			if most-least > 6*(hi-lo) {
				t.Fatalf("%v bends by [%v, %v] within [%v, %v]", a, least, most, lo, hi)
			}
		}
		for _, wrong := range [][2]float64{{-1, 1}, {2, 1}, {math.NaN(), 1}} {
			if least, most := a.BendWithin(wrong[0], wrong[1]); least != -inf || most != inf {
				t.Errorf("%v within %v: [%v, %v]", a, wrong, least, most)
			}
		}
	}
}
