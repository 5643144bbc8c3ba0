package probability

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
)

// testUnion is M boxes in d weights with a true sd inside its bounds.
type testUnion struct {
	lo, hi               [][]float64
	mean, sdLo, sd, sdHi []float64
}

// randomUnion draws n boxes whose ends often coincide: faces touch, boxes
// repeat, contain one another or reach to infinity.
func randomUnion(r *rand.Rand, n, d int) testUnion {
	u := testUnion{}
	pool := make([][]float64, d)
	for j := range d {
		mean, sd := r.NormFloat64(), math.Exp(2*r.NormFloat64())
		u.mean, u.sd = append(u.mean, mean), append(u.sd, sd)
		u.sdLo, u.sdHi = append(u.sdLo, sd), append(u.sdHi, sd)
		pool[j] = []float64{mean, math.Inf(-1), math.Inf(1)}
		for range 4 {
			pool[j] = append(pool[j], mean+sd*2*r.NormFloat64())
		}
	}
	for range n {
		lo, hi := make([]float64, d), make([]float64, d)
		for j := range d {
			a, b := pool[j][r.IntN(7)], pool[j][r.IntN(7)]
			if r.IntN(2) == 0 {
				a, b = u.mean[j]+u.sd[j]*2*r.NormFloat64(), u.mean[j]+u.sd[j]*2*r.NormFloat64()
			}
			lo[j], hi[j] = min(a, b), max(a, b)
		}
		u.lo, u.hi = append(u.lo, lo), append(u.hi, hi)
	}
	return u
}

// oracleUnion adds the exact masses of all cells of the grid of end-points
// that lie in some box.
func oracleUnion(u testUnion) *big.Float {
	d := len(u.mean)
	cuts := make([][]float64, d)
	masses := make([][]*big.Float, d)
	for j := range d {
		for i := range u.lo {
			cuts[j] = append(cuts[j], u.lo[i][j], u.hi[i][j])
		}
		slices.Sort(cuts[j])
		cuts[j] = slices.Compact(cuts[j])
		for k := range len(cuts[j]) - 1 {
			masses[j] = append(masses[j], oracleInterval(cuts[j][k], cuts[j][k+1], u.mean[j], u.sd[j]))
		}
	}
	all := make([]int, len(u.lo))
	for i := range all {
		all[i] = i
	}
	var visit func(j int, mass *big.Float, in []int) *big.Float
	visit = func(j int, mass *big.Float, in []int) *big.Float {
		if len(in) == 0 {
			return newBig()
		}
		if j == d {
			return mass
		}
		sum := newBig()
		for k, m := range masses[j] {
			var left []int
			for _, i := range in {
				if u.lo[i][j] <= cuts[j][k] && cuts[j][k+1] <= u.hi[i][j] {
					left = append(left, i)
				}
			}
			if len(left) > 0 {
				sum.Add(sum, visit(j+1, newBig().Mul(mass, m), left))
			}
		}
		return sum
	}
	return visit(0, bigOf(1), all)
}

// TestUnion: never above the exact union, and within 1e-9 of it, since the
// pieces of (7) are complete in low dimension.
func TestUnion(t *testing.T) {
	r := newRand(t, 14)
	won := map[string]int{}
	for trial := range cases(t, 300) {
		u := randomUnion(r, 1+r.IntN(8), 1+r.IntN(4))
		truth := oracleUnion(u)
		l, rule := UnionLogDown(u.lo, u.hi, u.mean, u.sdLo, u.sdHi)
		won[rule]++
		if truth.Sign() == 0 {
			if !math.IsInf(l, -1) || rule != RuleNone {
				t.Errorf("trial %d: empty union has %v by %s", trial, l, rule)
			}
			continue
		}
		if !isLower(expOf(l), truth) {
			t.Errorf("trial %d: %v by %s is above %s: %+v", trial, l, rule, truth.Text('g', 20), u)
		}
		if e := relative(expOf(l), truth); e > 1e-9 {
			t.Errorf("trial %d: %v by %s is loose by %g: %+v", trial, l, rule, e, u)
		}
	}
	t.Logf("rules: %v", won)
	if won[RulePieces] == 0 || won[RuleLargest] == 0 {
		t.Error("some rule never won")
	}
}

