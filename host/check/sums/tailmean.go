package sums

import "psafe/host/arith"

// mostVariations is the greatest number of variations: one for each coordinate that the grid cuts,
// and one for all others.
const mostVariations = 5

// tailMean bounds P(u) (share) by the mean over Z_1 .. Z_n of what the last variation, y, does
// given all others, in closed form: with R = u + sum_(k < n) min(y_k before_k, y_k after_k) and y
// normal with mean m and standard deviation sd,
//
//	Prob(R + min(y before, y after) <= 0) <= Q((R/|before| - m)/sd) + Q((R/after + m)/sd)
//
// for before < 0 < after and every R, and Q((R + y)/sd) for the linear one. R is concave and m
// linear in (u, Z), so that the arguments of Q are concave, and at least what multilinear
// interpolation between nodes of u and Z says. Q falls, and is convex for positive arguments. For
// others a line between two values of Q may be below it, by (difference)^2/8 of the arguments times
// the greatest second derivative of -Q between them at most; one such term for each coordinate makes
// sure.
type tailMean struct {
	c          *conditional
	besides    arith.Interval
	inner      int // the number of Z to integrate over
	hats       [mostVariations]*hats
	low, high  [mostVariations]float64 // the slopes before and after of a variation
	root       [mostVariations][mostVariations]float64
	terms      []tailTerm
	inverse    float64 // 1/sd of the last variation
	inverseOff float64 // its relative error
	// bySteps: sd is hardly known or 0, or nodes are too far apart for it. The least argument
	// beside each node counts then, and 1 where that is negative.
	bySteps bool
	q, bend []float64 // tailCurves
}

// tailTerm is one of the two tails, of the argument (R r + m w)/sd.
type tailTerm struct {
	r, w float64
	// slope bounds that of the argument in each Z, and in u (last).
	slope [mostVariations + 1]float64
	// bend is (slope gap)^2/8, reach is slope gap, for each node of each Z.
	bend, reach [mostVariations][]float64
	mostBend    float64
	less        float64 // what computed arguments may be wrong by, to be taken off
}

// wide is more than the relative roundings of a few operations.
const wide = 1 + 0x1p-40

// newTailMean is for u in [0, most].
func newTailMean(c *conditional, besides arith.Interval, most float64) *tailMean {
	n := len(c.vars) - 1
	e := &tailMean{c: c, besides: besides, inner: n, q: tailCurves().q, bend: tailCurves().bend}
	for k := range c.vars {
		v := &c.vars[k]
		e.low[k], e.high[k] = v.before.Lo, v.after.Lo
		for l := range k + 1 {
			e.root[k][l] = c.root[k][l].Lo
		}
	}
	last, sd := &c.vars[n], c.root[n][n]
	size := max(sd.Hi, 0x1p-50*last.sd.Hi)
	e.inverse, e.inverseOff = 1/size, (sd.Hi-sd.Lo)/size
	e.bySteps = size != sd.Hi || !(e.inverseOff < 0x1p-30)
	if last.linear() {
		e.terms = []tailTerm{{r: 1, w: 1}}
	} else {
		e.terms = []tailTerm{{r: -1 / last.before.Lo, w: -1}, {r: 1 / last.after.Lo, w: 1}}
	}
	bends := 0.
	for i := range e.terms {
		t := &e.terms[i]
		for l := range n {
			t.slope[l] = e.slopeUp(t, arith.Interval{}, func(k int) arith.Interval {
				if l > k {
					return arith.Interval{}
				}
				return c.root[k][l]
			})
		}
		t.slope[n] = e.slopeUp(t, arith.Exactly(1), func(k int) arith.Interval { return c.move[k] })
	}
	for l := range n {
		steepest := 0.
		for i := range e.terms {
			steepest = max(steepest, e.terms[i].slope[l])
		}
		e.hats[l] = hatsFor(steepest, []float64{0, 0.125, 0.125, 0.5, 1}[n])
		at0 := e.hats[l].gap[len(e.hats[l].gap)/2]
		bends += steepest * at0 * steepest * at0 / 8
	}
	e.bySteps = e.bySteps || !(bends < 2)
	e.errors(most)
	for i := range e.terms {
		t := &e.terms[i]
		for l := range n {
			most := 0.
			for _, gap := range e.hats[l].gap {
				// Arguments at two nodes differ by that at most, as they are computed.
				d := t.slope[l]*gap*wide + 2*t.less
				t.bend[l], t.reach[l] = append(t.bend[l], d*d/8*wide), append(t.reach[l], d)
				most = max(most, d*d/8*wide)
			}
			t.mostBend += most * wide
		}
	}
	return e
}

// errors bounds what computed arguments are wrong by, for u in [0, most]: coefficients that are
// enclosed are taken at their lower ends, and nothing is the result of more than 2^5 roundings.
func (e *tailMean) errors(most float64) {
	ends := arith.Of(-most, most).Minus(e.c.t)
	size, off := (most+e.besides.Size())*wide, (e.besides.Hi-e.besides.Lo)*wide
	var lastSize, lastOff float64
	for k := range e.c.vars {
		v, move := &e.c.vars[k], e.c.move[k]
		kSize := v.mean.Size() + move.Size()*ends.Size()
		kOff := v.mean.Hi - v.mean.Lo + (move.Hi-move.Lo)*ends.Size() + move.Size()*(e.c.t.Hi-e.c.t.Lo)
		for l := range min(k+1, e.inner) {
			r := e.c.root[k][l]
			kSize += r.Size() * hatReach
			kOff += (r.Hi - r.Lo) * hatReach
		}
		kSize *= wide
		kOff = kOff*wide + 0x1p-47*kSize
		if k < e.inner {
			slope := v.slopes().Size() * wide
			size, off = size+slope*kSize, off+slope*kOff
		} else {
			lastSize, lastOff = kSize, kOff
		}
	}
	for i := range e.terms {
		t := &e.terms[i]
		whole := (size*t.r + lastSize) * wide
		t.less = ((off*t.r+lastOff)*wide+(0x1p-46+e.inverseOff)*whole)*e.inverse*wide + 0x1p-39
	}
}

