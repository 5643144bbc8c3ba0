package branch

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/bound"
)

// Under the assumption that a row of the property is not positive, which is what has to be refuted,
// pre-activations range less far (Kotha et al. 2023, INVPROP): for any beta > 0 a lower bound L of
// row + beta zeta says zeta >= L / beta there. Beta is raised with the slopes, for the greatest
// L / beta. An interval that becomes empty has refuted it.

const (
	// aimRounds is how many steps each neuron gets.
	aimRounds = 20
	// probed is how many neurons are tightened first, to see whether it is worth while for all.
	probed = 32
	// worthAiming is up to which share of their widths it has to leave for that.
	worthAiming = 0.95
	// aimRate is the first step of the logarithms of multipliers.
	aimRate = 0.3
)

// aiming is the task of k with pre-activations tightened under the assumption that its row is not
// positive. The row may be proved by that. The caller has to release the new task. It panics beside
// noise: what is known of inputs where the row fails bounds the noise of no other input.
func (p *phased) aiming(k *knot) (q *phased, proved bool, err error) {
	if p.task.Noise != nil {
		panic("phases: aimed beside noise, whose event is about all inputs of the box")
	}
	q = &phased{from: p, task: p.task, net: p.net, most: p.most, layer: p.layer, batch: p.batch, open: p.open, aimFrom: math.Inf(-1), tried: p.tried, bounds: p.bounds}
	var held []bound.Literal
	for _, f := range k.phases {
		held = append(held, bound.Literal{Layer: f.layer, Unit: f.unit, Phase: f.phase})
	}
	s, err := p.s.Assuming(k.clause, held...)
	if err != nil {
		return q, false, err
	}
	q.s = s
	q.known.lo, q.known.hi = s.Ranges()
	q.known.phases = p.known.phases
	probe := q.known.widest(q.open, probed)
	before := q.known.width(probe)
	if proved, err = q.aims(k, probe); proved || err != nil {
		return q, proved, err
	}
	if q.known.width(probe) > worthAiming*before {
		q.aimFrom = k.bound / 2
	} else if proved, err = q.aims(k, q.open); proved || err != nil {
		return q, proved, err
	}
	q.open = q.known.among(p.open)
	return q, false, nil
}

// among are those of some neurons that may be on both sides of their kink.
func (r *ranges) among(list []neuronAt) (open []neuronAt) {
	for _, n := range list {
		if r.open(n.layer, n.unit) {
			open = append(open, n)
		}
	}
	return open
}

// aims tightens the pre-activations of those of some neurons that may be on both sides of their kink.
func (p *phased) aims(k *knot, list []neuronAt) (proved bool, err error) {
	var aims []bound.Aim
	for _, n := range list {
		if p.known.open(n.layer, n.unit) {
			aims = append(aims, bound.Aim{Layer: n.layer, Unit: n.unit}, bound.Aim{Layer: n.layer, Unit: n.unit, Upper: true})
		}
	}
	for chunk := range slices.Chunk(aims, p.most) {
		if p.stopped() {
			return false, errStopped
		}
		if proved, err = p.aim(k, chunk); proved || err != nil {
			return proved, err
		}
	}
	return false, nil
}

// widest are the n neurons whose triangles are widest.
func (r *ranges) widest(list []neuronAt, n int) []neuronAt {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y neuronAt) int {
		return cmp.Compare(r.width([]neuronAt{y}), r.width([]neuronAt{x}))
	})
	return list[:min(n, len(list))]
}

// width returns the width of the triangles of neurons, summed up: the greatest distance of an upper line from
// max(t, 0).
func (r *ranges) width(list []neuronAt) (sum float64) {
	for _, n := range list {
		sum += height(r.lo[n.layer][n.unit], r.hi[n.layer][n.unit])
	}
	return sum
}

// release gives the memory on the device back.
func (p *phased) release() {
	if p.s != nil {
		p.s.Release()
	}
}

// aim tightens the pre-activations of some neurons.
func (p *phased) aim(k *knot, aims []bound.Aim) (proved bool, err error) {
	knots := make([]*knot, len(aims))
	for c := range knots {
		knots[c] = k
	}
	a, r := p.columns(knots), len(aims)
	if err := a.evaluate(true); err != nil {
		return false, err
	}
	beta := make([]float64, r) // their logarithms
	for c, m := range aims {
		s := a.coefficients[m.Layer+1]
		sum := 0.0
		for i := range p.known.lo[m.Layer] {
			sum += math.Abs(s[i*r+c])
		}
		beta[c] = math.Log(sum/float64(len(p.known.lo[m.Layer])) + 1e-6)
	}
	set := func() {
		for c, m := range aims {
			v := finiteOr(math.Exp(beta[c]), 0) // 0 aims at nothing
			if m.Upper {
				v = -v
			}
			a.q.Beta[m.Layer][m.Unit*r+c] = p.s.Precision().Nearest(v)
		}
	}
	first, second := make([]float64, r), make([]float64, r)
	for round := range aimRounds {
		set()
		a.best = slices.Repeat([]float64{math.Inf(-1)}, r)
		if err := a.evaluate(true); err != nil {
			return false, err
		}
		p.bounds = append(p.bounds, a.best...)
		if empty, err := p.s.TightenAiming(&a.q, aims, a.best); empty || err != nil {
			return empty, err
		}
		if round == aimRounds-1 {
			break
		}
		if err := a.step(); err != nil {
			return false, err
		}
		one, two := 1-math.Pow(momentOne, float64(round+1)), 1-math.Pow(momentTwo, float64(round+1))
		for c, m := range aims {
			t, size := a.zeta[m.Layer][m.Unit*r+c], math.Exp(beta[c])
			if m.Upper {
				t = -t
			}
			g := finiteOr(t-a.best[c]/size, 0)
			first[c] = momentOne*first[c] + (1-momentOne)*g
			second[c] = momentTwo*second[c] + (1-momentTwo)*g*g
			beta[c] += aimRate * (first[c] / one) / (math.Sqrt(second[c]/two) + 1e-30)
		}
	}
	return false, nil
}
