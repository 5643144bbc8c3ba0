package bound

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

var bothPrecisions = []Precision{Float32, Float64}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// ratPow is x^n.
func ratPow(x *big.Rat, n int) *big.Rat {
	e := big.NewInt(int64(n))
	return new(big.Rat).SetFrac(new(big.Int).Exp(x.Num(), e, nil), new(big.Int).Exp(x.Denom(), e, nil))
}

func quo(a, b *big.Rat) *big.Rat  { return new(big.Rat).Quo(a, b) }
func prod(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

// isNumber reports whether x is a number of the format.
func (p Precision) isNumber(x float64) bool { return p == Float64 || float64(float32(x)) == x }

// TestRoundDirected: RoundLo is the largest number of the format that is not
// above x, RoundHi the smallest that is not below; and Enclose rounds like them.
func TestRoundDirected(t *testing.T) {
	inf := math.Inf(1)
	cases := []float64{0, math.Copysign(0, -1), 0.1, -0.1, 1, math.Pi, math.MaxFloat32, -math.MaxFloat32, 0x1.ffffffp127,
		math.MaxFloat64, 0x1p-149, 0x1p-150, 0x1.8p-150, 1e-300, -1e-300, 0x1p-126, 0x1.fffffffp-127, inf, -inf}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		cases = append(cases, math.Ldexp(rng.Float64()*2-1, rng.IntN(300)-160))
	}
	for _, p := range bothPrecisions {
		for _, x := range cases {
			lo, hi := p.RoundLo(x), p.RoundHi(x)
			if !p.isNumber(lo) || !p.isNumber(hi) || !(lo <= x && x <= hi) {
				t.Fatalf("%v: %x rounds to [%x, %x]", p, x, lo, hi)
			}
			if p.isNumber(x) && (lo != x || hi != x) {
				t.Fatalf("%v: %x is a number of the format and rounds to [%x, %x]", p, x, lo, hi)
			}
			if next := float64(math.Nextafter32(float32(lo), float32(inf))); p == Float32 && lo != x && next != hi {
				t.Fatalf("%v: %x rounds to [%x, %x], which are not neighbours", p, x, lo, hi)
			}
		}
		for _, w := range [][]float64{cases, {0.1, math.NaN()}} {
			box := Enclose([][]float64{w}, p)
			for i, x := range w {
				if lo, hi := box.Lo[0][i], box.Hi[0][i]; lo != p.RoundLo(x) || hi != p.RoundHi(x) {
					t.Fatalf("%v: Enclose makes [%x, %x] of %x", p, lo, hi, x)
				}
			}
		}
		if lo, hi := p.RoundLo(math.NaN()), p.RoundHi(math.NaN()); lo != -inf || hi != inf {
			t.Errorf("%v: NaN rounds to [%v, %v]", p, lo, hi)
		}
	}
}

// TestRoundingConstants compares every constant with the exact rational formula
// that pushFor and inflateFor state, from below, and with little more than it from
// above.
func TestRoundingConstants(t *testing.T) {
	for _, p := range bothPrecisions {
		u := rat(p.Unit())
		less := new(big.Rat).Sub(big.NewRat(1, 1), u) // 1 - u
		within := func(what string, k, n int, got float64, want *big.Rat, loose float64) {
			most := prod(want, new(big.Rat).Add(big.NewRat(1, 1), rat(loose)))
			if g := rat(got); g.Cmp(want) < 0 || g.Cmp(most) > 0 || !p.isNumber(got) {
				w, _ := want.Float64()
				t.Errorf("%v: %s for %d roundings and %d products is %x, exact %x", p, what, k, n, got, w)
			}
		}
		for _, k := range []int{1, 2, 32, 33, 34, 40, 100, 700} {
			ku := prod(u, big.NewRat(int64(k), 1))
			g := quo(ku, new(big.Rat).Sub(big.NewRat(1, 1), ku))
			within("gamma", k, 0, p.RoundHi(p.gamma(k)), g, 0x1p-22)
			for _, n := range []int{1, 32, 784, 20000} {
				push, inflate := p.pushFor(k, n), p.inflateFor(k, n)
				loose := 64 * float64(k) * p.Unit()
				within("push.Rel", k, n, push.Rel, quo(g, ratPow(less, k+2)), loose+0x1p-23)
				within("inflate.Rel", k, n, inflate.Rel, quo(big.NewRat(1, 1), ratPow(less, k+1)), loose+0x1p-23)
				abs := prod(rat(p.Eta()), quo(big.NewRat(int64(3*n+1), 1), ratPow(less, 2)))
				within("push.Abs", k, n, push.Abs, abs, 3)
				within("inflate.Abs", k, n, inflate.Abs, abs, 3)
			}
		}
	}
}

// TestOperationConstants compares the constants of the operations with the counts
// of roundings that their comments derive, for a sum of n terms in blocks.
func TestOperationConstants(t *testing.T) {
	for _, p := range bothPrecisions {
		for _, n := range []int{1, 31, 32, 33, 64, 65, 1000} {
			blocks := (n + Block - 1) / Block
			sum := 1 + (Block - 1) + (blocks - 1) // a product, its block, the blocks
			push, mag := p.AffineRounding(n)
			atLeast := func(what string, got float64, k int) {
				if got < p.gamma(k) || got > p.gamma(k+16)*(1+0x1p-20) {
					t.Errorf("%v: %s of %d is %x, need %x for %d roundings", p, what, n, got, p.gamma(k), k)
				}
			}
			atLeast("AffineRounding push", push.Rel, sum+1)
			atLeast("AffineRounding mag", mag.Rel-1, sum+1)
			atLeast("RelaxCharge.G1", p.RelaxCharge(n).G1, sum+2)
			atLeast("RelaxCharge.G2", p.RelaxCharge(n).G2, sum+2)
			atLeast("RowsRounding.Rel", p.RowsRounding(n, 7).Rel-1, sum+2)
			atLeast("RowsRounding.Chord", p.RowsRounding(n, 7).Chord, sum+2)
			atLeast("ConcretizeRounding.Rel", p.ConcretizeRounding(n, 7).Rel, sum)
			atLeast("MergeRounding", p.MergeRounding(n, n).Rel, n+1)
			atLeast("PairRounding", p.PairRounding(n).Rel-1, sum+2)
			atLeast("SharedRounding.Slack", p.SharedRounding(n, 7, 9).Slack, sum)
			for _, s := range []SharedRounding{p.SharedRounding(3, n, 40), p.SharedRounding(3, 40, n)} {
				atLeast("SharedRounding.Rel", s.Rel-1, sum+2+1+Block+1)
			}
			if p.SharedRounding(n, 1, 1).Under < float64(n)*p.Eta() || p.SharedRounding(1, n, 9).Abs < float64(9*n+9)*p.Eta() {
				t.Errorf("%v: Under or Abs of SharedRounding of %d is too small", p, n)
			}
			for _, before := range []int{1, 50} {
				under := float64(before) / 2 * p.Eta()
				if p.RowsRounding(n, before).Under < under || p.ConcretizeRounding(n, before).Under < under {
					t.Errorf("%v: Under of %d after %d is too small", p, n, before)
				}
			}
		}
	}
}
