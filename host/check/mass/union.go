package mass

import (
	"context"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
)

// weights are all independent normal weights in one list, and flatBox is a box of them.
type weights struct{ mean, sdLo, sdHi []float64 }

type flatBox struct {
	lo, hi []float64
	mass   *big.Float // at most its probability
}

func allWeights(post *posterior.Posterior) *weights {
	w := &weights{}
	for _, g := range post.Params() {
		w.mean, w.sdLo, w.sdHi = append(w.mean, g.Mean...), append(w.sdLo, g.SdLo...), append(w.sdHi, g.SdHi...)
	}
	return w
}

// chanceOf is the chance that the weights lie in [lo, hi], for every standard deviation in
// [sdLo, sdHi]: docs/theory.md (6). Infinite ends are allowed.
func (w *weights) chanceOf(lo, hi []float64) law.Chance {
	p := mass{m: arith.DDOf(1)}
	for j := 0; j < len(lo) && !p.none; j++ {
		p.interval(lo[j], hi[j], w.mean[j], w.sdLo[j], w.sdHi[j])
	}
	return p.chance()
}

// massOf is at most the probability of [lo, hi].
func (w *weights) massOf(lo, hi []float64) *big.Float { return w.chanceOf(lo, hi).Value() }

// How much work a union may be: pairs of boxes times weights, boxes, and coordinates and
// number of disjoint pieces. Whatever is left out only lowers the bound.
const (
	pairWork  = 2e8
	pairBoxes = 1024
	pieceWork = 4e6
	pieceCap  = 4096
)

// OfUnion is the chance of the union of boxes: the best of docs/theory.md (7) to (9) and
// of the largest box, or the first of them that is enough. Intervals of different boxes are
// never merged. With largest it is that of the largest box alone. When ctx
// ends it is no bound.
func OfUnion(ctx context.Context, post *posterior.Posterior, boxes []*relax.WeightBox, largest bool, enough func(law.Chance) bool) law.Chance {
	w := allWeights(post)
	var drawn []flatBox
	for _, b := range boxes {
		f := flatBox{lo: slices.Concat(b.Lo...), hi: slices.Concat(b.Hi...)}
		if f.mass = w.massOf(f.lo, f.hi); f.mass.Sign() > 0 {
			drawn = append(drawn, f)
		}
	}
	if len(drawn) == 0 {
		return law.Chance{}
	}
	list := slices.Clone(drawn)
	slices.SortStableFunc(list, func(a, b flatBox) int { return b.mass.Cmp(a.mass) })
	keep := max(1, int(math.Sqrt(pairWork/float64(max(1, len(w.mean))))))
	list = list[:min(len(list), keep, pairBoxes)]
	var pairs [][]*big.Float
	var chain []*big.Float
	rules := []func() *big.Float{
		func() *big.Float { return arith.NewBig().Set(list[0].mass) },
		// Certify adds boxes up in the order in which they were drawn, too.
		func() *big.Float { return sumOf(w.pieceTerms(ctx, drawn, nil, nil)) },
		func() *big.Float {
			pairs = w.pairsUp(ctx, list)
			chain = chainTerms(list, pairs)
			return sumOf(chain)
		},
		func() *big.Float { return deCaen(list, pairs) },
		func() *big.Float { return sumOf(w.pieceTerms(ctx, list, pairs, chain)) },
	}
	if largest {
		rules = rules[:1]
	}
	best := law.Chance{X: arith.NewBig()}
	for _, of := range rules {
		v := of()
		if v.Mul(v, law.Safe); v.Cmp(best.X) > 0 {
			best = law.Chance{X: v}
		}
		if enough(best) {
			break
		}
	}
	return best
}

