package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/internal/testscale"
)

// TestOnCircle: sums on a circle are those of lattices, but for what the window leaves out.
func TestOnCircle(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	c := arith.CircleOf(8)
	for _, m := range []int{1, 2, 5, 8} {
		terms, mean := make([]*lattice, m), 0.
		for i := range terms {
			l := &lattice{step: 0.5, first: rng.IntN(9) - 5, p: make([]float64, 4+rng.IntN(20))}
			total := 0.
			for k := range l.p {
				l.p[k] = rng.Float64()
				total += l.p[k]
			}
			for k := range l.p {
				l.p[k] /= total
				mean += l.p[k] * float64(l.first+k)
			}
			terms[i] = l
		}
		want := &lattice{p: []float64{1}}
		for _, l := range terms {
			sum := make([]float64, len(want.p)+len(l.p)-1)
			for k, p := range want.p {
				for j, q := range l.p {
					sum[k+j] += p * q
				}
			}
			want = &lattice{first: want.first + l.first, p: sum}
		}
		at := func(l *lattice, x int) float64 {
			if k := x - l.first; k >= 0 && k < len(l.p) {
				return l.p[k]
			}
			return 0
		}
		for _, first := range []int{int(mean) - 128, int(mean) - 4, int(mean) + 3} {
			got := onCircle(c, m, func(i int) *lattice { return terms[i] }, first, []float64{0.03, 0.1, 0.3, 0.6})
			below := 0.
			for x := want.first; x < want.first+len(want.p); x++ {
				if x < first {
					below += at(want, x)
				} else if p := at(got, x); p+1e-11 < at(want, x) || first < int(mean)-100 && p > at(want, x)+1e-11 {
					t.Errorf("%d terms from %d: mass %v at %d, want %v", m, first, p, x, at(want, x))
				}
			}
			if got.lost < below || got.step != 0.5 || len(got.p) != 256 || first < int(mean)-100 && got.lost > 1e-6+2*below+0.01 {
				t.Errorf("%d terms from %d: %v is lost, %v is below", m, first, got.lost, below)
			}
		}
	}
	// What is lost by a term is lost, and masses that are no number are none.
	one := &lattice{step: 1, p: []float64{1}, lost: 0.25}
	if l := onCircle(c, 3, func(int) *lattice { return one }, -9, []float64{1}); l.lost < 0.75 || l.lost > 0.8 {
		t.Errorf("%v is lost of three terms", l.lost)
	}
	// The error grows with the masses.
	two := &lattice{step: 1, p: []float64{2}}
	if l, want := onCircle(c, 2, func(int) *lattice { return two }, -9, []float64{1000}), c.ErrorUp(2, 4, 2); l.lost < want || l.lost > 1.1*want {
		t.Errorf("terms with twice the mass: %v is lost, want %v", l.lost, want)
	}
	huge := &lattice{step: 1, p: []float64{math.Inf(1)}}
	if l := onCircle(c, 1, func(int) *lattice { return huge }, -9, []float64{1}); l.lost < 1 {
		t.Error("a mass without an end is taken")
	}
}

// TestWeightBins: means are kept, and what goes to the ends of a bin is its mass.
func TestWeightBins(t *testing.T) {
	b := theWeightBins()
	total, mean, square := 0., 0., 0.
	for k := range b.toLower {
		p, q := b.z[k], b.z[k+1]
		both, mass := b.toLower[k]+b.toUpper[k], betweenUp(p, q)
		if both < mass*(1-1e-14) || both > mass*(1+1e-9) {
			t.Errorf("%v goes to the ends of [%v, %v], its mass is %v", both, p, q, mass)
		}
		exact := (math.Exp(-p*p/2) - math.Exp(-q*q/2)) / math.Sqrt(2*math.Pi)
		if got := p*b.toLower[k] + q*b.toUpper[k]; math.Abs(got-exact) > 1e-11 {
			t.Errorf("[%v, %v] has the mean %v, want %v", p, q, got, exact)
		}
		total, mean = total+both, mean+p*b.toLower[k]+q*b.toUpper[k]
		square += p*p*b.toLower[k] + q*q*b.toUpper[k]
	}
	if math.Abs(total-1) > 1e-9 || math.Abs(mean) > 1e-12 || square < 1 || square > 1.0001 {
		t.Errorf("masses add up to %v, mean %v, square %v", total, mean, square)
	}
}

