package bound

import (
	"fmt"
	"math"
	"slices"
)

// What Splits proves of the inputs of the box where property rows fail and neurons have given phases.

// Literal takes a neuron of a hidden layer that has phases to be active (Phase > 0) or not (< 0).
type Literal struct {
	Layer, Unit int
	Phase       float64
}

// Assuming is a copy that is about the inputs of the box where some neurons have given phases and none
// of some property rows is positive: what TightenAiming then finds, and every bound after it, holds for
// those only. A bound >= 0 of one of these rows or of a mixture of them, or an interval that
// TightenAiming finds empty, proves that one of the rows is >= 0 wherever the neurons, and those of the
// query, have their phases. What s assumes is assumed too. Release gives its memory back; s must be
// there until then.
func (s *Splits) Assuming(rows []int, held ...Literal) (*Splits, error) {
	if s.turn != nil {
		panic("bound: Splits.Assuming: of Splits that are not alone on the device")
	}
	p := s.pass
	t := &Splits{pass: &pass{Model: p.Model, layers: p.Model.layers, scratch: scratch{owner: p.dev}, query: p.query, off: p.off}, w: s.w, b: s.b,
		turned: slices.Clone(s.turned), bias: slices.Clone(s.bias), off: s.off, below: s.below, assumed: slices.Concat(s.assumed, rows)}
	for k := range s.lo {
		t.lo, t.hi = append(t.lo, slices.Clone(s.lo[k])), append(t.hi, slices.Clone(s.hi[k]))
		t.held = append(t.held, make([]float64, len(s.lo[k])))
		if s.held != nil {
			copy(t.held[k], s.held[k])
		}
	}
	for _, f := range held {
		t.hold(f)
	}
	for k := range s.lo {
		t.pass.hidden = append(t.pass.hidden, p.hidden[k])
		if !p.layers[k].phases() { // what is known of it stays
			continue
		}
		h := &t.pass.hidden[k]
		h.pre, h.z = t.pass.interval(len(s.lo[k])), t.pass.interval(len(s.lo[k]))
		if err := t.replace(k); err != nil {
			t.Release()
			return nil, err
		}
	}
	return t, nil
}

// hold narrows the range of a neuron to its phase. Where nothing is left, no input has it, and the range
// stays a number: any bound is right there.
func (s *Splits) hold(f Literal) {
	if !s.pass.layers[f.Layer].phases() {
		panic(fmt.Sprintf("bound: Splits.Assuming: a phase in layer %d, which has none", f.Layer))
	}
	s.held[f.Layer][f.Unit] = f.Phase
	if lo, hi := &s.lo[f.Layer][f.Unit], &s.hi[f.Layer][f.Unit]; f.Phase > 0 {
		*lo = max(*lo, 0)
		*hi = max(*hi, *lo)
	} else if f.Phase < 0 {
		*hi = min(*hi, 0)
		*lo = min(*lo, *hi)
	}
}

// Aim is a hidden neuron that a row of TightenAiming bounds, from above if Upper.
type Aim struct {
	Layer, Unit int
	Upper       bool
}

// TightenAiming intersects pre-activations with what the answer to a query says of them: each row
// is an assumed one, or a mixture of those, with no phases but those that are assumed, with a Beta > 0
// at its aim, or < 0 where that is bounded from above, and 0 at all others without a phase. As the row is
// at most 0, Beta zeta is at least the bound. It says whether an interval is empty: then there are no
// such inputs.
func (s *Splits) TightenAiming(q *SplitQuery, aims []Aim, bounds []float64) (empty bool, err error) {
	r, prec := len(aims), s.Precision()
	others := 0
	for l := range q.Layer {
		for at, f := range q.Phase[l] {
			a := aims[at%r]
			aimed := a.Layer == l && a.Unit == at/r
			if f != 0 && (aimed || f != s.held[l][at/r]) || f == 0 && q.Beta[l][at] != 0 && !aimed {
				others++
			}
		}
	}
	if others > 0 {
		panic(fmt.Sprintf("bound: Splits.TightenAiming: %d phases and multipliers beside the aims", others))
	}
	for c, a := range aims {
		if q.Layer != len(s.lo) || !s.assumes(q, c) {
			panic("bound: Splits.TightenAiming: another row than the assumed ones")
		}
		beta := q.Beta[a.Layer][a.Unit*r+c]
		if !(math.Abs(beta) > 0) || a.Upper != (beta < 0) {
			continue
		}
		v := bounds[c] / beta
		if math.IsNaN(v) { // something has overflowed
			continue
		}
		if lo, hi := &s.lo[a.Layer][a.Unit], &s.hi[a.Layer][a.Unit]; a.Upper {
			*hi = min(*hi, prec.RoundHi(math.Nextafter(v, math.Inf(1))))
			empty = empty || *lo > *hi
		} else {
			*lo = max(*lo, prec.RoundLo(math.Nextafter(v, math.Inf(-1))))
			empty = empty || *lo > *hi
		}
	}
	for k := 0; k < len(s.lo) && !empty; k++ {
		if s.pass.layers[k].phases() {
			if err := s.replace(k); err != nil {
				return false, err
			}
		}
	}
	return empty, nil
}

// assumes reports whether row c of a query is not positive by what is assumed.
func (s *Splits) assumes(q *SplitQuery, c int) bool {
	if q.Theta == nil {
		return slices.Contains(s.assumed, q.Rows[c])
	}
	for i, f := range q.Theta[c] {
		if f > 0 && !slices.Contains(s.assumed, i) {
			return false
		}
	}
	return true
}
