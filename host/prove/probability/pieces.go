package probability

import (
	"math"
	"slices"
)

// piece is a box cut out of one of the union's boxes.
type piece struct {
	lo, hi []float64
	mass   scaled // lower bound
}

// pieceTerms returns lower bounds of the terms of (7), P(B_i \ (B_1 u ... u
// B_(i-1))), in units of 2^base. Each box is cut against the predecessors it
// meets, and the masses of what is left are added. Where the work limit or
// pieceCap was reached, pieces have been dropped, and the term of (8) is
// used if it is larger.
func (u *union) pieceTerms(pairs [][]scaled, chain []float64, base int) []float64 {
	budget := int(pieceWork)
	terms := make([]float64, len(u.boxes))
	for i, b := range u.boxes {
		pieces := []piece{{b.Lo, b.Hi, b.mass}}
		for j := 0; j < i && len(pieces) > 0; j++ {
			if pairs[i][j].isZero() {
				continue // proved disjoint
			}
			pieces = u.cutAll(pieces, u.boxes[j], &budget)
		}
		masses := make([]float64, len(pieces))
		for k, p := range pieces {
			masses[k] = p.mass.over(base, -1)
		}
		// Small ones first: less is lost to rounding.
		slices.Sort(masses)
		terms[i] = max(chain[i], sumDown(masses))
	}
	return terms
}

// cutAll returns pieces that are disjoint, lie in the given ones and avoid box
// b: all of the difference unless the budget (in coordinates) runs out or
// pieceCap is exceeded, which drops pieces, the lightest first in the latter
// case.
func (u *union) cutAll(pieces []piece, b Box, budget *int) []piece {
	var out []piece
	for _, p := range pieces {
		out = u.cut(out, p, b, budget)
	}
	if len(out) > pieceCap {
		slices.SortStableFunc(out, func(a, b piece) int {
			switch {
			case b.mass.less(a.mass):
				return -1
			case a.mass.less(b.mass):
				return 1
			}
			return 0
		})
		out = out[:pieceCap]
	}
	return out
}

// cut appends the pieces of p \ b to out: coordinate after coordinate the part
// below b and the part above b, the rest going on to the next coordinate.
// They share faces only, which have no mass (see UnionLogDown).
func (u *union) cut(out []piece, p piece, b Box, budget *int) []piece {
	for j := range u.mean {
		if u.sdHi[j] > 0 && math.Max(p.lo[j], b.Lo[j]) >= math.Min(p.hi[j], b.Hi[j]) {
			return append(out, p) // disjoint: p stays whole
		}
	}
	restLo, restHi := slices.Clone(p.lo), slices.Clone(p.hi)
	for j := range u.mean {
		if u.sdHi[j] == 0 {
			continue
		}
		if restLo[j] < b.Lo[j] {
			out = u.appendSide(out, restLo, restHi, j, restLo[j], b.Lo[j], budget)
			restLo[j] = b.Lo[j]
		}
		if b.Hi[j] < restHi[j] {
			out = u.appendSide(out, restLo, restHi, j, b.Hi[j], restHi[j], budget)
			restHi[j] = b.Hi[j]
		}
		if *budget < 0 {
			break
		}
	}
	return out
}

// appendSide appends the box [lo, hi] with coordinate j replaced by [l, h],
// unless the budget is spent.
func (u *union) appendSide(out []piece, lo, hi []float64, j int, l, h float64, budget *int) []piece {
	if *budget -= len(lo); *budget < 0 {
		return out
	}
	lo, hi = slices.Clone(lo), slices.Clone(hi)
	lo[j], hi[j] = l, h
	m := massDown(lo, hi, u.mean, u.sdLo, u.sdHi).scaledDown()
	if m.isZero() {
		return out
	}
	return append(out, piece{lo, hi, m})
}
