package relax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// boxAround is a box of weights around the mean, of a half-width for each layer.
func boxAround(post *posterior.Posterior, gamma []float64) *WeightBox {
	b := &WeightBox{}
	for a, g := range post.Params() {
		var lo, hi []float64
		for w, mean := range g.Mean {
			lo, hi = append(lo, mean-gamma[a/2]*g.SdHi[w]), append(hi, mean+gamma[a/2]*g.SdHi[w])
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

// TestGraphBoxes draws networks and inputs inside of the boxes: nothing of any layer may be out of
// its bounds, no maximum above its line, and no row below its bound.
func TestGraphBoxes(t *testing.T) {
	checktest.Kinds(t, 60/testscale.By(t, 2), func(t *testing.T, rng *rand.Rand, kind string) {
		act := checktest.Activations[1+rng.IntN(2)]
		post := checktest.Sketched(rng, kind, act, 1.0/16)
		x := checktest.BallOf(rng, 16, []float64{0, 1.0 / 64, 0.25}[rng.IntN(3)])
		gamma := make([]float64, len(post.Layers))
		for k := range gamma {
			gamma[k] = []float64{0, 0.5, 2}[rng.IntN(3)]
		}
		b := boxAround(post, gamma)
		n, err := b.Network(post)
		if err != nil {
			t.Fatal(err)
		}
		rows := property.ArgmaxIs(0, 2).Rows
		for _, by := range []struct {
			lines bool
			try   uint64
		}{{false, 0}, {true, 0}, {true, 1}} {
			n.Lines, n.By.Try = by.lines, by.try
			lo := n.RowsLo(x, rows)
			n.By.drawn = 0
			p := n.NewPass(Span{x.Lo, x.Hi})
			for k := range len(n.Layers) - 1 {
				p.HiddenLayer(k)
			}
			for range 12 {
				var w [][]*big.Rat
				for a := range b.Lo {
					w = append(w, checktest.DrawnIn(rng, b.Lo[a], b.Hi[a]))
				}
				pre := checktest.Evaluated(post, w, checktest.DrawnIn(rng, x.Lo, x.Hi))
				for k := range p.Hidden {
					p.holds(t, k, pre)
				}
				last := pre[len(pre)-1]
				for r := range rows {
					v := checktest.Exactly(rows[r].D)
					for i, y := range last {
						v.Add(v, new(big.Rat).Mul(checktest.Exactly(rows[r].CLo[i]), y))
					}
					if math.IsNaN(lo[r]) || !math.IsInf(lo[r], 0) && checktest.Exactly(lo[r]).Cmp(v) > 0 {
						t.Fatalf("%+v gamma %v: row %d is %v, its bound %v", by, gamma, r, v.FloatString(12), lo[r])
					}
				}
			}
		}
	})
}

// holds checks that what is known of layer k is true of these pre-activations.
func (p *Pass) holds(t *testing.T, k int, pre [][]*big.Rat) {
	t.Helper()
	h := &p.Hidden[k]
	for i, v := range pre[k] {
		if !p.Graph.Used[k][i] {
			continue
		}
		if lo, hi := h.Pre.Lo[i], h.Pre.Hi[i]; !(lo <= hi) || lo > -arith.Inf && checktest.Exactly(lo).Cmp(v) > 0 || hi < arith.Inf && checktest.Exactly(hi).Cmp(v) < 0 {
			t.Fatalf("layer %d: neuron %d is %v, its bounds %v and %v", k, i, v.FloatString(12), lo, hi)
		}
		if h.Pool == nil || math.IsInf(h.Pool.Above[i], 0) {
			continue
		}
		star := pre[p.Graph.From[k][0]][h.Pool.Star[i]]
		line := new(big.Rat).Mul(checktest.Exactly(h.Pool.Slope[i]), star)
		if line.Add(line, checktest.Exactly(h.Pool.Above[i])).Cmp(v) < 0 || star.Cmp(v) > 0 {
			t.Fatalf("layer %d: maximum %d is %v, its star %v, its line %v", k, i, v.FloatString(12), star.FloatString(12), line.FloatString(12))
		}
		if line.Cmp(checktest.Exactly(h.Arg.Lo[i])) < 0 || line.Cmp(checktest.Exactly(h.Arg.Hi[i])) > 0 {
			t.Fatalf("layer %d: the line of maximum %d is %v, outside of its range from %v to %v", k, i, line.FloatString(12), h.Arg.Lo[i], h.Arg.Hi[i])
		}
	}
}
