package probability

import (
	"math"
	"math/big"
	"testing"

	"psafe/host/arith/gauss"
	"psafe/internal/testkit/oracle"
)

// This file compares single steps with exact arithmetic on the very numbers they
// start from: the slack of tails and logarithms, which hides a rounding from tests
// of whole results, is in those numbers and not in the comparison.

// exactBig has room for every sum of float64 that these tests form.
func exactBig(x float64) *big.Float { return new(big.Float).SetPrec(2400).SetFloat64(x) }

func exactSum(terms ...float64) *big.Float {
	sum := exactBig(0)
	for _, t := range terms {
		sum.Add(sum, exactBig(t))
	}
	return sum
}

// TestTailSteps: sums and differences of tails.
func TestTailSteps(t *testing.T) {
	r := newRand(t, 23)
	for range 5000 {
		a, b := 9*r.Float64(), 9*r.Float64()
		if exactBig(tailSumUp(a, b)).Cmp(exactSum(gauss.TailUp(a), gauss.TailUp(b))) < 0 || exactBig(tailSumDown(a, b)).Cmp(exactSum(gauss.TailDown(a), gauss.TailDown(b))) > 0 {
			t.Errorf("tails of %x and %x: sum [%x, %x]", a, b, tailSumDown(a, b), tailSumUp(a, b))
		}
		near, far := min(a, b), max(a, b)
		if got := oneSideDown(near, far, 0, 1); got > 0 && exactBig(got).Cmp(exactSum(gauss.TailDown(distanceUp(near, 0, 1)), -gauss.TailUp(distanceDown(far, 0, 1)))) > 0 {
			t.Errorf("[%x, %x] beyond the mean: %x", near, far, got)
		}
		// A box that holds the mean and less than half of the mass.
		lo, hi := -0.6*r.Float64(), 0.6*r.Float64()
		lower := one
		lower.intervalDown(lo, hi, 0, 1, 1)
		down := exactSum(gauss.CentralDown(distanceDown(0, lo, 1)), gauss.CentralDown(distanceDown(hi, 0, 1)))
		if exactBig(math.Ldexp(lower.m, lower.e)).Cmp(down) > 0 {
			t.Errorf("[%x, %x]: central parts %+v", lo, hi, lower)
		}
		x, y := makeEnd(3*r.NormFloat64(), 0, 1, 1), makeEnd(3*r.NormFloat64(), 0, 1, 1)
		if y.x < x.x {
			x, y = y, x
		}
		atom := 0.0
		if x.x < 0 && y.x >= 0 {
			atom = 1
		}
		if got := intervalUpBetween(&x, &y, 0); exactBig(got).Cmp(exactSum(atom, y.gUp, -x.gDown)) < 0 && got < 1 {
			t.Errorf("between %+v and %+v: %x", x, y, got)
		}
	}
}

// TestTailSDs: the pair bounds of an end take the worse standard deviation on
// either side of the mean.
func TestTailSDs(t *testing.T) {
	for _, x := range []float64{-3, -1, -0.1, 0, 0.1, 1, 3} {
		for _, e := range []end{makeEnd(x, 0, 0.5, 2)} {
			for _, sd := range []float64{0.5, 1, 2} {
				g := oracleTail(bigOf(-x / sd))
				if x >= 0 {
					g.Sub(g, bigOf(1))
				}
				if bigOf(e.gDown).Cmp(g) > 0 || bigOf(e.gUp).Cmp(g) < 0 {
					t.Errorf("end %v: [%x, %x] does not hold for sd %v", x, e.gDown, e.gUp, sd)
				}
			}
		}
	}
}

// TestLogOfLongSum: the sum of a product meets its logarithm in one directed step.
func TestLogOfLongSum(t *testing.T) {
	r := newRand(t, 25)
	ln2 := newBig().Neg(oracle.Ln(bigOf(0.5)))
	for range 2000 {
		p := product{m: 0.5 + 0.5*r.Float64(), e: -r.IntN(5), sum: math.Exp(10 * r.Float64())}
		// ln p = ln m + e ln 2 - sum
		at := func(l float64) *big.Float {
			x := newBig().Add(bigOf(l), bigOf(p.sum))
			return oracle.Exp(x.Sub(x, newBig().Mul(bigOf(float64(p.e)), ln2)))
		}
		if lo, hi := p.logDown(), p.logUp(); !isLower(at(lo), bigOf(p.m)) || !isUpper(at(hi), bigOf(p.m)) {
			t.Errorf("%+v: [%x, %x]", p, lo, hi)
		}
	}
}

