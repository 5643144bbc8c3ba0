// Package confine bounds P_safe from below by one event that confines the noise of every neuron to an
// interval, on which all drawn networks are decided at once: the network of the means with intervals
// for biases, by phases ((68), docs/confinement.md).
package confine

import (
	"context"
	"errors"
	"math"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
	"psafe/host/prove/phases"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// Tau is the failure budget of one bound of the noise of a neuron. What is not proved with it was
// never proved with a larger one: what is lost is not lost to noise (docs/measurements.md).
const Tau = 1e-9

const (
	// mostParts is how many sub-problems a task may take, mostPartsLimited how many where it is
	// said how long it may take.
	mostParts, mostPartsLimited = 2048, slack.PhaseProblems
	// mostWork is how many products a row may take on its way down.
	mostWork = 1 << 21
)

// Fits says in one line why this method is none for a posterior; nil if it is one.
func Fits(p *posterior.Posterior) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	net := p.Network()
	if !bound.CanSplit(net) {
		return errors.New("phases are for networks with no activation but ReLU, at least one not on a max pool: use --method clbp")
	}
	if phases.RowWork(net) > mostWork {
		return errors.New("phases would take too long for a network so large: use --method clbp")
	}
	return nil
}

// Certify bounds each task; limited says that each has a time of its own. What is no conjunction of
// rows is left at 0.
func Certify(ctx context.Context, e *engine.Engine, limited bool, tasks []property.Task) ([]*claim.Result, error) {
	noise, err := noiseOf(e)
	if err != nil {
		return nil, err
	}
	most := mostParts
	if limited {
		most = mostPartsLimited
	}
	results := make([]*claim.Result, len(tasks))
	for i := range tasks {
		results[i] = claim.NewResult(&tasks[i], "phases")
		if err := prove(ctx, e, noise, most, results[i]); err != nil && !e.Cut(ctx, err) {
			return nil, err
		}
	}
	return results, nil
}

func noiseOf(e *engine.Engine) (*phases.Noise, error) {
	moments, err := e.Moments(e.Model)
	if err != nil {
		return nil, err
	}
	return phases.NewNoise(e.Normal, moments.AbsMean, Tau), nil
}

// prove proves a task on each box of T, if it can: each has an event of its own.
func prove(ctx context.Context, e *engine.Engine, noise *phases.Noise, most int, r *claim.Result) error {
	t := r.Task
	rows, conjunction := t.S.Conjunction()
	if !conjunction || !phases.Serves(e.Normal.Network(), &t.S) {
		return nil
	}
	var proofs []*phases.Proof
	for _, box := range t.T {
		// It is the device that ends work whose time is up: an answer that was cut short would be
		// another than that of a recheck.
		found, err := answer(ctx, e, &phases.Task{Box: box, Safe: &t.S, Noise: noise, Most: most})
		if err != nil || !found.Proved {
			return err
		}
		proofs, most = append(proofs, found.Proof), most-found.Tried
	}
	r.LogP = measure.LogComplementDown(FailUp(noise, len(rows), len(t.T)))
	r.Tau, r.Proof.Tau, r.Proof.Phases = Tau, []float64{Tau}, proofs
	return nil
}

// FailUp is the probability of the event's failure for so many rows and boxes, rounded up.
func FailUp(noise *phases.Noise, rows, boxes int) float64 {
	fail := noise.EventsUp(rows) * float64(boxes) * Tau
	if fail == 0 {
		return 0
	}
	return min(1, math.Nextafter(fail*(1+0x1p-50), 1))
}

// answer asks the device.
func answer(ctx context.Context, e *engine.Engine, t *phases.Task) (found phases.Answer, err error) {
	if err := ctx.Err(); err != nil {
		return found, err
	}
	err = engine.Guarded(e, "phases of a posterior", []*phases.Task{t}, func(m *bound.Model, tasks []*phases.Task) (answers []engine.Answer, err error) {
		for _, t := range tasks {
			got, err := t.On(m, e.Normal.Network(), bound.Enclose(e.Normal.Mean(), m.Device().Precision()))
			if err != nil {
				return nil, err
			}
			answers = append(answers, engine.Answer{Numbers: got.Numbers, Take: func() { found = got }})
		}
		return answers, nil
	})
	return found, err
}
