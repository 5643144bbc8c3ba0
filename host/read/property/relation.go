package property

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"psafe/internal/nearest"
)

// Relation says what a second input x' is for each x of T, and what is asked of (f(x), f(x')), the list of outputs of
// one network at both. x' is x with numbers u in it: see posterior.WithPair for At and Adds. Or it is of two networks
// at one x, of (f(x), g(x)), and At is empty (ReadComparison).
type Relation struct {
	At   []int
	Adds bool
	// lo and hi are the ends of each u, in the units of the data, where it is added; what is put in the place of an
	// input is what T has for it.
	lo, hi Decimal
	// safe is what is asked, nil if the relation only says what x' is.
	safe *Safe
	// inputs are those of the network, outputs those at both inputs together.
	inputs, outputs int
}

// The words of relations: step, swap and near say what x' is, and others what is asked, too.
const (
	relationMonotone  = "monotone"
	relationFalling   = "falling"
	relationFair      = "fair"
	relationLipschitz = "lipschitz"
	relationSameClass = "same_class"
	relationStep      = "step"
	relationSwap      = "swap"
	relationNear      = "near"
	relationWithin    = "within"
)

var relationWords = []string{relationMonotone, relationFalling, relationFair, relationLipschitz, relationSameClass, relationStep, relationSwap, relationNear, relationWithin}

// ReadRelation reads what --relation says, for a network with so many inputs and outputs; nil for no text:
//
//	monotone:J:[LO,HI]   x' is x with d from LO to HI >= 0 added to input J, and no output is less at x'
//	falling:J:[LO,HI]    the same, and no output is more
//	fair:F:TOL           x' is x with the inputs F, listed as points are, anywhere in T, and no output differs by more than TOL
//	fair:F:same_class    the same, and one class has a largest output at both
//	lipschitz:L:R        x' is x with numbers of at most R in size added to each input, and no output differs by more than L R
//	same_class:R         the same, and one class has a largest output at both
//	step:J:[LO,HI]       x' alone: so do swap:F, as fair, and near:R, as same_class
//
// Errors are one line that begins with the flag.
func ReadRelation(text string, inputs, outputs int) (*Relation, error) {
	if text == "" {
		return nil, nil
	}
	r := &Relation{inputs: inputs, outputs: 2 * outputs}
	kind, rest, _ := strings.Cut(text, ":")
	var err error
	switch kind {
	case relationMonotone, relationFalling, relationStep:
		err = r.readStep(kind, rest)
	case relationFair, relationSwap:
		err = r.readSwap(kind, rest)
	case relationLipschitz, relationSameClass, relationNear:
		err = r.readNear(kind, rest)
	case relationWithin:
		err = errors.New("is of two networks: add --other FILE, or write lipschitz:L:R or fair:F:TOL")
	default:
		err = fmt.Errorf("is none; write monotone:J:[LO,HI], falling:J:[LO,HI], fair:F:TOL, fair:F:same_class, lipschitz:L:R or same_class:R, or step:J:[LO,HI], swap:F or near:R with a --property of both outputs%s", nearest.Hint(kind, relationWords))
	}
	if err != nil {
		return nil, fmt.Errorf("--relation %s: %w", quote(text), err)
	}
	return r, nil
}

// ReadComparison reads what --relation says beside --other, of two networks with so many inputs and outputs at the same
// x: within:TOL, no output differs by more than TOL, same_class, one class has a largest output of both, or nothing.
// Errors are one line that begins with the flag.
func ReadComparison(text string, inputs, outputs int) (*Relation, error) {
	r := &Relation{inputs: inputs, outputs: 2 * outputs}
	if text == "" {
		return r, nil
	}
	err := fmt.Errorf("is none of two networks at one input; beside --other write %s:TOL or %s, or a --property of both outputs", relationWithin, relationSameClass)
	if by, ok := strings.CutPrefix(text, relationWithin+":"); ok {
		err = r.asksWithin(by)
	} else if text == relationSameClass {
		err = r.asksClass()
	}
	if err != nil {
		return nil, fmt.Errorf("--relation %s: %w", quote(text), err)
	}
	return r, nil
}

