package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/decide"
	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/read/property"
)

func (q *question) decided(ctx context.Context) error {
	d := q.Decision
	proof, err := q.Proof.ReadDecision()
	if err != nil {
		return err
	}
	if n := q.post.Outputs(); d.ClassUpper != nil && len(d.ClassUpper) != n {
		return fmt.Errorf("decision: class_upper is of %d classes, the network has %d", len(d.ClassUpper), n)
	}
	bound, err := q.predictor(proof)
	if err != nil {
		return err
	}
	least := func(is *record.Decimal, x float64) bool {
		return is.Cmp(property.Exact{}) <= 0 && is.Is(0) || is.Rat().Cmp(law.ExactRat(x)) <= 0
	}
	vote := func(p *decide.Predictive) bool { return least(d.Vote, p.Vote) || d.Vote.Cmp(q.PLower.Exact) <= 0 }
	enough := func(p *decide.Predictive) bool {
		return least(d.Lower, p.Lower) && (d.RivalUpper.Is(1) || d.RivalUpper.Rat().Cmp(law.ExactRat(p.MostRival())) >= 0) &&
			d.Gap.Rat().Cmp(law.ExactRat(p.LeastGap())) <= 0 && vote(p) && q.classesBounded(p.Rivals)
	}
	cells, err := cases.CellsOf(q.task.T, proof.Cells)
	if err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	if d.Lower.Is(0) && d.RivalUpper.Is(1) && d.Gap.Is(-1) && d.Vote.Cmp(q.PLower.Exact) <= 0 && q.classesBounded(nil) {
		cells = nil // nothing is claimed of them
	}
	costs, err := q.costsOf()
	if err != nil {
		return err
	}
	of := &decide.Asked{Task: q.task, Probit: q.Asked().Has("--link")}
	if costs != nil {
		if of, err = q.priced(costs, proof); err != nil {
			return err
		}
	}
	if len(cells) == 1 && q.post.RequireIndependent() == nil { // parts of the box around a ball are bounded as boxes
		of.Ball = q.task.Ball
	}
	confined, err := q.confined(ctx, proof)
	if err != nil {
		return err
	}
	with := func(p *decide.Predictive) *decide.Predictive {
		if confined == nil {
			return p
		}
		both := &decide.Predictive{Lower: p.Lower, Vote: p.Vote, Rivals: slices.Clone(p.Rivals), Gaps: slices.Clone(p.Gaps)}
		both.Better(confined)
		return both
	}
	all, err := bound(ctx, of, cells, proof.Tau, func(p *decide.Predictive) bool { return enough(with(p)) })
	if err != nil {
		return err
	}
	all = with(all)
	if cells != nil && !enough(all) {
		return fmt.Errorf("decision: lower %v, rival_upper %v, class_upper %v, gap %v, vote %v; proved are %v, %v, %v, %v, %v",
			d.Lower, d.RivalUpper, d.ClassUpper, d.Gap, d.Vote, all.Lower, all.MostRival(), all.Rivals, all.LeastGap(), all.Vote)
	}
	if d.RivalGap == nil {
		return nil
	}
	return q.refuted(ctx, costs, proof, bound)
}

// classesBounded reports whether the class_upper of a record, if it has one, is no less than what is proved of
// the classes but c, in their order: 1 where nothing is (nil).
func (q *question) classesBounded(rivals []float64) bool {
	for k, u := range q.Decision.ClassUpper {
		proved := 1.0
		if k != q.task.Label && rivals != nil {
			proved = rivals[decide.RowOf(q.task.Label, k)]
		}
		if !u.Is(1) && u.Rat().Cmp(law.ExactRat(proved)) < 0 {
			return false
		}
	}
	return true
}