// TestFineUpTo0: sums of normal variables times 1 or 2, or times -1 or 1, of which the law is
// known; what is added up is never below it, and not much above.
func TestFineUpTo0(t *testing.T) {
	for _, m := range []int{1, 6, 40, 100} {
		several, deviations := [][2]float64{{1, 2}, {-1, 1}, {0.25, -0.5}, {3, 3}}, []float64{0, 0.5, 2}
		if m > 6 { // each takes long
			several, deviations = testscale.Few(t, several, 2), testscale.Few(t, deviations, 2)
		}
		for _, q := range several {
			for _, sd := range deviations {
				n := float64(m)
				mean := 2.4 * math.Hypot(sd, 0.7) / math.Sqrt(n)
				a := factorFor(mean, sd)
				h := &standIn{low: atoms{x: q[:], p: []float64{0.5, 0.5}}, high: atoms{x: q[:], p: []float64{0.5, 0.5}}}
				hs, as := make([]*standIn, m), make([]factor, m)
				for i := range hs {
					hs[i], as[i] = h, a
				}
				const restSd = 0.125
				want, choose := 0., math.Pow(0.5, n)
				for k := range m + 1 { // k times q[1]
					j := float64(k)
					sum := (n-j)*mean*q[0] + j*mean*q[1]
					s := math.Sqrt(((n-j)*q[0]*q[0]+j*q[1]*q[1])*sd*sd + restSd*restSd)
					want += choose * normalApprox(-sum/s)
					choose *= (n - j) / (j + 1)
				}
				rest := normalVar{arith.Exactly(0), arith.Exactly(restSd)}
				got := fineUpTo0(hs, as, rest, 0.01)
				if got < want*(1-1e-9) || got > want*(1.1+1/n)+1e-6*n {
					t.Errorf("%d terms, a = %v +- %v, h in %v: %v, want %v", m, mean, sd, q, got, want)
				}
				// The other way round 1 - got is a lower bound, tight if little may be missed.
				if fine := fineUpTo0(hs, as, normalVar{arith.Exactly(3 * math.Sqrt(n) * math.Hypot(sd, 0.7)), arith.Exactly(restSd)}, 1e-6); fine > 0.2 {
					t.Errorf("%d terms: %v far above 0", m, fine)
				}
			}
		}
	}
}

// TestFineMoves: values that are m/n in every draw and were moved to either of two ends: the bound
// of their sum, and of that and a normal rest, is no less than what is true without the moves.
func TestFineMoves(t *testing.T) {
	for _, n := range []int{1, 3, 40} {
		for _, apart := range []float64{0.01, 0.2, 1} {
			for _, sd := range []float64{0, 0.02, 0.3} {
				for _, m := range []float64{0, -2 * sd, -4 * sd, 2 * sd, 0.25} {
					x := m / float64(n)
					ends := atoms{x: []float64{x - apart/2, x + apart/2}, p: []float64{0.5, 0.5}, square: []float64{apart * apart, apart * apart}}
					h, a := &standIn{low: ends, high: ends}, factorFor(1, 0)
					hs, as := make([]*standIn, n), make([]factor, n)
					for i := range hs {
						hs[i], as[i] = h, a
					}
					want := 1.
					switch {
					case sd > 0:
						want = normalApprox(-m / sd)
					case m > 0:
						want = 0
					}
					got := fineUpTo0(hs, as, normalVar{arith.Exactly(0), arith.Exactly(sd)}, 0.01)
					if got < want*(1-1e-12) {
						t.Errorf("%d terms, apart by %v, m %v, sd %v: %v, is %v", n, apart, m, sd, got, want)
					}
					if sd == 0.3 && apart < 0.1 && got > 1.1*want {
						t.Errorf("%d terms, apart by %v, m %v, sd %v: %v, should be near %v", n, apart, m, sd, got, want)
					}
				}
			}
		}
	}
}

