package probability

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
)

// The rules UnionLogDown chooses from.
const (
	RuleNone    = "none"            // no box has provable mass
	RuleLargest = "largest box"     // max_i P(B_i)
	RuleChain   = "chain"           // (8)
	RuleDeCaen  = "de Caen"         // (9)
	RulePieces  = "disjoint pieces" // (7)
)

// Work limits of UnionLogDown. pairWork bounds K^2 d, the coordinates visited
// for all pairs of the K boxes kept (about 1 s on one core), pairBoxes K itself
// (the table of pairs takes 24 K^2/2 bytes); pieceWork bounds the coordinates written and integrated for the pieces of (7) (about 0.5 s),
// pieceCap the pieces one box may fall into.
const (
	pairWork  = 2e8
	pairBoxes = 1024
	pieceWork = 2e6
	pieceCap  = 4096
)

// UnionLogDown returns a lower bound, at most 0, of the log-probability of the
// union of the boxes B_i = [lo[i], hi[i]], i < M, under a diagonal Gaussian with
// standard deviations anywhere in [sdLo, sdHi], and the rule that gave it. It
// is the best of four lower bounds, with P rounded in the sound direction:
//
//	disjoint pieces   sum_i P(B_i \ (B_1 u ... u B_(i-1)))               (7)
//	chain             sum_i max(0, P(B_i) - sum_{j<i} P(B_i ^ B_j))      (8)
//	de Caen           sum_i P(B_i)^2 / sum_j P(B_i ^ B_j)                (9)
//	largest box       max_i P(B_i)
//
// boxes in order of decreasing mass. Coordinates are never merged over boxes:
// the product of the one-dimensional unions is not the union. Masses are
// kept as m 2^e, so 1e-5444 is as good as 0.9; a sum drops terms 2^-1074 below
// the largest box.
//
// Shapes: lo, hi are M x d, the others d (it panics otherwise). Infinite ends
// are allowed. A box with NaN or no mass is left out. If mean or a standard
// deviation makes no sense (LogMassDown), or M = 0, the result is -Inf,
// RuleNone.
//
// Work: M d tails, then only the K most probable boxes are used, K^2 d <=
// 2e8, K <= 1,024 (K = 41 for d = 118,282, 166 for d = 7,177), which is sound,
// and a bounded number of pieces. Once that number is reached, a box enters (7)
// with its term of (8) instead.
//
// Open or closed? For sd > 0 faces have mass 0, so boxes that merely touch are
// taken as disjoint. Where sd_j may also be 0, the bound is proved for every
// sd_j in (0, sdHi_j]; the union is a closed set, and on closed sets the
// limit of the probabilities as sd_j -> 0 is at most the probability at
// sd_j = 0 (portmanteau theorem), so it holds there too. Where sd_j can only
// be 0, a box either contains the mean in j or has no mass, and j drops out.
func UnionLogDown(lo, hi [][]float64, mean, sdLo, sdHi []float64) (logP float64, rule string) {
	if len(lo) != len(hi) {
		panic(fmt.Sprintf("probability: UnionLogDown: %d lower and %d upper corners", len(lo), len(hi)))
	}
	return unionOf(lo, hi, mean, sdLo, sdHi).logDown()
}

// UnionOfLogDown is UnionLogDown of boxes that are measured.
func UnionOfLogDown(boxes []Box, mean, sdLo, sdHi []float64) (logP float64, rule string) {
	return newUnion(boxes, mean, sdLo, sdHi).logDown()
}