// confined returns what follows from margins that are all at least that of the proof, for all networks whose
// noise is confined; nil without phases.
func (q *question) confined(ctx context.Context, proof *record.DecisionProof) (*decide.Predictive, error) {
	if proof.Phases == nil {
		return nil, nil
	}
	if q.task.Ball != nil || q.Asked().Has("--link") {
		return nil, errors.New("decision: phases: they decide on boxes, for the average of the networks; certify claims nothing else")
	}
	task, of := *q.task, *q.Record
	task.S.Rows = slices.Clone(task.S.Rows)
	for r := range task.S.Rows {
		task.S.Rows[r].D = arith.SumDown(task.S.Rows[r].D, -proof.Margin)
	}
	of.Tau, of.Proof.Tau, of.Proof.Phases = proof.PhasesTau, []float64{proof.PhasesTau}, proof.Phases
	of.Cells, of.Proof.Cells = 0, nil
	ahead := *q
	ahead.Record, ahead.task = &of, &task
	if err := q.post.RequireIndependent(); err != nil {
		return nil, fmt.Errorf("decision: phases: %w", err)
	}
	chance, err := byPhases(ctx, &ahead)
	if err != nil {
		return nil, fmt.Errorf("decision: margin %v: %w", proof.Margin, err)
	}
	p, _ := chance.Value().Float64()
	return decide.AheadPredictive(max(0, arith.Down(p)), proof.Margin, len(task.S.Rows)), nil
}

// priced is the task about the action of the record.
func (q *question) priced(costs *property.Costs, proof *record.DecisionProof) (*decide.Asked, error) {
	action := *q.Decision.Action
	if q.Asked()["--action"] == "label" && action != costs.BestFor(q.task.Label) {
		return nil, fmt.Errorf("decision: action %d is not the best for class %d", action, q.task.Label)
	}
	return decide.PricedTask(q.task, costs, action, proof.Reference)
}

// refuted proves that another class has more of the predictive at the witness, or another action costs less.
func (q *question) refuted(ctx context.Context, costs *property.Costs, proof *record.DecisionProof, bound decide.Predictor) error {
	own, others, what := q.task.Label, q.post.Outputs(), "class"
	if costs != nil {
		own, others, what = *q.Decision.Action, costs.Actions(), "action"
	}
	rival := *proof.Rival
	if rival < 0 || rival >= others || rival == own {
		return fmt.Errorf("decision: rival %d is no other %s of %d", rival, what, others)
	}
	at, err := proof.Witness.Around(q.task)
	if err != nil {
		return err
	}
	of := &decide.Asked{Task: new(*q.task), Probit: q.Asked().Has("--link")}
	if costs != nil {
		of, err = decide.PricedTask(q.task, costs, rival, proof.WitnessReference)
	} else {
		of.Task.S, of.Task.Label, err = property.ParseSpec(property.WithClass(property.KeepsClass, rival), others)
	}
	if err != nil {
		return err
	}
	gap := func(p *decide.Predictive) float64 { return p.Gaps[decide.RowOf(rival, own)] }
	enough := func(p *decide.Predictive) bool { return q.Decision.RivalGap.Rat().Cmp(law.ExactRat(gap(p))) <= 0 }
	p, err := bound(ctx, of, []property.Box{at}, []float64{proof.WitnessTau}, enough)
	if err == nil && !enough(p) {
		err = fmt.Errorf("decision: rival_gap is %v, proved is %v", q.Decision.RivalGap, gap(p))
	}
	return err
}

func (q *question) predictor(proof *record.DecisionProof) (decide.Predictor, error) {
	if q.Asked().Has("--link") && (q.post.Networks() != nil || q.post.OnTop() != nil) {
		return nil, errors.New("decision: the probit rule is that of a last layer that alone is random")
	}
	if set := q.post.Networks(); set != nil {
		if proof.Tau != nil || proof.WitnessTau != 0 {
			return nil, errors.New("decision: a finite posterior has no tau")
		}
		return decide.OfSet(q.post), nil
	}
	n, err := q.noisyNetworks("decision")
	if err != nil {
		return nil, err
	}
	return decide.OfNoise(n), nil
}

// costsOf are the costs that the flags of a record state, nil if they state none.
func (q *question) costsOf() (*property.Costs, error) {
	f, outputs := q.Asked(), q.post.Outputs()
	switch {
	case f.Has("--costs"):
		c, err := property.ParseCosts(f["--costs"], outputs)
		if err != nil {
			return nil, fmt.Errorf("flags: --costs %w", err)
		}
		return c, nil
	case f.Has("--reject"):
		c, err := property.RejectBelow(f["--reject"], outputs)
		if err != nil {
			return nil, fmt.Errorf("flags: --reject %w", err)
		}
		return c, nil
	}
	return nil, nil
}
