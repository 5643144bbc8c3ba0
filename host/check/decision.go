package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// What records say of the decision of the posterior predictive (docs/theory.md, section 9).

// decision holds what a record claims of the class c of its label: pi_c(x) >= Lower, pi_k(x) <= RivalUpper
// and pi_c(x) - pi_k(x) >= Gap for all x of T and all other classes k, that at every x a share of at least
// Vote of the networks says c, and that pi_k(x) - pi_c(x) >= RivalGap at a witness. With an Action, Gap
// and RivalGap are about costs.
type decision struct {
	Verdict    string   `json:"verdict"`
	Lower      *decimal `json:"lower"`
	RivalUpper *decimal `json:"rival_upper"`
	Gap        *decimal `json:"gap"`
	Vote       *decimal `json:"vote"`
	RivalGap   *decimal `json:"rival_gap,omitempty"`
	Action     *int     `json:"action,omitempty"`
}

// decisionProof holds how a record says that a decision was shown.
type decisionProof struct {
	Cells      []int         `json:"cells,omitempty"`
	Tau        []float64     `json:"tau,omitempty"`
	Rival      *int          `json:"rival,omitempty"`
	Witness    *witnessProof `json:"witness,omitempty"`
	WitnessTau float64       `json:"witness_tau,omitempty"`

	Reference        *int `json:"reference,omitempty"`
	WitnessReference *int `json:"witness_reference,omitempty"`

	Margin    float64         `json:"margin,omitempty"`
	PhasesTau float64         `json:"phases_tau,omitempty"`
	Phases    json.RawMessage `json:"phases,omitempty"`
}

