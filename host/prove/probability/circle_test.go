package probability

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// sumOf is the sum of lattices on a circle, with a normal rest and a rate.
func sumOf(terms []*Lattice, log int, rest gauss.Normal, rate float64) *circleSum {
	s := &circleSum{step: terms[0].Step, rest: rest, rate: rate}
	variance := 1e-9
	for _, l := range terms {
		total, mean, second := 0.0, 0.0, 0.0
		for i, p := range l.P {
			k := float64(l.First + i)
			total, mean, second = total+p, mean+p*k, second+p*k*k
		}
		variance += max(0, second-mean*mean)
	}
	s.add(arith.CircleOf(log), len(terms), func(i int) *Lattice { return terms[i] }, math.Sqrt(variance), serial)
	return s
}

// TestCircleSum: against SumUp on lattices that both can do, and the error that is claimed against
// what random terms show.
func TestCircleSum(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 1))
	for _, n := range []int{1, 2, 7, 40} {
		build := func() []*Lattice {
			r := rand.New(rand.NewPCG(82, uint64(n)))
			terms := make([]*Lattice, n)
			for i := range terms {
				l := NewLattice(1./16, -3, 3)
				total := 0.0
				for k := range l.P {
					l.P[k] = r.Float64()
					total += l.P[k]
				}
				for k := range l.P {
					l.P[k] /= total
				}
				l.Lose(1e-12)
				terms[i] = l
			}
			return terms
		}
		rest := gauss.Normal{MeanLo: 0.3, MeanHi: 0.3, SdLo: 0.2, SdHi: 0.2}
		want, got := SumUp(build(), serial, never), sumOf(build(), 12, rest, 0)
		for range 20 {
			x := 3 * math.Sqrt(float64(n)) * r.NormFloat64()
			a, b := want.BelowUp(rest, x), got.below(x)
			if b < a*(1-1e-9)-1e-9 || b > a*(1+1e-6)+1e-7 {
				t.Errorf("%d terms, below %v: %v on the circle, %v on the line", n, x, b, a)
			}
		}
		if !(got.err < 1e-8) || !(got.lost < 1e-7) {
			t.Errorf("%d terms: error %v, lost %v", n, got.err, got.lost)
		}
	}
}

// TestCircleTooSmall: what does not fit is lost or counted, never dropped.
func TestCircleTooSmall(t *testing.T) {
	var terms []*Lattice
	for range 4 {
		l := NewLattice(1, -40, 40)
		l.P[-l.First-40], l.P[-l.First+40] = 0.5, 0.5
		terms = append(terms, l)
	}
	s := sumOf(terms, 4, gauss.Normal{SdLo: 1, SdHi: 1}, 0)
	if p := s.below(-1); p < 5./16 {
		t.Errorf("P(sum < -1) = %v, must be at least 5/16", p)
	}
}

// TestMeanPower: leftUp's means against sums of powers.
func TestMeanPower(t *testing.T) {
	l := NewLattice(1, -5, 3)
	want := 0.0
	for i := range l.P {
		l.P[i] = 1 / float64(i+3)
		want += l.P[i] * math.Pow(0.75, float64(l.First+i))
	}
	p := l.meanPowerUp(0.75)
	if got := math.Ldexp(p.m, p.e); math.Abs(got-want) > 1e-13*want {
		t.Errorf("%v, want %v", got, want)
	}
	if p := newPower(0.5, 10).up(); p < 0x1p-10 || p > 0x1p-10*(1+1e-12) {
		t.Errorf("2^-10 is %v", p)
	}
	if p := newPower(0.5, -3).up(); p != 1 {
		t.Errorf("8 is %v", p)
	}
}

// TestCircleHolds: bounds on small circles, of terms that do not fit, are skew, or have masses
// whose sum is not 1, are at least what adding up all combinations says.
func TestCircleHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 1))
	for trial := range 200 {
		product := 1.0
		n, step := 1+r.IntN(4), math.Ldexp(1, r.IntN(3)*200-200)
		var terms []*Lattice
		exact := map[int]float64{0: 1}
		for range n {
			wide := 1 + r.IntN(60)
			l := NewLattice(step, -float64(wide)*step, float64(wide)*step)
			times, mass := []float64{1, 1, 0.9, 3}[r.IntN(4)], 0.0
			for range 1 + r.IntN(4) {
				p := times * []float64{r.Float64(), 1e-3, 1e-9}[r.IntN(3)]
				l.P[r.IntN(len(l.P))] += p
				mass += p
			}
			sum := map[int]float64{}
			for at, p := range exact {
				for k, q := range l.P {
					if q > 0 {
						sum[at+l.First+k] += p * q
					}
				}
			}
			l.Lose(1e-3)
			exact, terms, product = sum, append(terms, l), product*max(1, mass)
		}
		rest := gauss.Normal{MeanLo: step, MeanHi: step, SdLo: step / 4, SdHi: step / 4}
		s := sumOf(terms, 4+r.IntN(6), rest, 0)
		if s.lost < float64(n)*1e-3 || s.err < arith.CircleOf(4).ErrorUp(n, product*(1-1e-12), 1) {
			t.Errorf("trial %d: lost %v, error %v", trial, s.lost, s.err)
		}
		for x := -200.5; x < 200; x += 10 {
			want := 0.0
			for at, p := range exact {
				want += p * math.Erfc(-(x-1-float64(at))*4/math.Sqrt2) / 2
			}
			if got := s.below(x * step); got < min(1, want)-1e-14 {
				t.Errorf("trial %d: P(sum < %v) = %v on %d points, is %v", trial, x, got, len(s.p), want)
			}
		}
	}
}

// TestBelow: errors, and what is lost, count.
func TestBelow(t *testing.T) {
	sum := &circleSum{step: 1, p: []float64{0.25, 0.25}, first: 100, lost: 0.25, err: 0.125, rest: gauss.Normal{SdLo: 1e-3, SdHi: 1e-3}}
	if p := sum.below(50); p < 0.375 || p > 0.376 {
		t.Errorf("%v, want 3/8", p)
	}
	// Lattice points stand for numbers that are lower by n rate step^2/8 in all.
	sum = &circleSum{step: 2, p: []float64{0.25, 0.5}, first: 5, terms: 3, rate: 8, rest: gauss.Normal{SdLo: 1e-3, SdHi: 1e-3}}
	for x, want := range map[float64]float64{-2.1: 0, -1.9: 0.25, -0.1: 0.25, 0.1: 0.75} {
		if p := sum.below(x); math.Abs(p-want) > 1e-9 {
			t.Errorf("below %v: %v, want %v", x, p, want)
		}
	}
}
