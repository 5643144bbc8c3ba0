package arith

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestConvolved: masses, grown as their users do, are those of rational numbers or more, and little more.
func TestConvolved(t *testing.T) {
	r := rand.New(rand.NewPCG(91, 1))
	for range 300 {
		a, b := make([]float64, 1+r.IntN(9)), make([]float64, 9+r.IntN(9))
		for _, list := range [][]float64{a, b} {
			for k := range list {
				list[k] = anyFloat(r, 30)
				list[k] *= list[k]
			}
		}
		got := Convolved(a, b, func() bool { return false })
		Grow(got, 1+float64(len(a)+8)*0x1p-51)
		for k := range got {
			want := new(big.Rat)
			for i, x := range a {
				if j := k - i; j >= 0 && j < len(b) {
					want.Add(want, new(big.Rat).Mul(exactly(x), exactly(b[j])))
				}
			}
			if exactly(got[k]).Cmp(want) < 0 {
				t.Fatalf("mass %d of %d and %d: %v is below %v", k, len(a), len(b), got[k], want.FloatString(30))
			}
			if want.Mul(want, exactly(1+0x1p-44)); exactly(got[k]-FloorMass).Cmp(want) > 0 {
				t.Fatalf("mass %d of %d and %d: %v is too much", k, len(a), len(b), got[k])
			}
		}
	}
	if got := Convolved([]float64{1}, []float64{1, 1}, func() bool { return true }); got[0] != 0 {
		t.Errorf("%v once ended", got)
	}
}

// TestPlace: no mass is dropped, what is inside keeps its mean, and what is outside is lost or goes to
// the last point; against rational numbers.
func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(92, 1))
	for range 500 {
		n, points := 1+r.IntN(12), make([]float64, 2+r.IntN(20))
		m := Multiples{Of: make([]float64, n), By: r.NormFloat64() * 3, Shift: r.Float64() * 8, Mass: r.Float64()}
		if r.IntN(2) == 0 {
			m.Wides, m.Sizes, m.PerWide, m.PerSize = make([]float64, n), make([]float64, n), r.Float64(), r.Float64()
		}
		masses, lost, mean, low, top := make([]float64, n), 0.0, new(big.Rat), new(big.Rat), new(big.Rat)
		for i := range n {
			m.Of[i], masses[i] = r.NormFloat64()*3, r.Float64()
			y := new(big.Rat).Mul(exactly(m.Of[i]), exactly(m.By))
			y.Add(y, exactly(m.Shift))
			if m.Wides != nil {
				m.Wides[i], m.Sizes[i] = r.Float64(), r.Float64()
				y.Sub(y, new(big.Rat).Mul(exactly(m.Wides[i]), exactly(m.PerWide)))
				y.Sub(y, new(big.Rat).Mul(exactly(m.Sizes[i]), exactly(m.PerSize)))
			}
			p := new(big.Rat).Mul(exactly(masses[i]), exactly(m.Mass))
			switch {
			case y.Sign() < 0:
				low.Add(low, p)
			case y.Cmp(big.NewRat(int64(len(points)-1), 1)) >= 0:
				top.Add(top, p)
				mean.Add(mean, p.Mul(p, big.NewRat(int64(len(points)-1), 1)))
			default:
				top.Add(top, p)
				mean.Add(mean, p.Mul(p, y))
			}
		}
		m.Place(points, &lost, masses)
		all, first := 0.0, 0.0
		for k, p := range points {
			all, first = all+p, first+p*float64(k)
		}
		near := func(what string, got float64, want *big.Rat) {
			if d := new(big.Rat).Sub(exactly(got), want); d.Abs(d).Cmp(exactly(1e-12)) > 0 {
				t.Fatalf("%s: %v, want %v", what, got, want.FloatString(20))
			}
		}
		near("lost", lost, low)
		near("masses", all, top)
		near("mean", first, mean)
	}
}
