package check

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// wideRow is the covariance of a row of a layer with many inputs, at most B Diag(w) B' + Diag(more), B
// [n x m]: it is not multiplied out.
type wideRow struct {
	n, m    int
	b       []float64
	w, more []float64
	// norm is at least the largest eigenvalue of B B'.
	norm float64
	// sd bounds the roots of the diagonal.
	sd []float64
}

// newWide is nil where numbers are out of range.
func (v *covaried) newWide(row *property.Row) *wideRow {
	c := v.covariance
	if !inRange(row.CLo, row.CHi, c.Factor, c.QA, c.QG, c.Sd) {
		return nil
	}
	r := &wideRow{n: v.in + 1, norm: arith.Inf}
	r.more = make([]float64, r.n)
	column := make([]float64, v.out)
	if c.Full() {
		r.m = c.Rank
		r.b, r.w = make([]float64, r.n*r.m), make([]float64, r.m)
		off := make([]float64, r.n*r.m)
		for at := range r.b {
			for o := range column {
				column[o] = c.Factor[o*r.n*r.m+at]
			}
			x := times(row, column, 0)
			r.b[at], off[at] = x.Middle(), x.Radius()
		}
		for k := range r.w {
			r.w[k] = 1
		}
		r.offBy(off)
	} else {
		r.m, r.b, r.norm = r.n, c.QA, v.norm
		w := make([]arith.Interval, r.n)
		for i := range v.out {
			for o := range column {
				column[o] = c.QG[o*v.out+i]
			}
			u := times(row, column, 0).Square()
			for k, sd := range c.Sd[i*r.n : (i+1)*r.n] {
				w[k] = w[k].Plus(u.Times(arith.Exactly(sd).Square()))
			}
		}
		for _, x := range w {
			r.w = append(r.w, max(0, x.Hi))
		}
	}
	g := 1 + loose(r.m)
	for j := range r.n {
		s := 0.0
		for k, q := range r.b[j*r.m : (j+1)*r.m] {
			s += float64(float64(q*r.w[k]) * q)
		}
		r.sd = append(r.sd, arith.SqrtUp(arith.Up(float64(s*g)*(1+0x1p-50)+r.more[j]+topTiny)))
	}
	return r
}

// offBy pays for entries of B that are off by at most these: of B B' with the sums of each row.
func (r *wideRow) offBy(off []float64) {
	all, wrong := make([]arith.Sum, r.m), make([]arith.Sum, r.m)
	for at, v := range r.b {
		all[at%r.m].Plus(math.Abs(v))
		wrong[at%r.m].Plus(off[at])
	}
	for j := range r.n {
		var s arith.Sum
		for k := range r.m {
			v, e := math.Abs(r.b[j*r.m+k]), off[j*r.m+k]
			s.Add(e, arith.SumUp(all[k].Hi(), wrong[k].Hi()))
			s.Add(v, wrong[k].Hi())
		}
		if r.more[j] = max(0, s.Hi()); r.more[j] > 0 {
			r.more[j] = arith.Up(r.more[j])
		}
	}
}

func (r *wideRow) marginal(j int) float64 { return r.sd[j] }

// varianceUp is (92).
func (r *wideRow) varianceUp(box fedBox) float64 {
	at := r.at(box)
	if !at.moves {
		return at.centre
	}
	var first arith.Sum
	for j, h := range box.h {
		if h != 0 {
			first.Add(arith.SumUp(math.Abs(at.k[j]), at.off[j]), h)
		}
	}
	return formOf(at.centre, max(0, first.Hi()), at.second)
}

// formAt is the form of a row over a box: c'Kc, Kc, which is within off of k, and the largest value of the form of
// the half-widths.
type formAt struct {
	centre, second float64
	k, off         []float64
	moves          bool
}

// at bounds the form over a box: of that of the half-widths the least counts of what its largest factor, its
// turned coordinates and the row itself say.
func (r *wideRow) at(box fedBox) formAt {
	u, wide := make([]arith.Sum, r.m), make([]float64, r.m)
	moves := false
	var far arith.Sum
	for j, x := range box.c {
		h := 0.0
		if j < len(box.h) {
			h = box.h[j]
		}
		if x == 0 && h == 0 {
			continue
		}
		moves = moves || h > 0
		far.Add(h, h)
		for k, q := range r.b[j*r.m : (j+1)*r.m] {
			if x != 0 {
				u[k] = u[k].With(q, x)
			}
			wide[k] += float64(math.Abs(q) * h)
		}
	}
	p, off, centre := make([]float64, r.m), make([]float64, r.m), arith.Interval{}
	for k := range u {
		of := arith.Of(u[k].Lo(), u[k].Hi())
		centre = centre.Plus(of.Square().Times(arith.Exactly(r.w[k])))
		x := of.Times(arith.Exactly(r.w[k]))
		p[k] = x.Middle()
		off[k] = arith.Up(x.Radius() + loose(r.m)*math.Abs(p[k]) + topTiny)
	}
	for j, x := range box.c {
		centre = centre.Plus(arith.Exactly(r.more[j]).Times(arith.Exactly(x).Square()))
	}
	at := formAt{centre: max(0, centre.Hi), k: make([]float64, len(box.h)), off: make([]float64, len(box.h)), moves: moves}
	if !moves {
		return at
	}
	var more, row, turned arith.Sum
	largest := 0.0
	for j, h := range box.h {
		if h == 0 {
			continue
		}
		s, e := 0.0, 0.0
		for k, q := range r.b[j*r.m : (j+1)*r.m] {
			s += float64(q * p[k])
			e += float64(math.Abs(q) * off[k])
		}
		at.k[j], at.off[j] = s, arith.SumUp(arith.Up(e*(1+loose(r.m))+float64(2*r.m)*arith.Eta), arith.Up(r.more[j]*math.Abs(box.c[j])))
		more.Add(arith.Up(r.more[j]*h), h)
		row.Add(r.sd[j], h)
	}
	for k, w := range r.w {
		largest = max(largest, w)
		x := arith.Up(wide[k]*(1+loose(r.n)) + topTiny)
		turned.Add(arith.ProductUp(x, x), w)
	}
	by := min(arith.ProductUp(arith.ProductUp(largest, r.norm), far.Hi()), turned.Hi())
	second := min(arith.SumUp(by, more.Hi()), arith.ProductUp(row.Hi(), row.Hi()))
	at.second = arith.Up(max(0, second) + topTiny)
	return at
}

// largestEigenvalueUp bounds that of Q Q', Q [n x n], by the sums of magnitudes of its rows.
func largestEigenvalueUp(q []float64, n int) float64 {
	columns, most := make([]float64, n), 0.0
	for e, v := range q {
		columns[e%n] += math.Abs(v)
	}
	product := make([]float64, n)
	for i := range n {
		own := q[i*n : (i+1)*n]
		off, sum := 0.0, 0.0
		for j := range n {
			s := 0.0
			for k, v := range q[j*n : (j+1)*n] {
				s += float64(v * own[k])
			}
			product[j] = math.Abs(s)
		}
		for j, v := range product {
			sum += v
			off += float64(math.Abs(own[j]) * columns[j])
		}
		most = max(most, sum+off*loose(n))
	}
	return arith.Up(most*(1+loose(2*n)) + topTiny)
}
