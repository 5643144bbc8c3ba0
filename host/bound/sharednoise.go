package bound

import (
	"context"

	"psafe/internal/fault"
)

// Noise that all layers have in common, W = mean + D e + P z (docs/theory.md (92b)). D e is that of
// independent weights, which the device computes. P z is a level of its own below all others, which the
// host computes: over the boxes of what feeds each layer, from the coefficients of rows.

// Share sets what all layers have in common; what NewDeviations was told are the rest and, as means of |W|,
// those of both together. With alone the rest is 0, so that there is one level. Nothing is sharpened that
// rests on independence.
func (c *Deviations) Share(s SharedNoise, alone bool) {
	c.common, c.together, c.sharper = s, alone, nil
}

// commonUnits adds the shared noise to that which layer k has by itself, and to what it varies by. Around
// the centre of the input box, and in a point, both are one Gaussian, whose mean is known already.
func (p *clbpPass) commonUnits(k int) {
	feds, out := p.feds(k), p.layers[k].out
	mean, variance, err := p.readPair(p.own.mean, p.own.variance)
	if feds == nil || err != nil {
		return
	}
	varies := make([]float64, len(mean))
	p.err = fault.OnCores(context.Background(), len(mean), func(at int) {
		m, v, r := p.common.Unit(k, at%out, feds[at/out])
		if k > 0 {
			mean[at] = sumUp(mean[at], m)
		}
		variance[at], varies[at] = sumUp(variance[at], v), r
	})
	p.alone = noiseArrays{mean: p.written(mean), variance: p.written(variance), cols: out}
	p.varies = p.written(varies)
}

// startCommon begins with what layer k does to rows that are its units, and the same negated.
func (p *clbpPass) startCommon(k int) {
	out, items := p.layers[k].out, p.pass.query.Batch.Items
	lo := make([]float64, items*out*2*out)
	for i := range items {
		for o := range out {
			at := (i*out + o) * 2 * out
			lo[at+o], lo[at+out+o] = 1, -1
		}
	}
	p.joint = nil
	p.commonRows(k, lo, lo, 2*out)
}

// commonRows adds layer l to the rows in work, [Items x out x rows].
func (p *clbpPass) commonRows(l int, lo, hi []float64, rows int) {
	feds, out, items := p.feds(l), p.layers[l].out, p.pass.query.Batch.Items
	if feds == nil {
		return
	}
	if p.joint == nil {
		for range items * rows {
			p.joint = append(p.joint, p.common.NewRow())
		}
	}
	if len(p.joint) != items*rows {
		panic("bound: shared noise of other rows")
	}
	p.err = fault.OnCores(context.Background(), items*rows, func(at int) {
		i, r := at/rows, at%rows
		cLo, cHi := make([]float64, out), make([]float64, out)
		for o := range out {
			cLo[o], cHi[o] = lo[(i*out+o)*rows+r], hi[(i*out+o)*rows+r]
		}
		p.joint[at].Add(l, cLo, cHi, feds[i])
	})
}

// commonNoise returns what the rows in work have met of the shared noise.
func (p *clbpPass) commonNoise(rows int) noiseArrays {
	mean, variance := make([]float64, len(p.joint)), make([]float64, len(p.joint))
	for at, r := range p.joint {
		mean[at], variance[at] = r.Noise()
	}
	return noiseArrays{mean: p.written(mean), variance: p.written(variance), cols: rows}
}

// widenByCommon adds the shared noise to the rows of a hidden layer, as one more level.
func (p *clbpPass) widenByCommon(rows int) {
	n := p.commonNoise(rows)
	mean, variance, err := p.readPair(n.mean, n.variance)
	if err != nil {
		return
	}
	if p.total.mean != nil {
		m, v, err := p.readPair(p.total.mean, p.total.variance)
		if err != nil {
			return
		}
		m, v = repeated(m, p.total.cols, rows), repeated(v, p.total.cols, rows)
		for at := range mean {
			mean[at], variance[at] = sumUp(mean[at], m[at]), sumUp(variance[at], v[at])
		}
	}
	p.dropTotal()
	p.total, p.met[sharedLevel] = noiseArrays{mean: p.written(mean), variance: p.written(variance), cols: rows}, true
}

// added is the sum of two arrays, rounded up.
func (p *clbpPass) added(a, b Array) Array {
	x, y, err := p.readPair(a, b)
	if err != nil {
		return nil
	}
	for i, v := range y {
		x[i] = sumUp(x[i], v)
	}
	return p.written(x)
}

func cloned(rows []SharedRow) []SharedRow {
	list := make([]SharedRow, len(rows))
	for i, r := range rows {
		list[i] = r.Clone()
	}
	return list
}
