// Package average adds up, for the checker, what is proved of cells of inputs by the masses that a law gives them
package average

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
)

// Cell says that at each input of the box the output is in S with probability Safe at least, and not with Fails.
type Cell struct {
	Box         property.Box
	Safe, Fails *big.Rat
}

// Bounds says that the output is in S with a probability from Lower to Upper, if the input is of a law, and that the cells have
// at least Mass of it.
type Bounds struct{ Lower, Upper, Mass *big.Rat }

var one = big.NewRat(1, 1)

// Of bounds the probability by cells. Those of a law with sides must have no input twice.
func Of(l *inputlaw.Law, cells []Cell) (*Bounds, error) {
	lower, fails, mass := new(big.Rat), new(big.Rat), new(big.Rat)
	add := func(m, safe, not *big.Rat) {
		mass.Add(mass, m)
		lower.Add(lower, new(big.Rat).Mul(m, safe))
		fails.Add(fails, new(big.Rat).Mul(m, not))
	}
	for _, c := range cells {
		if len(c.Box.Lo) != l.Inputs() {
			return nil, fmt.Errorf("input_law: it is of %d inputs, cells are of %d", l.Inputs(), len(c.Box.Lo))
		}
	}
	if l.Sides != nil {
		top := ends(cells)
		if a, b, ok := meet(cells, top); ok {
			return nil, fmt.Errorf("cells: two of them share inputs: %v and %v", a, b)
		}
		m := masses{l: l, top: top, kept: map[ask]*big.Rat{}}
		for _, c := range cells {
			add(m.of(&c.Box), c.Safe, c.Fails)
		}
	}
	for i := range l.Items {
		item := &l.Items[i]
		var safe, not *big.Rat
		for _, c := range cells { // each proves of the item what it proves of its own inputs
			if !Within(&item.Box, &c.Box) {
				continue
			}
			if safe == nil || safe.Cmp(c.Safe) < 0 {
				safe = c.Safe
			}
			if not == nil || not.Cmp(c.Fails) < 0 {
				not = c.Fails
			}
		}
		if safe == nil {
			continue
		}
		m := law.ExactRat(item.Mass)
		if l.Sample > 0 {
			m = big.NewRat(1, int64(l.Sample))
		}
		add(m, safe, not)
	}
	return &Bounds{lower, fails.Sub(one, fails), mass}, nil
}

// Within reports whether a box is in another.
func Within(b, of *property.Box) bool {
	for j := range b.Lo {
		if !(of.Lo[j] <= b.Lo[j] && b.Hi[j] <= of.Hi[j]) {
			return false
		}
	}
	return true
}

// ends are the upper ends of all cells.
func ends(cells []Cell) (top []float64) {
	for _, c := range cells {
		if top == nil {
			top = slices.Clone(c.Box.Hi)
		}
		for j, hi := range c.Box.Hi {
			top[j] = max(top[j], hi)
		}
	}
	return top
}

// has reports whether a number is in a side of a cell: from lo on and below hi, which is of it where it is the upper end of
// all cells, or lo.
func has(x, lo, hi, top float64) bool {
	return lo <= x && (x < hi || x == hi && (hi == top || lo == hi))
}

// meet finds two cells that have an input in common: along each side the greater of the lower ends is in both.
func meet(cells []Cell, top []float64) (a, b property.Box, ok bool) {
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	by := parted(cells, len(top)) // in which few cells are beside each other
	slices.SortFunc(order, func(i, k int) int { return cmp.Compare(cells[i].Box.Lo[by], cells[k].Box.Lo[by]) })
	for at, i := range order {
		a = cells[i].Box
		for _, k := range order[at+1:] {
			if b = cells[k].Box; b.Lo[by] > a.Hi[by] {
				break
			}
			common := true
			for j := 0; common && j < len(top); j++ {
				x := max(a.Lo[j], b.Lo[j])
				common = has(x, a.Lo[j], a.Hi[j], top[j]) && has(x, b.Lo[j], b.Hi[j], top[j])
			}
			if common {
				return a, b, true
			}
		}
	}
	return a, b, false
}

// parted is the side in which cells have most lower ends.
func parted(cells []Cell, sides int) (by int) {
	most := 0
	for j := range sides {
		ends := map[float64]bool{}
		for i := range cells {
			ends[cells[i].Box.Lo[j]] = true
		}
		if len(ends) > most {
			by, most = j, len(ends)
		}
	}
	return by
}

// masses are those of sides of cells, from below, each found once.
type masses struct {
	l    *inputlaw.Law
	top  []float64
	kept map[ask]*big.Rat
}

