package devicetest

import (
	"math"

	"psafe/host/bound"
)

type gatherSumCase struct {
	bound.GatherSum
	out, in, start, entry []float64
	slot, selected        []float64 // nil without Select
}

func drawGatherSum(g *gen) opCase {
	c := &gatherSumCase{GatherSum: bound.GatherSum{P: 1 + g.IntN(3), N: g.count(40), J: 1 + g.IntN(9), R: g.count(5)}}
	c.Add = g.oneIn(2)
	for range c.J {
		c.start = append(c.start, float64(len(c.entry)))
		n := g.IntN(4) // what most lists are; others are as long as a block, or two
		if g.oneIn(4) {
			n = g.size()
		}
		for range n {
			c.entry = append(c.entry, float64(g.IntN(c.N)))
		}
	}
	c.start, c.E = append(c.start, float64(len(c.entry))), len(c.entry)
	c.out, c.in = g.numbers(c.P*c.J*c.R), g.numbers(c.P*c.N*c.R)
	if g.oneIn(8) {
		c.in[g.IntN(len(c.in))] = math.Inf(1 - 2*g.IntN(2))
	}
	if g.oneIn(2) {
		for range c.E {
			c.slot = append(c.slot, float64(g.IntN(3)))
		}
		for range c.P * c.N {
			c.selected = append(c.selected, float64(g.IntN(3)))
		}
	}
	return c
}

func (c *gatherSumCase) call(e *env) error {
	a := c.GatherSum
	if n := a.P * a.J * a.R; a.Add {
		a.Out = e.inOut("Out", c.out)
	} else {
		a.Out = e.out("Out", n)
	}
	a.In, a.Start, a.Entry = e.in("In", c.in), e.in("Start", c.start), e.in("Entry", c.entry)
	if c.selected != nil {
		a.Slot, a.Select = e.in("Slot", c.slot), e.in("Select", c.selected)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// terms returns what place j of item p sums in row r.
func (c *gatherSumCase) terms(p, j, r int) (terms []float64) {
	for e := int(c.start[j]); e < int(c.start[j+1]); e++ {
		at := p*c.N + int(c.entry[e])
		if c.selected == nil || c.selected[at] == c.slot[e] {
			terms = append(terms, c.in[at*c.R+r])
		}
	}
	if c.Add {
		terms = append(terms, c.out[(p*c.J+j)*c.R+r])
	}
	return terms
}

// check: sums within the roundings that are charged for.
func (c *gatherSumCase) check(k *checker, out []output) {
	for i, got := range out[0].v {
		j, r := i/c.R%c.J, i%c.R
		sum, size, finite := newNum(), newNum(), true
		for _, x := range c.terms(i/c.R/c.J, j, r) {
			sum, size, finite = add(sum, exact(x)), add(size, absOf(exact(x))), finite && !math.IsInf(x, 0)
		}
		if !finite {
			if !math.IsNaN(got) && !math.IsInf(got, 0) {
				k.failf("Out[%d] is %v although a term is not finite", i, got)
			}
			continue
		}
		n := int(c.start[j+1] - c.start[j])
		roundings := bound.SumRoundings(n, c.Add)
		if !k.far(size) || !math.IsNaN(got-got) {
			// (5) of docs/theory.md; exact where nothing is rounded.
			k.near("Out", i, got, sum, mul(mul(k.ulps(roundings), add(exact(1), k.ulps(2*roundings))), size))
		}
	}
}
