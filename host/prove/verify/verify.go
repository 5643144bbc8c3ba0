// Package verify answers VNN-LIB queries about networks: is there an input in one of the
// boxes whose output is unsafe there?
//
// "No" is a proof by package decide, with bounds that are rounded outward. "Yes" comes with
// an input that was evaluated again in exact arithmetic and compared with the query as it
// states its numbers and its strictness. Both are about real arithmetic with the weights that
// the file holds.
package verify

import (
	"context"
	"errors"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/host/read/vnnlib"
)

// Answer is the first line of the output that VNN-LIB demands.
type Answer string

// The answers.
const (
	Sat      Answer = "sat"
	Unsat    Answer = "unsat"
	Unknown  Answer = "unknown"
	TimedOut Answer = "timed-out"
)

// Question is a query about networks.
type Question struct {
	Query *vnnlib.Query
	// Networks are posteriors without deviations (see Certain), one for each that the query declares.
	Networks []*posterior.Posterior
	// Cells is how many cells the boxes may be cut into, at least 1.
	Cells int
	// Fine makes a device of float64 for cells where the roundings of a device of float32 are in the
	// way of a proof; nil: none.
	Fine func() bound.Device

	joined *joined
}

// Result is an answer.
type Result struct {
	Answer Answer
	// Found is a counterexample, for Sat.
	Found *Counterexample
	// Cells is how many cells were bounded, Problems how many sub-problems phases looked at.
	Cells, Problems int
}

// Certain reports whether the posterior is one network: all standard deviations are 0, or it is
// a set of one.
func Certain(p *posterior.Posterior) bool {
	if s := p.Finite(); s != nil {
		return s.N() == 1
	}
	if !p.Independent() {
		return false
	}
	for _, g := range p.Params() {
		for _, sd := range g.SdHi {
			if sd != 0 {
				return false
			}
		}
	}
	return true
}

// Tasks returns the tasks of the query, checked against the networks.
func (q *Question) Tasks() ([]property.Task, error) {
	var err error
	if q.joined, err = join(q.Query, q.Networks); err != nil {
		return nil, err
	}
	net := q.joined.net
	tasks, err := property.QueryTasks(q.joined.query, net.Outputs())
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		if err := tasks[i].Check(net.Inputs(), net.Outputs()); err != nil {
			return nil, err
		}
		if err := tasks[i].CheckShape(net.Input.Shape); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// Ask answers the question for these tasks of it (Tasks) on a device, with spare in its place if it
// fails (it may be nil). Where ctx has a deadline that passes, the answer is TimedOut; every
// other end of ctx is its error.
func (q *Question) Ask(ctx context.Context, tasks []property.Task, dev bound.Device, spare func() bound.Device) (Result, error) {
	for _, n := range q.Networks {
		if !Certain(n) {
			panic("verify: Ask: a posterior with deviations")
		}
	}
	result, err := q.ask(ctx, tasks, dev, spare)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		result.Answer, err = TimedOut, nil
	}
	return result, err
}

func (q *Question) ask(ctx context.Context, tasks []property.Task, dev bound.Device, spare func() bound.Device) (Result, error) {
	backup := spare
	if spare != nil {
		backup = func() bound.Device { return bound.Until(ctx, spare()) }
	}
	e, err := engine.New(bound.Until(ctx, dev), backup, q.joined.net, reach)
	if err != nil {
		return Result{}, err
	}
	defer e.Close()
	var found *Counterexample
	exact := newExaminer(q)
	search := decide.Search{Engine: e, Weights: weightsOf(q.joined.net), Tasks: tasks, Cells: q.Cells,
		Try: func(t int, x []float64) bool {
			found = exact.examine(t, x)
			return found != nil
		}}
	if q.Fine != nil && dev.Precision() == bound.Float32 {
		search.Fine = func() (*engine.Engine, error) {
			return engine.New(bound.Until(ctx, q.Fine()), nil, q.joined.net, reach)
		}
	}
	end, err := search.Run(ctx)
	result := Result{Answer: Unknown, Cells: end.Cells, Problems: end.Problems}
	switch {
	case end.Unsafe:
		result.Answer, result.Found = Sat, found
	case end.Safe && err == nil:
		result.Answer = Unsat
	}
	return result, err
}

// reach is a width that engines ask for; there is nothing to reach without deviations.
const reach = 1
