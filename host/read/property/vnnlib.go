package property

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/read/vnnlib"
)

// QueryTasks are the tasks of a VNN-LIB query for a network with the given number of outputs
// (at least 1; it panics otherwise), and for each of them which of the query's input boxes it is
// about, in their order: T is the box, without its strictness, rounded outward, and S the
// complement of what the query calls unsafe there, rounded inward. So where all tasks of a box are
// safe for a network, no input of the box as the query states it is a counterexample.
//
// The complement of a union of polytopes is, for each polytope, that one of its constraints
// fails. It is expanded to the alternatives of one task. Where these are more than 4096, it is not:
// each polytope, with those of one constraint beside it, has a task of its own. Numbers beyond the
// range of float64 are errors.
func QueryTasks(q *vnnlib.Query, outputs int) (tasks []Task, boxes []int, err error) {
	needOutputs("QueryTasks", outputs)
	if q.Output.Size != outputs {
		return nil, nil, fmt.Errorf("the query has %d outputs, the network has %d; they belong to each other only if these are equal", q.Output.Size, outputs)
	}
	sets := safeSets{outputs: outputs}
	for i := range q.Cases {
		parts, err := sets.queryTasks(&q.Cases[i])
		if err != nil {
			if at, ok := errors.AsType[*placed](err); ok { // which has no line here
				err = at.err
			}
			return nil, nil, fmt.Errorf("box %d of the query: %w", i, err)
		}
		for k, t := range parts {
			t.Index, t.Name, t.FileSHA256, t.Shape = len(tasks), "query", q.SHA256, q.Input.Shape
			if len(q.Cases) > 1 {
				t.Name = fmt.Sprintf("box %d of query", i)
			}
			if len(parts) > 1 {
				t.Name = fmt.Sprintf("part %d of %d of %s", k, len(parts), t.Name)
			}
			tasks, boxes = append(tasks, t), append(boxes, i)
		}
	}
	return tasks, boxes, nil
}

// readQuery is ReadFile for the content of a VNN-LIB file.
func readQuery(data []byte, outputs int) ([]Task, error) {
	q, err := vnnlib.Read(data)
	if err != nil {
		return nil, err
	}
	tasks, _, err := QueryTasks(q, outputs)
	return tasks, err
}

// queryTasks are the tasks of one box: one for each safe set that complements makes.
func (p *safeSets) queryTasks(c *vnnlib.Case) ([]Task, error) {
	n := len(c.Box)
	t := Task{Label: -1, T: []Box{{Lo: make([]float64, n), Hi: make([]float64, n)}}, Inner: []Box{{Lo: make([]float64, n), Hi: make([]float64, n)}}}
	for j, side := range c.Box {
		lo, errLo := enclosed(side.Lo)
		hi, errHi := enclosed(side.Hi)
		if err := or(errLo, errHi); err != nil {
			return nil, fmt.Errorf("input %d: %w", j, err)
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
	sets, err := p.complements(c.Unsafe)
	if err != nil {
		return nil, err
	}
	var tasks []Task
	for _, s := range sets {
		if err := p.spend(&node{}, s); err != nil {
			return nil, err
		}
		part := t
		part.S = s
		tasks = append(tasks, part)
	}
	return tasks, nil
}

// enclosed is a real number between float64.
func enclosed(r *big.Rat) (Decimal, error) {
	lo, hi, ok := roundRat(r)
	if !ok {
		return Decimal{}, fmt.Errorf("a number is beyond the range of float64 (about 1.8e308); write a smaller one")
	}
	return Decimal{lo, hi}, nil
}

// complements are sets whose intersection says that no polytope holds: in each, some constraint
// fails. It is one set, unless that has too many alternatives.
func (p *safeSets) complements(unsafe []vnnlib.Polytope) ([]Safe, error) {
	one, err := p.complement(unsafe)
	if !errors.Is(err, errAlternatives) {
		return []Safe{one}, err
	}
	var sets []Safe
	for from := 0; from < len(unsafe); {
		to, several := from, 0
		for ; to < len(unsafe) && several < 2; to++ {
			if len(unsafe[to]) > 1 {
				several++
			}
		}
		if several == 2 {
			to--
		}
		s, err := p.complement(unsafe[from:to])
		if err != nil {
			return nil, err
		}
		sets, from = append(sets, s), to
	}
	return sets, nil
}

// errAlternatives says that a safe set of several polytopes is not expanded: the rows of one are
// bounded before.
var errAlternatives = errors.New("more alternatives than are expanded")

// complement expands that no polytope holds: in each, some constraint fails.
func (p *safeSets) complement(unsafe []vnnlib.Polytope) (Safe, error) {
	e := rowParser{outputs: p.outputs, index: map[string]int{}}
	defer func() { p.expanded += e.written }()
	all := [][]int{nil}
	for _, polytope := range unsafe {
		var some [][]int
		for k := range polytope {
			r, err := e.failing(&polytope[k])
			if err != nil {
				return Safe{}, err
			}
			some = append(some, []int{r})
		}
		if some = unique(some); len(all) > maxAlternatives/len(some) {
			return Safe{}, errAlternatives
		}
		var err error
		if all, err = e.join(&node{}, all, some); err != nil {
			return Safe{}, err
		}
	}
	return Safe{Rows: e.rows, Any: all}, nil
}

// failing is the row that says that a constraint c.y + d >= 0 (or > 0) fails:
// -c.y - d > 0 (or >= 0).
func (p *rowParser) failing(c *vnnlib.Constraint) (int, error) {
	if err := p.spend(&node{}, p.outputs); err != nil {
		return 0, err
	}
	r := Row{CLo: make([]float64, p.outputs), CHi: make([]float64, p.outputs)}
	for _, term := range c.Terms {
		v, err := enclosed(new(big.Rat).Neg(term.Coef))
		if err != nil {
			return 0, err
		}
		r.CLo[term.Output], r.CHi[term.Output] = v.Lo, v.Hi
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
	}) && slices.EqualFunc(a.Any, b.Any, func(x, y []int) bool { return slices.Equal(x, y) })
}