// readStep reads the input that grows and by how much.
func (r *Relation) readStep(kind, rest string) error {
	input, by, _ := strings.Cut(rest, ":")
	var err error
	if r.At, err = ParseIndex(input, r.inputs, "input"); err != nil {
		return err
	}
	if len(r.At) != 1 {
		return fmt.Errorf("%d inputs are named; name the one that moves", len(r.At))
	}
	sides, err := parseSides(by)
	switch {
	case by == "":
		return fmt.Errorf("how far the input moves is missing; write %s:J:[LO,HI]", kind)
	case err != nil:
		return fmt.Errorf("%s: pair %w", quote(by), err)
	case len(sides) != 1 || sides[0].lo == nil || sides[0].hi == nil:
		return fmt.Errorf("%s is not how far the input moves; write [LO,HI], both finite", quote(by))
	}
	r.Adds, r.lo, r.hi = true, *sides[0].lo, *sides[0].hi
	if kind == relationStep {
		return nil
	}
	if r.lo.Lo < 0 {
		return fmt.Errorf("%s begins below 0; an input that grows has steps from 0 on", quote(by))
	}
	return r.asks(r.outputs/2, func(m int) Safe { return ordering(m, kind == relationMonotone) })
}

// readSwap reads the inputs that are free, and the tolerance.
func (r *Relation) readSwap(kind, rest string) (err error) {
	inputs, by := rest, ""
	if at := strings.LastIndex(rest, ":"); kind == relationFair {
		if at < 0 {
			return fmt.Errorf("the tolerance is missing; write %s:F:TOL, or %s:F:%s", kind, kind, relationSameClass)
		}
		inputs, by = rest[:at], rest[at+1:]
	}
	if r.At, err = ParseIndex(inputs, r.inputs, "input"); err != nil || kind == relationSwap {
		return err
	}
	if by == relationSameClass {
		return r.asksClass()
	}
	return r.asksWithin(by)
}

// readNear reads how far x' may be from x, and the slope.
func (r *Relation) readNear(kind, rest string) error {
	slope, by := "", rest
	if kind == relationLipschitz {
		var two bool
		if slope, by, two = strings.Cut(rest, ":"); !two {
			return fmt.Errorf("the distance R is missing; write %s:L:R", kind)
		}
	}
	var err error
	if r.hi, err = NewDecimal(by); err != nil {
		return err
	}
	if r.hi.Lo < 0 {
		return fmt.Errorf("%s is below 0; a distance is at least 0", quote(by))
	}
	r.Adds, r.lo = true, Decimal{0 - r.hi.Hi, 0 - r.hi.Lo}
	for j := range r.inputs {
		r.At = append(r.At, j)
	}
	switch kind {
	case relationSameClass:
		return r.asksClass()
	case relationLipschitz:
		return r.asksWithin(slope, by)
	}
	return nil
}

// asks sets what is asked, of so many rows.
func (r *Relation) asks(rows int, of func(m int) Safe) error {
	if err := fitsMemory(rows, r.outputs); err != nil {
		return err
	}
	s := of(r.outputs / 2)
	r.safe = &s
	return nil
}

// asksClass asks that one class has a largest output at both inputs.
func (r *Relation) asksClass() error {
	m := r.outputs / 2
	if err := atLeastTwo(relationSameClass, m); err != nil {
		return err
	}
	return r.asks(2*m*(m-1), sameClass)
}

// asksWithin asks that outputs differ by at most the product of numbers.
func (r *Relation) asksWithin(texts ...string) error {
	product := big.NewRat(1, 1)
	for _, text := range texts {
		number, err := parseRat(text)
		if err != nil {
			return err
		}
		if number.Sign() < 0 {
			return fmt.Errorf("%s is below 0; outputs differ by at least 0", quote(text))
		}
		product.Mul(product, number)
	}
	most, err := enclose(product, strings.Join(texts, " times "))
	if err != nil {
		return err
	}
	return r.asks(r.outputs, func(m int) Safe { return within(m, most) })
}

