package vnnlib

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

const (
	// maxAlternatives bounds the disjunctive normal form of a query, maxWritten the
	// comparisons written on the way to it, maxCells the intervals of all boxes together.
	maxAlternatives = 1 << 14
	maxWritten      = 1 << 22
	maxCells        = 1 << 23
)

// expression is a disjunction or conjunction of expressions, or of comparisons.
type expression struct {
	place
	or    bool
	atoms []atom // all of which hold; kids is nil then
	kids  []*expression
}

// conjunction is what holds together: bounds of inputs and constraints of outputs.
type conjunction struct {
	bounds map[int]*bounds
	rows   Polytope
}

// bounds are those of one input, nil where there is none.
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

// conjoin takes what is asserted: what contains no disjunction becomes common at once.
func (q *parser) conjoin(e *expression) error {
	if e.or {
		q.choices = append(q.choices, e)
		return nil
	}
	for _, a := range e.atoms {
		if err := q.common.add(q, a); err != nil {
			return err
		}
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
		e.kids = append(e.kids, kid)
	}
	if len(e.kids) == 1 {
		return e.kids[0], nil
	}
	return e, nil
}

// expander makes a disjunction of conjunctions.
type expander struct{ written int }

// alternatives of the expression, each a list of comparisons.
func (x *expander) alternatives(e *expression) ([][]*atom, error) {
	if e.or {
		var all [][]*atom
		for _, k := range e.kids {
			more, err := x.alternatives(k)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
			if len(all) > maxAlternatives {
				return nil, tooMany(e.place)
			}
		}
		return all, nil
	}
	own := make([]*atom, len(e.atoms))
	for i := range e.atoms {
		own[i] = &e.atoms[i]
	}
	all := [][]*atom{own}
	for _, k := range e.kids {
		more, err := x.alternatives(k)
		if err != nil {
			return nil, err
		}
		if all, err = x.product(e.place, all, more); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// product joins every alternative of a with every one of b.
func (x *expander) product(at place, a, b [][]*atom) ([][]*atom, error) {
	if len(a) > maxAlternatives/len(b) {
		return nil, tooMany(at)
	}
	if len(b) == 1 && len(a) == 1 { // the usual case, of which long lists are made
		x.written += len(b[0])
		return [][]*atom{append(a[0], b[0]...)}, x.check(at)
	}
	var all [][]*atom
	for _, s := range a {
		for _, t := range b {
			if x.written += len(s) + len(t); x.written > maxWritten {
				return nil, x.check(at)
			}
			all = append(all, slices.Concat(s, t))
		}
	}
	return all, nil
}

func (x *expander) check(at place) error {
	if x.written > maxWritten {
		return at.errorf("the query takes more than %d comparisons when its \"or\" are written out; split it", maxWritten)
	}
	return nil
}

func tooMany(at place) error {
	return at.errorf("the query has more than %d alternatives when its \"or\" are written out; split it", maxAlternatives)
}

// add takes a comparison into the conjunction.
func (c *conjunction) add(q *parser, a atom) error {
	if a.output {
		c.rows = append(c.rows, a.Constraint)
		return nil
	}
	// slope x + offset >= 0: x >= -offset/slope or x <= -offset/slope.
	input, slope := a.Terms[0].Output, a.Terms[0].Coef
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
		if b.lo == nil || end.Cmp(b.lo) > 0 || strict && end.Cmp(b.lo) == 0 {
			b.lo, b.loStrict, b.loAt = end, strict, at
		}
		return
	}
	if b.hi == nil || end.Cmp(b.hi) < 0 || strict && end.Cmp(b.hi) == 0 {
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
		return Interval{}, later.errorf("no input is in this box: %s has to be at least %s and at most %s (line %d:%d); mend the bounds",
			q.element(i), short(b.lo), short(b.hi), other.line, other.column)
	}
	return Interval{b.lo, b.hi, b.loStrict, b.hiStrict}, nil
}

// short writes a number for messages.
func short(r *big.Rat) string { return new(big.Float).SetPrec(64).SetRat(r).Text('g', 12) }

// expand makes the cases of the query. end is the end of the file.
func (q *parser) expand(end place) error {
	if q.network != nil {
		end = *q.network
	}
	var x expander
	all := [][]*atom{nil}
	for _, e := range q.choices {
		more, err := x.alternatives(e)
		if err == nil {
			all, err = x.product(e.place, all, more)
		}
		if err != nil {
			return err
		}
	}
	base := make([]Interval, q.query.Input.Size)
	known := make([]bool, len(base))
	cases := map[string]int{}
	for _, alternative := range all {
		var own conjunction
		at := end
		for _, a := range alternative {
			at = alternative[0].place
			if err := own.add(q, *a); err != nil {
				return err
			}
		}
		if len(own.rows)+len(q.common.rows) == 0 {
			return at.errorf("this says nothing about the outputs: every input of the box would be a counterexample; assert what is unsafe")
		}
		key := own.key()
		k, seen := cases[key]
		if !seen {
			box, err := q.box(base, known, own.bounds, at)
			if err != nil {
				return err
			}
			if k = len(q.query.Cases); (k+1)*len(base) > maxCells && k > 0 {
				return at.errorf("the query has more than %d bounds in all its input boxes; split it", maxCells)
			}
			cases[key] = k
			q.query.Cases = append(q.query.Cases, Case{Box: box})
		}
		if x.written += len(q.common.rows); x.written > maxWritten {
			return x.check(at)
		}
		of := &q.query.Cases[k]
		of.Unsafe = append(of.Unsafe, slices.Concat(q.common.rows, own.rows))
	}
	return nil
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

// box is the common bounds cut by own ones. base holds the common intervals where known.
func (q *parser) box(base []Interval, known []bool, own map[int]*bounds, at place) ([]Interval, error) {
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
