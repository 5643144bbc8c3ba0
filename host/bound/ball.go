package bound

import (
	"context"
	"math"
	"math/bits"

	"psafe/host/arith"
	"psafe/host/bound/sharp"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Balls (docs/theory.md, section 3.7): what the boxes of a batch have in common with L2 or L1 balls. Devices compute
// with the boxes, as ever; what a ball says more is computed on the host, in float64 rounded outward, at
// the two places where the network's inputs are met: of the first layer's units, and of rows that have
// come down to the inputs (ballrows.go).

// UploadBalls is UploadNoisy for the points that each box has in common with a ball, of a chain of dense
// layers (it panics otherwise, and if there is not one ball for each box).
func (m *Model) UploadBalls(boxes []property.Box, balls []*property.Ball) (*Noisy, error) {
	if !m.chain || len(balls) != len(boxes) {
		panic("bound: UploadBalls: not a ball for each box, or not of a chain of dense layers")
	}
	items := make([]*ballItem, len(boxes))
	for i, b := range boxes {
		items[i] = newBallItem(b, balls[i], m.dev.Precision())
	}
	return m.uploadNoisy(boxes, items, false)
}

func newBallItem(box property.Box, ball *property.Ball, p Precision) *ballItem {
	b, n := &ballItem{norm: ball.Norm}, len(box.Lo)
	b.centre, b.radius = ball.Outer(box)
	b.lo, b.hi, b.mostSq = make([]float64, n), make([]float64, n), make([]float64, n)
	b.shutLo, b.shutHi = make([]bool, n), make([]bool, n)
	for j, c := range b.centre {
		b.lo[j], b.hi[j] = p.RoundLo(box.Lo[j]), p.RoundHi(box.Hi[j])
		b.shutLo[j], b.shutHi[j] = box.Lo[j] >= c, box.Hi[j] <= c
		most := max(-box.Lo[j], box.Hi[j])
		b.mostSq[j] = arith.ProductUp(most, most)
	}
	return b
}

// maximumUp bounds the mean of the greatest |g_k| of n standard normal variables: sqrt(2 ln(2n)), as
// ln(2n) <= Len(2n) ln 2, which is below 0.6931471805599454 times that.
func maximumUp(n int) float64 {
	return math.Sqrt(2*0.6931471805599454*float64(bits.Len(uint(2*n)))) * (1 + 0x1p-50)
}

func newBallPass(post *posterior.Posterior, items []*ballItem) *ballPass {
	n := 0
	for k := range post.Layers {
		n = max(n, post.Layers[k].Inputs(), post.Layers[k].Outputs())
	}
	b := &ballPass{items: items, post: post, grow: 1 + float64(n+16)*0x1p-50, units: make([]ballUnits, len(items))}
	fault.OnCores(context.Background(), len(items), func(i int) { b.units[i] = b.unitsOf(items[i]) })
	return b
}

// up covers the roundings of a sum of nonnegative numbers, and what has underflowed in it; what is no
// number, or so large that something may overflow, becomes +Inf.
func (b *ballPass) up(x float64) float64 {
	if x = float64(x*b.grow) + sharp.Tiny; !(x <= sharp.Most) {
		return math.Inf(1)
	}
	return x
}

// least is the same of a lower bound.
func (b *ballPass) least(x float64) float64 { return float64(x*(2-b.grow)) - sharp.Tiny }

func (b *ballPass) rootUp(x float64) float64 { return math.Sqrt(b.up(x)) * (1 + 0x1p-50) }

// reachSq returns an upper bound of E (X^-)^2, or of E (X^+)^2, for X ~ N(a, s): all of E X^2 where x
// may move to the side on which a makes the row fall, and s/2 where only its noise does.
func reachSq(a, s float64, shut bool) float64 {
	if shut {
		return s / 2
	}
	return float64(a*a) + s
}

// unitsOf is the support function of the ball for each row of the first matrix.
func (b *ballPass) unitsOf(t *ballItem) ballUnits {
	l := &b.post.Layers[0]
	in, out := l.Inputs(), l.Outputs()
	list := func() []float64 { return make([]float64, out) }
	u := ballUnits{list(), list(), list(), list(), list(), list(), list()}
	lower1, upper1, size1, centreSq, boxSq := list(), list(), list(), list(), list()
	for j := range in {
		r := t.radius[j]
		rr, cc := float64(r*r), float64(t.centre[j]*t.centre[j])
		shutLo, shutHi := t.shutLo[j], t.shutHi[j]
		mean, sd := l.Weight.Mean[j*out:(j+1)*out], l.Weight.SdHi[j*out:(j+1)*out]
		for i, m := range mean {
			s := float64(sd[i] * sd[i])
			centreSq[i] += float64(s * cc)
			boxSq[i] += float64(s * t.mostSq[j])
			if r == 0 || shutLo && shutHi {
				continue
			}
			fall, rise := shutLo, shutHi // of a row with m >= 0
			if m < 0 {
				fall, rise = shutHi, shutLo
			}
			u.lower[i] += float64(rr * reachSq(m, s, fall))
			u.upper[i] += float64(rr * reachSq(m, s, rise))
			u.sizeSq[i] += float64(rr * reachSq(m, s, false))
			u.steep[i] = max(u.steep[i], float64(r*sd[i]))
			far := float64(r * math.Abs(m))
			size1[i] = max(size1[i], far)
			if !fall {
				lower1[i] = max(lower1[i], far)
			}
			if !rise {
				upper1[i] = max(upper1[i], far)
			}
		}
	}
	most := maximumUp(in)
	for i := range out {
		u.steep[i] = b.up(u.steep[i])
		of := func(sq, far float64) float64 {
			if e := b.rootUp(sq); t.norm == 2 {
				return e
			} else {
				return min(e, b.up(far+float64(most*u.steep[i])))
			}
		}
		u.lower[i], u.upper[i], u.size[i] = of(u.lower[i], lower1[i]), of(u.upper[i], upper1[i]), of(u.sizeSq[i], size1[i])
		u.most[i] = b.up(u.size[i] * (1 + 0x1p-20))
		u.sizeSq[i] = b.up(u.sizeSq[i])
		bias := l.Bias.SdHi[i]
		u.variance[i] = b.up(b.mostVariance(centreSq[i], u.steep[i], boxSq[i]) + float64(bias*bias))
	}
	return u
}

// mostVariance bounds sum_j s_j x_j^2 over the ball: the root is at most that at the centre plus the
// greatest sqrt(s_j) r_j, as |(s_j u_j)|_2 <= max s_j r_j |u/r|_2. It is at most what the box says.
func (b *ballPass) mostVariance(centreSq, steep, boxSq float64) float64 {
	root := b.rootUp(centreSq) + steep
	return min(b.up(float64(root*root)), b.up(boxSq))
}

// upload writes numbers of each item to an array, rounded up.
func (p *clbpPass) upload(of func(u *ballUnits) []float64) Array {
	return p.written(flat(p.ball.units, of))
}

// flat are the numbers of each item, one after the other.
func flat[T any](items []T, of func(t *T) []float64) (all []float64) {
	for i := range items {
		all = append(all, of(&items[i])...)
	}
	return all
}

// widenUnits widens the first layer's units, bounded at the centre, by what the ball and their noise
// add. Mag takes more than the ends: it has to bound sums of |M_j u_j|, too (docs/theory.md, section 3.7).
func (p *clbpPass) widenUnits() {
	h, n := p.hidden[0], p.pass.query.Batch.Items*p.layers[0].out
	variance, none := p.upload(func(u *ballUnits) []float64 { return u.variance }), p.holding(make([]float64, n))
	for _, w := range []struct {
		lower, upper Array
		of           func(u *ballUnits) []float64
	}{
		{h.pre.Lo, nil, func(u *ballUnits) []float64 { return u.lower }},
		{none, h.pre.Hi, func(u *ballUnits) []float64 { return u.upper }},
		{none, h.mag, func(u *ballUnits) []float64 { return u.most }},
	} {
		mean := p.upload(w.of)
		p.widenBy(ofSingle, n, Widen{Lower: w.lower, Upper: w.upper, Mean: mean, Var: variance})
		p.release(mean)
	}
	p.release(variance, none)
}

// varyUnits returns how far the first layer's pre-activations vary over the ball: |W u| is a convex
// function of W with this mean, which changes by at most the greatest r_j sd_j.
func (p *clbpPass) varyUnits() noiseArrays {
	return noiseArrays{
		mean: p.upload(func(u *ballUnits) []float64 { return u.size }),
		variance: p.upload(func(u *ballUnits) []float64 {
			v := make([]float64, len(u.steep))
			for i, s := range u.steep {
				v[i] = arith.ProductUp(s, s)
			}
			return v
		}),
	}
}
