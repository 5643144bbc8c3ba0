// Package loop bounds closed loops for the checker
package loop

import (
	"fmt"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/read/plant"
)

// Ring says that outputs on a cell are between Lo and Hi with probability P at least: on all of the cell, or at each of its
// points if the network is drawn anew at each step.
type Ring struct {
	Lo, Hi []*big.Rat
	P      *big.Rat
}

// span is a closed interval.
type span struct{ lo, hi *big.Rat }

// stretch is a range of cells along a coordinate, both ends included.
type stretch struct{ first, last int }

// proof is a plant with its rings.
type proof struct {
	*plant.Plant
	rings    map[int][]Ring
	edges    [][]*big.Rat
	between  []span
	starting []int
}

// Lower returns a lower bound of the probability that the statement of a plant is about: by the cells that have rings. The
// second number is the steps after which trajectories are in the goal, 0 for those that only stay safe for all time.
func Lower(p *plant.Plant, rings map[int][]Ring) (lower *big.Rat, steps int, err error) {
	c := newProof(p, rings)
	for _, ends := range p.Between {
		c.between = append(c.between, span{ends[0].Exact, ends[1].Exact})
	}
	if err := c.starts(); err != nil {
		return nil, 0, err
	}
	if p.Fresh {
		lower, err = c.byValues()
		return lower, p.Steps, err
	}
	return c.byUnion()
}

func newProof(p *plant.Plant, rings map[int][]Ring) *proof {
	c := &proof{Plant: p, rings: rings}
	for _, s := range p.State {
		var exact []*big.Rat
		for _, e := range s.Edges {
			exact = append(exact, new(big.Rat).SetFloat64(e))
		}
		c.edges = append(c.edges, exact)
	}
	return c
}

// Starts reports whether a cell may have a point of the start set.
func Starts(p *plant.Plant, number int) bool { return newProof(p, nil).touches(number) }

func (c *proof) touches(number int) bool {
	box := c.box(number)
	return !slices.ContainsFunc(c.Start, func(f *plant.Form) bool { return valueOf(f, box).hi.Sign() < 0 })
}

// starts finds the cells that touch the start set, which has to be within the grid.
func (c *proof) starts() error {
	for i, s := range c.State {
		lo, hi := false, false
		for _, f := range c.Start {
			if len(f.Terms) != 1 || f.Terms[0].Of.Of != nil || f.Terms[0].Of.Variable != i {
				continue
			}
			by := f.Terms[0].By.Exact
			root := new(big.Rat).Quo(f.Constant.Exact, by)
			root.Neg(root)
			lo = lo || by.Sign() > 0 && root.Cmp(c.edges[i][0]) >= 0
			hi = hi || by.Sign() < 0 && root.Cmp(c.edges[i][len(s.Edges)-1]) <= 0
		}
		if !lo || !hi {
			return fmt.Errorf("plant: the start set is not within the grid along %s", s.Name)
		}
	}
	for number := range c.Cells() {
		if c.touches(number) {
			c.starting = append(c.starting, number)
		}
	}
	if len(c.starting) == 0 {
		return fmt.Errorf("plant: no cell of the grid is in the start set")
	}
	return nil
}

// box is the cell.
func (c *proof) box(number int) []span {
	at := make([]int, len(c.State))
	c.Cell(number, at)
	box := make([]span, len(at))
	for i, k := range at {
		box[i] = span{c.edges[i][k], c.edges[i][k+1]}
	}
	return box
}

// in reports whether a cell is within a set.
func (c *proof) in(set plant.Set, number int) bool {
	box := c.box(number)
	for _, f := range set {
		if valueOf(f, box).lo.Sign() < 0 {
			return false
		}
	}
	return true
}

// done reports whether a cell is within the goal, and safe.
func (c *proof) done(number int) bool {
	return c.Goal != nil && c.in(c.Goal, number) && c.in(c.Safe, number)
}

// image is where the next states are, nil if that may be outside of the grid.
func (c *proof) image(number int, r *Ring) []stretch {
	in := c.box(number)
	for o := range r.Lo {
		in = append(in, span{r.Lo[o], r.Hi[o]})
	}
	in = append(in, c.between...)
	to := make([]stretch, len(c.State))
	for i, f := range c.Next {
		v, e := valueOf(f, in), c.edges[i]
		n := len(e) - 1
		if v.lo.Cmp(e[0]) < 0 || v.hi.Cmp(e[n]) > 0 {
			return nil
		}
		to[i].first = n - 1
		for to[i].first > 0 && e[to[i].first].Cmp(v.lo) > 0 {
			to[i].first--
		}
		to[i].last = to[i].first
		for e[to[i].last+1].Cmp(v.hi) < 0 {
			to[i].last++
		}
	}
	return to
}