// numbers is a union whose masses and pairs are given numbers.
func numbers(mass []float64, pair func(i, j int) float64) (*union, [][]scaled) {
	u, pairs := &union{}, [][]scaled(nil)
	for i, m := range mass {
		u.boxes = append(u.boxes, Box{mass: makeScaled(m, 0)})
		row := make([]scaled, i+1)
		for j := range row {
			row[j] = makeScaled(pair(i, j), 0)
		}
		pairs = append(pairs, row)
	}
	return u, pairs
}

func exactOf(s scaled) *big.Float { return new(big.Float).SetPrec(2400).SetMantExp(exactBig(s.m), s.e) }

// TestChainSteps: the terms of (8) against exact subtraction, with masses of
// ordinary size and where they are subnormal.
func TestChainSteps(t *testing.T) {
	r := newRand(t, 26)
	for trial := range 500 {
		scale := 0
		if trial%2 == 1 {
			scale = -1070
		}
		n := 2 + r.IntN(12)
		mass := make([]float64, n)
		for i := range mass {
			mass[i] = 0.5 + 0.5*r.Float64()
		}
		u, pairs := numbers(mass, func(i, j int) float64 { return r.Float64() / float64(n) })
		for i := range u.boxes {
			u.boxes[i].mass.e += scale
			for j := range pairs[i] {
				pairs[i][j].e += scale
				if trial%4 == 3 { // pairs of a few eta, boxes far above
					pairs[i][j] = scaled{0.625, -1071}
					u.boxes[i].mass = scaled{0.5, -1060}
				}
			}
		}
		for i, got := range u.chainTerms(pairs, 0) {
			truth := exactOf(u.boxes[i].mass)
			for j := range i {
				truth.Sub(truth, exactOf(pairs[i][j]))
			}
			if got > 0 && exactBig(got).Cmp(truth) > 0 || got < 0 {
				t.Errorf("trial %d, term %d: %x, truth %s", trial, i, got, truth.Text('p', 0))
			}
			if f, _ := truth.Float64(); scale == 0 && got < f-1e-14 {
				t.Errorf("trial %d, term %d: %x is loose, truth %x", trial, i, got, f)
			}
		}
	}
}

// exactDeCaen is (9) for given masses and pairs.
func exactDeCaen(u *union, pairs [][]scaled) *big.Float {
	sum := new(big.Float).SetPrec(2400)
	for i, b := range u.boxes {
		total := new(big.Float).SetPrec(2400)
		for j := range u.boxes {
			total.Add(total, exactOf(pairs[max(i, j)][min(i, j)]))
		}
		p := exactOf(b.mass)
		sum.Add(sum, p.Quo(p.Mul(p, p), total))
	}
	return sum
}

// TestDeCaenSteps: (9) against exact arithmetic, for random numbers, for many
// terms below the last digit of the sum, and for many pairs below the last digit
// of a denominator.
func TestDeCaenSteps(t *testing.T) {
	r := newRand(t, 27)
	check := func(name string, u *union, pairs [][]scaled) {
		t.Helper()
		got, truth := u.deCaen(pairs, 0), exactDeCaen(u, pairs)
		if exactBig(got).Cmp(truth) > 0 {
			t.Errorf("%s: %x is above %s", name, got, truth.Text('p', 0))
		}
		if f, _ := truth.Float64(); got < f*(1-1e-12) {
			t.Errorf("%s: %x is loose, truth %x", name, got, f)
		}
	}
	for range 3000 {
		mass := make([]float64, 1+r.IntN(3))
		for i := range mass {
			mass[i] = 0.5 + 0.5*r.Float64()
		}
		u, pairs := numbers(mass, func(i, j int) float64 {
			if i == j {
				return mass[i] * (1 + 0x1p-50*r.Float64())
			}
			return 0.1 * r.Float64()
		})
		check("random", u, pairs)
	}
	mass := []float64{1}
	for range 300 {
		mass = append(mass, 0.75*0x1p-52)
	}
	u, pairs := numbers(mass, func(i, j int) float64 {
		if i == j {
			return mass[i]
		}
		return 0
	})
	check("small terms", u, pairs)
	// Only the first box counts; its denominator is 1 and 300 numbers it cannot see.
	for i := range mass {
		mass[i] = 0
	}
	mass[0] = 1
	u, pairs = numbers(mass, func(i, j int) float64 {
		if i == j {
			return mass[i]
		}
		return 0x1p-54
	})
	check("small pairs", u, pairs)
}