// chainTerms are lower bounds of what box i adds to those before it, (8): its mass less those
// of its intersections with them. The 2^-350 is for the roundings of the difference.
func chainTerms(list []flatBox, pairs [][]*big.Float) []*big.Float {
	terms := make([]*big.Float, len(list))
	for i := range list {
		t := arith.NewBig().Sub(list[i].mass, arith.NewBig().SetMantExp(list[i].mass, -350))
		for j := range i {
			t.Sub(t, pairs[i][j])
		}
		if t.Sign() < 0 {
			t.SetInt64(0)
		}
		terms[i] = t
	}
	return terms
}

// deCaen is (9), sum_i P(B_i)^2 / sum_j P(B_i ^ B_j), of the boxes up to the number for which
// it is best.
func deCaen(list []flatBox, pairs [][]*big.Float) *big.Float {
	best := arith.NewBig()
	totals := make([]*big.Float, 0, len(list))
	for k := range list {
		totals = append(totals, arith.NewBig())
		for j := range k + 1 {
			totals[k].Add(totals[k], pairs[k][j])
			if j < k {
				totals[j].Add(totals[j], pairs[k][j])
			}
		}
		v := arith.NewBig()
		for i, total := range totals {
			p := arith.NewBig().Mul(list[i].mass, list[i].mass)
			v.Add(v, p.Quo(p, total))
		}
		if v.Cmp(best) > 0 {
			best = v
		}
	}
	return best
}

func sumOf(terms []*big.Float) *big.Float {
	v := arith.NewBig()
	for _, t := range terms {
		v.Add(v, t)
	}
	return v
}

// end is an end-point x of an interval with a bound of g(x), which is Phi((x-mean)/sd) below
// the mean and Phi - 1 from the mean on, so that nothing cancels where both are small:
//
//	P(lo <= N(mean, sd^2) <= hi) = g(hi) - g(lo) + (1 if lo < mean <= hi)
type end struct{ x, g float64 }

// ends are the ends of coordinate j: g is rounded down for lower ends and up for upper ones, for
// every sd in [sdLo, sdHi]. g is monotone in sd on either side of the mean.
func (w *weights) ends(b *flatBox, j int) (lo, hi end) {
	mean, sdLo, sdHi := w.mean[j], w.sdLo[j], w.sdHi[j]
	lo, hi = end{x: b.lo[j]}, end{x: b.hi[j]}
	if lo.x < mean {
		q, err := tailAt(mean, lo.x, sdLo)
		lo.g = max(0, arith.SumDown(q.Hi, arith.Down(q.Lo-err)))
	} else {
		q, err := tailAt(lo.x, mean, sdHi)
		lo.g = -arith.SumUp(q.Hi, arith.Up(q.Lo+err))
	}
	if hi.x < mean {
		q, err := tailAt(mean, hi.x, sdHi)
		hi.g = arith.SumUp(q.Hi, arith.Up(q.Lo+err))
	} else {
		q, err := tailAt(hi.x, mean, sdLo)
		hi.g = -max(0, arith.SumDown(q.Hi, arith.Down(q.Lo-err)))
	}
	return lo, hi
}

// tailAt is Q((x-y)/sd), 0 for sd = 0.
func tailAt(x, y, sd float64) (arith.DD, float64) {
	if sd == 0 {
		return arith.DDOf(0), 0
	}
	return gauss.TailNear(distance(x, y, sd))
}

// upper is a product of very many factors, at most m 2^e.
type upper struct {
	m float64
	e int
}

// pairsUp bounds the masses of the intersections of boxes i and j <= i from above; one without
// volume has none.
func (w *weights) pairsUp(ctx context.Context, list []flatBox) [][]*big.Float {
	products := make([][]upper, len(list))
	for i := range products {
		products[i] = slices.Repeat([]upper{{m: 1}}, i+1)
	}
	lo, hi := make([]end, len(list)), make([]end, len(list))
	for c, mean := range w.mean {
		if w.sdHi[c] == 0 || ctx.Err() != nil {
			continue // both contain the mean, or they had no mass
		}
		for i := range list {
			lo[i], hi[i] = w.ends(&list[i], c)
		}
		for i := range products {
			for j := range products[i] {
				products[i][j].times(later(lo[i], lo[j]), earlier(hi[i], hi[j]), mean)
			}
		}
	}
	pairs := make([][]*big.Float, len(list))
	for i := range products {
		for _, p := range products[i] {
			pairs[i] = append(pairs[i], arith.NewBig().SetMantExp(arith.NewBig().SetFloat64(p.m), p.e))
		}
	}
	return pairs
}

