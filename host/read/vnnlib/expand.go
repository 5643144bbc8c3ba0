package vnnlib

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"psafe/internal/infile"
)

// expression is a disjunction or conjunction of expressions, or of comparisons.
type expression struct {
	place
	or    bool
	atoms []atom // all of which hold; kids is nil then
	kids  []*expression
	// inputs reports whether some comparison bounds an input.
	inputs bool
	// says is set, once it was asked for.
	says *Set
}

// set returns what an expression says that bounds no input.
func (e *expression) set() *Set {
	if e.says == nil {
		e.says = e.newSet()
	}
	return e.says
}

func (e *expression) newSet() *Set {
	s := &Set{Or: e.or}
	for i := range e.atoms {
		s.Of = append(s.Of, &Set{Constraint: &e.atoms[i].Constraint})
	}
	for _, k := range e.kids {
		s.Of = append(s.Of, k.set())
	}
	if len(s.Of) == 1 {
		return s.Of[0]
	}
	return s
}

// conjunction is a set of constraints that hold together: bounds of inputs and sets of outputs.
type conjunction struct {
	bounds map[int]*bounds
	sets   []*Set
}

// all is the intersection of sets, of which there is at least one.
func all(sets []*Set) *Set {
	if len(sets) == 1 {
		return sets[0]
	}
	return &Set{Of: sets}
}

// bounds hold the bounds of one input, nil where there is none.
type bounds struct {
	lo, hi     *big.Rat
	loStrict   bool
	hiStrict   bool
	loAt, hiAt place
}

// assert reads (assert expression).
func (q *parser) assert(f *form) error {
	if len(f.items) != 2 {
		return f.errorf("(assert ...) takes one expression, found %d", len(f.items)-1)
	}
	e, err := q.boolean(&f.items[1])
	if err != nil {
		return err
	}
	return q.conjoin(e)
}

// conjoin takes what is asserted: what contains no disjunction about inputs becomes common at once.
func (q *parser) conjoin(e *expression) error {
	if !e.inputs {
		return q.common.add(q, e)
	}
	if e.or {
		q.choices = append(q.choices, e)
		return nil
	}
	if e.kids == nil {
		return q.common.add(q, e)
	}
	for _, k := range e.kids {
		if err := q.conjoin(k); err != nil {
			return err
		}
	}
	return nil
}

// boolean reads a comparison, (and ...) or (or ...).
func (q *parser) boolean(f *form) (*expression, error) {
	if f.kind != '(' || len(f.items) == 0 || f.items[0].kind != 'a' {
		return nil, f.errorf("expected a comparison, (and ...) or (or ...), found %s", f.describe())
	}
	e := &expression{place: f.place}
	switch op := f.items[0].text; op {
	case "<=", "<", ">=", ">", "=", "==", "!=":
		var err error
		e.atoms, err = q.compare(f)
		e.inputs = len(e.atoms) > 0 && e.atoms[0].bound()
		return e, err
	case "and", "or":
		e.or = op == "or"
	default:
		return nil, f.errorf("%s is none of the comparisons <=, <, >=, >, ==, nor \"and\" or \"or\"", f.describe())
	}
	if len(f.items) == 1 {
		return nil, f.errorf("(%s) is empty; give at least one expression", f.items[0].text)
	}
	for k := 1; k < len(f.items); k++ {
		kid, err := q.boolean(&f.items[k])
		if err != nil {
			return nil, err
		}
		e.kids, e.inputs = append(e.kids, kid), e.inputs || kid.inputs
	}
	if len(e.kids) == 1 {
		return e.kids[0], nil
	}
	return e, nil
}

// What is chosen of inputs is written out: a disjunction of conjunctions, of comparisons of inputs
// and of expressions about outputs alone, which stay as they are.

// written counts alternatives, and the expressions that they list.
type written struct{ alternatives, listed float64 }

// times is of every pair of alternatives.
func (w written) times(by written) written {
	return written{w.alternatives * by.alternatives, w.alternatives*by.listed + by.alternatives*w.listed}
}

// count returns how much alternatives makes.
func (e *expression) count() written {
	if !e.inputs || e.kids == nil {
		return written{1, 1}
	}
	all := written{1, 0}
	if e.or {
		all = written{}
	}
	for _, k := range e.kids {
		if of := k.count(); e.or {
			all = written{all.alternatives + of.alternatives, all.listed + of.listed}
		} else {
			all = all.times(of)
		}
	}
	return all
}

