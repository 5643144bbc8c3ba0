package probability

import (
	"math"
	"testing"
)

// TestCover: after each box the cover is not above the exact union of the boxes so far,
// never falls, and what it leaves out costs no more than the shares that it may.
func TestCover(t *testing.T) {
	r := newRand(t, 140)
	kept := 0
	for trial := range cases(t, 150) {
		u := randomUnion(r, 1+r.IntN(8), 1+r.IntN(4))
		c, before := NewCover(u.mean, u.sdLo, u.sdHi, 6), math.Inf(-1)
		if l := c.LogDown(); !math.IsInf(l, -1) {
			t.Fatalf("no box has %v", l)
		}
		for i := range u.lo {
			if c.Add(u.lo[i], u.hi[i]) {
				kept++
			}
			l := c.LogDown()
			if l < before {
				t.Errorf("trial %d: box %d lowers %v to %v", trial, i, before, l)
			}
			before = l
			part := u
			part.lo, part.hi = u.lo[:i+1], u.hi[:i+1]
			truth := oracleUnion(part)
			if truth.Sign() == 0 {
				if !math.IsInf(l, -1) {
					t.Errorf("trial %d: empty union has %v", trial, l)
				}
				continue
			}
			if !isLower(expOf(l), truth) {
				t.Errorf("trial %d: %v is above %s", trial, l, truth.Text('g', 20))
			}
			if e := relative(expOf(l), truth); !c.Full() && e > float64(i)*leastShare+1e-9 {
				t.Errorf("trial %d: %v is loose by %g", trial, l, e)
			}
		}
	}
	if kept == 0 {
		t.Error("no box was kept")
	}
}

// TestCoverLeavesOut: a box inside of others, one without mass and one beyond the limits
// add nothing.
func TestCoverLeavesOut(t *testing.T) {
	one, zero := []float64{1}, []float64{0}
	c := NewCover(zero, one, one, 2)
	for i, box := range [][2]float64{{-1, 0.5}, {-0.5, 0.5}, {0.2, 0.502}, {2, 1}, {0.5, 1}, {3, 4}} {
		if got, want := c.Add([]float64{box[0]}, []float64{box[1]}), i == 0 || i == 4; got != want {
			t.Errorf("box %d: kept %v, want %v", i, got, want)
		}
	}
	if p := math.Exp(c.LogDown()); math.Abs(p-(normalCDFApprox(1)-normalCDFApprox(-1))) > 1e-12 || !c.Full() {
		t.Errorf("probability %v, full %v", p, c.Full())
	}
	c = NewCover(zero, one, one, 2)
	c.work = 100
	if !c.Add([]float64{-1}, []float64{0}) || c.Add([]float64{1}, []float64{2}) {
		t.Error("the limit of work has no effect")
	}
	// Masses of which logarithms are far from float64's range.
	d := 7000
	mean, sd, lo, hi := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for j := range d {
		sd[j], lo[j], hi[j] = 1, 0.5, 1
	}
	c = NewCover(mean, sd, sd, 5)
	c.Add(lo, hi)
	all := c.LogDown()
	other := append([]float64{-1}, lo[1:]...)
	otherHi := append([]float64{-0.5}, hi[1:]...)
	if !c.Add(other, otherHi) || math.Abs(c.LogDown()-all-math.Ln2) > 1e-9 {
		t.Errorf("two boxes of e^%v have e^%v together", all, c.LogDown())
	}
}

func normalCDFApprox(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// TestCoverSum: terms that nearest rounding would each round up by nearly half a unit of the
// sum are not above it together.
func TestCoverSum(t *testing.T) {
	c := NewCover(nil, nil, nil, 1)
	exact := bigOf(0.5)
	c.terms = []scaled{{0.5, 0}} // 1/2, whose unit is 2^-53
	for range 400 {
		c.terms = append(c.terms, scaled{0.5 + 0x1p-20, -53}) // a little more than 2^-54
		exact.Add(exact, bigOf(math.Ldexp(0.5+0x1p-20, -53)))
	}
	if l := c.logOfTerms(); !isLower(expOf(l), exact) || relative(expOf(l), exact) > 1e-13 {
		t.Errorf("e^%v for a sum of %s", l, exact.Text('g', 25))
	}
}
