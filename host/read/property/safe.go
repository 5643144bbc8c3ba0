package property

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Safe is a safe set S: S holds where, for one of the alternatives, every member listed in it
// holds. A member m >= 0 is the row Rows[m], a member m < 0 the gate Gates[^m]. No alternatives is
// the empty set; an alternative without members is everything.
//
// Without gates S is in disjunctive normal form. With them it is as large as it was written,
// whatever its normal forms would be.
type Safe struct {
	Rows []Row
	// Any lists alternatives, each a list of members.
	Any [][]int
	// Gates are parts of S that are not written out; their members are rows, and gates before them.
	Gates []Gate
}

// Gate holds where at least Need of its members do: 1 is an OR of them, len(Of) an AND.
type Gate struct {
	Need int
	Of   []int
}

// Holds reports whether S follows from lower bounds of the rows, as it does where those that are >=
// 0 make it hold. NaN is never >= 0.
func (s *Safe) Holds(rowLo []float64) bool { return s.MarginLo(rowLo) >= 0 }

// MarginLo returns max over alternatives of the min over their members of lower bounds: S follows
// exactly if it is >= 0. That of a gate is the Need-th largest of its members. NaN counts as -Inf;
// an alternative with no members gives +Inf; no alternative gives -Inf. It panics unless there is a
// bound for each row.
func (s *Safe) MarginLo(rowLo []float64) float64 {
	if len(rowLo) != len(s.Rows) {
		panic(fmt.Sprintf("property: MarginLo: %d bounds for %d rows", len(rowLo), len(s.Rows)))
	}
	number := func(r int) float64 {
		if v := rowLo[r]; !math.IsNaN(v) {
			return v
		}
		return math.Inf(-1)
	}
	margin, _ := s.decide(number)
	return margin
}

// Decides is the margin for values of the rows, as MarginLo has it, and the row that has this
// value; -1 where no row decides. The margin is NaN if a row's value is.
func (s *Safe) Decides(value []float64) (margin float64, row int) {
	for _, v := range value {
		if math.IsNaN(v) {
			return v, -1
		}
	}
	return s.decide(func(r int) float64 { return value[r] })
}

// decided is a margin and the row that it is of.
type decided struct {
	margin float64
	row    int
}

func (s *Safe) decide(number func(r int) float64) (margin float64, row int) {
	best := decided{math.Inf(-1), -1}
	of := s.decidedGates(number)
	for a, all := range s.Any {
		if least := of.least(all); a == 0 || least.margin > best.margin {
			best = least
		}
	}
	return best.margin, best.row
}

// deciding has the margins of rows, by a function, and those of gates.
type deciding struct {
	number func(r int) float64
	gates  []decided
}

func (d *deciding) member(m int) decided {
	if m < 0 {
		return d.gates[^m]
	}
	return decided{d.number(m), m}
}

// least is the member with the least margin: that of an alternative.
func (d *deciding) least(all []int) decided {
	least := decided{math.Inf(1), -1}
	for _, m := range all {
		if v := d.member(m); v.margin < least.margin || least.row < 0 {
			least = v
		}
	}
	return least
}

// AlternativeDecides is Decides of each alternative, for values that are numbers.
func (s *Safe) AlternativeDecides(value []float64, each func(margin float64, row int)) {
	of := s.decidedGates(func(r int) float64 { return value[r] })
	for _, all := range s.Any {
		least := of.least(all)
		each(least.margin, least.row)
	}
}

// decidedGates decides gate after gate.
func (s *Safe) decidedGates(number func(r int) float64) *deciding {
	of := &deciding{number: number, gates: make([]decided, 0, len(s.Gates))}
	var members []decided
	for _, g := range s.Gates {
		members = members[:0]
		for _, m := range g.Of {
			members = append(members, of.member(m))
		}
		of.gates = append(of.gates, needed(members, g.Need))
	}
	return of
}