// alternatives of the expression, each a list of comparisons of inputs and expressions about outputs.
func (e *expression) alternatives() [][]*expression {
	if !e.inputs || e.kids == nil {
		return [][]*expression{{e}}
	}
	if e.or {
		var all [][]*expression
		for _, k := range e.kids {
			all = append(all, k.alternatives()...)
		}
		return all
	}
	all := [][]*expression{nil}
	for _, k := range e.kids {
		all = product(all, k.alternatives())
	}
	return all
}

// chosen writes out all that is asserted of inputs beside what is common.
func (q *parser) chosen() ([][]*expression, error) {
	// A list of expressions has 32 bytes beside those, a box 400 and 32 for each of its inputs.
	sum := written{1, 0}
	for _, e := range q.choices {
		sum = sum.times(e.count())
		bytes := sum.alternatives*float64(432+32*q.query.Inputs()) + 8*sum.listed
		if err := infile.Afford(int64(min(bytes, 1e18))); err != nil {
			return nil, e.errorf("with every \"or\" about inputs written out, the query has %.4g boxes, and %w", sum.alternatives, err)
		}
	}
	every := [][]*expression{nil}
	for _, e := range q.choices {
		every = product(every, e.alternatives())
	}
	return every, nil
}

// product joins every alternative of a with every one of b.
func product(a, b [][]*expression) [][]*expression {
	if len(b) == 1 && len(a) == 1 { // the usual case, of which long lists are made
		return [][]*expression{append(a[0], b[0]...)}
	}
	var all [][]*expression
	for _, s := range a {
		for _, t := range b {
			all = append(all, slices.Concat(s, t))
		}
	}
	return all
}

// add takes comparisons of inputs, or an expression about outputs, into the conjunction.
func (c *conjunction) add(q *parser, e *expression) error {
	if !e.inputs {
		c.sets = append(c.sets, e.set())
		if c == &q.common {
			q.relate(e)
		}
		return nil
	}
	for _, a := range e.atoms {
		if err := c.bound(q, a); err != nil {
			return err
		}
	}
	return nil
}

// bound takes a comparison of an input.
func (c *conjunction) bound(q *parser, a atom) error {
	// slope x + offset >= 0: x >= -offset/slope or x <= -offset/slope.
	input, slope := a.Terms[0].Of, a.Terms[0].Coef
	end := new(big.Rat).Quo(new(big.Rat).Neg(a.Offset), slope)
	if err := q.spend(a.Offset, slope, end); err != nil {
		return a.errorf("%w", err)
	}
	if c.bounds == nil {
		c.bounds = map[int]*bounds{}
	}
	b := c.bounds[input]
	if b == nil {
		b = &bounds{}
		c.bounds[input] = b
	}
	b.cut(end, slope.Sign() > 0, a.Strict, a.place)
	return nil
}

// cut intersects with x >= end or x <= end, strictly or not.
func (b *bounds) cut(end *big.Rat, lower, strict bool, at place) {
	if lower {
		if b.lo == nil || end.Cmp(b.lo) > 0 || strict && !b.loStrict && end.Cmp(b.lo) == 0 {
			b.lo, b.loStrict, b.loAt = end, strict, at
		}
		return
	}
	if b.hi == nil || end.Cmp(b.hi) < 0 || strict && !b.hiStrict && end.Cmp(b.hi) == 0 {
		b.hi, b.hiStrict, b.hiAt = end, strict, at
	}
}

// both intersects the bounds of two conjunctions; b may be nil.
func (b *bounds) both(with *bounds) *bounds {
	if b == nil {
		return with
	}
	sum := *b
	if with != nil && with.lo != nil {
		sum.cut(with.lo, true, with.loStrict, with.loAt)
	}
	if with != nil && with.hi != nil {
		sum.cut(with.hi, false, with.hiStrict, with.hiAt)
	}
	return &sum
}

var errEmpty = errors.New("no input is in this box")

