package record

import (
	"encoding/json"
	"errors"
	"fmt"

	"psafe/host/read/property"
)

// What records say of the decision of the posterior predictive (docs/theory.md, section 9).

// decision holds what a record claims of the class c of its label: pi_c(x) >= Lower, pi_k(x) <= RivalUpper
// and pi_c(x) - pi_k(x) >= Gap for all x of T and all other classes k, that at every x a share of at least
// Vote of the networks says c, and that pi_k(x) - pi_c(x) >= RivalGap at a witness. With an Action, Gap
// and RivalGap are about costs.
type decision struct {
	Verdict    string   `json:"verdict"`
	Lower      *Decimal `json:"lower"`
	RivalUpper *Decimal `json:"rival_upper"`
	Gap        *Decimal `json:"gap"`
	Vote       *Decimal `json:"vote"`
	RivalGap   *Decimal `json:"rival_gap,omitempty"`
	Action     *int     `json:"action,omitempty"`
}

// DecisionProof holds how a record says that a decision was shown.
type DecisionProof struct {
	Cells      []int         `json:"cells,omitempty"`
	Tau        []float64     `json:"tau,omitempty"`
	Rival      *int          `json:"rival,omitempty"`
	Witness    *WitnessProof `json:"witness,omitempty"`
	WitnessTau float64       `json:"witness_tau,omitempty"`

	Reference        *int `json:"reference,omitempty"`
	WitnessReference *int `json:"witness_reference,omitempty"`

	Margin    float64         `json:"margin,omitempty"`
	PhasesTau float64         `json:"phases_tau,omitempty"`
	Phases    json.RawMessage `json:"phases,omitempty"`
}

// ReadDecision is the field decision of a proof.
func (p *proof) ReadDecision() (*DecisionProof, error) {
	var d DecisionProof
	if len(p.Decision) == 0 {
		return &d, nil
	}
	if err := Strictly(p.Decision, &d); err != nil {
		return nil, fmt.Errorf("proof: decision: %w", err)
	}
	if len(d.Cells) > mostTree || len(d.Tau) > mostTree {
		return nil, fmt.Errorf("proof: decision: its lists have %d and %d numbers, the limit is %d", len(d.Cells), len(d.Tau), mostTree)
	}
	return &d, nil
}

// verdict returns what follows from the bounds.
func (d *decision) verdict() string {
	zero := property.Exact{}
	switch {
	case d.Gap.Cmp(zero) > 0:
		return "decision_safe"
	case d.RivalGap != nil && d.RivalGap.Cmp(zero) > 0:
		return "decision_unsafe"
	}
	return "unknown"
}

// Claims reports whether the decision, if there is one, claims a bound.
func (d *decision) Claims() bool {
	return d != nil && !(d.Lower.Is(0) && d.RivalUpper.Is(1) && d.Gap.Is(-1) && d.Vote.Is(0) && d.RivalGap == nil)
}

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
	proof, err := r.Proof.ReadDecision()
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
	case d.RivalGap != nil && !(d.RivalGap.Cmp(zero) > 0):
		return fmt.Errorf("decision: rival_gap is %v, which claims nothing", d.RivalGap)
	}
	return nil
}
