package mass

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/prove/probability"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// randomUnion draws a posterior of n weights and boxes that overlap, touch or are apart.
func randomUnion(rng *rand.Rand, n, boxes int) (mean, sdLo, sdHi []float64, lo, hi [][]float64) {
	mean, sdLo, sdHi, _, _ = checktest.RandomBox(rng, n, false)
	if n > 2 && rng.IntN(3) == 0 {
		sdLo[0], sdHi[0] = 0, 0
	}
	for range boxes {
		var l, h []float64
		for j := range mean {
			c, w := rng.NormFloat64(), 0.3+2*rng.Float64()
			if rng.IntN(3) == 0 {
				c, w = math.Round(c), 1 // faces that meet
			}
			l, h = append(l, mean[j]+(c-w)*sdHi[j]), append(h, mean[j]+(c+w)*sdHi[j])
		}
		lo, hi = append(lo, l), append(hi, h)
	}
	return mean, sdLo, sdHi, lo, hi
}

// TestUnionAgainstMeasure: what certify proves of a union, by any of its rules, the checker
// proves too.
func TestUnionAgainstMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	rules := map[string]int{}
	for range testscale.Cases(t, 600) {
		mean, sdLo, sdHi, lo, hi := randomUnion(rng, 2+rng.IntN(1<<rng.IntN(6)), 1+rng.IntN(30))
		logP, rule := probability.UnionLogDown(lo, hi, mean, sdLo, sdHi)
		rules[rule]++
		var boxes []*relax.WeightBox
		for i := range lo {
			boxes = append(boxes, boxOfEnds(lo[i], hi[i]))
		}
		p := arith.ExpDown(logP)
		enough := func(c law.Chance) bool {
			return c.Reaches(checktest.Exactly(p)) && c.ReachesLog10(checktest.Exactly(arith.Log10Down(logP)))
		}
		if math.IsInf(logP, -1) {
			continue
		}
		if c := OfUnion(t.Context(), checktest.OneLayer(mean, sdLo, sdHi), boxes, false, enough); !enough(c) {
			t.Fatalf("%d boxes of %d weights: certify has %v by %s, check %v", len(lo), len(mean), p, rule, c.Float())
		}
	}
	t.Log(rules)
}

// TestUnionExact: the union is never more than what a grid of exact cells says, and the
// disjoint pieces are all of it.
func TestUnionExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	never := func(law.Chance) bool { return false }
	for range testscale.Cases(t, 60) {
		mean, _, sd, lo, hi := randomUnion(rng, 2, 1+rng.IntN(5))
		var boxes []*relax.WeightBox
		var cuts [2][]float64
		for i := range lo {
			boxes = append(boxes, boxOfEnds(lo[i], hi[i]))
			for j := range cuts {
				cuts[j] = append(cuts[j], lo[i][j], hi[i][j])
			}
		}
		for j := range cuts {
			slices.Sort(cuts[j])
			cuts[j] = slices.Compact(cuts[j])
		}
		exact := new(big.Float).SetPrec(4000)
		for a := range len(cuts[0]) - 1 {
			for b := range len(cuts[1]) - 1 {
				x, y := cuts[0][a:a+2], cuts[1][b:b+2]
				for i := range lo {
					if lo[i][0] <= x[0] && x[1] <= hi[i][0] && lo[i][1] <= y[0] && y[1] <= hi[i][1] {
						exact.Add(exact, new(big.Float).SetPrec(4000).Mul(exactFactor(x[0], x[1], mean[0], sd[0]), exactFactor(y[0], y[1], mean[1], sd[1])))
						break
					}
				}
			}
		}
		got := OfUnion(t.Context(), checktest.OneLayer(mean, sd, sd), boxes, false, never).Value()
		if got.Cmp(exact) > 0 || got.Cmp(new(big.Float).Mul(exact, big.NewFloat(1-1e-12))) < 0 {
			t.Fatalf("%d boxes hold %v, proved is %v", len(lo), exact, got)
		}
	}
}

// TestUnionRules: each rule by itself is below the mass of all pieces, and pairs are above
// the exact masses of intersections.
func TestUnionRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	for range testscale.Cases(t, 200) {
		mean, _, sd, lo, hi := randomUnion(rng, 2+rng.IntN(4), 2+rng.IntN(8))
		w := &weights{mean, sd, sd}
		var list []flatBox
		for i := range lo {
			list = append(list, flatBox{lo[i], hi[i], w.massOf(lo[i], hi[i])})
		}
		pairs := w.pairsUp(t.Context(), list)
		for i := range list {
			for j := range i + 1 {
				l, h := make([]float64, len(mean)), make([]float64, len(mean))
				for k := range l {
					l[k], h[k] = max(lo[i][k], lo[j][k]), min(hi[i][k], hi[j][k])
				}
				if pairs[i][j].Cmp(w.massOf(l, h)) < 0 {
					t.Fatalf("boxes %d and %d share %v, bounded by %v", i, j, w.massOf(l, h), pairs[i][j])
				}
			}
		}
		chain := chainTerms(list, pairs)
		all := sumOf(w.pieceTerms(t.Context(), list, nil, nil))
		all.Mul(all, big.NewFloat(1+1e-9))
		for name, v := range map[string]*big.Float{"chain": sumOf(chain), "de Caen": deCaen(list, pairs), "pieces": sumOf(w.pieceTerms(t.Context(), list, pairs, chain))} {
			if v.Cmp(all) > 0 {
				t.Fatalf("%s gives %v, the pieces are %v", name, v, all)
			}
		}
	}
}

func TestUnionOfNothing(t *testing.T) {
	post := checktest.OneLayer([]float64{0, 0}, []float64{1, 1}, []float64{1, 1})
	empty := boxOfEnds([]float64{1, 0}, []float64{0, 1})
	for _, boxes := range [][]*relax.WeightBox{nil, {empty}} {
		if c := OfUnion(t.Context(), post, boxes, false, func(law.Chance) bool { return false }); !c.IsZero() {
			t.Errorf("%d boxes hold %v", len(boxes), c.Float())
		}
	}
}