// TestUnionRulesAlone checks every rule, also those that lose, and with bounds
// of sd that are apart.
func TestUnionRulesAlone(t *testing.T) {
	r := newRand(t, 15)
	for trial := range cases(t, 200) {
		tu := randomUnion(r, 2+r.IntN(6), 1+r.IntN(3))
		if trial%2 == 0 {
			for j := range tu.sd {
				tu.sdLo[j] *= 1 - 0.2*r.Float64()
				tu.sdHi[j] *= 1 + 0.2*r.Float64()
			}
		}
		truth := oracleUnion(tu)
		u := unionOf(tu.lo, tu.hi, tu.mean, tu.sdLo, tu.sdHi)
		if len(u.boxes) < 2 {
			continue
		}
		base := u.boxes[0].mass.e
		pairs := u.pairsUp()
		chain := u.chainTerms(pairs, base)
		none := make([]float64, len(chain))
		for name, v := range map[string]float64{
			RuleChain:  sumDown(chain),
			RuleDeCaen: u.deCaen(pairs, base),
			RulePieces: sumDown(u.pieceTerms(pairs, none, base)),
		} {
			if got := newBig().SetMantExp(bigOf(v), base); !isLower(got, truth) {
				t.Errorf("trial %d: %s gives %s, truth %s: %+v", trial, name, got.Text('g', 20), truth.Text('g', 20), tu)
			}
		}
		checkPairs(t, u, pairs, tu.sd)
	}
}

// checkPairs compares the intersections with the oracle. Where sdLo = sdHi
// they must be tight.
func checkPairs(t *testing.T, u *union, pairs [][]scaled, sd []float64) {
	t.Helper()
	for i, a := range u.boxes {
		for j := range i + 1 {
			b := u.boxes[j]
			truth := bigOf(1)
			for k := range sd {
				truth.Mul(truth, oracleInterval(max(a.Lo[k], b.Lo[k]), min(a.Hi[k], b.Hi[k]), u.mean[k], sd[k]))
			}
			got := scaledValue(pairs[i][j])
			if !isUpper(got, truth) && got.Cmp(bigOf(1)) != 0 || truth.Sign() == 0 && got.Sign() != 0 {
				t.Errorf("pair %d, %d: %s, truth %s", i, j, got.Text('g', 20), truth.Text('g', 20))
			}
			if slices.Equal(u.sdLo, u.sdHi) && truth.Sign() > 0 && relative(got, truth) > 1e-9 {
				t.Errorf("pair %d, %d is loose by %g", i, j, relative(got, truth))
			}
		}
	}
}

// TestUnionIsNotTheProductOfUnions is the known error of published code (docs/theory.md,
// section 2.5) in its smallest form: two opposite quadrants hold 1/2; merging
// coordinates would give 1.
func TestUnionIsNotTheProductOfUnions(t *testing.T) {
	inf := math.Inf(1)
	lo := [][]float64{{-inf, -inf}, {0, 0}}
	hi := [][]float64{{0, 0}, {inf, inf}}
	l, _ := UnionLogDown(lo, hi, []float64{0, 0}, []float64{1, 2}, []float64{1, 2})
	if p := arith.ExpDown(l); p > 0.5 || p < 0.5-1e-12 {
		t.Errorf("two quadrants have mass %v", p)
	}
}

// TestUnionHighDimension: 40 cubes of 2,000 weights, each shifted along 50 axes
// of its own, so that all overlap and the pieces' budget is spent.
func TestUnionHighDimension(t *testing.T) {
	const d, n = 2000, 40
	mean, sd := make([]float64, d), make([]float64, d)
	for j := range sd {
		sd[j] = 0.25
	}
	var lo, hi [][]float64
	for i := range n {
		l, h := make([]float64, d), make([]float64, d)
		for j := range l {
			l[j], h[j] = -0.5, 0.5
			if j%n == i {
				l[j], h[j] = -0.45, 0.55
			}
		}
		lo, hi = append(lo, l), append(hi, h)
	}
	l, rule := UnionLogDown(lo, hi, mean, sd, sd)
	largest := LogMassDown(lo[0], hi[0], mean, sd, sd)
	ceiling := largest + math.Log(n)
	t.Logf("log10: largest %.6g, union %.6g by %s, sum %.6g", arith.Log10Down(largest), arith.Log10Down(l), rule, arith.Log10Down(ceiling))
	if l <= largest || l > ceiling {
		t.Errorf("union %v, largest %v, sum of all %v", l, largest, ceiling)
	}
}

