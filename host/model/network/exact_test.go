package network

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// randomNetwork has small layers of the activation, with weights of all sizes.
func randomNetwork(r *rand.Rand, a Activation) (Network, [][]float64) {
	widths := []int{2, 3, 4, 2}
	var n Network
	var weights [][]float64
	for k := range len(widths) - 1 {
		l := DenseLayer(widths[k], widths[k+1], a)
		if k == len(widths)-2 {
			l.Activation = Activation{}
		}
		n = append(n, l)
		for _, size := range []int{l.Weights(), l.Biases()} {
			w := make([]float64, size)
			for i := range w {
				w[i] = r.NormFloat64() * math.Pow(2, float64(r.IntN(40)-20))
			}
			weights = append(weights, w)
		}
	}
	return n, weights
}

// rational evaluates a network with kinks in big.Rat, written apart from Enclose.
func rational(n Network, weights [][]float64, x []*big.Rat) []*big.Rat {
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	for k, l := range n {
		y := make([]*big.Rat, l.Outputs())
		for i := range y {
			y[i] = rat(weights[2*k+1][i])
			for j := range x {
				y[i].Add(y[i], new(big.Rat).Mul(rat(weights[2*k][j*len(y)+i]), x[j]))
			}
			if y[i].Sign() < 0 {
				switch l.Activation.Kind {
				case ReLU:
					y[i] = new(big.Rat)
				case LeakyReLU:
					y[i].Mul(y[i], rat(l.Activation.Slope))
				}
			}
		}
		x = y
	}
	return x
}

// TestEncloseExactly: networks with kinks are evaluated without any error.
func TestEncloseExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, a := range []Activation{{Kind: ReLU}, {Kind: LeakyReLU, Slope: 0.1}, {}} {
		for range 50 {
			n, weights := randomNetwork(r, a)
			x := []float64{r.NormFloat64(), r.NormFloat64() * 1e-9}
			want := rational(n, weights, []*big.Rat{new(big.Rat).SetFloat64(x[0]), new(big.Rat).SetFloat64(x[1])})
			for i, y := range n.Enclose(weights, []Enclosure{MakeEnclosure(x[0]), MakeEnclosure(x[1])}) {
				if got, _ := y.Lo.Rat(nil); y.Lo != y.Hi || got.Cmp(want[i]) != 0 {
					t.Fatalf("%v: output %d is %v to %v, want %v", a, i, y.Lo, y.Hi, want[i])
				}
			}
		}
	}
}

// TestEncloseIntervals: what is enclosed stays enclosed, whatever the signs of weights.
func TestEncloseIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, a := range []Activation{{Kind: ReLU}, {Kind: LeakyReLU, Slope: 0.3}, {}} {
		for range 50 {
			n, weights := randomNetwork(r, a)
			var x []Enclosure
			var inside []*big.Rat
			for range 2 {
				lo := MakeEnclosure(r.NormFloat64())
				hi := new(big.Float).Add(lo.Lo, big.NewFloat(r.Float64()))
				x = append(x, Enclosure{lo.Lo, hi})
				p, _ := lo.Lo.Rat(nil)
				q, _ := hi.Rat(nil)
				inside = append(inside, p.Add(p, q.Sub(q, p).Mul(q, big.NewRat(int64(r.IntN(8)), 7))))
			}
			want := rational(n, weights, inside)
			for i, y := range n.Enclose(weights, x) {
				lo, _ := y.Lo.Rat(nil)
				hi, _ := y.Hi.Rat(nil)
				if lo.Cmp(want[i]) > 0 || hi.Cmp(want[i]) < 0 {
					t.Fatalf("%v: output %d from %v to %v does not hold %v", a, i, y.Lo, y.Hi, want[i])
				}
			}
		}
	}
}

// TestEncloseSmooth: tanh and sigmoid are enclosed narrowly, around the float64 value.
func TestEncloseSmooth(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, a := range []Activation{{Kind: Tanh}, {Kind: Sigmoid}} {
		for range 50 {
			n, weights := randomNetwork(r, a)
			for _, w := range weights {
				for i := range w {
					w[i] = r.NormFloat64()
				}
			}
			x := []float64{r.NormFloat64(), r.NormFloat64()}
			approx := n.OutputsApprox(weights, x)
			for i, y := range n.Enclose(weights, []Enclosure{MakeEnclosure(x[0]), MakeEnclosure(x[1])}) {
				lo, hi := float64Down(y.Lo), float64Up(y.Hi)
				if !(lo <= approx[i]+1e-12 && hi >= approx[i]-1e-12 && hi-lo < 1e-11 && y.Lo.Cmp(y.Hi) < 0) {
					t.Fatalf("%v: output %d from %v to %v, about %v", a, i, lo, hi, approx[i])
				}
			}
		}
	}
	tiny, huge := new(big.Float).SetMantExp(big.NewFloat(1), -2000), new(big.Float).SetMantExp(big.NewFloat(1), 2000)
	if float64Down(tiny) != 0 || float64Up(tiny) != math.SmallestNonzeroFloat64 || float64Down(new(big.Float).Neg(tiny)) != -math.SmallestNonzeroFloat64 ||
		float64Down(huge) != math.MaxFloat64 || float64Up(new(big.Float).Neg(huge)) != -math.MaxFloat64 {
		t.Error("numbers beyond float64 are rounded to the wrong side")
	}
}

