// Package confine bounds P_safe from below by one event that confines every neuron's noise: on it
// all drawn networks are decided at once, as the network of the means with intervals for biases, by
// phases ((68), docs/theory.md).
package confine

import (
	"context"
	"errors"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/branch"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Tau is the failure budget of one bound of the noise of a neuron. What is not proved with it was
// never proved with a larger one: what is lost is not lost to noise.
const Tau = 1e-9

const (
	// mostParts is how many sub-problems a task may take, mostPartsOfCells how many where T may be cut, which is
	// where networks are small, and mostPartsLimited how many where it is said how long it may take.
	mostParts, mostPartsOfCells, mostPartsLimited = 2048, 8192, slack.PhaseProblems
	// mostWork is how many products a row may take on its way down.
	mostWork = 1 << 21
)

// MostAtATime is how many tasks go on beside each other at most, and mostBytes how much memory of the host they
// may take together: a device may have ten times as much.
const (
	MostAtATime = 64
	mostBytes   = 4 << 30
)

// atATime is how many tasks go on beside each other.
func atATime(e *engine.Engine) int {
	return min(MostAtATime, e.AtATime(min(e.Budget(), mostBytes), BytesApprox(e), 1))
}

// Fits says in one line why this method is none for a posterior; nil if it is one.
func Fits(p *posterior.Posterior) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	net := p.Network()
	if !bound.CanSplit(net) {
		return errors.New("phases are for networks with no activation but ReLU, at least one not on a max pool: use --method clbp")
	}
	if branch.RowWork(net) > mostWork {
		return errors.New("phases would take too long for a network so large: use --method clbp")
	}
	return nil
}

// BytesApprox is about how much memory a task takes at a time.
func BytesApprox(e *engine.Engine) int64 { return branch.BytesApprox(e.Normal.Network()) }

// How says how to search.
type How struct {
	// Limited reports whether each task has a time of its own.
	Limited bool
	// Cells is how many cells T may be cut into; 0 leaves it to clbp.MostCells.
	Cells int
}

// Certify bounds each task. A set whose clauses are too many (branch.Clauses) is left at 0. On a device that is at its
// best with much at a time (bound.Wide) tasks go on beside each other; no result depends on it.
func Certify(ctx context.Context, e *engine.Engine, how How, tasks []property.Task) ([]*claim.Result, error) {
	noise, unprepared := noiseOf(e)
	most := mostParts
	switch {
	case how.Limited:
		most = mostPartsLimited
	case clbp.MostCells(e, how.Cells, 1) > 1:
		most = mostPartsOfCells
	}
	results, errs := make([]*claim.Result, len(tasks)), make([]error, len(tasks))
	for i := range tasks {
		results[i], errs[i] = claim.NewResult(&tasks[i], "phases"), unprepared
	}
	some := atATime(e)
	for first := 0; first < len(tasks); first += some {
		end := min(len(tasks), first+some)
		fault.Gather(end-first, func(k int, ask func(*asked)) {
			i := first + k
			if errs[i] == nil {
				cells := clbp.MostCells(e, how.Cells, len(tasks[i].T))
				errs[i] = prove(ctx, &search{e: e, ask: ask, noise: noise, left: most, most: max(cells, len(tasks[i].T))}, results[i])
			}
		}, func(*asked) int { return 0 }, func(list []*asked) { answer(ctx, e, list) })
		for _, err := range errs[first:end] {
			if err != nil && !e.Cut(err) {
				return nil, err
			}
		}
	}
	return results, nil
}

func noiseOf(e *engine.Engine) (*branch.Noise, error) {
	moments, err := clbp.Moments(e, e.Model)
	if err != nil {
		return nil, err
	}
	return branch.NewNoise(e.Normal, moments.AbsMean, Tau), nil
}

// prove has a search prove a task on each box of T, if it can, cut into cells: each has an event of its own.
func prove(ctx context.Context, s *search, r *claim.Result) error {
	t := r.Task
	if !branch.Serves(s.e.Normal.Network(), &t.S) {
		return nil
	}
	s.task, s.cells = t, len(t.T)
	var roots []*cell
	for _, box := range t.T {
		roots = append(roots, &cell{box: box})
	}
	if proved, err := s.all(ctx, roots); !proved || err != nil {
		return err
	}
	fail := FailUp(s.noise, len(rowsOf(&t.S)), s.cells)
	if fail >= 1 {
		return nil
	}
	var trees []int
	for _, c := range roots {
		trees, r.Proof.Phases = c.write(trees, r.Proof.Phases)
	}
	r.LogP = arith.LogComplementDown(fail)
	r.Tau, r.Proof.Tau = Tau, []float64{Tau}
	if r.Proof.Cells = claim.UncutCells(trees); r.Proof.Cells != nil {
		r.Cells = s.cells
	}
	return nil
}

// rowsOf are the different rows of the clauses of a set.
func rowsOf(safe *property.Safe) []int {
	rows := slices.Sorted(slices.Values(slices.Concat(branch.Clauses(safe)...)))
	return slices.Compact(rows)
}

// FailUp is the probability of the event's failure for so many rows and boxes, rounded up.
func FailUp(noise *branch.Noise, rows, boxes int) float64 {
	fail := noise.EventsUp(rows) * float64(boxes) * Tau
	if fail == 0 {
		return 0
	}
	return min(1, math.Nextafter(fail*(1+0x1p-50), 1))
}

// asked is a question of a search, and its answer.
type asked struct {
	task  *branch.Task
	found branch.Answer
	err   error
}

// answer asks the device what searches ask at the same time.
func answer(ctx context.Context, e *engine.Engine, list []*asked) {
	err := ctx.Err()
	if err == nil {
		err = engine.Guarded(e, "phases of a posterior", list, func(m *bound.Model, part []*asked) ([]engine.Answer, error) {
			var tasks []*branch.Task
			for _, a := range part {
				tasks = append(tasks, a.task)
			}
			found, err := branch.Together(m, e.Normal.Network(), bound.Enclose(e.Normal.Mean(), m.Device().Precision()), tasks)
			var answers []engine.Answer
			for i, got := range found {
				answers = append(answers, engine.Answer{Numbers: got.Numbers, Take: func() { part[i].found = got }})
			}
			return answers, err
		})
	}
	for _, a := range list {
		a.err = err
	}
}