// needed is the need-th largest of the members, +-Inf where that many are not needed, or not there.
func needed(members []decided, need int) decided {
	switch n := len(members); {
	case need <= 0:
		return decided{math.Inf(1), -1}
	case need > n:
		return decided{math.Inf(-1), -1}
	case need == 1 || need == n:
		best := members[0]
		for _, m := range members[1:] {
			if need == 1 && m.margin > best.margin || need == n && need > 1 && m.margin < best.margin {
				best = m
			}
		}
		return best
	}
	slices.SortStableFunc(members, func(a, b decided) int { return cmp.Compare(b.margin, a.margin) })
	return members[need-1]
}

// Conjunction lists the rows of S where it is an AND of rows.
func (s *Safe) Conjunction() (rows []int, ok bool) {
	if len(s.Any) != 1 || slices.ContainsFunc(s.Any[0], func(m int) bool { return m < 0 }) {
		return nil, false
	}
	return s.Any[0], true
}

// Dual is the complement of S where each row stands for its complement: an OR becomes an AND. Of S
// with rows negated it holds where S fails.
func (s *Safe) Dual() Safe {
	d := Safe{Rows: s.Rows, Gates: make([]Gate, 0, len(s.Gates)+len(s.Any)), Any: [][]int{nil}}
	for _, g := range s.Gates {
		d.Gates = append(d.Gates, Gate{len(g.Of) - g.Need + 1, g.Of})
	}
	for _, all := range s.Any {
		m := ^len(d.Gates)
		if len(all) == 1 {
			m = all[0]
		} else {
			d.Gates = append(d.Gates, Gate{1, all})
		}
		d.Any[0] = append(d.Any[0], m)
	}
	return d
}

// Implicant lists different rows from which S follows: of each gate the Need members that cost
// least, of the alternatives the one with the least sum. Which ones it takes is a choice; that S
// follows is certain. ok is false if nothing has a finite cost, or S is empty.
func (s *Safe) Implicant(cost []float64) (rows []int, ok bool) {
	p := s.pick(cost)
	best, at := math.Inf(1), -1
	for a, all := range s.Any {
		sum := 0.0
		for _, m := range all {
			sum += p.member(m)
		}
		if sum < best {
			best, at = sum, a
		}
	}
	if at < 0 {
		return nil, false
	}
	return s.under(s.Any[at], p), true
}

// Under lists the different rows that Implicant takes of the members.
func (s *Safe) Under(members []int, cost []float64) []int { return s.under(members, s.pick(cost)) }

// picked are the costs of rows and of gates, and which members of each gate they are of.
type picked struct {
	rows, gates []float64
	members     [][]int
}

func (p *picked) member(m int) float64 {
	cost := 0.0
	if m < 0 {
		cost = p.gates[^m]
	} else {
		cost = p.rows[m]
	}
	if math.IsNaN(cost) {
		return math.Inf(1)
	}
	return cost
}

func (s *Safe) pick(cost []float64) *picked {
	p := &picked{rows: cost}
	for _, g := range s.Gates {
		of := g.Of
		switch {
		case g.Need > len(of):
			p.gates, p.members = append(p.gates, math.Inf(1)), append(p.members, nil)
			continue
		case g.Need == 1:
			of = []int{slices.MinFunc(of, func(a, b int) int { return cmp.Compare(p.member(a), p.member(b)) })}
		case g.Need < len(of):
			of = slices.Clone(of)
			slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(p.member(a), p.member(b)) })
			of = of[:max(g.Need, 0)]
		}
		sum := 0.0
		for _, m := range of {
			sum += p.member(m)
		}
		p.gates, p.members = append(p.gates, sum), append(p.members, of)
	}
	return p
}

// under lists the different rows that are picked of these members.
func (s *Safe) under(members []int, p *picked) []int {
	rows, seen := make([]bool, len(p.rows)), make([]bool, len(s.Gates))
	var list []int
	for open := slices.Clone(members); len(open) > 0; {
		m := open[0]
		open = open[1:]
		switch {
		case m >= 0 && !rows[m]:
			rows[m], list = true, append(list, m)
		case m < 0 && !seen[^m]:
			seen[^m], open = true, append(open, p.members[^m]...)
		}
	}
	return list
}