// TestAffineOn: where it says so, the network is linear with these coefficients and these
// least values; it says so on narrow boxes, and not across a kink.
func TestAffineOn(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	linear := 0
	for _, a := range []Activation{{Kind: ReLU}, {Kind: LeakyReLU, Slope: 0.25}, {}} {
		for range 60 {
			n, weights := randomNetwork(r, a)
			lo := []float64{r.NormFloat64(), r.NormFloat64()}
			hi := []float64{lo[0] + math.Ldexp(r.Float64(), -r.IntN(20)), lo[1] + math.Ldexp(r.Float64(), -r.IntN(20))}
			f, ok := n.AffineOn(weights, lo, hi)
			if !ok {
				continue
			}
			linear++
			c := []float64{r.NormFloat64(), r.NormFloat64()}
			least := new(big.Rat)
			for v := range 4 {
				x := []*big.Rat{new(big.Rat).SetFloat64([]float64{lo[0], hi[0]}[v&1]), new(big.Rat).SetFloat64([]float64{lo[1], hi[1]}[v>>1])}
				y := rational(n, weights, x)
				row := new(big.Rat)
				for i := range c {
					row.Add(row, new(big.Rat).Mul(new(big.Rat).SetFloat64(c[i]), y[i]))
				}
				if v == 0 || row.Cmp(least) < 0 {
					least = row
				}
			}
			if got := f.LeastSign(c, 0); got != least.Sign() {
				t.Fatalf("%v: sign %d of %v", a, got, least)
			}
			d, exact := new(big.Rat).Neg(least).Float64()
			if got := f.LeastSign(c, d); exact && got != 0 {
				t.Errorf("sign %d where the least value is 0", got)
			}
			if got := f.LeastSign(c, math.Nextafter(d, math.Inf(-1))); got != -1 {
				t.Errorf("sign %d below 0", got)
			}
		}
	}
	if linear < 60 {
		t.Errorf("only %d boxes were linear", linear)
	}
	relu := Network{DenseLayer(1, 1, Activation{Kind: ReLU}), DenseLayer(1, 1, Activation{})}
	weights := [][]float64{{1}, {0}, {1}, {0}}
	for _, c := range []struct {
		lo, hi float64
		ok     bool
	}{{-1, 1, false}, {0, 1, true}, {-1, 0, true}, {-1, math.SmallestNonzeroFloat64, false}} {
		if _, ok := relu.AffineOn(weights, []float64{c.lo}, []float64{c.hi}); ok != c.ok {
			t.Errorf("relu from %v to %v: %v", c.lo, c.hi, ok)
		}
	}
	if _, ok := (Network{DenseLayer(1, 1, Activation{Kind: Tanh})}).AffineOn(weights[:2], []float64{0}, []float64{1}); ok {
		t.Error("tanh is linear")
	}
}

// TestEncloseBeyondFloat64: values of activations without bound are enclosed where the number is
// beyond the range of float64.
func TestEncloseBeyondFloat64(t *testing.T) {
	for kind := range Kinds {
		a := Activation{Kind: Kind(kind)}
		if a.facts().slope == yes {
			a.Slope = 0.5
		}
		huge := new(big.Float).SetPrec(exactBits).SetMantExp(big.NewFloat(1), 2000)
		got := a.enclose(Enclosure{new(big.Float).Neg(huge), huge})
		if math.IsInf(a.facts().bound, 1) && got.Hi.Cmp(huge) < 0 {
			t.Errorf("%v of 2^2000 is at most %v", a, got.Hi.Text('g', 5))
		}
		if got.Lo.Cmp(got.Hi) > 0 || a.NonNeg() && got.Lo.Sign() > 0 {
			t.Errorf("%v: enclosure from %v to %v", a, got.Lo.Text('g', 5), got.Hi.Text('g', 5))
		}
	}
}
