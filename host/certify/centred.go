package certify

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/property"
)

// centred looks for weight boxes around the mean on an engine. Whatever it looks at,
// what counts is a box that measure has verified from the end-points it measures.
type centred struct {
	e   *Engine
	cfg Config
}

// centredBoxes finds, for each task, a mean-centred box as wide as verifies: first one
// gamma for all layers, then one for each, then (Config.Splits) pieces beyond.
func centredBoxes(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	s := centred{e, cfg}
	rays := make([]*ray, len(tasks))
	for i := range tasks {
		rays[i] = s.newRay(&tasks[i])
	}
	if err := s.uniform(ctx, rays); err != nil {
		return nil, err
	}
	best := rays
	if !cfg.Uniform && cfg.Gamma == 0 && len(e.normal.Layers) > 1 {
		var err error
		if best, err = s.perLayer(ctx, rays); err != nil {
			return nil, err
		}
	}
	results, err := s.measure(ctx, best)
	if err != nil || cfg.Splits == 0 {
		return results, err
	}
	for _, r := range results {
		if err := s.split(ctx, r); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// mostGamma is the half-width at which what is left outside is below 1e-9: wider
// boxes gain nothing that shows.
func (s centred) mostGamma() float64 {
	return math.Min(measure.GammaForMassApprox(1-1e-9, max(1, s.e.normal.Random())), s.e.reach)
}

// newRay starts the search with one gamma for all layers.
func (s centred) newRay(t *property.Task) *ray {
	r := &ray{task: t, best: -1, fail: math.Inf(1), cap: s.mostGamma(), dir: make([]float64, len(s.e.normal.Layers))}
	for k := range r.dir {
		r.dir[k] = 1
	}
	return r
}

// uniform searches along the rays, or tries just the gamma that was asked for.
func (s centred) uniform(ctx context.Context, rays []*ray) error {
	if s.cfg.Gamma == 0 {
		return s.searchAll(ctx, rays)
	}
	var probes []*probe
	for _, r := range rays {
		r.ts, r.cap = []float64{s.cfg.Gamma}, s.cfg.Gamma
		r.probes = []*probe{{task: r.task, gamma: s.gammas(s.cfg.Gamma)}}
		probes = append(probes, r.probes...)
	}
	if err := s.verify(ctx, probes); err != nil {
		return err
	}
	for _, r := range rays {
		r.learn()
	}
	return nil
}

// verify answers probes by the method that was asked for.
func (s centred) verify(ctx context.Context, probes []*probe) error {
	return s.e.verify(ctx, proof{method: s.cfg.Method}, probes)
}

// gammas is one half-width for all layers, a number of the device's format.
func (s centred) gammas(g float64) []float64 {
	all := make([]float64, len(s.e.normal.Layers))
	for k := range all {
		all[k] = s.e.dev.Precision().Nearest(g)
	}
	return all
}

// measure verifies the chosen boxes once more, now from the end-points that
// will be measured (so that a certificate does not rest on the device having drawn
// the same ones), learns which neurons are dead on them, and measures them.
func (s centred) measure(ctx context.Context, rays []*ray) ([]*Result, error) {
	var results []*Result
	// End-points are held in float64 on the host, as many boxes at a time as take a
	// quarter of a gigabyte.
	few := max(1, (256<<20)/(16*len(s.e.flat.Mean)))
	for part := range slices.Chunk(rays, few) {
		measured, err := s.measureBoxes(ctx, part)
		if err != nil {
			return nil, err
		}
		results = append(results, measured...)
	}
	return results, nil
}

func (s centred) measureBoxes(ctx context.Context, rays []*ray) ([]*Result, error) {
	var probes []*probe
	results := make([]*Result, len(rays))
	for i, r := range rays {
		results[i] = newResult(r.task, s.cfg.Method.String())
		results[i].Boxing, results[i].Boxes, results[i].Margin = Centred.String(), r.tried, r.failMargin
		if r.best < 0 {
			continue
		}
		gamma := r.gamma(s.e.dev.Precision())
		box, err := s.box(gamma)
		if err != nil {
			return nil, err
		}
		results[i].Gamma = gamma
		probes = append(probes, boxProbe(r.task, &box))
	}
	if err := s.e.verify(ctx, proof{method: s.cfg.Method, wantDead: true}, probes); err != nil {
		return nil, err
	}
	n := 0
	for i, r := range rays {
		if r.best < 0 {
			continue
		}
		p, res := probes[n], results[i]
		n++
		res.Margin = p.margin
		if p.margin >= 0 {
			free := freed(s.e.normal, p)
			res.LogP, res.SafeBoxes, res.Rule = s.e.flat.LogMassDown(free.Lo, free.Hi), 1, "one box"
		}
	}
	return results, nil
}

// box returns the end-points of the box with these half-widths.
func (s centred) box(gamma []float64) (bound.Explicit, error) {
	spec := bound.BoxSpec{}
	for _, g := range gamma {
		spec.Gamma = append(spec.Gamma, []float64{g})
	}
	return bound.HostBox(s.e.normal, s.e.dev.Precision(), spec, 0)
}