// all reports whether every cell of an image is as it should be.
func (c *proof) all(to []stretch, is func(number int) bool) bool {
	at := make([]int, len(to))
	var along func(i int) bool
	along = func(i int) bool {
		if i == len(to) {
			return is(c.Number(at))
		}
		for at[i] = to[i].first; at[i] <= to[i].last; at[i]++ {
			if !along(i + 1) {
				return false
			}
		}
		return true
	}
	return along(0)
}

// byUnion bounds the probability over one draw: cells that trajectories from the start set are led to, each of which has to
// be safe and to have a ring, fail at most as often as all of them together. With a goal no cell may be met again before
// the goal is.
func (c *proof) byUnion() (*big.Rat, int, error) {
	images := map[int][]stretch{}
	goal := map[int]bool{}
	fail := new(big.Rat)
	one := big.NewRat(1, 1)
	queue := append([]int(nil), c.starting...)
	met := map[int]bool{}
	for _, number := range queue {
		met[number] = true
	}
	for i := 0; i < len(queue); i++ {
		number := queue[i]
		if c.done(number) {
			goal[number] = true
			continue
		}
		rings := c.rings[number]
		if len(rings) != 1 || !c.in(c.Safe, number) {
			return nil, 0, fmt.Errorf("cell %d, which the start set leads to, is not safe or has not one record", number)
		}
		to := c.image(number, &rings[0])
		if to == nil {
			return nil, 0, fmt.Errorf("cell %d leads out of the grid", number)
		}
		images[number] = to
		fail.Add(fail, new(big.Rat).Sub(one, rings[0].P))
		c.all(to, func(next int) bool {
			if !met[next] {
				met[next], queue = true, append(queue, next)
			}
			return true
		})
	}
	steps := 0
	if c.Goal != nil {
		var err error
		if steps, err = c.longest(images, goal); err != nil {
			return nil, 0, err
		}
	}
	return fail.Sub(one, fail), steps, nil
}

// longest is the most steps that lead to the goal, along images: an error if there may be a circle.
func (c *proof) longest(images map[int][]stretch, goal map[int]bool) (most int, err error) {
	steps := map[int]int{}
	for number := range goal {
		steps[number] = 0
	}
	for left := len(images); left > 0; {
		before := left
		for number, to := range images {
			if _, known := steps[number]; known {
				continue
			}
			here := 0
			if c.all(to, func(next int) bool {
				s, known := steps[next]
				here = max(here, s+1)
				return known
			}) {
				steps[number] = here
				most, left = max(most, here), left-1
			}
		}
		if left == before {
			return 0, fmt.Errorf("%d cells are not led to the goal", left)
		}
	}
	return most, nil
}

// byValues bounds the probability over a fresh draw at each step, by as many sweeps over the cells that have rings: each
// value is a sum of rises, from the least value that the widest image has to that of the narrowest.
func (c *proof) byValues() (*big.Rat, error) {
	type level struct {
		to []stretch
		p  float64
	}
	levels := map[int][]level{}
	n := c.Cells()
	value := make([]float64, n)
	goal := make([]bool, n)
	for number := range n {
		goal[number] = c.done(number)
		if goal[number] || c.Goal == nil && c.in(c.Safe, number) {
			value[number] = 1
		}
	}
	for number, rings := range c.rings {
		if !c.in(c.Safe, number) {
			continue
		}
		var hull []stretch
		for r := range rings {
			to := c.image(number, &rings[r])
			if to == nil {
				break
			}
			for i := range hull {
				to[i] = stretch{min(to[i].first, hull[i].first), max(to[i].last, hull[i].last)}
			}
			hull = to
			p, exact := rings[r].P.Float64()
			if !exact && new(big.Rat).SetFloat64(p).Cmp(rings[r].P) > 0 {
				p = arith.Down(p)
			}
			levels[number] = append(levels[number], level{to, max(p, 0)})
		}
	}
	for range c.Steps {
		next := make([]float64, n)
		for number := range n {
			if goal[number] {
				next[number] = 1
				continue
			}
			list := levels[number]
			sum, floor := 0.0, 0.0
			for j := len(list) - 1; j >= 0; j-- {
				least := 1.0
				c.all(list[j].to, func(to int) bool { least = min(least, value[to]); return least > floor })
				if least > floor {
					sum = arith.SumDown(sum, arith.ProductDown(list[j].p, arith.SumDown(least, -floor)))
					floor = least
				}
			}
			next[number] = min(sum, 1)
		}
		value = next
	}
	least := 1.0
	for _, number := range c.starting {
		least = min(least, value[number])
	}
	return new(big.Rat).SetFloat64(least), nil
}
