package chernoff

import "math"

// lawsApprox are about the hidden layers at the middle, as if all outputs were independent.
func (p *point) lawsApprox() (laws []law) {
	for k, l := range p.hidden {
		next := law{mean: make([]float64, l.out), variance: make([]float64, l.out)}
		next.first, next.second = make([]float64, l.out), make([]float64, l.out)
		for j, r := range p.rects[k] {
			mean, v := r.meanLo, r.varLo
			if k > 0 {
				below := &laws[k-1]
				mean, v = l.bias[j], l.biasHi[j]
				for i, first := range below.first {
					at := i*l.out + j
					mean += l.mean[at] * first
					v += l.squareHi[at]*below.second[i] + l.mean[at]*l.mean[at]*(below.second[i]-first*first)
				}
			}
			t := tiltApprox(0, 0, mean, v)
			next.mean[j], next.variance[j], next.first[j], next.second[j] = mean, v, t.first, t.second
		}
		laws = append(laws, next)
	}
	return laws
}

// sharpened are how much more than in proportion to the probability that a neuron is active its share is.
var sharpened = []float64{0, 1, 64}

// shares returns the shares of the neurons of a layer.
func (l *law) shares(sharp float64) []uint8 {
	list := make([]uint8, len(l.mean))
	for j, m := range l.mean {
		list[j] = uint8(math.Round(steps * min(max(0.5+sharp*(l.active(j, m)-0.5), 0), 1)))
	}
	return list
}

// active is about the probability that a pre-activation with that mean is above 0.
func (l *law) active(j int, mean float64) float64 {
	if l.variance[j] > 0 {
		return math.Erfc(-mean/math.Sqrt(2*l.variance[j])) / 2
	}
	if mean > 0 {
		return 1
	}
	return 0
}

// spreadApprox takes a row down to the input with the shares by which it seems to lose least.
func (b *region) spreadApprox(h *head) *spread {
	var best *spread
	least := math.Inf(1)
	try := func(shares ...[]uint8) {
		s := b.spread(h, shares)
		lost := s.loss + 2.5*math.Sqrt(s.variance) + b.lostApprox(len(b.hidden)-1, h.a, shares)
		if len(shares) > 1 {
			lost += b.lostApprox(0, s.carried, shares)
		}
		if lost < least || best == nil {
			best, least = s, lost
		}
	}
	for _, above := range sharpened {
		last := b.laws[len(b.laws)-1].shares(above)
		if len(b.hidden) == 1 {
			try(last)
			continue
		}
		for _, below := range sharpened {
			try(b.laws[0].shares(below), last)
		}
	}
	return best
}

// lostApprox is about what units of layer k lose on average.
func (b *region) lostApprox(k int, coefficients []float64, shares [][]uint8) float64 {
	sum, l := 0.0, &b.laws[k]
	for j, a := range coefficients {
		p, through := l.active(j, l.mean[j]), share(shares[k][j])
		sum += math.Abs(a) * b.reach[k][j] * (p*(1-through) + (1-p)*through)
	}
	return sum
}

// hopeApprox is about the least that an alternative may be shown to fail with, and its row that is least likely.
func (b *region) hopeApprox(spreads []*spread, all []int) (float64, *spread) {
	sum, least := b.budget, spreads[all[0]]
	for _, r := range all {
		z := b.deviations(spreads[r])
		if z < b.deviations(least) {
			least = spreads[r]
		}
		if sum += math.Exp(-z * z / 2); !(z > 0) {
			sum = 1
		}
	}
	return sum, least
}

// deviations is about how many of its deviations a row is above 0 in the box.
func (b *region) deviations(s *spread) float64 {
	mean, variance := s.momentsApprox(b.laws[len(b.laws)-1].outline)
	return (mean - s.loss) / math.Sqrt(max(variance, 1e-300))
}
