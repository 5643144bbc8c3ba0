package verify

import (
	"fmt"
	"math/big"
	"slices"

	"psafe/host/read/vnnlib"
)

// A query about several networks, or with comparisons that take an input beside other variables, is
// answered as one about one network of free inputs (docs/theory.md, VNN-LIB), whose outputs are those
// of all networks, and then the free inputs that comparisons take. Where relations make inputs equal they
// are one free input; where they bound a difference x_a - x_b, that is the free input in the place of x_a.

// source says what an input of the query is: a free input, or the sum of two unless step is -1.
type source struct{ base, step int }

// free are the free inputs that it is the sum of.
func (s source) free() []int {
	if s.step < 0 {
		return []int{s.base}
	}
	return []int{s.base, s.step}
}

// rewriting makes the query about free inputs of one about inputs.
type rewriting struct {
	query *vnnlib.Query
	of    []source
	// inputs is, by free input, the query's inputs that are equal to it or that it is the step to.
	inputs [][]int
	// least holds the greatest numbers that relations say x_a - x_b is at least, by the free inputs
	// of a and b.
	least map[[2]int]*big.Rat
	// done are the relations that the free inputs and their boxes say.
	done map[*vnnlib.Constraint]bool
	// taken are the free inputs that are outputs too, in their order, and takenAt says where each is.
	taken   []int
	takenAt map[int]int
	sets    map[*vnnlib.Set]*vnnlib.Set
}

// plain reports whether a query is about one network, and its comparisons of outputs alone.
func plain(q *vnnlib.Query) bool {
	if len(q.Networks) > 1 {
		return false
	}
	seen := map[*vnnlib.Set]bool{}
	var outputs func(s *vnnlib.Set) bool
	outputs = func(s *vnnlib.Set) bool {
		if s.Constraint != nil {
			return !slices.ContainsFunc(s.Constraint.Terms, func(t vnnlib.Term) bool { return t.Input })
		}
		if !seen[s] {
			seen[s] = true
			for _, of := range s.Of {
				if !outputs(of) {
					return false
				}
			}
		}
		return true
	}
	for i := range q.Cases {
		if !outputs(q.Cases[i].Unsafe) {
			return false
		}
	}
	return true
}

// rewrite returns the query about free inputs and what the inputs are of those.
func rewrite(q *vnnlib.Query) (*vnnlib.Query, *rewriting, error) {
	r := &rewriting{query: q, done: map[*vnnlib.Constraint]bool{}, sets: map[*vnnlib.Set]*vnnlib.Set{}, takenAt: map[int]int{}}
	for i := range q.Inputs() {
		r.of, r.inputs = append(r.of, source{i, -1}), append(r.inputs, []int{i})
	}
	r.share()
	r.step()
	free := &vnnlib.Query{Version: q.Version, SHA256: q.SHA256}
	for k := range q.Cases {
		c, err := r.oneCase(&q.Cases[k])
		if err != nil {
			return nil, nil, fmt.Errorf("box %d of the query: %w", k, err)
		}
		free.Cases = append(free.Cases, c)
	}
	n := len(r.inputs)
	free.Networks = []vnnlib.Network{{Equal: -1, Input: vnnlib.Variable{Type: "Real", Shape: []int{n}, Size: n}, Output: vnnlib.Variable{Type: "Real", Size: q.Outputs() + len(r.taken)}}}
	return free, r, nil
}

// difference reads a relation as x_a - x_b >= least, if it is one.
func difference(c *vnnlib.Constraint) (a, b int, least *big.Rat, ok bool) {
	if len(c.Terms) != 2 || new(big.Rat).Add(c.Terms[0].Coef, c.Terms[1].Coef).Sign() != 0 {
		return 0, 0, nil, false
	}
	more, less := c.Terms[0], c.Terms[1]
	if more.Coef.Sign() < 0 {
		more, less = less, more
	}
	return more.Of, less.Of, new(big.Rat).Quo(new(big.Rat).Neg(c.Offset), more.Coef), true
}

