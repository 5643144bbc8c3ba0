package probability

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/internal/testscale"
)

// randomSplit has up to n numbers of one sign, 0 among them at times.
func randomSplit(r *rand.Rand, n int, sign float64) Split {
	var s Split
	x := 0.0
	for range 1 + r.IntN(n) {
		square := []float64{0, 0.3, 2, 1e-9}[r.IntN(4)] * r.Float64()
		s.Add(sign*x, sign*x, r.Float64()/float64(n), square)
		x += r.Float64()
	}
	return s
}

// TestProductLattice: the lattice has the masses of the products, lowered as is said, with their
// mean but for roundings, each within a step of where it belongs; by exact arithmetic.
func TestProductLattice(t *testing.T) {
	r := rand.New(rand.NewPCG(91, 1))
	for trial := range 300 {
		unit := []float64{1, 0x1p300, 0x1p-300}[r.IntN(3)]
		scaled := func(s Split) Split {
			for k := range s.P {
				s.Lo[k], s.Hi[k] = s.Lo[k]*unit, s.Hi[k]*unit
				s.Square[k] *= unit * unit
			}
			return s
		}
		low := randomSplit(r, 5, 1)
		for k := range low.P { // low has both signs
			if r.IntN(3) == 0 {
				low.Lo[k], low.Hi[k] = -low.Lo[k], -low.Lo[k]
			}
		}
		p := Product{Pos: randomSplit(r, 5, 1), Low: scaled(low), Neg: randomSplit(r, 5, -1), High: scaled(randomSplit(r, 5, 1)), Lost: 1e-3}
		step, rate := circleStep((0.01+0.3*r.Float64())*unit), []float64{0, 0.5, 20}[r.IntN(3)]/unit
		l := p.lattice(step, rate)
		l.seal()
		num := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
		mul := func(x ...*big.Float) *big.Float {
			y := num(1)
			for _, f := range x {
				y.Mul(y, f)
			}
			return y
		}
		mass, mean := num(0), num(0)
		at := map[int]float64{} // least cumulative masses
		for k, pair := range [][2]*Split{{&p.Pos, &p.Low}, {&p.Neg, &p.High}} {
			_ = k
			a, h := pair[0], pair[1]
			for i := range a.P {
				for j := range h.P {
					wide := new(big.Float).Add(num(math.Abs(h.Lo[j])), new(big.Float).SetPrec(400).Sqrt(num(h.Square[j])))
					off := new(big.Float).Add(mul(num(a.Square[i]), wide, wide), mul(num(h.Square[j]), num(a.Lo[i]), num(a.Lo[i])))
					y := new(big.Float).Sub(mul(num(a.Lo[i]), num(h.Lo[j])), mul(num(rate), num(0.125), off))
					m := mul(num(a.P[i]), num(h.P[j]))
					mass.Add(mass, m)
					mean.Add(mean, mul(m, y))
					steps, _ := new(big.Float).Quo(y, num(step)).Float64()
					some, _ := m.Float64()
					at[int(math.Ceil(steps))] += some
				}
			}
		}
		gotMass, gotMean := num(0), num(0)
		for k, m := range l.P {
			gotMass.Add(gotMass, num(m))
			gotMean.Add(gotMean, mul(num(m), num(float64(l.First+k)), num(step)))
		}
		if l.Lost < 1e-3 || l.Lost > 1e-3*(1+1e-9) {
			t.Fatalf("trial %d: lost %v", trial, l.Lost)
		}
		a, _ := mass.Float64()
		b, _ := gotMass.Float64()
		c, _ := mean.Float64()
		d, _ := gotMean.Float64()
		size := step * float64(len(l.P))
		if b < a || b > a*(1+1e-12) || d > c+size*1e-13 || d < c-size*1e-11 {
			t.Errorf("trial %d: mass %v, want %v; mean %v, want %v", trial, b, a, d, c)
		}
		sum, got := 0.0, 0.0
		for k := l.First; k < l.First+len(l.P); k++ {
			sum, got = sum+at[k], got+l.P[k-l.First]
			if got < sum*(1-1e-12)-1e-12 {
				t.Errorf("trial %d: up to %d steps %v, must be %v", trial, k, got, sum)
			}
		}
	}
}

