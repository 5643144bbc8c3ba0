package vnnlib

import (
	"errors"
	"math/big"
	"slices"
)

// variable is one number of the network: input or output i, flattened.
type variable struct {
	output bool
	i      int
}

// sum is constant + sum of coefficients times variables. No coefficient is 0.
type sum struct {
	constant *big.Rat
	terms    map[variable]*big.Rat
}

func constant(c *big.Rat) *sum { return &sum{constant: c} }

// add adds factor * t to s.
func (w *worker) addTo(s, t *sum, factor *big.Rat) error {
	c, err := w.mul(t.constant, factor)
	if err != nil {
		return err
	}
	if s.constant, err = w.add(s.constant, c); err != nil {
		return err
	}
	if s.terms == nil && len(t.terms) > 0 {
		s.terms = make(map[variable]*big.Rat, len(t.terms))
	}
	for v, a := range t.terms {
		if a, err = w.mul(a, factor); err != nil {
			return err
		}
		if old := s.terms[v]; old != nil {
			if a, err = w.add(old, a); err != nil {
				return err
			}
		}
		if s.terms[v] = a; a.Sign() == 0 {
			delete(s.terms, v)
		}
	}
	return nil
}

// sum reads an arithmetic expression, which must be linear.
func (q *parser) sum(f *form) (*sum, error) {
	if f.kind == 'a' {
		return q.leaf(f)
	}
	if f.kind != '(' || len(f.items) == 0 || f.items[0].kind != 'a' {
		return nil, f.errorf("expected a number, a variable or (+ ...), (- ...), (* ...), found %s", f.describe())
	}
	op := f.items[0].text
	if op != "+" && op != "-" && op != "*" {
		return nil, f.errorf("%s is none of the operators +, - and * of linear expressions", f.describe())
	}
	if len(f.items) < 2 {
		return nil, f.errorf("(%s) has no operand; give at least one", op)
	}
	total := constant(new(big.Rat))
	if op == "*" {
		total.constant = big.NewRat(1, 1)
	}
	for k := 1; k < len(f.items); k++ {
		part, err := q.sum(&f.items[k])
		if err != nil {
			return nil, err
		}
		if err := q.combine(op, total, part, k == 1, k == 1 && len(f.items) > 2); err != nil {
			return nil, f.items[k].errorf("%w", err)
		}
	}
	return total, nil
}

// combine takes the next operand into total.
func (q *parser) combine(op string, total, part *sum, first, more bool) error {
	switch {
	case op == "*":
		return q.times(total, part)
	case op == "+" || first && more: // the first of several operands of "-" is not negated
		return q.addTo(total, part, big.NewRat(1, 1))
	}
	return q.addTo(total, part, big.NewRat(-1, 1))
}

// times multiplies total by part, of which at most one has variables.
func (q *parser) times(total, part *sum) error {
	if len(part.terms) > 0 && len(total.terms) > 0 {
		return errNonLinear
	}
	factor, of := total.constant, part
	if len(total.terms) > 0 {
		factor, of = part.constant, &sum{total.constant, total.terms}
	}
	product := constant(new(big.Rat))
	if factor.Sign() != 0 {
		if err := q.addTo(product, of, factor); err != nil {
			return err
		}
	}
	*total = *product
	return nil
}

// leaf reads a number or a variable.
func (q *parser) leaf(f *form) (*sum, error) {
	if looksNumeric(f.text) && !f.indexed {
		n, err := parseNumber(f.text)
		if err != nil {
			return nil, f.errorf("%s %w", quote(f.text), err)
		}
		return constant(n), nil
	}
	v, err := q.variable(f)
	if err != nil {
		return nil, err
	}
	return &sum{constant: new(big.Rat), terms: map[variable]*big.Rat{v: big.NewRat(1, 1)}}, nil
}

// atom is one comparison.
type atom struct {
	place
	Constraint
	// inputs is how many of its terms are of inputs. Of one term, of an input, it is a bound of that;
	// of more, all of inputs, a relation between them.
	inputs int
}

func (a *atom) bound() bool { return a.inputs == 1 && len(a.Terms) == 1 }

func (a *atom) relation() bool { return a.inputs > 1 && len(a.Terms) == a.inputs }

// compare reads (op a b) as one comparison, or two for an equation.
func (q *parser) compare(f *form) ([]atom, error) {
	op := f.items[0].text
	if len(f.items) != 3 {
		return nil, f.errorf("(%s ...) compares two expressions, found %d; write one comparison for each pair", op, len(f.items)-1)
	}
	if op == "!=" {
		return nil, f.errorf("!= is not supported: write (or (< a b) (> a b))")
	}
	var sides [2]*sum
	for k := range sides {
		var err error
		if sides[k], err = q.sum(&f.items[1+k]); err != nil {
			return nil, err
		}
	}
	var atoms []atom
	add := func(more, less *sum, strict bool) error { // more - less >= 0
		d := constant(new(big.Rat))
		err := q.addTo(d, more, big.NewRat(1, 1))
		if err == nil {
			err = q.addTo(d, less, big.NewRat(-1, 1))
		}
		if err != nil {
			return f.errorf("%w", err)
		}
		a, err := q.newAtom(f, d, strict)
		atoms = append(atoms, a)
		return err
	}
	var err error
	if op != ">=" && op != ">" {
		err = add(sides[1], sides[0], op == "<")
	}
	if err == nil && op != "<=" && op != "<" {
		err = add(sides[0], sides[1], op == ">")
	}
	return atoms, err
}

var errNonLinear = errors.New("this product of variables is not linear; psafe supports linear expressions")

// atomBytes and termBytes are about what a comparison takes, and each of its terms.
const atomBytes, termBytes = 400, 150

// newAtom is the comparison s >= 0 or s > 0.
func (q *parser) newAtom(f *form, s *sum, strict bool) (atom, error) {
	a := atom{place: f.place, Constraint: Constraint{Offset: s.constant, Strict: strict}}
	if err := q.held.Take(atomBytes + termBytes*int64(len(s.terms))); err != nil {
		return a, f.errorf("comparisons: %w", err)
	}
	for v, c := range s.terms {
		if a.Terms = append(a.Terms, Term{!v.output, v.i, c}); !v.output {
			a.inputs++
		}
	}
	if len(a.Terms) == 0 {
		return a, f.errorf("this comparison has no variable left: it is always true or always false; remove or mend it")
	}
	slices.SortFunc(a.Terms, func(a, b Term) int {
		if a.Input != b.Input {
			return map[bool]int{false: -1, true: 1}[a.Input]
		}
		return a.Of - b.Of
	})
	return a, nil
}