// differences makes least anew.
func (r *rewriting) differences() {
	r.least = map[[2]int]*big.Rat{}
	for _, c := range r.query.Relations {
		if a, b, least, ok := difference(c); ok {
			at := [2]int{r.of[a].base, r.of[b].base}
			if old := r.least[at]; old == nil || least.Cmp(old) > 0 {
				r.least[at] = least
			}
		}
	}
}

// share makes inputs one free input that relations say are equal: of which neither is less.
func (r *rewriting) share() {
	r.differences()
	class := make([]int, len(r.of))
	for i := range class {
		class[i] = i
	}
	find := func(i int) int {
		for class[i] != i {
			class[i] = class[class[i]]
			i = class[i]
		}
		return i
	}
	for at, least := range r.least {
		if back := r.least[[2]int{at[1], at[0]}]; back != nil && least.Sign() == 0 && back.Sign() == 0 {
			a, b := find(at[0]), find(at[1])
			class[max(a, b)] = min(a, b)
		}
	}
	r.inputs = nil
	number := map[int]int{}
	for i := range class {
		c := find(i)
		if _, known := number[c]; !known {
			number[c], r.inputs = len(r.inputs), append(r.inputs, nil)
		}
		r.of[i].base = number[c]
		r.inputs[number[c]] = append(r.inputs[number[c]], i)
	}
	r.differences()
	for _, c := range r.query.Relations {
		if a, b, least, ok := difference(c); ok && r.of[a].base == r.of[b].base && least.Sign() <= 0 {
			r.done[c] = true
		}
	}
}

// step makes differences free inputs that relations bound: each in the place of an input that none is
// measured from, from one that is none itself.
func (r *rewriting) step() {
	from, measured := map[int]int{}, map[int]bool{}
	for _, c := range r.query.Relations {
		a, b, _, ok := difference(c)
		if !ok || r.of[a].base == r.of[b].base {
			continue
		}
		p, q := r.of[a].base, r.of[b].base
		_, stepP := from[p]
		_, stepQ := from[q]
		switch {
		case stepP && from[p] == q || stepQ && from[q] == p:
		case !stepP && !measured[p] && !stepQ:
			from[p], measured[q] = q, true
		case !stepQ && !measured[q] && !stepP:
			from[q], measured[p] = p, true
		default:
			continue
		}
		r.done[c] = true
	}
	for p, q := range from {
		for _, i := range r.inputs[p] {
			r.of[i] = source{q, p}
		}
	}
}

// oneCase is a case about free inputs.
func (r *rewriting) oneCase(c *vnnlib.Case) (vnnlib.Case, error) {
	box := make([]vnnlib.Interval, len(r.inputs))
	for p, inputs := range r.inputs {
		box[p] = c.Box[inputs[0]]
		for _, i := range inputs[1:] {
			box[p] = meet(box[p], c.Box[i])
		}
	}
	unsafe, always, err := r.set(c.Unsafe)
	if err != nil {
		return vnnlib.Case{}, err
	}
	if always {
		return vnnlib.Case{}, fmt.Errorf("says nothing about the outputs: every input there would be a counterexample; assert what is unsafe")
	}
	all := []*vnnlib.Set{unsafe}
	own := slices.Clone(box)
	for p, inputs := range r.inputs {
		s := r.of[inputs[0]]
		if s.step < 0 {
			continue
		}
		from := &own[s.base]
		box[p] = r.stepBox(p, s.base, &own[p], from)
		if new(big.Rat).Add(from.Lo, box[p].Lo).Cmp(own[p].Lo) < 0 {
			all = append(all, &vnnlib.Set{Constraint: r.end(inputs[0], own[p].Lo, 1, own[p].LoStrict)})
		}
		if new(big.Rat).Add(from.Hi, box[p].Hi).Cmp(own[p].Hi) > 0 {
			all = append(all, &vnnlib.Set{Constraint: r.end(inputs[0], own[p].Hi, -1, own[p].HiStrict)})
		}
	}
	for p := range box {
		if box[p].Lo.Cmp(box[p].Hi) > 0 {
			return vnnlib.Case{}, fmt.Errorf("no input is in this box and fulfils what is asserted between inputs: mend that")
		}
	}
	if len(all) > 1 {
		unsafe = &vnnlib.Set{Of: all}
	}
	return vnnlib.Case{Box: box, Unsafe: unsafe}, nil
}