// TestSplitAdd: the same number again adds its probability, and has the larger square.
func TestSplitAdd(t *testing.T) {
	var s Split
	s.Add(1, 1, 0.25, 4)
	s.Add(1, 1, 0.5, 1)
	s.Add(1, 2, 0.125, 0)
	if len(s.P) != 2 || s.P[0] < 0.75 || s.P[0] > 0.75+1e-15 || s.Square[0] != 4 || s.Hi[1] != 2 {
		t.Errorf("%+v", s)
	}
}

// TestTooLight: what is not multiplied out is lost.
func TestTooLight(t *testing.T) {
	var p Product
	for k := range 9 {
		p.Pos.Add(float64(k), float64(k), []float64{0x1p-30, 0x1p-28, 1, 1, 1, 1, 1, 0x1p-28, 0x1p-30}[k], 0)
	}
	p.Low.Add(1, 1, 0x1p-23, 0)
	l := p.lattice(1, 0)
	mass := l.Lost
	for _, m := range l.P {
		mass += m
	}
	if want := 0x1p-23 * (5 + 0x1p-27 + 0x1p-29); mass < want || mass > want*(1+1e-12) || l.Lost < 0x1p-52 || len(l.P) > 9 {
		t.Errorf("masses %v, lost %v, want %v in all", l.P, l.Lost, want)
	}
}

// TestProductLatticeFails: what is not finite is lost.
func TestProductLatticeFails(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), 1e300} {
		var p Product
		p.Pos.Add(x, x, 1, 0)
		p.Low.Add(-1e200, -1e200, 1, 0)
		l := p.lattice(1, 1)
		if got := l.Lost; !(got >= 1) {
			t.Errorf("%v: lost %v, masses %v", x, got, len(l.P))
		}
		if up := ProductsNotPositiveUp([]Product{p}, gauss.Normal{SdLo: 1, SdHi: 1}, serial); up != 1 {
			t.Errorf("%v: %v", x, up)
		}
	}
}

// constants are n products that are 1/n of mean in every draw; what stands in for each is one of
// two numbers, apart by so much.
func constants(n int, mean, apart float64, inA bool) []Product {
	var one Split
	one.Add(1, 1, 1, 0)
	p := Product{High: one, Low: one}
	for _, x := range []float64{mean/float64(n) - apart/2, mean/float64(n) + apart/2} {
		switch {
		case !inA:
			p.Pos = one
			if len(p.Low.P) == 1 && p.Low.Square[0] == 0 {
				p.Low = Split{}
			}
			p.Low.Add(x, x, 0.5, apart*apart)
		case x < 0:
			p.Neg.Add(x, x, 0.5, apart*apart)
		default:
			p.Pos.Add(x, x, 0.5, apart*apart)
		}
	}
	return slices.Repeat([]Product{p}, n)
}

