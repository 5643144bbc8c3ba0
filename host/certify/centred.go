package certify

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/posterior"
	"psafe/host/property"
)

// mostTasks is how many tasks are searched together at most.
const mostTasks = 128

// groupSize is how many tasks from the first on, up to most, have as many input
// boxes as it.
func groupSize(tasks []property.Task, most int) int {
	n := 1
	for n < len(tasks) && n < most && len(tasks[n].T) == len(tasks[0].T) {
		n++
	}
	return n
}

// centred finds, for each task, a mean-centred box as wide as verifies: first one
// gamma for all layers, then one for each, then (Config.Splits) pieces beyond.
func (e *Engine) centred(ctx context.Context, cfg Config, tasks []property.Task) ([]*Result, error) {
	rays := make([]*ray, len(tasks))
	for i := range tasks {
		rays[i] = e.newRay(cfg, &tasks[i])
	}
	if err := e.uniform(ctx, cfg, rays); err != nil {
		return nil, err
	}
	best := rays
	if !cfg.Uniform && cfg.Gamma == 0 && len(e.normal.Layers) > 1 {
		var err error
		if best, err = e.perLayer(ctx, cfg.Method, rays); err != nil {
			return nil, err
		}
	}
	results, err := e.measureCentred(ctx, cfg.Method, best)
	if err != nil || cfg.Splits == 0 {
		return results, err
	}
	for _, r := range results {
		if err := e.split(ctx, cfg, r); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// mostGamma is the half-width at which what is left outside is below 1e-9: wider
// boxes gain nothing that shows.
func (e *Engine) mostGamma() float64 {
	return math.Min(measure.GammaForMassApprox(1-1e-9, max(1, e.normal.Random())), e.reach)
}

// newRay starts the search with one gamma for all layers.
func (e *Engine) newRay(cfg Config, t *property.Task) *ray {
	r := &ray{task: t, best: -1, fail: math.Inf(1), cap: e.mostGamma(), dir: make([]float64, len(e.normal.Layers))}
	for k := range r.dir {
		r.dir[k] = 1
	}
	return r
}

// uniform searches along the rays, or tries just the gamma that was asked for.
func (e *Engine) uniform(ctx context.Context, cfg Config, rays []*ray) error {
	if cfg.Gamma == 0 {
		return e.searchAll(ctx, cfg.Method, rays)
	}
	var probes []*probe
	for _, r := range rays {
		r.ts, r.cap = []float64{cfg.Gamma}, cfg.Gamma
		r.probes = []*probe{{task: r.task, gamma: e.gammas(cfg.Gamma)}}
		probes = append(probes, r.probes...)
	}
	if err := e.verify(ctx, cfg.Method, probes, false); err != nil {
		return err
	}
	for _, r := range rays {
		r.learn()
	}
	return nil
}

func (e *Engine) gammas(g float64) []float64 {
	all := make([]float64, len(e.normal.Layers))
	for k := range all {
		all[k] = e.dev.Precision().Nearest(g)
	}
	return all
}

// measureCentred verifies the chosen boxes once more, now from the end-points that
// will be measured (so that a certificate does not rest on the device having drawn
// the same ones), learns which neurons are dead on them, and measures them.
func (e *Engine) measureCentred(ctx context.Context, method bound.Method, rays []*ray) ([]*Result, error) {
	var results []*Result
	// End-points are held in float64 on the host, as many boxes at a time as take a
	// quarter of a gigabyte.
	few := max(1, (256<<20)/(16*len(e.flat.Mean)))
	for part := range slices.Chunk(rays, few) {
		measured, err := e.measureBoxes(ctx, method, part)
		if err != nil {
			return nil, err
		}
		results = append(results, measured...)
	}
	return results, nil
}

func (e *Engine) measureBoxes(ctx context.Context, method bound.Method, rays []*ray) ([]*Result, error) {
	var probes []*probe
	results := make([]*Result, len(rays))
	for i, r := range rays {
		results[i] = newResult(r.task, method.String())
		results[i].Boxing, results[i].Boxes, results[i].Margin = Centred.String(), r.tried, r.failMargin
		if r.best < 0 {
			continue
		}
		gamma := r.gamma(e.dev.Precision())
		box, err := e.centredBox(gamma)
		if err != nil {
			return nil, err
		}
		results[i].Gamma = gamma
		probes = append(probes, &probe{task: r.task, box: &box})
	}
	if err := e.verify(ctx, method, probes, true); err != nil {
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
			free := e.freeBox(p)
			res.LogP, res.SafeBoxes, res.Rule = e.flat.LogMassDown(free.Lo, free.Hi), 1, "one box"
		}
	}
	return results, nil
}

// centredBox returns the end-points of the box with these half-widths.
func (e *Engine) centredBox(gamma []float64) (bound.Explicit, error) {
	spec := bound.BoxSpec{}
	for _, g := range gamma {
		spec.Gamma = append(spec.Gamma, []float64{g})
	}
	return bound.HostBox(e.normal, e.dev.Precision(), spec, 0)
}

// freeBox returns the end-points of a verified box, with the weights freed that
// cannot matter on it (theory section 5, last sentence):
//
//   - weights out of a neuron that is 0 for all of the box and T, and out of an
//     input that is 0 on all of T;
//   - into a ReLU neuron that is never positive: the lower ends of its bias, and of
//     its weights from inputs that are never negative. Lower weights only lower
//     the pre-activation, so the neuron stays 0.
//
// Proof, layer by layer: for w in the freed set let w' be w clamped to the box.
// If all z of the layer below agree for w and w', then so do this layer's, neuron
// by neuron: a freed weight out of z_j = 0 adds nothing, and a dead neuron's
// pre-activation under w is at most that under w', which is <= 0. So f^w = f^w'
// on T, and w' is in the verified box.
func (e *Engine) freeBox(p *probe) bound.Explicit {
	box := bound.Explicit{}
	for i := range p.box.Lo {
		box.Lo, box.Hi = append(box.Lo, slices.Clone(p.box.Lo[i])), append(box.Hi, slices.Clone(p.box.Hi[i]))
	}
	zero, nonNeg := inputsZero(p.task.T, e.normal.Inputs())
	for k, l := range e.normal.Layers {
		w, b := 2*k, 2*k+1
		free(&l, zero, box.Lo[w], box.Hi[w])
		if k == len(e.normal.Layers)-1 {
			break
		}
		dead := make([]bool, l.Outputs())
		if l.Activation.DeadBelow() {
			dead = p.dead[k]
			lowerDead(&l, dead, nonNeg, box.Lo[w], box.Lo[b])
		}
		zero = dead
		nonNeg = make([]bool, l.Outputs())
		for i := range nonNeg {
			nonNeg[i] = l.Activation.NonNeg()
		}
	}
	return box
}

// inputsZero says of each input whether it is 0, and whether it is never
// negative, on all of T.
func inputsZero(t []property.Box, n int) (zero, nonNeg []bool) {
	zero, nonNeg = make([]bool, n), make([]bool, n)
	for j := range n {
		zero[j], nonNeg[j] = true, true
		for _, b := range t {
			zero[j] = zero[j] && b.Lo[j] == 0 && b.Hi[j] == 0
			nonNeg[j] = nonNeg[j] && b.Lo[j] >= 0
		}
	}
	return zero, nonNeg
}

// free lets weights that meet only inputs that are 0 be anything.
func free(l *posterior.Layer, zero []bool, lo, hi []float64) {
	used := make([]bool, l.Weights())
	for j, z := range zero {
		for _, w := range l.From(j) {
			used[w] = used[w] || !z
		}
	}
	for w, u := range used {
		if !u {
			lo[w], hi[w] = minusInf, math.Inf(1)
		}
	}
}

// lowerDead lets weights that only lead from inputs that are never negative into dead
// neurons be as low as they like, and so the biases of dead neurons only.
func lowerDead(l *posterior.Layer, dead, nonNeg []bool, wLo, bLo []float64) {
	weight, bias := make([]bool, l.Weights()), make([]bool, l.Biases())
	for i, d := range dead {
		bias[l.BiasOf(i)] = bias[l.BiasOf(i)] || !d
		for j, w := range l.Into(i) {
			weight[w] = weight[w] || !d || !nonNeg[j]
		}
	}
	for _, kept := range []struct {
		used []bool
		lo   []float64
	}{{weight, wLo}, {bias, bLo}} {
		for w, u := range kept.used {
			if !u {
				kept.lo[w] = minusInf
			}
		}
	}
}