// slopeUp bounds the slope of a term's argument in a direction in which R without its variations
// has the slope own, and variation k the slope of(k).
func (e *tailMean) slopeUp(t *tailTerm, own arith.Interval, of func(k int) arith.Interval) float64 {
	r := own
	for k := range e.inner {
		r = r.Plus(e.c.vars[k].slopes().Times(of(k)))
	}
	s := r.Times(arith.Exactly(t.r)).Plus(of(e.inner).Times(arith.Exactly(t.w)))
	return s.Size() * e.inverse * (1 + e.inverseOff) * wide
}

// uSlope is the greatest slope of an argument in u.
func (e *tailMean) uSlope() float64 {
	slope := 0.
	for i := range e.terms {
		slope = max(slope, e.terms[i].slope[e.inner])
	}
	return slope
}

// tailState holds what is known at some of the nodes.
type tailState struct {
	sum         float64                 // R so far
	at          [mostVariations]float64 // the variations so far
	bend, reach [2]float64              // of each term
}

// up is at least P(u), in such a way that linear interpolation between nodes of u that far apart
// is at least P between them. It may be above 1; NaN says nothing.
func (e *tailMean) up(u, gap float64) float64 {
	s := tailState{sum: u + e.besides.Lo}
	for k := range e.c.vars {
		s.at[k] = e.c.vars[k].mean.Plus(e.c.move[k].Times(arith.Exactly(u).Minus(e.c.t))).Lo
	}
	mostBend := 0.
	for i := range e.terms {
		t := &e.terms[i]
		d := t.slope[e.inner]*gap*wide + 2*t.less
		s.bend[i], s.reach[i] = d*d/8*wide, d
		mostBend = max(mostBend, t.mostBend+s.bend[i])
	}
	lost := 0.
	for l := range e.inner {
		lost += e.hats[l].lost
	}
	return (e.mean(0, 1, mostBend, &s) + lost) * wide
}

// light is the mass that nodes must have to be looked at; lighter ones count in full.
const light = 1e-10

// inFull returns the most that nodes of that mass add: the second derivative of -Q is below 1/4.
func (e *tailMean) inFull(mass, mostBend float64) float64 {
	return mass * float64(len(e.terms)) * (1 + mostBend/4)
}

// mean is the sum over the nodes of Z_l and those behind it.
func (e *tailMean) mean(l int, weight, mostBend float64, s *tailState) float64 {
	total := 0.
	switch l {
	case e.inner: // there is no Z
		for j := range e.terms {
			total += weight * e.tail(&e.terms[j], s, j)
		}
		return total
	case e.inner - 1:
		return e.lastMean(weight, mostBend, s)
	}
	h := e.hats[l]
	for i, z := range h.z {
		w := weight * h.mass[i]
		if w < light {
			total += e.inFull(w, mostBend)
			continue
		}
		next := *s
		y := s.at[l] + e.root[l][l]*z
		next.sum += min(y*e.low[l], y*e.high[l])
		for k := l + 1; k <= e.inner; k++ {
			next.at[k] += e.root[k][l] * z
		}
		for j := range e.terms {
			next.bend[j] += e.terms[j].bend[l][i]
			next.reach[j] += e.terms[j].reach[l][i]
		}
		total += e.mean(l+1, w, mostBend, &next)
	}
	return total
}

// lastMean is mean for the last Z.
func (e *tailMean) lastMean(weight, mostBend float64, s *tailState) float64 {
	l := e.inner - 1
	total, h := 0., e.hats[l]
	here := *s
	for i, z := range h.z {
		w := weight * h.mass[i]
		if w < light {
			total += e.inFull(w, mostBend)
			continue
		}
		y := s.at[l] + e.root[l][l]*z
		here.sum = s.sum + min(y*e.low[l], y*e.high[l])
		here.at[e.inner] = s.at[e.inner] + e.root[e.inner][l]*z
		for j := range e.terms {
			t := &e.terms[j]
			here.bend[j], here.reach[j] = s.bend[j]+t.bend[l][i], s.reach[j]+t.reach[l][i]
			total += w * e.tail(t, &here, j)
		}
	}
	return total
}

// tail returns what a term, number j, adds at a node.
func (e *tailMean) tail(t *tailTerm, s *tailState, j int) float64 {
	y := (s.sum*t.r+s.at[e.inner]*t.w)*e.inverse - t.less
	least := y - s.reach[j]*wide
	switch {
	case e.bySteps && !(least > 0):
		return 1
	case e.bySteps:
		return onCurve(e.q, least, 1)
	case least > 0:
		return onCurve(e.q, y, 1)
	}
	return onCurve(e.q, y, 1) + s.bend[j]*onCurve(e.bend, least, e.bend[0])
}
