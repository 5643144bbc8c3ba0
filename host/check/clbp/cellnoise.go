package clbp

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
)

// Noises holds the noise that a row has met, by level. Layers of one level do not feed each other,
// so that given all weights below the sum of their noise is one Gaussian process: it counts as that
// of one layer.
type Noises struct {
	of  []law.Noise
	met []bool
}

func (s *Noises) Add(level int, n law.Noise) {
	for len(s.of) <= level {
		s.of, s.met = append(s.of, law.Noise{}), append(s.met, false)
	}
	s.of[level], s.met[level] = s.of[level].Plus(n), true
}

func (s *Noises) Clone() Noises { return Noises{slices.Clone(s.of), slices.Clone(s.met)} }

// list is that of the levels met, from the highest down.
func (s *Noises) list() (list []law.Noise) {
	for v := len(s.of) - 1; v >= 0; v-- {
		if s.met[v] {
			list = append(list, s.of[v])
		}
	}
	return list
}

// total is the noise of all levels, and how many they are.
func (s *Noises) total() (total law.Noise, levels int) {
	for _, n := range s.list() {
		total = total.Plus(n)
		levels++
	}
	return total, levels
}

// ReachInto is the reach of what feeds layer k.
func (p *CellPass) ReachInto(k int) *Reach {
	if p.fedReach[k] == nil {
		all := &Reach{}
		from := p.Graph.From[k]
		for _, s := range from {
			r := &p.input
			if s >= 0 {
				r = &p.reach[s]
			}
			if len(from) == 1 {
				all = r
				break
			}
			all.Radius, all.RadiusSq, all.MostSq = append(all.Radius, r.Radius...), append(all.RadiusSq, r.RadiusSq...), append(all.MostSq, r.MostSq...)
		}
		p.fedReach[k] = all
	}
	return p.fedReach[k]
}

// varyOf bounds how far the pre-activations of layer k vary over the cell: mean and variance of
// what bounds it, nil in a cell that is a point.
func (p *CellPass) varyOf(k int) []law.Noise {
	switch {
	case p.point:
		return nil
	case p.ball != nil && k == 0:
		return p.ball.units.vary
	case p.Levels.Noise[k]:
		return p.variation(k)
	}
	return p.fixedVariation(k)
}

// variation is that of the deviations of layer k, with what all layers have in common.
func (p *CellPass) variation(k int) []law.Noise {
	list := p.Deviations[k].Variation(p.ReachInto(k))
	for i := range list {
		if p.common != nil {
			_, v := p.common.Unit(k, i, len(list), covary.FedBoxOf(p.Into(k)), p.ReachInto(k).Radius)
			list[i].Variance = arith.SumUp(list[i].Variance, v)
		}
	}
	return list
}

// fixedVariation is varyOf for a map without deviations: the variation is at most
// sum_j |w_j| times that of input j, whose mean is the sum of means. What noise of the same
// weights does adds up by standard deviations, of others by variances.
func (p *CellPass) fixedVariation(k int) []law.Noise {
	l, groups := &p.Layers[k], p.Levels.groups[k]
	var mean, variance []law.Noise // of the inputs: variance has the standard deviation as its mean
	var group []int
	for at, s := range p.Graph.From[k] {
		for j := range relax.SizeOf(p.Layers, s) {
			v := law.Noise{}
			switch {
			case s < 0:
				v.Mean = p.input.Radius[j]
			case groups[at] < 0:
				v.Mean = p.reach[s].Radius[j]
			default:
				v = p.vary[s][j]
			}
			mean, variance, group = append(mean, v), append(variance, law.Noise{Mean: arith.SqrtUp(v.Variance)}), append(group, groups[at])
		}
	}
	list := make([]law.Noise, l.Out)
	for i := range list {
		var m arith.Sum
		deviations := map[int]*arith.Sum{}
		l.Each(i, func(j int, size float64) {
			m.Add(size, mean[j].Mean)
			if g := group[j]; g >= 0 {
				if deviations[g] == nil {
					deviations[g] = &arith.Sum{}
				}
				deviations[g].Add(size, variance[j].Mean)
			}
		})
		list[i].Mean = max(0, m.Hi())
		for g := range len(groups) {
			if d := deviations[g]; d != nil {
				list[i].Variance = arith.SumUp(list[i].Variance, law.SquareUp(max(0, d.Hi())))
			}
		}
	}
	return list
}

