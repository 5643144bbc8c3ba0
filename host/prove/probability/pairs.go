package probability

// This file bounds the masses of the pairwise intersections of boxes from
// above. A pair costs a comparison of ends and one product per coordinate and
// no tail: the tails of the ends are evaluated once per box.

// pairBlock is the number of coordinates whose tails are held at a time, so
// that memory stays at K * pairBlock whatever d is.
const pairBlock = 256

// end is an end-point of an interval with bounds of
//
//	g(x) = Phi((x - mean)/sd)       for x < mean    (in [0, 1/2])
//	g(x) = Phi((x - mean)/sd) - 1   for x >= mean   (in [-1/2, 0])
//
// over sdLo <= sd <= sdHi, sd > 0: small on both sides, so that
//
//	P(lo <= N(mean,sd^2) <= hi) = g(hi) - g(lo) + (1 if lo < mean <= hi)
//
// cancels only for intervals that are small themselves. (lo < mean <= hi is
// the case in which exactly one of the two g has the 1 taken off.)
type end struct{ x, gDown, gUp float64 }

// makeEnd evaluates the tail of one end-point. g is monotone in sd: for x >=
// mean it is -Q((x-mean)/sd), falling; for x < mean it is Q((mean-x)/sd),
// rising. sdHi > 0.
func makeEnd(x, mean, sdLo, sdHi float64) end {
	if x >= mean {
		return end{x, -tailUpAt(distanceDown(x, mean, sdHi)), -tailDownAt(distanceUp(x, mean, sdLo))}
	}
	return end{x, tailDownAt(distanceUp(mean, x, sdLo)), tailUpAt(distanceDown(mean, x, sdHi))}
}

// intervalUpBetween returns an upper bound of the probability between two
// ends, lo.x < hi.x.
func intervalUpBetween(lo, hi *end, mean float64) float64 {
	if lo.x < mean && mean <= hi.x {
		return min(1, up(up(1+hi.gUp)-lo.gDown))
	}
	return min(1, up(hi.gUp-lo.gDown))
}

// pairsUp returns upper bounds of P(B_i ^ B_j) for j <= i as rows of a lower
// triangle; an empty intersection, or one without volume, is 0 exactly.
func (u *union) pairsUp() [][]scaled {
	products := make([][]product, len(u.boxes))
	for i := range products {
		products[i] = make([]product, i+1)
		for j := range products[i] {
			products[i][j] = one
		}
	}
	lo := make([]end, len(u.boxes)*pairBlock)
	hi := make([]end, len(u.boxes)*pairBlock)
	for from := 0; from < len(u.mean); from += pairBlock {
		to := min(from+pairBlock, len(u.mean))
		u.fillEnds(lo, hi, from, to)
		for i := range products {
			for j := range products[i] {
				u.multiplyPair(&products[i][j], lo[i*pairBlock:], hi[i*pairBlock:], lo[j*pairBlock:], hi[j*pairBlock:], from, to)
			}
		}
	}
	pairs := make([][]scaled, len(products))
	for i := range pairs {
		pairs[i] = make([]scaled, i+1)
		for j := range pairs[i] {
			pairs[i][j] = products[i][j].scaledUp()
		}
	}
	return pairs
}

// apart reports whether no two boxes meet but in faces.
func (u *union) apart() bool {
	for i, a := range u.boxes {
		for _, b := range u.boxes[:i] {
			meet := true
			for j := 0; meet && j < len(u.mean); j++ {
				meet = u.sdHi[j] == 0 || max(a.Lo[j], b.Lo[j]) < min(a.Hi[j], b.Hi[j])
			}
			if meet {
				return false
			}
		}
	}
	return true
}

// fillEnds evaluates the ends of coordinates from..to of every box, box i from
// i*pairBlock on.
func (u *union) fillEnds(lo, hi []end, from, to int) {
	for i, b := range u.boxes {
		for j := from; j < to; j++ {
			if u.sdHi[j] == 0 {
				continue // multiplyPair leaves the coordinate out as well
			}
			at := i*pairBlock + j - from
			lo[at] = makeEnd(b.Lo[j], u.mean[j], u.sdLo[j], u.sdHi[j])
			hi[at] = makeEnd(b.Hi[j], u.mean[j], u.sdLo[j], u.sdHi[j])
		}
	}
}

// multiplyPair multiplies p by upper bounds of the intersections of two boxes
// in coordinates from..to.
func (u *union) multiplyPair(p *product, loA, hiA, loB, hiB []end, from, to int) {
	for j := from; j < to && p.m > 0; j++ {
		if u.sdHi[j] == 0 {
			continue // both boxes contain the mean there, or they had no mass
		}
		lo, hi := &loA[j-from], &hiA[j-from]
		if l := &loB[j-from]; l.x > lo.x {
			lo = l
		}
		if h := &hiB[j-from]; h.x < hi.x {
			hi = h
		}
		if lo.x >= hi.x {
			p.m = 0
			return
		}
		p.timesUp(intervalUpBetween(lo, hi, u.mean[j]))
	}
}
