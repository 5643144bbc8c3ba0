package probability

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith/gauss"
)

// spreadExactly adds the exact masses of x split over lattice points.
func spreadExactly(to map[int64]*big.Rat, x, mass *big.Rat, step float64) {
	y := new(big.Rat).Quo(x, new(big.Rat).SetFloat64(step))
	k := new(big.Int).Div(y.Num(), y.Denom()).Int64() // floor
	r := new(big.Rat).Sub(y, new(big.Rat).SetInt64(k))
	for i, share := range []*big.Rat{new(big.Rat).Sub(big.NewRat(1, 1), r), r} {
		if to[k+int64(i)] == nil {
			to[k+int64(i)] = new(big.Rat)
		}
		to[k+int64(i)].Add(to[k+int64(i)], share.Mul(share, mass))
	}
}

// TestLatticeProduct compares the masses of products on a lattice with exact
// rational ones, summed from below, with no tolerance.
func TestLatticeProduct(t *testing.T) {
	r := newRand(t, 42)
	for range 300 {
		step := math.Ldexp(1, r.IntN(6)-3)
		var a Bins
		var q Atoms
		for range 3 {
			x := 4 * r.NormFloat64()
			a.Lo, a.Hi, a.P = append(a.Lo, x), append(a.Hi, x+r.Float64()), append(a.P, r.Float64()/3)
			y := r.NormFloat64()
			switch r.IntN(6) {
			case 0:
				y = 0
			case 1: // so small that y/step is subnormal or nothing, but not lost
				y *= []float64{0x1p-1074, 0x1p-1060, 0x1p-1010}[r.IntN(3)]
			}
			q.X, q.P = append(q.X, y), append(q.P, r.Float64()/3)
		}
		l := NewLattice(step, -50, 50)
		l.AddProduct(a, q)
		l.seal()
		exact := map[int64]*big.Rat{}
		rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
		for i := range a.P {
			for k, y := range q.X {
				x := new(big.Rat).Mul(rat(a.Lo[i]), rat(y))
				if y < 0 {
					x.Mul(rat(a.Hi[i]), rat(y))
				}
				spreadExactly(exact, x, new(big.Rat).Mul(rat(a.P[i]), rat(q.P[k])), step)
			}
		}
		// A product may be rounded down, so sums from below are compared.
		sum, truth := new(big.Rat), new(big.Rat)
		for i, p := range l.P {
			sum.Add(sum, rat(p))
			if e := exact[int64(i+l.First)]; e != nil {
				truth.Add(truth, e)
			}
			f, _ := truth.Float64()
			if g, _ := sum.Float64(); sum.Cmp(truth) < 0 || g > f*(1+1e-12)+1e-13 {
				t.Errorf("step %v, %+v times %+v: mass up to %d %x, exactly %x", step, a, q, i+l.First, g, f)
			}
		}
	}
}

// TestLatticeEnds: what lies below a lattice is lost, what lies above moves down.
func TestLatticeEnds(t *testing.T) {
	l := NewLattice(1, -2, 2)
	one := Bins{Lo: []float64{1}, Hi: []float64{1}, P: []float64{1}}
	l.AddProduct(one, Atoms{X: []float64{-9, 9, math.NaN()}, P: []float64{0.25, 0.5, 0.125}})
	l.seal()
	if l.Lost < 0.375 || l.Lost > 0.376 || l.P[len(l.P)-1] < 0.5 {
		t.Errorf("lost %v, masses %v", l.Lost, l.P)
	}
	for _, far := range []float64{math.NaN(), math.Inf(1), -math.Inf(1)} {
		l := NewLattice(1, -far, far)
		l.AddProduct(one, Atoms{X: []float64{math.NaN(), -math.Inf(1)}, P: []float64{0.25, 0.5}})
		l.AddProduct(Bins{Lo: []float64{0}, Hi: []float64{0}, P: []float64{1}}, Atoms{X: []float64{math.Inf(1)}, P: []float64{0.125}})
		if l.seal(); l.Lost < 0.875 {
			t.Errorf("ends %v: lost %v", far, l.Lost)
		}
	}
	if p := l.BelowUp(gauss.Normal{}, -100); p < 0.375 {
		t.Errorf("lost mass forgotten: %v", p)
	}
	defer func() {
		if recover() == nil {
			t.Error("a step that is no power of two is accepted")
		}
	}()
	NewLattice(3, 0, 1)
}

