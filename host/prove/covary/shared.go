package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
)

// Shared is the noise that all layers of a posterior have in common, W = mean + D e + P z with one z: P z
// (docs/theory.md (92b)). Of SWAG it is Deviation times factor, of a joint covariance, which has no D, its
// Factor.
type Shared struct {
	rank   int
	factor float64 // 1/sqrt(2(K-1)), rounded up
	// forms reports whether rows keep their form over the boxes (form).
	forms  bool
	layers []sharedLayer
}

// sharedLayer has the columns of the entries of [W b], [out x (in+1) x rank].
type sharedLayer struct {
	in, out int
	p       []float64
}

// NewShared is of a posterior of KindSWAG or KindJoint, of dense layers. It is an error if numbers are so large
// that products could overflow.
func NewShared(post *posterior.Posterior) (*Shared, error) {
	s := &Shared{rank: post.JointRank(), factor: 1, forms: post.Joint() != nil}
	if g := post.SWAG(); g != nil {
		s.rank, s.factor = g.Rank, arith.Up(1/arith.Down(math.Sqrt(float64(2*(g.Rank-1)))))
	}
	for k := range post.Layers {
		l := sharedLayer{in: post.Layers[k].Inputs(), out: post.Layers[k].Outputs()}
		l.p = make([]float64, l.out*(l.in+1)*s.rank)
		if g := post.SWAG(); g != nil {
			l.deviations(g, k)
		} else if c := post.Joint()[k]; c != nil {
			copy(l.p, c.Factor)
		}
		if !InRange(l.p) {
			return nil, bound.Unfitf("layer %d: a deviation is above %v", k, Most)
		}
		s.layers = append(s.layers, l)
	}
	return s, nil
}

// deviations returns the deviations of layer k of SWAG.
func (l *sharedLayer) deviations(g *posterior.SWAG, k int) {
	for r := range g.Rank {
		for a := range 2 {
			n := l.in*(1-a)*l.out + a*l.out // of the array
			column := g.Deviation[2*k+a]
			if len(column) == 0 {
				continue
			}
			for e, v := range column[r*n : (r+1)*n] {
				o, j := e%l.out, e/l.out
				if a == 1 {
					j = l.in
				}
				l.p[(o*(l.in+1)+j)*g.Rank+r] = v
			}
		}
	}
}

// sharedRow is a row on its way down: for each column of P the sum over layers of (A P)' c, of its
// magnitudes and of what it may be off by, of |A P|' h, and of the row's own sum h_j sd_j.
type sharedRow struct {
	*Shared
	u, size, off, wide []float64
	own                float64
	// b are the coefficients of z in what varies, [n x rank], each off by at most e, and h the half-widths:
	// up to mostForm of them.
	b, e, h []float64
	terms   int
	unknown bool
	// still reports whether biases are taken to be certain.
	still bool
}

// NewRow is a row that has met nothing.
func (s *Shared) NewRow() bound.SharedRow { return s.newRow() }

func (s *Shared) newRow() *sharedRow {
	return &sharedRow{Shared: s, u: make([]float64, s.rank), size: make([]float64, s.rank), off: make([]float64, s.rank), wide: make([]float64, s.rank)}
}

// Clone is another row that has met the same.
func (r *sharedRow) Clone() bound.SharedRow {
	c := *r
	for _, list := range []*[]float64{&c.u, &c.size, &c.off, &c.wide, &c.b, &c.e, &c.h} {
		*list = append([]float64(nil), *list...)
	}
	return &c
}

// Add adds what layer k does to the row, whose coefficients of its outputs are in [lo, hi].
func (r *sharedRow) Add(k int, lo, hi []float64, z bound.Fed) {
	l := &r.layers[k]
	n, m := l.in+1, r.rank
	c, h := boxOf(z)
	if !InRange(lo) || !InRange(hi) || !InRange(c) || !InRange(h) {
		r.unknown = true
		return
	}
	b, e := make([]float64, n*m), make([]float64, n*m)
	for o := range l.out {
		of := arith.Of(lo[o], hi[o])
		if of.Lo == 0 && of.Hi == 0 {
			continue
		}
		mid := of.Middle()
		off := arith.Up(of.Radius() + float64(Unit(l.out)*of.Size()))
		for at, v := range l.p[o*n*m : (o+1)*n*m] {
			b[at] += float64(mid * v)
			e[at] += float64(off * math.Abs(v))
		}
	}
	if r.still {
		clear(b[l.in*m:])
		clear(e[l.in*m:])
	}
	g := Grow(l.out)
	for j := range n {
		x, half, square := 1.0, 0.0, 0.0
		if j < l.in {
			x, half = c[j], h[j]
		}
		most := arith.Up(math.Abs(x) + half)
		for t := range m {
			v := b[j*m+t]
			size, off := math.Abs(v), float64(e[j*m+t]*g)+Tiny
			r.u[t] += float64(v * x)
			r.size[t] += float64(size * math.Abs(x))
			r.off[t] += float64(off * most)
			r.wide[t] += float64(size * half)
			square += float64((size + off) * (size + off))
		}
		if half != 0 {
			r.own += float64(math.Sqrt(float64(square*Grow(m))) * half)
			if r.forms && len(r.h) <= mostForm {
				r.h, r.b = append(r.h, half), append(r.b, b[j*m:(j+1)*m]...)
				for _, off := range e[j*m : (j+1)*m] {
					r.e = append(r.e, float64(off*g)+Tiny)
				}
			}
		}
	}
	r.terms += n
}

