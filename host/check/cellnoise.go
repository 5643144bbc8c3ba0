package check

import (
	"math"
	"slices"

	"psafe/host/arith"
)

// noises holds the noise that a row has met, by level. Layers of one level do not feed each other,
// so that given all weights below the sum of their noise is one Gaussian process: it counts as that
// of one layer.
type noises struct {
	of  []noise
	met []bool
}

func (s *noises) add(level int, n noise) {
	for len(s.of) <= level {
		s.of, s.met = append(s.of, noise{}), append(s.met, false)
	}
	s.of[level], s.met[level] = s.of[level].plus(n), true
}

func (s *noises) clone() noises { return noises{slices.Clone(s.of), slices.Clone(s.met)} }

// list is that of the levels met, from the highest down.
func (s *noises) list() (list []noise) {
	for v := len(s.of) - 1; v >= 0; v-- {
		if s.met[v] {
			list = append(list, s.of[v])
		}
	}
	return list
}

// total is the noise of all levels, and how many they are.
func (s *noises) total() (total noise, levels int) {
	for _, n := range s.list() {
		total = total.plus(n)
		levels++
	}
	return total, levels
}

// reachInto is the reach of what feeds layer k.
func (p *cellPass) reachInto(k int) *reach {
	if p.fedReach[k] == nil {
		all := &reach{}
		from := p.graph.from[k]
		for _, s := range from {
			r := &p.input
			if s >= 0 {
				r = &p.reach[s]
			}
			if len(from) == 1 {
				all = r
				break
			}
			all.radius, all.radiusSq, all.mostSq = append(all.radius, r.radius...), append(all.radiusSq, r.radiusSq...), append(all.mostSq, r.mostSq...)
		}
		p.fedReach[k] = all
	}
	return p.fedReach[k]
}

// varyOf bounds how far the pre-activations of layer k vary over the cell: mean and variance of
// what bounds it, nil in a cell that is a point.
func (p *cellPass) varyOf(k int) []noise {
	switch {
	case p.point:
		return nil
	case p.ball != nil && k == 0:
		return p.ball.units.vary
	case p.levels.noise[k]:
		return p.variation(k)
	}
	return p.fixedVariation(k)
}

// variation is that of the deviations of layer k, with what all layers have in common.
func (p *cellPass) variation(k int) []noise {
	list := p.deviations[k].variation(p.reachInto(k))
	for i := range list {
		if p.common != nil {
			_, v := p.common.unit(k, i, len(list), fedBoxOf(p.into(k)), p.reachInto(k).radius)
			list[i].variance = arith.SumUp(list[i].variance, v)
		}
	}
	return list
}

// fixedVariation is varyOf for a map without deviations: the variation is at most
// sum_j |w_j| times that of input j, whose mean is the sum of means. What noise of the same
// weights does adds up by standard deviations, of others by variances.
func (p *cellPass) fixedVariation(k int) []noise {
	l, groups := &p.layers[k], p.levels.groups[k]
	var mean, variance []noise // of the inputs: variance has the standard deviation as its mean
	var group []int
	for at, s := range p.graph.from[k] {
		for j := range sizeOf(p.layers, s) {
			v := noise{}
			switch {
			case s < 0:
				v.mean = p.input.radius[j]
			case groups[at] < 0:
				v.mean = p.reach[s].radius[j]
			default:
				v = p.vary[s][j]
			}
			mean, variance, group = append(mean, v), append(variance, noise{mean: arith.SqrtUp(v.variance)}), append(group, groups[at])
		}
	}
	list := make([]noise, l.out)
	for i := range list {
		var m arith.Sum
		deviations := map[int]*arith.Sum{}
		l.each(i, func(j int, size float64) {
			m.Add(size, mean[j].mean)
			if g := group[j]; g >= 0 {
				if deviations[g] == nil {
					deviations[g] = &arith.Sum{}
				}
				deviations[g].Add(size, variance[j].mean)
			}
		})
		list[i].mean = max(0, m.Hi())
		for g := range len(groups) {
			if d := deviations[g]; d != nil {
				list[i].variance = arith.SumUp(list[i].variance, squareUp(max(0, d.Hi())))
			}
		}
	}
	return list
}