func later(a, b end) end {
	if b.x > a.x {
		return b
	}
	return a
}

func earlier(a, b end) end {
	if b.x < a.x {
		return b
	}
	return a
}

// times multiplies by the probability between two ends.
func (p *upper) times(lo, hi end, mean float64) {
	if lo.x >= hi.x {
		p.m = 0
	}
	if p.m == 0 {
		return
	}
	var f float64
	if lo.x < mean && mean <= hi.x {
		f = min(1, arith.Up(arith.SumUp(1, hi.g)-lo.g))
	} else {
		f = min(1, arith.SumUp(hi.g, -lo.g))
	}
	if f >= 1 {
		return
	}
	m, e := math.Frexp(f)
	if p.m != 1 {
		m = arith.Up(p.m * m)
	}
	m, k := math.Frexp(m)
	p.m, p.e = m, p.e+e+k
}

// pieceTerms are lower bounds of what box i adds to those before it, (7): the box is cut into
// pieces outside of them, coordinate by coordinate, and their masses are added. Where there are
// too many, pieces are left out, and the term of (8), if it is given, counts if it is more.
func (w *weights) pieceTerms(ctx context.Context, list []flatBox, pairs [][]*big.Float, chain []*big.Float) []*big.Float {
	budget := int(pieceWork)
	terms := make([]*big.Float, len(list))
	for i := range list {
		pieces := []flatBox{list[i]}
		for j := 0; j < i && len(pieces) > 0 && ctx.Err() == nil; j++ {
			if pairs != nil && pairs[i][j].Sign() == 0 {
				continue
			}
			var outside []flatBox
			for _, p := range pieces {
				outside = append(outside, w.outside(p, &list[j], &budget)...)
			}
			if pieces = outside; len(pieces) > pieceCap {
				slices.SortStableFunc(pieces, func(a, b flatBox) int { return b.mass.Cmp(a.mass) })
				pieces = pieces[:pieceCap]
			}
		}
		terms[i] = arith.NewBig()
		for _, p := range pieces {
			terms[i].Add(terms[i], p.mass)
		}
		if chain != nil {
			terms[i] = maxBig(chain[i], terms[i])
		}
	}
	return terms
}

func maxBig(a, b *big.Float) *big.Float {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// outside cuts p into pieces that are not in b and share at most faces, until the budget, in
// coordinates, is spent: of each coordinate what is below b and what is above, the rest going
// on to the next.
func (w *weights) outside(p flatBox, b *flatBox, budget *int) (pieces []flatBox) {
	for j := range w.mean {
		if w.sdHi[j] > 0 && max(p.lo[j], b.lo[j]) >= min(p.hi[j], b.hi[j]) {
			return []flatBox{p}
		}
	}
	lo, hi := slices.Clone(p.lo), slices.Clone(p.hi)
	side := func() {
		if *budget -= len(lo); *budget < 0 {
			return
		}
		if m := w.massOf(lo, hi); m.Sign() > 0 {
			pieces = append(pieces, flatBox{slices.Clone(lo), slices.Clone(hi), m})
		}
	}
	for j := range w.mean {
		if w.sdHi[j] == 0 {
			continue
		}
		if l, h := lo[j], hi[j]; l < b.lo[j] {
			hi[j] = b.lo[j]
			side()
			lo[j], hi[j] = b.lo[j], h
		}
		if l, h := lo[j], hi[j]; b.hi[j] < h {
			lo[j] = b.hi[j]
			side()
			lo[j], hi[j] = l, b.hi[j]
		}
		if *budget < 0 {
			break
		}
	}
	return pieces
}
