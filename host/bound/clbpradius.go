package bound

// How far values vary over T.

// moveOf is by how much what layer s gives varies, in the mean and with what variance: all of
// it in the mean where the values are closed and have a radius.
func (p *clbpPass) moveOf(s int) noiseArrays {
	if s >= 0 && !p.layers[s].closed {
		return p.moves[s]
	}
	n := p.layers[0].in
	if s >= 0 {
		n = p.layers[s].out
	}
	return noiseArrays{mean: p.radiusOf(s).radius, variance: p.filled(0, p.pass.query.Batch.Items*n)}
}

// weigh returns up(sum_j weight[j][i] z[j] + bias[i]) for numbers that are not
// negative, [Items x out].
func (p *clbpPass) weigh(k int, weight, bias, z Array) Array {
	l, items := &p.layers[k], p.pass.query.Batch.Items
	n := items * l.out
	low, sum, mag := p.array(n), p.array(n), p.array(n)
	p.affineAt(l, hidden{pre: Interval{low, sum}, mag: mag}, Interval{weight, weight}, Interval{bias, bias},
		Interval{z, z}, true, p.pass.query.Batch)
	p.release(low, mag)
	return sum
}

// vary bounds how far the outputs of layer k vary over T: the pre-activation's
// variation is at most sum_j |W_ij| radius_j, whose mean is E|W| radius and whose
// standard deviation at most the root of sum_j sd_ij^2 radius_j^2. Where weights are certain and
// inputs are not closed, it is at most the sum of |W_ij| times what those vary by.
func (p *clbpPass) vary(k int) {
	l := &p.layers[k]
	var m noiseArrays
	if p.ball != nil && k == 0 {
		m = p.varyUnits()
	} else if l.noisy {
		radius := p.joinRadius(k)
		m.mean = p.weigh(k, p.absMean[k], p.zero[k], radius)
		if m.variance = p.varies; p.dependsOn(k) == nil {
			m.variance = p.weigh(k, p.variance[k], p.zero[k], p.join(k, func(s int) Array { return p.radiusOf(s).radiusSq }))
		}
		if p.common != nil {
			m.variance = p.added(m.variance, p.varies)
		}
	} else {
		m.mean = p.weigh(k, p.absMean[k], p.zero[k], p.join(k, func(s int) Array { return p.moveOf(s).mean }))
		if l.class == bounded || l.class == loose {
			m.variance = p.weigh(k, p.moveSq[k], p.zero[k], p.join(k, func(s int) Array { return p.moveOf(s).variance }))
		} else {
			m.variance = p.filled(0, p.pass.query.Batch.Items*l.out)
		}
	}
	r := radiusArrays{}
	switch {
	case l.class == loose:
	case l.class == bounded && l.poolsOnly:
		r.radius = p.radiusAlone(k, m)
	default:
		r = p.radius(k, m)
	}
	p.radii = append(p.radii, r)
	if l.closed {
		p.release(m.mean)
		if l.noisy || l.class == bounded {
			p.release(m.variance)
		}
		m = noiseArrays{}
	}
	p.moves = append(p.moves, m)
}

// radius makes what is known of the outputs of layer k, whose pre-activations vary by m.
func (p *clbpPass) radius(k int, m noiseArrays) radiusArrays {
	l := &p.layers[k]
	n := p.pass.query.Batch.Items * l.out
	s := radiusArrays{p.array(n), p.array(n), p.array(n)}
	v := Vary{Radius: s.radius, RadiusSq: s.radiusSq, MaxSq: s.maxSq, Z: p.hidden[k].z, Mean: m.mean, Var: m.variance,
		Lipschitz: p.dev.Precision().RoundHi(l.facts.Lipschitz()), N: n}
	v.Quantile, v.Quantiles, v.Each = p.quantile(ofRadius, n)
	p.launch(v)
	p.observe("radius", k, s.radius)
	p.observe("radius.square", k, s.radiusSq)
	p.observe("most.square", k, s.maxSq)
	return s
}

// radiusAlone is the radius of pre-activations of which only pools know: without the width of
// their intervals, of which the lower ends of members that are no star are not paid for.
func (p *clbpPass) radiusAlone(k int, m noiseArrays) Array {
	n := p.pass.query.Batch.Items * p.layers[k].out
	low, radius := p.holding(make([]float64, n)), p.holding(make([]float64, n))
	p.widenBy(ofRadius, n, Widen{Lower: low, Upper: radius, Mean: m.mean, Var: m.variance})
	p.release(low)
	p.observe("radius", k, radius)
	return radius
}

// varyPool: a maximum varies by no more than the member that varies most.
func (p *clbpPass) varyPool(k int) {
	r := p.hidden[k].pool.radius
	p.radii = append(p.radii, p.radius(k, noiseArrays{mean: r, variance: p.filled(0, p.pass.query.Batch.Items*p.layers[k].out)}))
	p.moves = append(p.moves, noiseArrays{})
}