// decision is the field decision of a proof.
func (p *proof) decision() (*decisionProof, error) {
	var d decisionProof
	if len(p.Decision) == 0 {
		return &d, nil
	}
	if err := strictly(p.Decision, &d); err != nil {
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

// claims reports whether the decision, if there is one, claims a bound.
func (d *decision) claims() bool {
	return d != nil && !(d.Lower.is(0) && d.RivalUpper.is(1) && d.Gap.is(-1) && d.Vote.is(0) && d.RivalGap == nil)
}

// consistentDecision returns what of a decision contradicts itself or the rest of the record.
func (r *record) consistentDecision() error {
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
		is    *decimal
		least property.Exact
	}{{"lower", d.Lower, zero}, {"rival_upper", d.RivalUpper, zero}, {"gap", d.Gap, minus}, {"vote", d.Vote, zero}, {"rival_gap", d.RivalGap, zero}} {
		if of.is != nil && (of.is.Cmp(of.least) < 0 || of.is.Cmp(one) > 0) {
			return fmt.Errorf("decision: %s is %v", of.field, of.is)
		}
	}
	proof, err := r.Proof.decision()
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

// decided proves what a record says of the decision.
func (q *question) decided(ctx context.Context) error {
	d := q.Decision
	proof, err := q.Proof.decision()
	if err != nil {
		return err
	}
	bound, err := q.predictor(proof)
	if err != nil {
		return err
	}
	least := func(is *decimal, x float64) bool {
		return is.Cmp(property.Exact{}) <= 0 && is.is(0) || is.Rat().Cmp(exactRat(x)) <= 0
	}
	vote := func(p *predictive) bool { return least(d.Vote, p.vote) || d.Vote.Cmp(q.PLower.Exact) <= 0 }
	enough := func(p *predictive) bool {
		return least(d.Lower, p.lower) && (d.RivalUpper.is(1) || d.RivalUpper.Rat().Cmp(exactRat(p.mostRival())) >= 0) &&
			d.Gap.Rat().Cmp(exactRat(p.leastGap())) <= 0 && vote(p)
	}
	cells, err := cellsOf(q.task.T, proof.Cells)
	if err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	if d.Lower.is(0) && d.RivalUpper.is(1) && d.Gap.is(-1) && d.Vote.Cmp(q.PLower.Exact) <= 0 {
		cells = nil // nothing is claimed of them
	}
	costs, err := q.costsOf()
	if err != nil {
		return err
	}
	of := &asked{task: q.task, probit: q.asked().has("--link")}
	if costs != nil {
		if of, err = q.priced(costs, proof); err != nil {
			return err
		}
	}
	if len(cells) == 1 && q.post.RequireIndependent() == nil { // parts of the box around a ball are bounded as boxes
		of.ball = q.task.Ball
	}
	confined, err := q.confined(ctx, proof)
	if err != nil {
		return err
	}
	with := func(p *predictive) *predictive {
		if confined == nil {
			return p
		}
		both := &predictive{p.lower, p.vote, slices.Clone(p.rivals), slices.Clone(p.gaps)}
		both.better(confined)
		return both
	}
	all, err := bound(ctx, of, cells, proof.Tau, func(p *predictive) bool { return enough(with(p)) })
	if err != nil {
		return err
	}
	all = with(all)
	if cells != nil && !enough(all) {
		return fmt.Errorf("decision: lower %v, rival_upper %v, gap %v, vote %v; proved are %v, %v, %v, %v",
			d.Lower, d.RivalUpper, d.Gap, d.Vote, all.lower, all.mostRival(), all.leastGap(), all.vote)
	}
	if d.RivalGap == nil {
		return nil
	}
	return q.refuted(ctx, costs, proof, bound)
}

// confined returns what follows from margins that are all at least that of the proof, for all networks whose
// noise is confined; nil without phases.
func (q *question) confined(ctx context.Context, proof *decisionProof) (*predictive, error) {
	if proof.Phases == nil {
		return nil, nil
	}
	if q.task.Ball != nil || q.asked().has("--link") {
		return nil, errors.New("decision: phases: they decide on boxes, for the average of the networks; certify claims nothing else")
	}
	task, of := *q.task, *q.record
	task.S.Rows = slices.Clone(task.S.Rows)
	for r := range task.S.Rows {
		task.S.Rows[r].D = arith.SumDown(task.S.Rows[r].D, -proof.Margin)
	}
	of.Tau, of.Proof.Tau, of.Proof.Phases = proof.PhasesTau, []float64{proof.PhasesTau}, proof.Phases
	of.Cells, of.Proof.Cells = 0, nil
	ahead := *q
	ahead.record, ahead.task = &of, &task
	if err := q.post.RequireIndependent(); err != nil {
		return nil, fmt.Errorf("decision: phases: %w", err)
	}
	chance, err := byPhases(ctx, &ahead)
	if err != nil {
		return nil, fmt.Errorf("decision: margin %v: %w", proof.Margin, err)
	}
	p, _ := chance.value().Float64()
	return aheadPredictive(max(0, arith.Down(p)), proof.Margin, len(task.S.Rows)), nil
}

// aheadPredictive returns what follows if all margins are at least t > 0 with a probability of at least p.
func aheadPredictive(p, t float64, rivals int) *predictive {
	is := unknownPredictive(rivals)
	s, rest := arith.SoftmaxDown(slices.Repeat([]float64{t}, rivals)), max(0, arith.SumUp(1, -p))
	is.lower, is.vote = arith.ProductDown(s, p), p
	for k := range is.gaps {
		is.rivals[k] = min(1, arith.SumUp(rest, curves.SigmoidUp(-t)))
		is.gaps[k] = max(-1, arith.SumDown(arith.ProductDown(arith.SoftmaxGapDown(s, t), p), -rest))
	}
	return is
}

// priced is the task about the action of the record.
func (q *question) priced(costs *property.Costs, proof *decisionProof) (*asked, error) {
	action := *q.Decision.Action
	if q.asked()["--action"] == "label" && action != costs.BestFor(q.task.Label) {
		return nil, fmt.Errorf("decision: action %d is not the best for class %d", action, q.task.Label)
	}
	return pricedTask(q.task, costs, action, proof.Reference)
}

// refuted proves that another class has more of the predictive at the witness, or another action costs less.
func (q *question) refuted(ctx context.Context, costs *property.Costs, proof *decisionProof, bound predictor) error {
	own, others, what := q.task.Label, q.post.Outputs(), "class"
	if costs != nil {
		own, others, what = *q.Decision.Action, costs.Actions(), "action"
	}
	rival := *proof.Rival
	if rival < 0 || rival >= others || rival == own {
		return fmt.Errorf("decision: rival %d is no other %s of %d", rival, what, others)
	}
	at, err := proof.Witness.around(q.task)
	if err != nil {
		return err
	}
	of := &asked{task: new(*q.task), probit: q.asked().has("--link")}
	if costs != nil {
		of, err = pricedTask(q.task, costs, rival, proof.WitnessReference)
	} else {
		of.task.S, of.task.Label, err = property.ParseSpec(property.WithClass(property.KeepsClass, rival), others)
	}
	if err != nil {
		return err
	}
	gap := func(p *predictive) float64 { return p.gaps[rowOf(rival, own)] }
	enough := func(p *predictive) bool { return q.Decision.RivalGap.Rat().Cmp(exactRat(gap(p))) <= 0 }
	p, err := bound(ctx, of, []property.Box{at}, []float64{proof.WitnessTau}, enough)
	if err == nil && !enough(p) {
		err = fmt.Errorf("decision: rival_gap is %v, proved is %v", q.Decision.RivalGap, gap(p))
	}
	return err
}

// rowOf is the row that compares a class with another one: rows are in the order of the others.
func rowOf(class, other int) int {
	if other > class {
		return other - 1
	}
	return other
}