// reachOf returns how far the outputs of layer k reach. Where it is linear in noise and not needed
// no event is paid for its radius, which is the width of its interval; and where only max pools
// take it, the interval says nothing of the radius, since not all of its lower ends are paid for.
func (p *CellPass) reachOf(k int, h *relax.Hidden, vary []law.Noise) Reach {
	l := &p.Layers[k]
	r, radius := NewReach(l.Out), p.Quantile(p.tau*RadiusShare, 1)
	for i := range l.Out {
		lo, hi := h.Z.Lo[i], h.Z.Hi[i]
		by := 0.0
		if !p.point {
			by = arith.SumUp(hi, -lo)
			if p.Graph.Pooled[k] && p.Levels.open[k] {
				by = arith.Inf
			}
			if !p.Levels.open[k] || p.Levels.needed[k] {
				by = min(arith.Up(l.Act.Lipschitz()*vary[i].ByUp(radius)), by)
			}
		}
		r.Set(i, by, relax.Abs(lo, hi))
	}
	return r
}

// maxima bounds layer k, a max pool. No event is paid for its units, but for the lower bounds of
// stars and for differences.
func (p *CellPass) maxima(k int) (relax.Hidden, []law.Noise) {
	l, below := &p.Layers[k], p.Graph.From[k][0]
	noise := p.Levels.open[below]
	var d relax.Differ
	if p.Layers[below].Windows == nil { // of the units of a pool no differences are known
		d = func(v int, star int32) (most, plain float64) {
			if noise {
				p.Events += float64(len(l.Windows[v]) - 1)
			}
			most = p.difference(below, star, l.Windows[v])
			return most, most
		}
	}
	h := l.Stars(p.Hidden[below].Z, false, &p.By, d)
	if p.starred[below] == nil {
		p.starred[below] = map[int32]bool{}
	}
	for _, star := range h.Pool.Star {
		if noise && p.Graph.Pooled[below] && !p.starred[below][star] {
			p.Events++
			p.starred[below][star] = true
		}
	}
	return h, p.varyOfMaxima(k)
}

// varyOfMaxima: the maximum varies by what a member does at most.
func (p *CellPass) varyOfMaxima(k int) []law.Noise {
	if p.point {
		return nil
	}
	list := make([]law.Noise, p.Layers[k].Out)
	for v, members := range p.Layers[k].Windows {
		for _, j := range members {
			list[v].Mean = max(list[v].Mean, p.reach[p.Graph.From[k][0]].Radius[j])
		}
	}
	return list
}

// difference bounds y_j - y_star from above for all other members j of a window, but for a
// probability of tau each, y being the pre-activations of layer k, which has no activation.
func (p *CellPass) difference(k int, star int32, window []int32) float64 {
	most, ways := -arith.Inf, p.ways(k)
	for _, j := range window {
		if j == star {
			continue
		}
		if p.ctx != nil && p.ctx.Err() != nil {
			return arith.Inf
		}
		a := make([]float64, p.Layers[k].Out)
		a[star], a[j] = 1, -1
		var own Noises
		if p.Levels.Noise[k] {
			own.Add(p.Levels.Of[k], p.Deviations[k].OfRow(a, p.ReachInto(k), p.Into(k)))
		}
		var c arith.Sum
		s := p.Substitute(k, a, &c, false)
		total, levels := own.total()
		lo := arith.SumDown(relax.IntervalLo(s, p.Into(k), c), -total.ByUp(p.Quantile(p.tau, levels)))
		for _, w := range ways {
			met := own.Clone()
			lo = max(lo, p.noisyLo(k, s, c, &met, p.tau, w, nil))
		}
		if math.IsNaN(lo) {
			return arith.Inf
		}
		most = max(most, -lo)
	}
	return most
}