// TestCutSquares: of t in wide bins, with no share that moves, low = high = s(t): each end has the
// square of the wider bin beside it, times that of the slope below 0, and means are kept.
func TestCutSquares(t *testing.T) {
	for _, slope := range []float64{0, 0.5} {
		act := net.Activation{Kind: net.LeakyReLU, Slope: slope}
		if slope == 0 {
			act = net.Activation{Kind: net.ReLU}
		}
		n, err := New(shallow(act, 1, 1, constants(0), constants(0), constants(1), constants(0)))
		if err != nil {
			t.Fatal(err)
		}
		b := newWeightBins(func(z float64) float64 {
			if z > 1 {
				return 80
			}
			return 48
		})
		const mean = 0.1
		h := n.cut(normalVar{arith.Exactly(mean), arith.Exactly(1)}, b, &share{}, &share{})
		for what, a := range map[string]atoms{"low": h.low, "high": h.high} {
			mass, over, under := 0., 0., 0.
			for k, x := range a.x {
				if mass += a.p[k]; x > 0 && a.squareOf(k) > 0 {
					over += a.p[k] * x
				} else if x < 0 && a.squareOf(k) > 0 {
					under += a.p[k] * x
				}
				z, flat := x-mean, 1.
				if x < 0 {
					z, flat = x/0.5-mean, 0.5
				}
				wide := 0.
				for i := range b.toLower {
					if p, q := b.z[i], b.z[i+1]; (math.Abs(p-z) < 1e-9 || math.Abs(q-z) < 1e-9) && !(p < -mean && q > -mean) {
						wide = max(wide, flat*(q-p))
					}
				}
				if a.squareOf(k) == 0 && (x == 0 && slope == 0 || wide == 0 || math.Abs(z+0.375) < 1e-9 || math.Abs(z) < 1e-9) {
					continue // flat, or an end of the bin of 0
				}
				if a.squareOf(k) < wide*wide*(1-1e-9) {
					t.Errorf("slope %v, %s at %v: square %v, the bin is %v wide", slope, what, x, a.squareOf(k), wide)
				}
			}
			density := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
			wantOver := density(0) + mean*0.5 // of t over all bins above the one of 0, z > 0
			if what == "high" {               // the bin of 0 is rounded to where that begins
				wantOver += (0.5 - normalApprox(-0.375)) * mean
			}
			wantUnder := -slope * (density(0.375) - mean*normalApprox(-0.375))
			if math.Abs(mass-1) > 1e-9 || math.Abs(over-wantOver) > 1e-6 || math.Abs(under-wantUnder) > 1e-6 {
				t.Errorf("slope %v, %s: mass %v, means %v and %v, want %v and %v", slope, what, mass, over, under, wantOver, wantUnder)
			}
		}
	}
}

// TestSmoothed: the factor at some r, and none where it is not proved.
func TestSmoothed(t *testing.T) {
	for _, r := range []float64{1.01, 2.5, 3, 6} {
		want := 1 + math.Exp(-r*r/2)/math.Sqrt(2*math.Pi)/r/normalApprox(r)
		if got := smoothedUp(2*r, 0.5); got < want*(1-1e-15) || got > want*(1+1e-12) {
			t.Errorf("r = %v: %v, want %v", r, got, want)
		}
	}
	if smoothedUp(1, 0.9) != arith.Inf || smoothedUp(1, 0) != arith.Inf || smoothedUp(math.NaN(), 1) != arith.Inf {
		t.Error("a factor for r below 1")
	}
}

// factorFor is the factor of a weight.
func factorFor(mean, sd float64) factor {
	f := factor{a: normalVar{arith.Exactly(mean), arith.Exactly(sd)}}
	z, mass, lost := standardBins(f.a.sd)
	f.lost = lost
	for k, m := range mass {
		switch x := f.a.bin(z[k], z[k+1]); {
		case x.Lo >= 0:
			f.pos.add(x.Lo, x.Hi, m)
		case x.Hi <= 0:
			f.neg.add(x.Lo, x.Hi, m)
		default:
			f.neg.add(x.Lo, 0, m)
			f.pos.add(0, x.Hi, m)
		}
	}
	return f
}