// TestUnionTinyMasses adds two disjoint boxes of mass 1e-5444: exactly
// twice the mass of one, up to 1e-9.
func TestUnionTinyMasses(t *testing.T) {
	const d = 269322
	mean, sd := make([]float64, d), make([]float64, d)
	lo := [][]float64{make([]float64, d), make([]float64, d)}
	hi := [][]float64{make([]float64, d), make([]float64, d)}
	for j := range sd {
		sd[j] = 1
		lo[0][j], hi[0][j], lo[1][j], hi[1][j] = -2, 2, -2, 2
	}
	hi[0][7], lo[1][7] = 0, 0
	one := LogMassDown(lo[0], hi[0], mean, sd, sd)
	two, rule := UnionLogDown(lo, hi, mean, sd, sd)
	if two > one+math.Ln2 || two < one+math.Ln2-1e-9 || arith.Log10Down(two) > -5400 {
		t.Errorf("one box %v, two boxes %v by %s", one, two, rule)
	}
}

// TestUnionAtoms: a weight whose sd is, or may be, 0.
func TestUnionAtoms(t *testing.T) {
	inf := math.Inf(1)
	lo, hi := [][]float64{{-1, -inf}, {0, -inf}}, [][]float64{{0, 0}, {1, 0}}
	mean := []float64{0, 0}
	// sd_0 = 0: both boxes hold the atom, the union has 1/2, not 1.
	l, _ := UnionLogDown(lo, hi, mean, []float64{0, 1}, []float64{0, 1})
	if p := arith.ExpDown(l); p > 0.5 || p < 0.5-1e-12 {
		t.Errorf("atom: %v, want 1/2", p)
	}
	// sd_0 in [0,1]: the worst is 1, P(-1 < N < 1)/2 = 0.341344746...
	l, _ = UnionLogDown(lo, hi, mean, []float64{0, 1}, []float64{1, 1})
	if p := arith.ExpDown(l); p > 0.3413447460685430 || p < 0.341344746 {
		t.Errorf("atom or not: %v", p)
	}
	// A box beside the atom has nothing.
	if l, rule := UnionLogDown([][]float64{{1, -inf}}, [][]float64{{2, inf}}, mean, []float64{0, 1}, []float64{0, 1}); !math.IsInf(l, -1) || rule != RuleNone {
		t.Errorf("beside the atom: %v by %s", l, rule)
	}
}

func TestUnionCorners(t *testing.T) {
	nan := math.NaN()
	mean, sd := []float64{0}, []float64{1}
	good, _ := UnionLogDown([][]float64{{-1}}, [][]float64{{1}}, mean, sd, sd)
	withNaN, rule := UnionLogDown([][]float64{{nan}, {-1}, {3}}, [][]float64{{1}, {1}, {2}}, mean, sd, sd)
	if good != withNaN || rule != RuleLargest {
		t.Errorf("a NaN box and an empty box changed %v to %v by %s", good, withNaN, rule)
	}
	if l, rule := UnionLogDown([][]float64{{-1}}, [][]float64{{1}}, []float64{nan}, sd, sd); !math.IsInf(l, -1) || rule != RuleNone {
		t.Errorf("NaN mean: %v by %s", l, rule)
	}
	if l, rule := UnionLogDown(nil, nil, mean, sd, sd); !math.IsInf(l, -1) || rule != RuleNone {
		t.Errorf("no boxes: %v by %s", l, rule)
	}
	// 3,000 copies of one box: more than are kept, and no more mass than one.
	var lo, hi [][]float64
	for range 3000 {
		lo, hi = append(lo, []float64{-1}), append(hi, []float64{1})
	}
	if l, _ := UnionLogDown(lo, hi, mean, sd, sd); l > 0 || l < good || l > good+1e-15 {
		t.Errorf("3000 copies: %v, one: %v", l, good)
	}
}
