// Package boxes finds weight boxes that verify and measures them: around the mean (Centred), and around
// samples of the posterior (Draws), as in Algorithm 1 of Wicker et al. (UAI 2020).
package boxes

import (
	"context"
	"math"
	"slices"
	"time"

	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// centred looks for weight boxes around the mean on an engine. Whatever it looks at,
// what counts is a box that measure has verified from the end-points it measures.
type centred struct {
	e   *engine.Engine
	how AroundMean
	// took is how long it took to verify so many boxes, the last time.
	took *took
}

// AroundMean says which boxes around the mean are looked for.
type AroundMean struct {
	// Method verifies them.
	Method bound.Propagation
	// Gamma is the half-width in standard deviations; 0 searches for the largest.
	Gamma float64
	// Uniform keeps one half-width for all layers.
	Uniform bool
}

type took struct {
	boxes int
	time  time.Duration
}

// Centred finds, for each task, a mean-centred box as wide as verifies: first one
// gamma for all layers, then one for each.
func Centred(ctx context.Context, e *engine.Engine, how AroundMean, tasks []property.Task) ([]*claim.Result, error) {
	s := centred{e, how, &took{}}
	rays := make([]*ray, len(tasks))
	for i := range tasks {
		rays[i] = s.newRay(&tasks[i])
	}
	best, err := s.search(ctx, rays)
	if err != nil && !e.Cut(err) {
		return nil, err
	}
	return s.measure(ctx, best)
}

// search looks for the widest boxes. Where it ends with an error, what it returns is what it
// has found.
func (s centred) search(ctx context.Context, rays []*ray) ([]*ray, error) {
	err := s.uniform(ctx, rays)
	if err != nil || s.how.Uniform || s.how.Gamma != 0 || len(s.e.Normal.Layers) == 1 {
		return rays, err
	}
	best, err := s.perLayer(ctx, rays)
	if err != nil {
		return rays, err
	}
	return best, nil
}

// mostGamma is the half-width at which what is left outside is below 1e-9: wider
// boxes gain nothing that shows.
func (s centred) mostGamma() float64 {
	return math.Min(measure.GammaForMassApprox(1-1e-9, max(1, s.e.Normal.Random())), s.e.Reach)
}

// newRay starts the search with one gamma for all layers.
func (s centred) newRay(t *property.Task) *ray {
	r := &ray{task: t, best: -1, fail: math.Inf(1), cap: s.mostGamma(), dir: make([]float64, len(s.e.Normal.Layers))}
	for k := range r.dir {
		r.dir[k] = 1
	}
	return r
}

// uniform searches along the rays, or tries just the gamma that was asked for.
func (s centred) uniform(ctx context.Context, rays []*ray) error {
	if s.how.Gamma == 0 {
		return s.searchAll(ctx, rays)
	}
	var probes []*engine.Probe
	for _, r := range rays {
		r.ts, r.cap = []float64{s.how.Gamma}, s.how.Gamma
		r.probes = []*engine.Probe{{Task: r.task, Gamma: s.gammas(s.how.Gamma)}}
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

// verify answers probes by the method that was asked for, unless the time that is left does
// not allow that and to verify once more what was found.
func (s centred) verify(ctx context.Context, probes []*engine.Probe) error {
	if t := s.took; len(probes) > 0 && t.boxes > 0 && s.e.Short(t.time*time.Duration(1+max(1, len(probes)/t.boxes))) {
		return engine.ErrShort
	}
	start := time.Now()
	err := s.e.Verify(ctx, engine.How{Method: s.how.Method}, probes)
	if len(probes) > 0 {
		*s.took = took{len(probes), time.Since(start)}
	}
	return err
}

// gammas is one half-width for all layers, a number of the device's format.
func (s centred) gammas(g float64) []float64 {
	all := make([]float64, len(s.e.Normal.Layers))
	for k := range all {
		all[k] = s.e.Device.Precision().Nearest(g)
	}
	return all
}

// measure verifies the chosen boxes once more, now from the end-points that
// will be measured (so that a certificate does not rest on the device having drawn
// the same ones), learns which neurons are dead on them, and measures them.
func (s centred) measure(ctx context.Context, rays []*ray) ([]*claim.Result, error) {
	var results []*claim.Result
	// End-points are held in float64 on the host, as many boxes at a time as take a
	// quarter of a gigabyte.
	few := max(1, (256<<20)/(16*len(s.e.Flat.Mean)))
	for part := range slices.Chunk(rays, few) {
		measured, err := s.measureBoxes(ctx, part)
		if err != nil {
			return nil, err
		}
		results = append(results, measured...)
	}
	return results, nil
}

func (s centred) measureBoxes(ctx context.Context, rays []*ray) ([]*claim.Result, error) {
	var probes []*engine.Probe
	results := make([]*claim.Result, len(rays))
	for i, r := range rays {
		results[i] = claim.NewResult(r.task, s.how.Method.String())
		results[i].Boxes = r.tried
		if !math.IsInf(r.fail, 1) {
			results[i].Margin = r.failMargin
		}
		if r.best < 0 {
			continue
		}
		gamma := r.gamma(s.e.Device.Precision())
		box, err := s.box(gamma)
		if err != nil {
			return nil, err
		}
		results[i].Gamma = gamma
		probes = append(probes, engine.BoxProbe(r.task, &box))
	}
	if err := s.e.Verify(ctx, engine.How{Method: s.how.Method, WantDead: true}, probes); err != nil {
		if !s.e.Cut(err) {
			return nil, err
		}
		for _, r := range results { // nothing is proved of a box that was not verified again
			r.Gamma = nil
		}
	}
	n := 0
	for i, r := range rays {
		if r.best < 0 {
			continue
		}
		p, res := probes[n], results[i]
		n++
		res.Margin = p.Margin
		if p.Margin >= 0 {
			free := freed(s.e.Normal, p)
			res.LogP, res.SafeBoxes, res.Rule = massDown(&s.e.Flat, free), 1, "one box"
		} else {
			res.Gamma = nil // by its end-points it is not safe: the device drew another box
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
	return bound.HostBox(s.e.Normal, s.e.Device.Precision(), spec, 0)
}