// ordering is the set where no output is less at x', or none is more.
func ordering(m int, rises bool) Safe {
	s := Safe{Any: [][]int{nil}}
	for i := range m {
		more, less := m+i, i
		if !rises {
			more, less = less, more
		}
		s.Any[0] = append(s.Any[0], i)
		s.Rows = append(s.Rows, difference(more, less, 2*m))
	}
	return s
}

// within is the set where no output differs by more than most.
func within(m int, most Decimal) Safe {
	s := Safe{Any: [][]int{nil}}
	for i := range 2 * m {
		row := difference(i, (m+i)%(2*m), 2*m)
		row.D, row.DHi = most.Lo, most.Hi
		s.Any[0] = append(s.Any[0], i)
		s.Rows = append(s.Rows, row)
	}
	return s
}

// sameClass is the set where one class has a largest output at x and at x'.
func sameClass(m int) Safe {
	var s Safe
	for c := range m {
		var all []int
		for _, first := range []int{0, m} {
			for j := range m {
				if j != c {
					all = append(all, len(s.Rows))
					s.Rows = append(s.Rows, difference(first+c, first+j, 2*m))
				}
			}
		}
		s.Any = append(s.Any, all)
	}
	return s
}

// Safe is what is asked of both outputs; ok is false where the relation says only what x' is, as none does.
func (r *Relation) Safe() (s Safe, ok bool) {
	if r == nil || r.safe == nil {
		return Safe{}, false
	}
	return *r.safe, true
}

// Shape is how many inputs and outputs what is certified has, for a network with so many.
func (r *Relation) Shape(inputs, outputs int) (int, int) {
	if r == nil {
		return inputs, outputs
	}
	return inputs + len(r.At), r.outputs
}

// Extend takes a task about x, in the network's units, to the pairs (x, u): T and the points in it get coordinates of
// u, which n divides by the standard deviations of the inputs. Without a relation it stays as it is.
func (r *Relation) Extend(t *Task, n *Norm) error {
	switch {
	case r == nil:
		return nil
	case t.Ball != nil:
		return errors.New("--relation and --other are for boxes of inputs, not for --norm 1 or 2: leave one of them out")
	case t.Label >= 0:
		return errors.New("--relation and --other are about two lists of outputs, and the property about one class: write rows of both outputs, or use same_class")
	case !r.Adds && len(r.At) > 0 && len(t.T) != 1:
		return fmt.Errorf("--relation fair and swap are for one box of inputs, and T has %d: write a property for each", len(t.T))
	}
	if err := t.Check(r.inputs, r.outputs); err != nil {
		return err
	}
	unit := &Norm{std: Vector{all: Decimal{1, 1}}}
	if n != nil {
		unit.std = n.std
	}
	outer, inner := make([]Box, len(t.T)), make([]Box, len(t.Inner))
	for b, box := range t.T {
		outer[b] = r.extended(box, func(j int) (lo, hi float64) { return unit.lower(j, r.lo.Lo), unit.upper(j, r.hi.Hi) })
	}
	for b, box := range t.Inner {
		if box.Lo != nil {
			inner[b] = r.extended(box, func(j int) (lo, hi float64) { return unit.upper(j, r.lo.Hi), unit.lower(j, r.hi.Lo) })
		}
	}
	t.T, t.Inner = outer, inner
	return t.Check(r.Shape(r.inputs, r.outputs))
}

// extended is a box with coordinates of u: those of the inputs in whose place it stands, or the ends that add gives.
func (r *Relation) extended(box Box, add func(j int) (lo, hi float64)) Box {
	out := Box{Lo: append([]float64{}, box.Lo...), Hi: append([]float64{}, box.Hi...)}
	for _, j := range r.At {
		lo, hi := box.Lo[j], box.Hi[j]
		if r.Adds {
			lo, hi = add(j)
		}
		out.Lo, out.Hi = append(out.Lo, lo), append(out.Hi, hi)
	}
	return out
}