// TestRoundingsCount: sums that are a number m in every draw, or that and a normal rest. Without
// what roundings are charged with, bounds would be those of sums that are spread around m.
func TestRoundingsCount(t *testing.T) {
	k := 0
	for _, inA := range []bool{false, true} {
		for _, n := range []int{1, 3, 20} {
			for _, apart := range []float64{0.5, 0.05} {
				for _, sigma := range []float64{0, 0.01, 0.3} {
					for i, m := range []float64{0, -0.1, -4 * sigma, -2 * sigma, 2 * sigma, 0.3} {
						k++
						if turn := (k-1)/6 + (k-1)/18; !testscale.Deep(t) && (i+turn)%3 > 0 { // two of them, in turn
							continue
						}
						want := 1.0
						switch {
						case sigma > 0:
							want = math.Erfc(m/sigma/math.Sqrt2) / 2
						case m > 0:
							want = 0
						}
						rest := gauss.Normal{SdLo: sigma, SdHi: sigma}
						if got := ProductsNotPositiveUp(constants(n, m, apart, inA), rest, serial); got < want*(1-1e-12) {
							t.Errorf("%d terms, apart by %v, sigma %v, m %v: %v, is %v", n, apart, sigma, m, got, want)
						}
						if sigma == 0 {
							continue
						}
						for _, rho := range []float64{1, 2, 3} {
							s := &circleSum{step: circleStep((sigma + apart*math.Sqrt(float64(n))) / 1000), rate: rho / sigma, rest: rest}
							products := constants(n, m, apart, inA)
							s.add(arith.CircleOf(14), n, func(i int) *Lattice { return products[i].lattice(s.step, s.rate) }, 300, serial)
							if got := s.notPositiveUp(); got < want*(1-1e-12) {
								t.Errorf("rho %v, %d terms, apart by %v, sigma %v, m %v: %v, is %v", rho, n, apart, sigma, m, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// TestSmooth: R.
func TestSmooth(t *testing.T) {
	for _, rho := range []float64{1, 1.7, 3, 6} {
		density := math.Exp(-rho*rho/2) / math.Sqrt(2*math.Pi)
		want := 1 + density/rho/(1-math.Erfc(rho/math.Sqrt2)/2)
		if got := smoothUp(rho); got < want*(1-1e-15) || got > want*(1+1e-12) {
			t.Errorf("R(%v) = %v, want %v", rho, got, want)
		}
	}
}

// TestProductsTight: bounds of sums of normal products, by bins that are mean-kept, are near what
// is simulated.
func TestProductsTight(t *testing.T) {
	r := rand.New(rand.NewPCG(92, 1))
	for trial, n := range []int{3, 20, 60} {
		var products []Product
		const cells, draws = 400, 40000
		var values []float64
		for k := range cells {
			values = append(values, (float64(k)+0.5)/cells*8-4)
		}
		spread := func(mean, sd float64) (neg, pos Split) {
			const width = 8. / cells
			for _, z := range values {
				x, p := mean+sd*z, math.Erfc((z-width/2)/math.Sqrt2)/2-math.Erfc((z+width/2)/math.Sqrt2)/2
				if square := sd * sd * width * width; x < 0 {
					neg.Add(x, x, p, square)
				} else {
					pos.Add(x, x, p, square)
				}
			}
			return neg, pos
		}
		means, others := make([]float64, n), make([]float64, n)
		for i := range n {
			means[i], others[i] = 0.3+0.3*r.NormFloat64(), r.NormFloat64()
			var p Product
			p.Neg, p.Pos = spread(means[i], 0.3)
			var below Split
			below, p.Low = spread(others[i], 1)
			mass := 0.0
			for _, m := range below.P {
				mass += m
			}
			p.Low.Add(0, 0, mass, 0)
			p.High, p.Lost = p.Low, 1e-4
			products = append(products, p)
		}
		const sigma = 0.1
		got := ProductsNotPositiveUp(products, gauss.Normal{SdLo: sigma, SdHi: sigma}, serial)
		fails := 0
		for range draws {
			sum := sigma * r.NormFloat64()
			for i := range n {
				sum += (means[i] + 0.3*r.NormFloat64()) * max(0, others[i]+r.NormFloat64())
			}
			if sum <= 0 {
				fails++
			}
		}
		share := float64(fails) / draws
		off := 4 * math.Sqrt(share*(1-share)/draws)
		t.Logf("%d products: %v, simulated %v", n, got, share)
		if got < share-off || got > 1.05*share+off+2e-4*float64(n) {
			t.Errorf("trial %d: %v, simulated %v +- %v", trial, got, share, off)
		}
	}
}