func (u *union) logDown() (logP float64, rule string) {
	if len(u.boxes) == 0 {
		return math.Inf(-1), RuleNone
	}
	// Everything is measured in units of 2^base, about the largest mass.
	base := u.boxes[0].mass.e
	best, rule := u.boxes[0].mass.over(base, -1), RuleLargest
	switch {
	case len(u.boxes) > 1 && u.apart():
		// Nothing is taken off in (7) and (8), whose terms are those of the sum, and those of (9) are no more.
		terms := make([]float64, len(u.boxes))
		for i, b := range u.boxes {
			terms[i] = b.mass.over(base, -1)
		}
		if sum := sumDown(terms); sum > best {
			best, rule = sum, RuleChain
		}
	case len(u.boxes) > 1:
		pairs := u.pairsUp()
		chain := u.chainTerms(pairs, base)
		pieces := u.pieceTerms(pairs, chain, base)
		for _, c := range []struct {
			value float64
			rule  string
		}{{sumDown(chain), RuleChain}, {u.deCaen(pairs, base), RuleDeCaen}, {sumDown(pieces), RulePieces}} {
			if c.value > best {
				best, rule = c.value, c.rule
			}
		}
	}
	m, e := math.Frexp(best)
	return min(0, arith.LnScaledDown(m, e+base)), rule
}

// union is the boxes worth looking at, in order of decreasing mass.
type union struct {
	boxes            []Box
	mean, sdLo, sdHi []float64
}

// Box is one box with a lower bound of its mass.
type Box struct {
	Lo, Hi []float64
	mass   scaled
}

// NewBox measures a box as LogMassDown does.
func NewBox(lo, hi, mean, sdLo, sdHi []float64) Box {
	return Box{lo, hi, massDown(lo, hi, mean, sdLo, sdHi).scaledDown()}
}

// unionOf measures boxes and keeps the most probable ones.
func unionOf(lo, hi [][]float64, mean, sdLo, sdHi []float64) *union {
	var boxes []Box
	for i := range lo {
		boxes = append(boxes, NewBox(lo[i], hi[i], mean, sdLo, sdHi))
	}
	return newUnion(boxes, mean, sdLo, sdHi)
}

// newUnion keeps the most probable boxes.
func newUnion(boxes []Box, mean, sdLo, sdHi []float64) *union {
	u := &union{mean: mean, sdLo: sdLo, sdHi: sdHi}
	for _, b := range boxes {
		if !b.mass.isZero() {
			u.boxes = append(u.boxes, b)
		}
	}
	// Stable, so that equal masses leave the order, and the result, defined.
	slices.SortStableFunc(u.boxes, func(a, b Box) int {
		switch {
		case b.mass.less(a.mass):
			return -1
		case a.mass.less(b.mass):
			return 1
		}
		return 0
	})
	keep := int(math.Sqrt(pairWork / float64(max(1, len(mean)))))
	u.boxes = u.boxes[:min(len(u.boxes), max(1, keep), pairBoxes)]
	return u
}

// chainTerms returns lower bounds, at least 0, of the terms of (8):
//
//	P(B_i) - sum_{j<i} P(B_i ^ B_j) <= P(B_i \ (B_1 u ... u B_(i-1)))
//
// in units of 2^base.
func (u *union) chainTerms(pairs [][]scaled, base int) []float64 {
	terms := make([]float64, len(u.boxes))
	for i, b := range u.boxes {
		t := b.mass.over(base, -1)
		for j := range i {
			if p := pairs[i][j]; !p.isZero() {
				t = down(t - p.over(base, +1))
			}
		}
		terms[i] = max(0, t)
	}
	return terms
}

// deCaen returns a lower bound of (9) in units of 2^base. The quotient grows
// with its numerator and falls with every P(B_i ^ B_j), P(B_i ^ B_i) included,
// so a lower bound above and upper bounds below are sound (D. de Caen, A
// lower bound on the probability of a union, Discrete Math. 169, 1997).
func (u *union) deCaen(pairs [][]scaled, base int) float64 {
	sum := 0.0
	for i, b := range u.boxes {
		p := b.mass.over(base, -1)
		total := 0.0
		for j := range u.boxes {
			if q := pairs[max(i, j)][min(i, j)]; !q.isZero() {
				total = up(total + q.over(base, +1))
			}
		}
		if p > 0 {
			// p/total <= 1 first: p*p could underflow.
			sum = max(0, down(sum+max(0, down(p*max(0, down(p/total))))))
		}
	}
	return sum
}

// sumDown returns a lower bound of the sum of non-negative terms.
func sumDown(terms []float64) float64 {
	sum := 0.0
	for _, t := range terms {
		if t > 0 {
			sum = down(sum + t)
		}
	}
	return sum
}
