package record

import (
	"errors"
	"fmt"

	"psafe/host/read/property"
)

// What records say of the decision of the posterior predictive (docs/theory.md, section 9).

// consistentDecision returns what of a decision contradicts itself or the rest of the record.
func (r *Record) consistentDecision() error {
	d := r.Decision
	if d == nil {
		return nil
	}
	if d.Lower == nil || d.RivalUpper == nil || d.Gap == nil || d.Vote == nil {
		return errors.New("decision: lower, rival_upper, gap or vote is null")
	}
	zero, one, minus := property.Exact{}, property.MustExact("1"), property.MustExact("-1")
	for _, of := range []struct {
		field string
		is    *Decimal
		least property.Exact
	}{{"lower", d.Lower, zero}, {"rival_upper", d.RivalUpper, zero}, {"gap", d.Gap, minus}, {"vote", d.Vote, zero}, {"rival_gap", d.RivalGap, zero}} {
		if of.is != nil && (of.is.Cmp(of.least) < 0 || of.is.Cmp(one) > 0) {
			return fmt.Errorf("decision: %s is %v", of.field, of.is)
		}
	}
	for k, u := range d.ClassUpper {
		if u == nil || u.Cmp(zero) < 0 || u.Cmp(one) > 0 {
			return fmt.Errorf("decision: class_upper of class %d is %v", k, u)
		}
	}
	proof, err := Part[DecisionProof]("decision", r.Proof.Decision)
	switch {
	case err != nil:
		return err
	case d.Verdict != d.verdict():
		return fmt.Errorf("decision: the verdict is %.40q, the bounds make it %q", d.Verdict, d.verdict())
	case d.Gap.Cmp(zero) > 0 && d.RivalGap != nil:
		return fmt.Errorf("decision: gap %v and rival_gap %v contradict each other", d.Gap, d.RivalGap)
	case r.Template != "" || r.Eps == "": // a property of a file may have any name, and be about anything
		return errors.New("decision: the property is that of a file: decisions are of a class around a point")
	case !property.IsClass(r.Property) || r.Label == nil:
		return fmt.Errorf("decision: the property is %.40q, not that one class is the largest output", r.Property)
	case (d.RivalGap != nil) != (proof.Witness != nil) || (proof.Rival != nil) != (proof.Witness != nil) || proof.WitnessTau != 0 && proof.Witness == nil:
		return errors.New("decision: rival_gap is there without a witness and a rival in the proof, or these without rival_gap")
	case (proof.Reference != nil) != (d.Action != nil) || (proof.WitnessReference != nil) != (d.Action != nil && d.RivalGap != nil):
		return errors.New("decision: the proof has classes of reference without an action, or lacks them")
	case (proof.Phases != nil) != (proof.Margin != 0) || (proof.Phases != nil) != (proof.PhasesTau != 0) || proof.Margin < 0 || proof.Phases != nil && d.Action != nil:
		return errors.New("decision: the proof has phases without a margin above 0 and a tau, or one of these without phases, or with an action")
	case d.DrawnLower != nil && (r.Statistical == nil || d.DrawnLower.Cmp(zero) < 0 || d.DrawnLower.Cmp(one) > 0):
		return fmt.Errorf("decision: drawn_lower is %v, and statistical is there: %v", d.DrawnLower, r.Statistical != nil)
	case d.RivalGap != nil && !(d.RivalGap.Cmp(zero) > 0):
		return fmt.Errorf("decision: rival_gap is %v, which claims nothing", d.RivalGap)
	}
	return nil
}
