package boxes

import (
	"context"
	"math"

	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// ray is the search for the largest t such that the mean-centred box with
// half-widths t*dir[k] in layer k verifies for a task.
//
// Every number it returns was verified as such; that verification is monotone in
// t is only what the search hopes for.
type ray struct {
	task *property.Task
	dir  []float64
	// best is the largest t that verified (-1: none yet), fail the least above it
	// that did not (+Inf: none yet), with their margins.
	best, fail             float64
	bestMargin, failMargin float64
	tried                  int
	cap                    float64
	done                   bool
	probes                 []*engine.Probe
	ts                     []float64
}

const (
	// searchPasses bounds the passes of a search, each of which tries three
	// gammas at once.
	searchPasses = 6
	// searchTolerance ends a search: the mass changes by about 1e-3 over it.
	searchTolerance = 0.002
)

// searchAll advances all rays together, so that each pass is one job with many
// items.
func (s centred) searchAll(ctx context.Context, rays []*ray) error {
	for range searchPasses {
		if err := s.advance(ctx, rays); err != nil {
			return err
		}
	}
	return nil
}

// advance makes one pass over the rays that are not done.
func (s centred) advance(ctx context.Context, rays []*ray) error {
	var all []*engine.Probe
	for _, r := range rays {
		if !r.done {
			r.plan(s.e.Device.Precision())
			all = append(all, r.probes...)
		}
	}
	if err := s.verify(ctx, all); err != nil {
		return err
	}
	for _, r := range rays {
		if !r.done {
			r.learn()
		}
	}
	return nil
}

// plan chooses the next values of t.
func (r *ray) plan(p bound.Precision) {
	var ts []float64
	switch {
	case r.tried == 0:
		ts = []float64{0, r.cap / 2, r.cap}
	default:
		// Where the margin would be zero were it linear in t, and a little to
		// both sides.
		width := r.fail - r.best
		root := r.best + width*r.bestMargin/(r.bestMargin-r.failMargin)
		step := width / 16
		root = min(max(root, r.best+2*step), r.fail-2*step)
		ts = []float64{root - step, root, root + step}
	}
	r.ts, r.probes = nil, nil
	for _, t := range ts {
		t = min(t, r.cap)
		gamma := make([]float64, len(r.dir))
		for k, d := range r.dir {
			gamma[k] = p.Nearest(t * d)
		}
		r.ts = append(r.ts, t)
		r.probes = append(r.probes, engine.GammaProbe(r.task, gamma))
	}
}

// learn takes in the answers.
func (r *ray) learn() {
	for i, p := range r.probes {
		r.tried++
		t := r.ts[i]
		switch {
		case p.Margin >= 0 && t > r.best:
			r.best, r.bestMargin = t, p.Margin
		case !(p.Margin >= 0) && t < r.fail:
			r.fail, r.failMargin = t, p.Margin
		}
	}
	if r.fail < r.best { // not monotone here: keep what verified
		r.fail = math.Inf(1)
	}
	r.done = r.best < 0 || r.best >= r.cap || math.IsInf(r.fail, 1) || r.fail-r.best < searchTolerance
}

// gamma returns the half-widths of the best box.
func (r *ray) gamma(p bound.Precision) []float64 {
	gamma := make([]float64, len(r.dir))
	for k, d := range r.dir {
		gamma[k] = p.Nearest(r.best * d)
	}
	return gamma
}
