package record

import (
	"fmt"
	"math/big"
	"strconv"

	"psafe/host/check/law"
	"psafe/host/read/property"
)

// Statement is the text by which a record states an interval.
const Statement = "statistical: this input's interval holds with the stated confidence over the seeded draws, not certified"

// consistentStatistical checks what drawn networks say of an input.
func (r *Record) consistentStatistical() error { return r.Statistical.consistent(Statement) }

// loopStatement is the text by which the result of a loop states one.
const loopStatement = "statistical: upper holds with the stated confidence over the seeded draws, not certified"

// OfLoop checks what drawn networks say of a loop, of which none is proved safe, beside what is proved of it.
func (s *Interval) OfLoop(lower *Decimal) error {
	if s != nil && s.Safe != 0 {
		return fmt.Errorf("statistical: %d networks are safe, which nothing shows", s.Safe)
	}
	if err := s.consistent(loopStatement); err != nil {
		return err
	}
	return s.contradicts(lower, nil)
}

// consistent checks what an interval of drawn networks says of itself: that its limits are
// those of Clopper and Pearson for the counts, or wider, each side at half of what the
// confidence leaves. Which networks were drawn and decided, a record does not say.
func (s *Interval) consistent(statement string) error {
	switch {
	case s == nil:
		return nil
	case !(0 <= s.Safe && 0 <= s.Unsafe && s.Samples >= 1 && s.Safe <= s.Samples-s.Unsafe):
		return fmt.Errorf("statistical: %d safe and %d unsafe of %d networks", s.Safe, s.Unsafe, s.Samples)
	case s.Statement != statement:
		return fmt.Errorf("statistical: the statement is %.80q", s.Statement)
	}
	return limits("statistical", s.Safe, s.Unsafe, s.Samples, s.Confidence, s.Lower, s.Upper)
}

// limits checks that those of an interval are the ones of Clopper and Pearson for the counts, or wider.
func limits(field string, safe, unsafe, samples int, level, lower, upper *Decimal) error {
	switch {
	case level == nil || lower == nil || upper == nil:
		return fmt.Errorf("%s: confidence, lower or upper is missing", field)
	case lower.Cmp(property.Exact{}) < 0 || lower.Cmp(upper.Exact) > 0 || upper.Cmp(property.MustExact("1")) > 0:
		return fmt.Errorf("%s: from %v to %v is no interval of a probability", field, lower, upper)
	}
	confidence, err := strconv.ParseFloat(level.text, 64)
	if err != nil || !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("%s: confidence %v is not between 0 and 1", field, level)
	}
	alpha := new(big.Rat).Sub(big.NewRat(1, 1), law.ExactRat(confidence))
	alpha.Quo(alpha, big.NewRat(2, 1))
	if !law.TailAtMost(safe, samples, lower.Rat(), alpha) {
		return fmt.Errorf("%s: lower is %v, which is too much for %d safe of %d networks", field, lower, safe, samples)
	}
	if !law.TailAtMost(unsafe, samples, new(big.Rat).Sub(big.NewRat(1, 1), upper.Rat()), alpha) {
		return fmt.Errorf("%s: upper is %v, which is too little for %d unsafe of %d networks", field, upper, unsafe, samples)
	}
	return nil
}

// parentStatement is the text by which a record states an interval for the posterior behind a finite set.
const parentStatement = "statistical: this input's interval for the posterior that the networks were drawn from holds with the stated confidence if the draws are independent, not certified"

// consistentParent checks an interval for the posterior behind a finite set: that its limits are
// those of Clopper and Pearson for the networks that the record counts, which are proved, or wider.
func (r *Record) consistentParent() error {
	p := r.Parent
	switch {
	case p == nil:
		return nil
	case r.Method != "samples":
		return fmt.Errorf("parent: method %s has none", r.Method)
	case p.Statement != parentStatement:
		return fmt.Errorf("parent: the statement is %.80q", p.Statement)
	}
	return limits("parent", *r.SafeSamples, *r.UnsafeSamples, r.Samples, p.Confidence, p.Lower, p.Upper)
}

// contradicts returns an error if a certified bound lies beyond the interval that the counts give
// at confidence 1 - 1e-9: certify lets no such record leave.
func (s *Interval) contradicts(lower, upper *Decimal) error {
	if s == nil {
		return nil
	}
	surely := big.NewRat(5, 1e10)
	if s.Unsafe > 0 && law.TailAtMost(s.Unsafe, s.Samples, new(big.Rat).Sub(big.NewRat(1, 1), lower.Rat()), surely) {
		return fmt.Errorf("p_lower: it is %v, which %d unsafe of %d drawn networks contradict", lower, s.Unsafe, s.Samples)
	}
	if s.Safe > 0 && law.TailAtMost(s.Safe, s.Samples, upper.Rat(), surely) {
		return fmt.Errorf("p_upper: it is %v, which %d safe of %d drawn networks contradict", upper, s.Safe, s.Samples)
	}
	return nil
}
