package bound

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound/sharp"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// NewDeviations copies means and deviations to the device. Means are enclosed in
// intervals, deviations rounded up: all of docs/theory.md (10) to (12) grows with them.
func (m *Model) NewDeviations(post *posterior.Posterior, moments Moments) (*Deviations, error) {
	c := &Deviations{model: m, post: post, sharper: sharp.New(post, func() error { return Ended(m.dev) }), concave: newConcaveNet(post)}
	for k, l := range post.Layers {
		if err := c.addLayer(&m.layers[k], &l, moments.AbsMean[k]); err != nil {
			c.Release()
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
	}
	var err error
	if c.mean, err = m.Upload([]Explicit{m.meansOf(post)}); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// lookEvery is how many numbers the host computes between two looks whether to go on.
const lookEvery = 1 << 16

func (c *Deviations) addLayer(lay *layer, l *posterior.Layer, absMean []float64) error {
	p := c.model.dev.Precision()
	if len(absMean) != len(l.Weight.Mean) {
		panic(fmt.Sprintf("bound: NewDeviations: %d means of |W|, layer has %d weights", len(absMean), len(l.Weight.Mean)))
	}
	var failed error
	up := func(n int, f func(j int) float64) []float64 {
		v := make([]float64, n)
		for j := range v {
			if j%lookEvery == 0 && failed == nil {
				failed = Ended(c.model.dev)
			}
			if failed != nil {
				return v
			}
			if v[j] = p.RoundHi(f(j)); !(v[j] < p.Max()/4) {
				failed = Unfitf("entry %d: a standard deviation or its square does not fit %v: use --precision float64", j, p)
			}
		}
		return v
	}
	// The factors cover the roundings of normal numbers, the neighbour above that of a
	// subnormal one.
	above := func(product, enlarged float64) float64 {
		if product == 0 {
			return 0
		}
		return max(enlarged, math.Nextafter(product, math.Inf(1)))
	}
	mean := func(sd float64) float64 { return above(sd*arith.Sqrt2OverPiUp, sd*arith.Sqrt2OverPiUp*(1+0x1p-51)) }
	square := func(sd float64) float64 {
		return atLeast(above(sd*sd, sd*sd*(1+0x1p-52)*(1+0x1p-51)), sd)
	}
	sd, bias := l.Weight.SdHi, l.Bias.SdHi
	n := lay.taps * lay.channels
	// of is f of the parameter at entry e of the matrix, 0 where there is none.
	of := func(f func(j int) float64) []float64 {
		return up(n, func(e int) float64 {
			if j := lay.param(e); j >= 0 {
				return f(j)
			}
			return 0
		})
	}
	var move []float64
	if lay.weighted {
		move = of(func(j int) float64 { return absMean[j] })
	} else {
		move, sd, bias = up(n, func(t int) float64 { return lay.hostCoefficient[1][t] }), nil, make([]float64, lay.channels)
	}
	if lay.pool {
		n = 0
	}
	for _, a := range []struct {
		to *[]Array
		v  []float64
	}{
		{&c.sdMean, of(func(j int) float64 { return mean(sd[j]) })},
		{&c.variance, of(func(j int) float64 { return square(sd[j]) })},
		{&c.absMean, move},
		{&c.biasVariance, up(len(bias), func(j int) float64 { return square(bias[j]) })},
		{&c.zero, make([]float64, lay.channels)},
		{&c.moveSq, up(n, lay.moveSq(move))},
	} {
		if len(a.v) == 0 { // a pool's
			*a.to = append(*a.to, nil)
			continue
		}
		if failed != nil {
			return failed
		}
		array, err := c.model.uploadOne(a.v)
		if err != nil {
			return err
		}
		*a.to = append(*a.to, array)
	}
	return nil
}

// Release gives the device's memory back.
func (c *Deviations) Release() {
	for _, list := range [][]Array{c.sdMean, c.variance, c.absMean, c.moveSq, c.biasVariance, c.zero} {
		for _, a := range list {
			c.model.dev.Release(a)
		}
	}
	if c.mean != nil {
		c.model.ReleaseBoxes(c.mean)
	}
}

// UploadNoisy copies input boxes to the device, with how far they reach from their
// centres and from 0, rounded up: +Inf, which makes bounds unknown, if that overflows.
func (m *Model) UploadNoisy(boxes []property.Box) (*Noisy, error) {
	return m.uploadNoisy(boxes, nil, false)
}

// UploadPointwise is UploadNoisy for statements about one point x of each box, whichever it is, and not about
// all of them at once (docs/theory.md, section 3.8): bounds of rows and of moments are those over the box, and nothing
// varies, as at a point.
func (m *Model) UploadPointwise(boxes []property.Box) (*Noisy, error) {
	return m.uploadNoisy(boxes, nil, true)
}

func (m *Model) uploadNoisy(boxes []property.Box, balls []*ballItem, pointwise bool) (*Noisy, error) {
	in, err := m.UploadInputs(boxes)
	if err != nil {
		return nil, err
	}
	p := m.dev.Precision()
	up := func(x float64) float64 { return p.RoundHi(math.Nextafter(x, math.Inf(1))) }
	numbers := func() []float64 { return make([]float64, len(boxes)*m.layers[0].in) }
	radius, radiusSq, maxSq, centreLo, centreHi := numbers(), numbers(), numbers(), numbers(), numbers()
	fault.OnCores(context.Background(), len(boxes), func(i int) {
		b := boxes[i]
		for j, lo := range b.Lo {
			at := i*len(b.Lo) + j
			// Any centre will do; this one is about the middle. A box without
			// width has no radius.
			hi := b.Hi[j]
			c, r := lo+(hi-lo)/2, 0.0
			if balls != nil {
				c = balls[i].centre[j]
			}
			if lo != hi && !pointwise {
				r = up(max(hi-c, c-lo))
			}
			most := max(math.Abs(lo), math.Abs(hi))
			if !m.chain { // factors of shared weights are made of the rounded ends
				most = max(math.Abs(p.RoundLo(lo)), math.Abs(p.RoundHi(hi)))
			}
			centreLo[at], centreHi[at] = p.RoundLo(c), p.RoundHi(c)
			radius[at], radiusSq[at], maxSq[at] = r, up(r*r), up(most*most)
		}
	})
	n := &Noisy{Inputs: in, point: true, balls: balls}
	for _, b := range boxes {
		n.points = append(n.points, pointwise || slices.Equal(b.Lo, b.Hi))
		n.point = n.point && n.points[len(n.points)-1]
	}
	for _, a := range []struct {
		to *Array
		v  []float64
	}{{&n.radius, radius}, {&n.radiusSq, radiusSq}, {&n.maxSq, maxSq}, {&n.centre.Lo, centreLo}, {&n.centre.Hi, centreHi}} {
		if (a.to == &n.centre.Lo || a.to == &n.centre.Hi) && (n.point || !m.chain) {
			continue
		}
		if *a.to, err = m.uploadOne(a.v); err != nil {
			m.ReleaseNoisy(n)
			return nil, err
		}
	}
	return n, nil
}

// ReleaseNoisy gives the memory of input boxes back.
func (m *Model) ReleaseNoisy(n *Noisy) {
	m.ReleaseInputs(n.Inputs)
	for _, a := range []Array{n.radius, n.radiusSq, n.maxSq, n.centre.Lo, n.centre.Hi} {
		m.dev.Release(a)
	}
}