// each calls f for each input that neuron i meets, with the greatest |weight|.
func (l *layer) each(i int, f func(j int, size float64)) {
	if l.at == nil {
		for j := range l.in {
			f(j, abs(l.w.lo[j*l.out+i], l.w.hi[j*l.out+i]))
		}
		return
	}
	o, under := i%l.at.channels, l.at.under(i/l.at.channels)
	for _, k := range l.at.kernels[o] {
		if j := under[k]; j >= 0 {
			w := int(k)*l.at.channels + o
			f(int(j), abs(l.w.lo[w], l.w.hi[w]))
		}
	}
}

// reachOf returns how far the outputs of layer k reach. Where it is linear in noise and not needed
// no event is paid for its radius, which is the width of its interval; and where only max pools
// take it, the interval says nothing of the radius, since not all of its lower ends are paid for.
func (p *cellPass) reachOf(k int, h *hidden, vary []noise) reach {
	l := &p.layers[k]
	r, radius := newReach(l.out), p.quantile(p.tau*radiusShare, 1)
	for i := range l.out {
		lo, hi := h.z.lo[i], h.z.hi[i]
		by := 0.0
		if !p.point {
			by = arith.SumUp(hi, -lo)
			if p.graph.pooled[k] && p.levels.open[k] {
				by = arith.Inf
			}
			if !p.levels.open[k] || p.levels.needed[k] {
				by = min(arith.Up(l.act.Lipschitz()*vary[i].byUp(radius)), by)
			}
		}
		r.set(i, by, abs(lo, hi))
	}
	return r
}

// maxima bounds layer k, a max pool. No event is paid for its units, but for the lower bounds of
// stars and for differences.
func (p *cellPass) maxima(k int) (hidden, []noise) {
	l, below := &p.layers[k], p.graph.from[k][0]
	noise := p.levels.open[below]
	var d differ
	if p.layers[below].windows == nil { // of the units of a pool no differences are known
		d = func(v int, star int32) (most, plain float64) {
			if noise {
				p.events += float64(len(l.windows[v]) - 1)
			}
			most = p.difference(below, star, l.windows[v])
			return most, most
		}
	}
	h := l.stars(p.hidden[below].z, false, &p.by, d)
	if p.starred[below] == nil {
		p.starred[below] = map[int32]bool{}
	}
	for _, star := range h.pool.star {
		if noise && p.graph.pooled[below] && !p.starred[below][star] {
			p.events++
			p.starred[below][star] = true
		}
	}
	return h, p.varyOfMaxima(k)
}

// varyOfMaxima: the maximum varies by what a member does at most.
func (p *cellPass) varyOfMaxima(k int) []noise {
	if p.point {
		return nil
	}
	list := make([]noise, p.layers[k].out)
	for v, members := range p.layers[k].windows {
		for _, j := range members {
			list[v].mean = max(list[v].mean, p.reach[p.graph.from[k][0]].radius[j])
		}
	}
	return list
}

// difference bounds y_j - y_star from above for all other members j of a window, but for a
// probability of tau each, y being the pre-activations of layer k, which has no activation.
func (p *cellPass) difference(k int, star int32, window []int32) float64 {
	most, ways := -arith.Inf, p.ways(k)
	for _, j := range window {
		if j == star {
			continue
		}
		if p.ctx != nil && p.ctx.Err() != nil {
			return arith.Inf
		}
		a := make([]float64, p.layers[k].out)
		a[star], a[j] = 1, -1
		var own noises
		if p.levels.noise[k] {
			own.add(p.levels.of[k], p.deviations[k].ofRow(a, p.reachInto(k), p.into(k)))
		}
		var c arith.Sum
		s := p.substitute(k, a, &c, false)
		total, levels := own.total()
		lo := arith.SumDown(intervalLo(s, p.into(k), c), -total.byUp(p.quantile(p.tau, levels)))
		for _, w := range ways {
			met := own.clone()
			lo = max(lo, p.noisyLo(k, s, c, &met, p.tau, w, nil))
		}
		if math.IsNaN(lo) {
			return arith.Inf
		}
		most = max(most, -lo)
	}
	return most
}