type ask struct {
	side   int
	lo, hi float64
}

func (m *masses) of(b *property.Box) *big.Rat {
	mass := big.NewRat(1, 1)
	for j := range b.Lo {
		key := ask{j, b.Lo[j], b.Hi[j]}
		if m.kept[key] == nil {
			p := side(&m.l.Sides[j], key.lo, key.hi, m.top[j])
			if p.Sign() < 0 {
				p = new(big.Rat)
			}
			if p.Cmp(one) > 0 {
				p = one
			}
			m.kept[key] = p
		}
		mass.Mul(mass, m.kept[key])
	}
	return mass
}

// side is a lower bound of the probability that an input is in a side of a cell.
func side(s *inputlaw.Side, lo, hi, top float64) *big.Rat {
	switch s.Kind {
	case inputlaw.Normal:
		return normal(s, lo, hi, false)
	case inputlaw.Truncated:
		part := normal(s, max(lo, s.From.Hi), min(hi, s.To.Lo), false)
		all := normal(s, s.From.Lo, s.To.Hi, true)
		if all.Sign() <= 0 {
			return new(big.Rat)
		}
		return part.Quo(part, all)
	case inputlaw.Uniform:
		part := law.ExactRat(min(hi, s.To.Lo))
		part.Sub(part, law.ExactRat(max(lo, s.From.Hi)))
		all := law.ExactRat(s.To.Hi)
		return part.Quo(part, all.Sub(all, law.ExactRat(s.From.Lo)))
	case inputlaw.Atoms:
		sum := new(big.Rat)
		for _, a := range s.Atoms {
			// A number between two float64 is in what both are in, or in what the lower one is in and the upper one ends.
			if has(a.At.Lo, lo, hi, top) && (has(a.At.Hi, lo, hi, top) || a.At.Hi == hi) {
				sum.Add(sum, law.ExactRat(a.Mass))
			}
		}
		return sum
	}
	return new(big.Rat)
}

// normal bounds the probability that a normal number is from lo to hi, from below or, with up, from above: by its tails on the
// side where both are smaller.
func normal(s *inputlaw.Side, lo, hi float64, up bool) *big.Rat {
	a, b := standard(s, lo, up), standard(s, hi, !up)
	if a >= b && !up {
		return new(big.Rat)
	}
	tail := func(z float64, more bool) *big.Rat {
		if more {
			return law.ExactRat(gauss.TailUp(z))
		}
		return law.ExactRat(gauss.TailDown(z))
	}
	switch {
	case a >= 0:
		p := tail(a, up)
		return p.Sub(p, tail(b, !up))
	case b <= 0:
		p := tail(-b, up)
		return p.Sub(p, tail(-a, !up))
	}
	p := new(big.Rat).Sub(one, tail(-a, !up))
	return p.Sub(p, tail(b, !up))
}

// standard is (x - mean)/sd rounded down, or up, for the mean and sd of a side that make it least, or greatest; at most 2^60 either
// way, as bounds of tails are the same from there on.
func standard(s *inputlaw.Side, x float64, down bool) float64 {
	mean, sd := s.Mean.Hi, s.SD.Hi
	if !down {
		mean = s.Mean.Lo
	}
	z := law.ExactRat(x)
	z.Sub(z, law.ExactRat(mean))
	if (z.Sign() > 0) != down {
		sd = s.SD.Lo
	}
	z.Quo(z, law.ExactRat(sd))
	const far = 0x1p60
	switch {
	case z.Cmp(law.ExactRat(far)) > 0:
		return far
	case z.Cmp(law.ExactRat(-far)) < 0:
		return -far
	case down:
		return law.RatDown(z)
	}
	return -law.RatDown(z.Neg(z))
}

// Hoeffding reports whether the mean of n independent numbers from 0 to 1 is farther than off below what is expected, or that far
// above, with a probability of at most (1 - confidence)/2: exp(-2 n off^2), by 400 bits.
func Hoeffding(n int, off, confidence *big.Rat) bool {
	if off.Sign() < 0 {
		return false
	}
	y := new(big.Rat).Mul(off, off)
	y.Mul(y, new(big.Rat).SetInt64(2*int64(n)))
	e := arith.BigExp(arith.NewBig().SetRat(y))
	e.Add(e, arith.NewBig().SetMantExp(arith.BigUnit, -300))
	miss := new(big.Rat).Sub(one, confidence)
	return e.Cmp(arith.NewBig().SetRat(miss.Mul(miss, big.NewRat(1, 2)))) < 0
}