// Noise bounds minus the mean of the least value of the shared noise over the boxes, and its variance:
// +Inf where nothing is known.
func (r *sharedRow) Noise() (mean, variance float64) {
	if r.unknown {
		return math.Inf(1), math.Inf(1)
	}
	g := Grow(2*r.terms + r.rank)
	turned, centre, wrong := 0.0, 0.0, make([]float64, r.rank)
	for t := range r.u {
		wrong[t] = float64((float64(Unit(r.terms)*r.size[t])+r.off[t])*g) + Tiny
		at := math.Abs(r.u[t]) + wrong[t]
		all := at + float64(r.wide[t]*g) + Tiny
		centre += float64(at * at)
		turned += float64(all * all)
	}
	own := 0.0
	if r.own != 0 {
		own = float64(r.own*g) + Tiny
	}
	root := arith.Up(arith.Up(math.Sqrt(float64(centre*g))) + own)
	square := min(float64(turned*g), arith.Up(root*root), r.form(float64(centre*g), wrong))
	return float64(float64(own*r.factor)*arith.Sqrt2OverPiUp) * (1 + 0x1p-50), float64(square*r.factor) * r.factor * (1 + 0x1p-50)
}

// mostForm and workForm are up to how many numbers that vary, and products, the form of a row is made.
const (
	mostForm = 64
	workForm = 1 << 20
)

// form is (92) of the row, centre being at least its variance at the middle, to which coefficients of z are off
// by at most wrong; +Inf where it is too large to be made.
func (r *sharedRow) form(centre float64, wrong []float64) float64 {
	n, m := len(r.h), r.rank
	if n == 0 || n > mostForm || n*n*m > workForm {
		return math.Inf(1)
	}
	k := &Row{N: n, K: make([]float64, (n+1)*(n+1)), Delta: make([]float64, n+1)}
	_ = k.square(append(slices.Clone(r.b), make([]float64, m)...), append(slices.Clone(r.e), make([]float64, m)...), m, never)
	first := 0.0
	for j, h := range r.h {
		sum, off := 0.0, 0.0
		for t, u := range r.u {
			v, e := r.b[j*m+t], r.e[j*m+t]
			sum += float64(v * u)
			off += float64(math.Abs(v)*(wrong[t]+float64(Unit(m)*math.Abs(u)))) + float64(e*(math.Abs(u)+wrong[t]))
		}
		first += float64((math.Abs(sum) + float64(off*Grow(m))) * h)
	}
	return LargestUp(centre, float64(first*Grow(n+m))+Tiny, k.OverBoxUp(r.h))
}

// Unit bounds what the shared noise does to output i of layer k alone, and the variance of
// |sum_j P_ij z| radius_j.
func (s *Shared) Unit(k, i int, z bound.Fed) (mean, variance, varies float64) {
	unit := make([]float64, s.layers[k].out)
	unit[i] = 1
	row := s.NewRow()
	row.Add(k, unit, unit, z)
	mean, variance = row.Noise()
	// Around 0, without the bias: the same form over +-radius.
	zero := bound.Fed{Lo: make([]float64, len(z.Radius)), Hi: z.Radius, Radius: z.Radius}
	for j, r := range z.Radius {
		zero.Lo[j] = -r
	}
	vary := s.newRow()
	vary.still = true
	vary.Add(k, unit, unit, zero)
	_, varies = vary.Noise()
	return mean, variance, varies
}

// boxOf are middles and half-widths of what feeds a layer.
func boxOf(z bound.Fed) (c, h []float64) {
	c, h = make([]float64, len(z.Lo)), make([]float64, len(z.Lo))
	for j := range c {
		if c[j] = arith.Middle(z.Lo[j], z.Hi[j]); z.Lo[j] != z.Hi[j] {
			h[j] = max(arith.SumUp(z.Hi[j], -c[j]), arith.SumUp(c[j], -z.Lo[j]))
		}
	}
	return c, h
}
