package record

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"psafe/host/check/law"
	"psafe/host/read/property"
)

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
	case p.Confidence == nil || p.Lower == nil || p.Upper == nil:
		return errors.New("parent: confidence, lower or upper is missing")
	case p.Lower.Cmp(property.Exact{}) < 0 || p.Lower.Cmp(p.Upper.Exact) > 0 || p.Upper.Cmp(property.MustExact("1")) > 0:
		return fmt.Errorf("parent: from %v to %v is no interval of a probability", p.Lower, p.Upper)
	case p.Statement != parentStatement:
		return fmt.Errorf("parent: the statement is %.80q", p.Statement)
	}
	confidence, err := strconv.ParseFloat(p.Confidence.text, 64)
	if err != nil || !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("parent: confidence %v is not between 0 and 1", p.Confidence)
	}
	alpha := new(big.Rat).Sub(big.NewRat(1, 1), law.ExactRat(confidence))
	alpha.Quo(alpha, big.NewRat(2, 1))
	if !law.TailAtMost(*r.SafeSamples, r.Samples, p.Lower.Rat(), alpha) {
		return fmt.Errorf("parent: lower is %v, which is too much for %d safe of %d networks", p.Lower, *r.SafeSamples, r.Samples)
	}
	if !law.TailAtMost(*r.UnsafeSamples, r.Samples, new(big.Rat).Sub(big.NewRat(1, 1), p.Upper.Rat()), alpha) {
		return fmt.Errorf("parent: upper is %v, which is too little for %d unsafe of %d networks", p.Upper, *r.UnsafeSamples, r.Samples)
	}
	return nil
}