// interval is the bounds of input i, which must have a point; at is where an alternative
// stands that lacks one.
func (q *parser) interval(i int, b *bounds, at place) (Interval, error) {
	if declared, ok := q.inputs[i]; ok {
		at = declared
	}
	switch {
	case b == nil || b.lo == nil:
		return Interval{}, at.errorf("input %s has no lower bound in every case; bound it", q.element(i))
	case b.hi == nil:
		return Interval{}, at.errorf("input %s has no upper bound in every case; bound it", q.element(i))
	}
	order := b.lo.Cmp(b.hi)
	if order > 0 || order == 0 && (b.loStrict || b.hiStrict) {
		later, other := b.hiAt, b.loAt
		if cmp.Or(cmp.Compare(b.loAt.line, b.hiAt.line), cmp.Compare(b.loAt.column, b.hiAt.column)) > 0 {
			later, other = b.loAt, b.hiAt
		}
		return Interval{}, later.errorf("%w: %s has to be at least %s and at most %s (line %d:%d); mend the bounds",
			errEmpty, q.element(i), short(b.lo), short(b.hi), other.line, other.column)
	}
	return Interval{b.lo, b.hi, b.loStrict, b.hiStrict}, nil
}

// short writes a number for messages.
func short(r *big.Rat) string { return new(big.Float).SetPrec(64).SetRat(r).Text('g', 12) }

// expand makes the cases of the query. end is the end of the file. What is chosen may contradict what else
// is or what is common: such boxes are left out, unless they are all.
func (q *parser) expand(end place) error {
	if q.network != nil {
		end = *q.network
	}
	every, err := q.chosen()
	if err != nil {
		return err
	}
	base := make([]Interval, q.query.Inputs())
	known := make([]bool, len(base))
	cases := map[string]int{}
	var empty error
	var own [][]*Set // by case, the union of which is unsafe beside what is common; nil: everything
	for _, alternative := range every {
		var c conjunction
		at := end
		for _, e := range alternative {
			at = alternative[0].place
			if err := c.add(q, e); err != nil {
				return err
			}
		}
		key := c.key()
		k, seen := cases[key]
		if !seen {
			box, err := q.box(base, known, c.bounds, at)
			if k = len(q.query.Cases); errors.Is(err, errEmpty) {
				k, empty = -1, cmp.Or(empty, err)
			} else if err != nil {
				return err
			} else {
				q.query.Cases, own = append(q.query.Cases, Case{Box: box}), append(own, []*Set{})
			}
			cases[key] = k
		}
		if k < 0 {
			continue
		}
		if len(c.sets)+len(q.common.sets) == 0 {
			return at.errorf("this says nothing about the outputs: every input of the box would be a counterexample; assert what is unsafe")
		}
		if len(c.sets) == 0 {
			own[k] = nil
		} else if own[k] != nil {
			own[k] = append(own[k], all(c.sets))
		}
	}
	if len(own) == 0 {
		return empty
	}
	q.unsafe(own)
	for _, r := range q.relations {
		q.query.Relations = append(q.query.Relations, &r.Constraint)
	}
	return nil
}

// unsafe sets what is unsafe in each case: what is common and, unless that is everything, the union
// of sets of its own.
func (q *parser) unsafe(own [][]*Set) {
	var common *Set
	if len(q.common.sets) > 0 {
		common = all(q.common.sets)
	}
	for k, sets := range own {
		of := &q.query.Cases[k].Unsafe
		if *of = common; sets == nil {
			continue
		}
		either := sets[0]
		if len(sets) > 1 {
			either = &Set{Or: true, Of: sets}
		}
		if *of = either; common != nil {
			*of = &Set{Of: []*Set{common, either}}
		}
	}
}

// key tells conjunctions apart by their bounds of inputs.
func (c *conjunction) key() string {
	var text strings.Builder
	for _, i := range slices.Sorted(maps.Keys(c.bounds)) {
		b := c.bounds[i]
		fmt.Fprintf(&text, "%d:%v:%v:%v:%v;", i, b.lo, b.loStrict, b.hi, b.hiStrict)
	}
	return text.String()
}

// box is the common bounds cut by own ones and by relations. base holds the common intervals where known.
func (q *parser) box(base []Interval, known []bool, own map[int]*bounds, at place) ([]Interval, error) {
	if len(q.relations) > 0 {
		return q.relatedBox(own, at)
	}
	box := make([]Interval, len(base))
	for i := range box {
		var err error
		if own[i] != nil {
			box[i], err = q.interval(i, q.common.bounds[i].both(own[i]), at)
		} else if !known[i] {
			base[i], err = q.interval(i, q.common.bounds[i], at)
			known[i] = err == nil
		}
		if err != nil {
			return nil, err
		}
		if own[i] == nil {
			box[i] = base[i]
		}
	}
	return box, nil
}
