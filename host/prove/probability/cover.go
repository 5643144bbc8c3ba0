package probability

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
)

// Work limits of a Cover: coverWork bounds the coordinates that are compared for all boxes,
// with a toll for each box and coordinate (about a second), and a box is kept only if at least leastShare of its mass is new.
const (
	coverWork  = 2e8
	leastShare = 0x1p-6
)

// Cover adds up boxes one after the other, under a diagonal Gaussian with standard
// deviations anywhere in [sdLo, sdHi]: each box that is kept adds a lower bound of
//
//	P(B_i \ (B_1 u ... u B_(i-1)))                                       (7)
//
// over the boxes kept before it. What a box adds depends on no later one, so that more boxes
// never make the sum smaller. Boxes that add little are left out, and so are all from where
// a limit of work is reached.
type Cover struct {
	u      union
	terms  []scaled
	logP   float64
	most   int
	work   float64
	budget int
}

// NewCover is a cover of no boxes, which will keep most at most. mean, sdLo and sdHi are as
// for UnionLogDown.
func NewCover(mean, sdLo, sdHi []float64, most int) *Cover {
	return &Cover{u: union{mean: mean, sdLo: sdLo, sdHi: sdHi}, logP: math.Inf(-1), most: most, work: coverWork, budget: pieceWork}
}

// Full reports whether no box will be kept any more.
func (c *Cover) Full() bool { return len(c.u.boxes) >= c.most || c.work < 0 || c.budget < 0 }

// Add reports whether the box [lo, hi] is kept. It keeps the slices of a box that it keeps. It
// panics where the lengths differ from those of NewCover.
func (c *Cover) Add(lo, hi []float64) bool {
	return !c.Full() && c.AddBox(NewBox(lo, hi, c.u.mean, c.u.sdLo, c.u.sdHi))
}

// AddBox is Add of a box that is measured.
func (c *Cover) AddBox(box Box) bool {
	if len(box.Lo) != len(c.u.mean) || len(box.Hi) != len(c.u.mean) {
		panic(fmt.Sprintf("probability: Cover.Add: %d and %d ends for %d coordinates", len(box.Lo), len(box.Hi), len(c.u.mean)))
	}
	if c.Full() {
		return false
	}
	// Ends are compared up to where boxes are seen to be apart: at most all of them.
	c.work -= 200 + float64(len(box.Lo))*float64(64+len(c.u.boxes))
	if box.mass.isZero() {
		return false
	}
	pieces := []piece{{box.Lo, box.Hi, box.mass}}
	for _, before := range c.u.boxes {
		pieces = c.u.cutAll(pieces, before, &c.budget)
		if len(pieces) == 0 {
			return false
		}
	}
	var masses []float64
	for _, p := range pieces {
		masses = append(masses, p.mass.over(box.mass.e, -1))
	}
	slices.Sort(masses) // small ones first: less is lost to rounding
	sum := sumDown(masses)
	if !(sum >= leastShare*box.mass.m) {
		return false
	}
	m, e := math.Frexp(sum)
	c.u.boxes, c.terms = append(c.u.boxes, box), append(c.terms, scaled{m, e + box.mass.e})
	c.logP = max(c.logP, c.logOfTerms())
	return true
}

// LogDown is a lower bound, at most 0, of the log-probability of the union of the boxes that
// are kept; -Inf for none. It never falls.
func (c *Cover) LogDown() float64 { return c.logP }

// logOfTerms is the logarithm of the sum of the terms, rounded down.
func (c *Cover) logOfTerms() float64 {
	base := c.terms[0].e
	for _, t := range c.terms {
		base = max(base, t.e)
	}
	var list []float64
	for _, t := range c.terms {
		list = append(list, t.over(base, -1))
	}
	m, e := math.Frexp(sumDown(list))
	return min(0, arith.LnScaledDown(m, e+base))
}
