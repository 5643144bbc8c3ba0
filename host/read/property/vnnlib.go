package property

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/read/vnnlib"
)

// QueryTasks are the tasks of a VNN-LIB query for a network with the given number of outputs
// (at least 1; it panics otherwise), one for each of the query's input boxes, in their order: T is
// the box, without its strictness, rounded outward, and S the complement of what the query calls
// unsafe there, rounded inward. So where the task of a box is safe for a network, no input of the
// box as the query states it is a counterexample.
//
// Queries about several networks, and comparisons that take inputs, are errors.
//
// The complement of an AND is the OR of the complements, and the other way round: S is as large as
// what the query writes. Numbers beyond the range of float64 are errors.
func QueryTasks(q *vnnlib.Query, outputs int) (tasks []Task, err error) {
	needOutputs("QueryTasks", outputs)
	if n := len(q.Networks); n > 1 {
		return nil, fmt.Errorf("the query is about %d networks: psafe verify --network answers it", n)
	}
	if n := q.Outputs(); n != outputs {
		return nil, fmt.Errorf("the query has %d outputs, the network has %d; they belong to each other only if these are equal", n, outputs)
	}
	var memory memory
	sets := map[*vnnlib.Set]Safe{} // boxes of one set share it
	for i := range q.Cases {
		t, err := queryBox(&q.Cases[i])
		if err == nil {
			s, known := sets[q.Cases[i].Unsafe]
			if !known {
				s, err = complement(q.Cases[i].Unsafe, outputs, &memory)
				sets[q.Cases[i].Unsafe] = s
			}
			t.S = s
		}
		if err != nil {
			return nil, fmt.Errorf("box %d of the query: %w", i, err)
		}
		t.Index, t.Name, t.FileSHA256, t.Shape = len(tasks), "query", q.SHA256, q.Networks[0].Input.Shape
		if len(q.Cases) > 1 {
			t.Name = fmt.Sprintf("box %d of query", i)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// readQuery is ReadFile for the content of a VNN-LIB file.
func readQuery(data []byte, outputs int) ([]Task, error) {
	q, err := vnnlib.Read(data)
	if err != nil {
		return nil, err
	}
	return QueryTasks(q, outputs)
}

// queryBox is the task of one box, without its safe set.
func queryBox(c *vnnlib.Case) (Task, error) {
	n := len(c.Box)
	t := Task{Label: -1, T: []Box{{Lo: make([]float64, n), Hi: make([]float64, n)}}, Inner: []Box{{Lo: make([]float64, n), Hi: make([]float64, n)}}}
	for j, side := range c.Box {
		lo, errLo := enclosed(side.Lo)
		hi, errHi := enclosed(side.Hi)
		if err := or(errLo, errHi); err != nil {
			return Task{}, fmt.Errorf("input %d: %w", j, err)
		}
		t.T[0].Lo[j], t.T[0].Hi[j] = lo.Lo, hi.Hi
		// Ends that are strict do not belong to the real set.
		t.Inner[0].Lo[j], t.Inner[0].Hi[j] = lo.Hi, hi.Lo
		if side.LoStrict && lo.Lo == lo.Hi {
			t.Inner[0].Lo[j] = up(lo.Hi)
		}
		if side.HiStrict && hi.Lo == hi.Hi {
			t.Inner[0].Hi[j] = down(hi.Lo)
		}
	}
	return t, nil
}

// enclosed is a real number between float64.
func enclosed(r *big.Rat) (Decimal, error) {
	lo, hi, ok := roundRat(r)
	if !ok {
		return Decimal{}, fmt.Errorf("a number is beyond the range of float64 (about 1.8e308); write a smaller one")
	}
	return Decimal{lo, hi}, nil
}

// complement returns where a set does not hold.
func complement(unsafe *vnnlib.Set, outputs int, m *memory) (Safe, error) {
	p := newFormula(outputs, m)
	l, err := p.failing(unsafe)
	if err != nil {
		if at, ok := errors.AsType[*placed](err); ok { // which has no line here
			err = at.err
		}
		return Safe{}, err
	}
	return p.safe(l), nil
}

// failing is the list that says that a set does not hold.
func (p *formula) failing(s *vnnlib.Set) (list, error) {
	if s.Constraint != nil {
		r, err := p.fails(s.Constraint)
		return list{members: []int{r}}, err
	}
	l := list{or: !s.Or}
	for _, of := range s.Of {
		part, err := p.failing(of)
		if err != nil {
			return list{}, err
		}
		p.join(&l, part)
	}
	return l, nil
}

// fails is the row that says that a constraint c.y + d >= 0 (or > 0) fails:
// -c.y - d > 0 (or >= 0).
func (p *formula) fails(c *vnnlib.Constraint) (int, error) {
	r := Row{CLo: make([]float64, p.outputs), CHi: make([]float64, p.outputs)}
	for _, term := range c.Terms {
		if term.Input {
			return 0, fmt.Errorf("input %d is compared with other inputs or with outputs: psafe verify --network answers such queries", term.Of)
		}
		v, err := enclosed(new(big.Rat).Neg(term.Coef))
		if err != nil {
			return 0, err
		}
		r.CLo[term.Of], r.CHi[term.Of] = v.Lo, v.Hi
	}
	d, err := enclosed(new(big.Rat).Neg(c.Offset))
	if err != nil {
		return 0, err
	}
	r.D, r.DHi = d.Lo, d.Hi
	if !c.Strict {
		r.makeStrict()
	}
	return p.store(&node{}, r)
}

// makeStrict makes of c.y + d >= 0 the row c.y + d > 0: D becomes less than d, so that c.y +
// D >= 0 proves it. DHi stays, as where c.y + DHi < 0 both fail.
func (r *Row) makeStrict() {
	if r.D == r.DHi { // d itself; otherwise D is below d already
		r.D = down(r.D)
	}
}

// JoinTasks makes one task of those that have the same safe set: T is the union of theirs.
// That is one event for the same weights, where a sum over tasks would count their failures
// twice. Each keeps the name of the first; Index counts them.
func JoinTasks(tasks []Task) []Task {
	var joined []Task
	for _, t := range tasks {
		k := slices.IndexFunc(joined, func(j Task) bool { return sameSet(&j.S, &t.S) && j.Label == t.Label })
		if k < 0 {
			t.Index = len(joined)
			t.T, t.Inner = slices.Clone(t.T), slices.Clone(t.Inner)
			joined = append(joined, t)
			continue
		}
		j := &joined[k]
		if (len(j.Inner) == 0) != (len(t.Inner) == 0) {
			j.Inner, t.Inner = nil, nil
		}
		j.T, j.Inner = append(j.T, t.T...), append(j.Inner, t.Inner...)
	}
	return joined
}

func sameSet(a, b *Safe) bool {
	return slices.EqualFunc(a.Rows, b.Rows, func(x, y Row) bool {
		return x.D == y.D && x.DHi == y.DHi && slices.Equal(x.CLo, y.CLo) && slices.Equal(x.CHi, y.CHi)
	}) && slices.EqualFunc(a.Any, b.Any, slices.Equal[[]int]) &&
		slices.EqualFunc(a.Gates, b.Gates, func(x, y Gate) bool { return x.Need == y.Need && slices.Equal(x.Of, y.Of) })
}
