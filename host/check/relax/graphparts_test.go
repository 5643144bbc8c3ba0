package relax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestStars: for all values of the members in their intervals, no two of which differ by more than
// is said, the lines are below and above the activation of the maximum, exactly.
func TestStars(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 7))
	l := Layer{In: 3, Out: 1, Windows: [][]int32{{0, 1, 2}}}
	for n := range testscale.Cases(t, 5000) {
		l.Act = checktest.Activations[rng.IntN(3)]
		y := NewSpan(3)
		for j := range y.Lo {
			y.Lo[j] = math.Round(rng.NormFloat64()*16) / 3
			y.Hi[j] = y.Lo[j] + math.Abs(math.Round(rng.NormFloat64()*16)/7)
		}
		delta, by := math.Abs(rng.NormFloat64()), Choice{Try: uint64(n % 2)}
		var d Differ
		if n%3 > 0 {
			d = func(int, int32) (most, plain float64) { return delta, delta * float64(1+n%5) / 2 }
		}
		greatest := n%4 == 0
		h := l.Stars(y, greatest, &by, d)
		star := h.Pool.Star[0]
		if bottom := slices.Max(y.Lo); greatest && h.Pre.Lo[0] != bottom || !greatest && h.Pre.Lo[0] != y.Lo[star] {
			t.Fatalf("case %d: the maximum is from %v on, of members in %v", n, h.Pre.Lo[0], y)
		}
		for range 20 {
			v := checktest.DrawnIn(rng, y.Lo, y.Hi)
			at := v[star]
			most := new(big.Rat).Add(at, checktest.Exactly(delta))
			top := at
			for j := range v {
				if d != nil && v[j].Cmp(most) > 0 && checktest.Exactly(y.Lo[j]).Cmp(most) <= 0 {
					v[j] = most // as far as it may be
				}
				if v[j].Cmp(top) > 0 {
					top = v[j]
				}
			}
			if d != nil && top.Cmp(most) > 0 {
				continue
			}
			line := func(a, b float64, x *big.Rat) *big.Rat {
				r := new(big.Rat).Mul(checktest.Exactly(a), x)
				return r.Add(r, checktest.Exactly(b))
			}
			upper := line(h.Pool.Slope[0], h.Pool.Above[0], at)
			value := checktest.ValueOf(l.Act, top)
			if upper.Cmp(checktest.Exactly(h.Arg.Lo[0])) < 0 || upper.Cmp(checktest.Exactly(h.Arg.Hi[0])) > 0 {
				t.Fatalf("case %d: the line is %v, outside of %v", n, upper.FloatString(20), h.Arg)
			}
			for _, a := range []float64{1.0 / 3, -1.0 / 3} { // a row over the maximum
				var c arith.Sum
				r := h.Pool.substitute([]float64{a}, 3, &c)
				least := smallest(r.Lo[star], r.Hi[star], at)
				if least.Add(least, checktest.Exactly(c.Lo())); least.Cmp(new(big.Rat).Mul(checktest.Exactly(a), top)) > 0 {
					t.Fatalf("case %d: %v times maximum %v, star %v, is at least %v", n, a, top.FloatString(20), at.FloatString(20), least.FloatString(20))
				}
			}
			if top.Cmp(checktest.Exactly(h.Pre.Hi[0])) > 0 || upper.Cmp(top) < 0 || line(h.Upper[0].A, h.Upper[0].B, upper).Cmp(value) < 0 || line(h.Lower[0].A, h.Lower[0].B, at).Cmp(value) > 0 {
				t.Fatalf("case %d: maximum %v, star %v of %v: %+v", n, top.FloatString(20), at.FloatString(20), y, h)
			}
		}
	}
}

// TestUsed: what any layer takes is used.
func TestUsed(t *testing.T) {
	one := []float64{1}
	take := func(j int32) Layer {
		return Layer{In: 2, Out: 1, Fixed: true, W: Span{one, one}, sources: []int{0}, At: &Places{Positions: 1, Taps: 1, Channels: 1, Tap: []int32{j}, Kernels: [][]int32{{0}}}}
	}
	second := take(1)
	g, err := graphOf([]Layer{{In: 1, Out: 2}, take(0), second, {In: 2, Out: 1, sources: []int{1, 2}}})
	if err != nil || !slices.Equal(g.Used[0], []bool{true, true}) {
		t.Errorf("used are %v, %v", g, err)
	}
	g, err = graphOf([]Layer{{In: 1, Out: 2}, take(0), {In: 1, Out: 1}})
	if err != nil || !slices.Equal(g.Used[0], []bool{true, false}) {
		t.Errorf("used are %v, %v", g, err)
	}
}