// stepBox is where x_p - x_q lies, given their boxes and what relations say.
func (r *rewriting) stepBox(p, q int, at, from *vnnlib.Interval) vnnlib.Interval {
	d := vnnlib.Interval{Lo: new(big.Rat).Sub(at.Lo, from.Hi), Hi: new(big.Rat).Sub(at.Hi, from.Lo)}
	if least := r.least[[2]int{p, q}]; least != nil && least.Cmp(d.Lo) > 0 {
		d.Lo = least
	}
	if least := r.least[[2]int{q, p}]; least != nil {
		if most := new(big.Rat).Neg(least); most.Cmp(d.Hi) < 0 {
			d.Hi = most
		}
	}
	return d
}

// meet is the intersection of two intervals, which may be empty: Lo is above Hi then.
func meet(a, b vnnlib.Interval) vnnlib.Interval {
	if order := a.Lo.Cmp(b.Lo); order < 0 || order == 0 && b.LoStrict {
		a.Lo, a.LoStrict = b.Lo, b.LoStrict
	}
	if order := a.Hi.Cmp(b.Hi); order > 0 || order == 0 && b.HiStrict {
		a.Hi, a.HiStrict = b.Hi, b.HiStrict
	}
	return a
}

// end says that an input is at least an end, or at most with sign -1.
func (r *rewriting) end(input int, end *big.Rat, sign int64, strict bool) *vnnlib.Constraint {
	c := &vnnlib.Constraint{Offset: new(big.Rat).Mul(end, big.NewRat(-sign, 1)), Strict: strict, Terms: []vnnlib.Term{{Input: true, Of: input, Coef: big.NewRat(sign, 1)}}}
	return r.constraint(c)
}

// set is what a set says beside what free inputs and their boxes say; always reports that nothing is left.
func (r *rewriting) set(s *vnnlib.Set) (to *vnnlib.Set, always bool, err error) {
	if to, known := r.sets[s]; known {
		return to, to == nil, nil
	}
	switch {
	case s.Constraint != nil && r.done[s.Constraint]:
	case s.Constraint != nil:
		to = &vnnlib.Set{Constraint: r.constraint(s.Constraint)}
		if len(to.Constraint.Terms) == 0 {
			return nil, false, fmt.Errorf("a comparison of inputs that others say are equal has no variable left: it is always true or always false; remove or mend it")
		}
	default:
		to = &vnnlib.Set{Or: s.Or}
		for _, of := range s.Of {
			part, always, err := r.set(of)
			if err != nil {
				return nil, false, err
			}
			if !always {
				to.Of = append(to.Of, part)
			} else if s.Or {
				to.Of = nil
				break
			}
		}
		if len(to.Of) == 0 {
			to = nil
		}
	}
	r.sets[s] = to
	return to, to == nil, nil
}

// constraint is a constraint of outputs that says the same of free inputs, which are outputs then.
func (r *rewriting) constraint(c *vnnlib.Constraint) *vnnlib.Constraint {
	sum, free := map[int]*big.Rat{}, []int{}
	to := &vnnlib.Constraint{Offset: c.Offset, Strict: c.Strict}
	for _, t := range c.Terms {
		if !t.Input {
			to.Terms = append(to.Terms, t)
			continue
		}
		for _, p := range r.of[t.Of].free() {
			if sum[p] == nil {
				sum[p], free = new(big.Rat), append(free, p)
			}
			sum[p].Add(sum[p], t.Coef)
		}
	}
	for _, p := range free {
		if sum[p].Sign() == 0 {
			continue
		}
		at, known := r.takenAt[p]
		if !known {
			at = len(r.taken)
			r.taken, r.takenAt[p] = append(r.taken, p), at
		}
		to.Terms = append(to.Terms, vnnlib.Term{Of: r.query.Outputs() + at, Coef: sum[p]})
	}
	return to
}
