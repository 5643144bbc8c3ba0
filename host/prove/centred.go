package prove

import (
	"context"
	"math"
	"slices"
	"time"

	"psafe/host/bound"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// centred looks for weight boxes around the mean on an engine. Whatever it looks at,
// what counts is a box that measure has verified from the end-points it measures.
type centred struct {
	e   *Engine
	how aroundMean
	// took is how long it took to verify so many boxes, the last time.
	took *took
}

// aroundMean says which boxes around the mean are looked for.
type aroundMean struct {
	// method verifies them.
	method bound.Propagation
	// gamma is the half-width in standard deviations; 0 searches for the largest.
	gamma float64
	// uniform keeps one half-width for all layers.
	uniform bool
	// splits is how many times a box may be cut.
	splits int
}

type took struct {
	boxes int
	time  time.Duration
}

// centredBoxes finds, for each task, a mean-centred box as wide as verifies: first one
// gamma for all layers, then one for each, then (if splits are asked for) pieces beyond.
func centredBoxes(ctx context.Context, e *Engine, how aroundMean, tasks []property.Task) ([]*Result, error) {
	s := centred{e, how, &took{}}
	rays := make([]*ray, len(tasks))
	for i := range tasks {
		rays[i] = s.newRay(&tasks[i])
	}
	best, err := s.search(ctx, rays)
	if err != nil && !e.cut(ctx, err) {
		return nil, err
	}
	results, err := s.measure(ctx, best)
	if err != nil || how.splits == 0 {
		return results, err
	}
	for _, r := range results {
		if err := s.split(ctx, r); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// search looks for the widest boxes. Where it ends with an error, what it returns is what it
// has found.
func (s centred) search(ctx context.Context, rays []*ray) ([]*ray, error) {
	err := s.uniform(ctx, rays)
	if err != nil || s.how.uniform || s.how.gamma != 0 || len(s.e.normal.Layers) == 1 {
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
	if s.how.gamma == 0 {
		return s.searchAll(ctx, rays)
	}
	var probes []*probe
	for _, r := range rays {
		r.ts, r.cap = []float64{s.how.gamma}, s.how.gamma
		r.probes = []*probe{{task: r.task, gamma: s.gammas(s.how.gamma)}}
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
func (s centred) verify(ctx context.Context, probes []*probe) error {
	if t := s.took; len(probes) > 0 && t.boxes > 0 && s.e.short(t.time*time.Duration(1+max(1, len(probes)/t.boxes))) {
		return errShort
	}
	start := time.Now()
	err := s.e.verify(ctx, proof{method: s.how.method}, probes)
	if len(probes) > 0 {
		*s.took = took{len(probes), time.Since(start)}
	}
	return err
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
		results[i] = newResult(r.task, s.how.method.String())
		results[i].Boxes = r.tried
		if !math.IsInf(r.fail, 1) {
			results[i].Margin = r.failMargin
		}
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
	if err := s.e.verify(ctx, proof{method: s.how.method, wantDead: true}, probes); err != nil {
		if !s.e.cut(ctx, err) {
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
		res.Margin = p.margin
		if p.margin >= 0 {
			free := freed(s.e.normal, p)
			res.LogP, res.SafeBoxes, res.Rule = s.e.flat.LogMassDown(free.Lo, free.Hi), 1, "one box"
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
	return bound.HostBox(s.e.normal, s.e.dev.Precision(), spec, 0)
}