// sequentially is the simplest way to run f.
func sequentially(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// randomLattice has masses of all sizes.
func randomLattice(r *rand.Rand, points int) *Lattice {
	l := &Lattice{Step: 0.5, First: -r.IntN(points + 1)}
	for range points {
		l.P = append(l.P, math.Exp(-30*r.Float64())*r.Float64())
	}
	l.P[0] = 0x1p-60 // trimmed
	return l
}

// TestLatticeSum compares the distribution function of sums with the exact one of
// rational convolution.
func TestLatticeSum(t *testing.T) {
	r := newRand(t, 43)
	for trial := range 60 {
		terms := make([]*Lattice, 1+trial%5)
		exact := map[int64]*big.Rat{0: big.NewRat(1, 1)}
		for i := range terms {
			terms[i] = randomLattice(r, 1+r.IntN(9))
			next := map[int64]*big.Rat{}
			for k, p := range exact {
				for j, q := range terms[i].P {
					at := k + int64(j+terms[i].First)
					if next[at] == nil {
						next[at] = new(big.Rat)
					}
					next[at].Add(next[at], new(big.Rat).Mul(p, new(big.Rat).SetFloat64(q)))
				}
			}
			exact = next
		}
		s := SumUp(terms, sequentially, never)
		for x := int64(-50); x < 60; x++ {
			truth := new(big.Rat)
			for k, p := range exact {
				if k <= x {
					truth.Add(truth, p)
				}
			}
			f, _ := truth.Float64()
			got := s.BelowUp(gauss.Normal{}, float64(x)*0.5)
			if f < 1 && new(big.Rat).SetFloat64(got).Cmp(truth) < 0 || got > f*(1+1e-6)+1e-7 {
				t.Fatalf("trial %d: P(sum <= %v): %x, exactly %x", trial, float64(x)*0.5, got, f)
			}
		}
	}
}

// TestNotPositiveUp: sums of terms between lattice points, against exact
// enumeration; for many terms the lattice costs little.
func TestNotPositiveUp(t *testing.T) {
	r := newRand(t, 44)
	one := Bins{Lo: []float64{1}, Hi: []float64{1}, P: []float64{1}}
	sum := func(x [][2]float64, p, step float64) float64 {
		terms := make([]*Lattice, len(x))
		for i, v := range x {
			terms[i] = NewLattice(step, -4, 4)
			terms[i].AddProduct(one, Atoms{X: v[:], P: []float64{p, 1 - p}})
		}
		return SumUp(terms, sequentially, never).NotPositiveUp(len(x), gauss.Normal{})
	}
	for range 200 {
		var x [][2]float64
		for range 1 + r.IntN(8) {
			x = append(x, [2]float64{-r.Float64(), 2 * r.Float64()})
		}
		truth := 0.0
		for bits := range 1 << len(x) {
			s, p := 0.0, 1.0
			for i, v := range x {
				s += v[bits>>i&1]
				p *= []float64{0.125, 0.875}[bits>>i&1]
			}
			if s <= -1e-12 {
				truth += p * (1 - 1e-12)
			}
		}
		if got := sum(x, 0.125, 0.25); got < truth {
			t.Errorf("%v: %v, enumeration gives %v", x, got, truth)
		}
	}
	// 100 terms -0.7 or +1.3 with probability 1/2: not positive with at most 35
	// of the larger kind, Prob = 0.00176; the standard deviation of the sum is 10.
	x := make([][2]float64, 100)
	for i := range x {
		x[i] = [2]float64{-0.7, 1.3}
	}
	if got := sum(x, 0.5, 0.125); got < 0.00175 || got > 0.0032 {
		t.Errorf("binomial tail: %v, want little more than 0.00176", got)
	}
}

// TestLatticeLost: what either term of a sum has lost is lost to the sum.
func TestLatticeLost(t *testing.T) {
	for lost := range 2 {
		terms := []*Lattice{{Step: 1, P: []float64{0.5, 0.5}}, {Step: 1, P: []float64{0.25, 0.5, 0.25}}}
		terms[lost].Lose(0.125)
		if got := SumUp(terms, sequentially, never).BelowUp(gauss.Normal{}, -1); got < 0.125 || got > 0.126 {
			t.Errorf("term %d lost 0.125, the sum %v", lost, got)
		}
	}
}

// TestNotPositiveDivides: with all terms half-way between lattice points the sum is
// 0 for certain, which only the divisor of Hoeffding's inequality knows.
func TestNotPositiveDivides(t *testing.T) {
	one := Bins{Lo: []float64{1}, Hi: []float64{1}, P: []float64{1}}
	for _, n := range []int{18, 40, 200} {
		terms := make([]*Lattice, n)
		for i := range terms {
			terms[i] = NewLattice(1, -2, 2)
			terms[i].AddProduct(one, Atoms{X: []float64{float64(i%2) - 0.5}, P: []float64{1}})
		}
		if got := SumUp(terms, sequentially, never).NotPositiveUp(n, gauss.Normal{}); got < 1 {
			t.Errorf("%d terms: Prob(0 <= 0) is bounded by %v", n, got)
		}
	}
}

// TestLatticeSeal: additions of what is too small to show in the sum are made good.
func TestLatticeSeal(t *testing.T) {
	one := Bins{Lo: []float64{1}, Hi: []float64{1}, P: []float64{1}}
	for _, x := range []float64{1.5, -9} { // on the lattice, and lost
		l := NewLattice(1, -2, 3)
		q := Atoms{X: []float64{x}, P: []float64{0.5}}
		for range 3000 {
			q.X, q.P = append(q.X, x), append(q.P, 0x1p-56)
		}
		l.AddProduct(one, q)
		l.seal()
		sum := new(big.Rat).SetFloat64(l.Lost)
		for _, p := range l.P {
			sum.Add(sum, new(big.Rat).SetFloat64(p))
		}
		if f, _ := sum.Float64(); sum.Cmp(new(big.Rat).Add(big.NewRat(1, 2), new(big.Rat).SetFloat64(3000*0x1p-56))) < 0 || f > 0.5+1e-11 {
			t.Errorf("%v: mass %x, want 1/2 and 3000/2^56", x, f)
		}
	}
}

// TestLatticeReuse: a lattice that uses the array of one that was trimmed is empty, and
// the one that was trimmed keeps its masses.
func TestLatticeReuse(t *testing.T) {
	// A pool may drop what it is given: try until an array has been used again.
	for range 1000 {
		first := NewLattice(0.25, -30, 40)
		wide := &first.P[0]
		first.AddProduct(Bins{Lo: []float64{1, 2}, Hi: []float64{2, 3}, P: []float64{0.5, 0.5}}, Atoms{X: []float64{-3, 4}, P: []float64{0.5, 0.5}})
		first.Trim()
		kept := slices.Clone(first.P)
		second := NewLattice(0.25, -20, 40)
		if &second.P[0] != wide {
			continue
		}
		for i, p := range second.P {
			if p != 0 {
				t.Fatalf("mass %v at place %d of a new lattice", p, i)
			}
		}
		for i := range second.P {
			second.P[i] = 1
		}
		if !slices.Equal(first.P, kept) {
			t.Fatal("a lattice that was trimmed shares its masses with a new one")
		}
		return
	}
	t.Fatal("no array was used again")
}

// never is for work that goes on to its end.
func never() bool { return false }
