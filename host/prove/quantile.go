package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// HasQuantile says in one line why quantiles of the worst margin are not bounded for a posterior with what was asked
// for; nil if they are.
func (c *Config) HasQuantile(p *posterior.Posterior) error {
	switch {
	case c.Method == Statistical:
		return errors.New("networks that are drawn prove no quantile: leave --method out, or quantile")
	case p.Networks() != nil || p.About() != nil || clbpFits(p) != nil:
		return fmt.Errorf("quantiles are bounded by concentration LBP of networks; this is %s: leave quantile out", p.Describe())
	}
	return nil
}

// quantileRounds is how many times the search for a quantile asks.
const quantileRounds = 16

// quantiles bounds from below the quantile cfg.Quantile of the worst margin of each result. That the margin is q or
// more on all of T says that T is safe by S whose rows have q taken off, which is proved as P_safe is: for
// concentration LBP a row is that much nearer to 0, and all its bounds are as they were.
func quantiles(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if err := cfg.HasQuantile(e.Posterior); err != nil {
		return err
	}
	searches := make([]*quantile, len(results))
	for i, r := range results {
		searches[i] = newQuantile(e, r.Task, *cfg.Quantile)
		r.Quantile = &searches[i].Quantile
	}
	for range quantileRounds {
		searches = slices.DeleteFunc(searches, (*quantile).done)
		var tasks []property.Task
		for _, s := range searches {
			tasks = append(tasks, s.moved())
		}
		if len(tasks) == 0 {
			break
		}
		moved, err := clbp.Certify(ctx, e, cfg.Cells, tasks)
		if err != nil {
			return err
		}
		for i, s := range searches {
			s.take(moved[i])
		}
	}
	for _, r := range results {
		if r.Quantile.Prob > 0 {
			r.Proof.Quantile = &r.Quantile.Proof
		}
	}
	return nil
}

// quantile is the search for the greatest q that is proved to be a lower bound.
type quantile struct {
	claim.Quantile
	task *property.Task
	// may is the probability that the margin may be below.
	may float64
	// next is asked about, round counts; Lower is proved, where the margin is below with fail or less, and above is
	// not, where that is failAbove. Until something is proved the search goes down by steps that grow.
	next, above, step float64
	fail, failAbove   float64
	round             int
}

// newQuantile begins below the margin of the mean network in the middle of T.
func newQuantile(e *engine.Engine, t *property.Task, level property.Exact) *quantile {
	y := e.Normal.LogitsApprox(t.T[0].CentreApprox())
	rows := make([]float64, len(t.S.Rows))
	for r, row := range t.S.Rows {
		rows[r] = row.D
		for i, c := range row.CLo {
			rows[r] += c * y[i]
		}
	}
	m, _ := t.S.Decides(rows)
	q := &quantile{Quantile: claim.Quantile{Level: level, Lower: math.Inf(-1)}, task: t, may: slack.QuantileDown(level.Approx()), above: m, step: math.Abs(m) / 2, failAbove: 1}
	if q.step == 0 {
		q.step = 1
	}
	q.next = m - q.step
	return q
}

// done says that nothing more is to be gained: the bound fails with about what it may, or is about what it cannot be.
func (q *quantile) done() bool {
	const near = 0.97
	return !(math.Abs(q.next) <= 0x1p100) || q.Prob > 0 && (q.fail >= near*q.may || q.above-q.Lower <= 0x1p-20*q.step)
}

// moved is the task that asks whether the margin is q.next or more. S is proved with D, rounded down here.
func (q *quantile) moved() property.Task {
	t := *q.task
	t.S.Rows = slices.Clone(t.S.Rows)
	for r := range t.S.Rows {
		row := &t.S.Rows[r]
		row.D, row.DHi = math.Nextafter(row.D-q.next, math.Inf(-1)), math.Nextafter(row.DHi-q.next, math.Inf(1))
	}
	return t
}

// take learns what was proved of q.next, and chooses what is asked about next.
func (q *quantile) take(r *claim.Result) {
	prob := r.Lower()
	fail := math.Nextafter(1-prob, math.Inf(1))
	if fail <= q.may {
		q.Lower, q.Prob, q.fail = q.next, prob, fail
		q.Proof = claim.EachProof{Cells: r.Proof.Cells, Tau: r.Proof.Tau}
	} else {
		q.above, q.failAbove = q.next, fail
	}
	if q.round++; q.Prob == 0 {
		q.step *= 4
		q.next = q.above - q.step
		return
	}
	// Between both by the logarithms, which tails bend little in; every third time in the middle.
	const least = 1e-12
	lo, hi, share := math.Log(max(q.fail, least)), math.Log(min(q.failAbove, 1)), 0.5
	if q.round%3 > 0 && hi > lo {
		share = min(max((math.Log(0.985*q.may)-lo)/(hi-lo), 1.0/32), 31.0/32)
	}
	q.next = q.Lower + share*(q.above-q.Lower)
}
