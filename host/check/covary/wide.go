package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// WideRow is the covariance of a row of a layer with many inputs, at most B Diag(w) B' + Diag(more), B
// [n x m]: it is not multiplied out.
type WideRow struct {
	N, M    int
	B       []float64
	W, More []float64
	// Norm is at least the largest eigenvalue of B B'.
	Norm float64
	// Sd bounds the roots of the diagonal.
	Sd []float64
}

// NewWide is nil where numbers are out of range.
func (v *Covaried) NewWide(row *property.Row) *WideRow {
	c := v.Covariance
	if !InRange(row.CLo, row.CHi, c.Factor, c.QA, c.QG, c.Sd) {
		return nil
	}
	r := &WideRow{N: v.In + 1, Norm: arith.Inf}
	r.More = make([]float64, r.N)
	if c.Full() {
		b, m := v.byFactor(row)
		r.M, r.W = m, slices.Repeat([]float64{1}, m)
		r.Around(b)
	} else {
		r.M, r.B, r.Norm = r.N, c.QA, v.norm
		for _, x := range v.byProduct(row) {
			r.W = append(r.W, max(0, x.Hi))
		}
	}
	g := 1 + Loose(r.M)
	for j := range r.N {
		s := 0.0
		for k, q := range r.B[j*r.M : (j+1)*r.M] {
			s += float64(float64(q*r.W[k]) * q)
		}
		r.Sd = append(r.Sd, arith.SqrtUp(arith.Up(float64(s*g)*(1+0x1p-50)+r.More[j]+TopTiny)))
	}
	return r
}

// Around takes the middles of these intervals as B, and pays for what that is off by: of B B' with the sums of each row.
func (r *WideRow) Around(b []arith.Interval) {
	off := make([]float64, len(b))
	r.B = make([]float64, len(b))
	for at, x := range b {
		r.B[at], off[at] = x.Middle(), x.Radius()
	}
	all, wrong := make([]arith.Sum, r.M), make([]arith.Sum, r.M)
	for at, v := range r.B {
		all[at%r.M].Plus(math.Abs(v))
		wrong[at%r.M].Plus(off[at])
	}
	for j := range r.N {
		var s arith.Sum
		for k := range r.M {
			v, e := math.Abs(r.B[j*r.M+k]), off[j*r.M+k]
			s.Add(e, arith.SumUp(all[k].Hi(), wrong[k].Hi()))
			s.Add(v, wrong[k].Hi())
		}
		if r.More[j] = max(0, s.Hi()); r.More[j] > 0 {
			r.More[j] = arith.Up(r.More[j])
		}
	}
}

func (r *WideRow) Marginal(j int) float64 { return r.Sd[j] }

// varianceUp is (92).
func (r *WideRow) varianceUp(box FedBox) float64 {
	if !InRange(box.C, box.H) {
		return arith.Inf
	}
	at := r.At(box)
	if !at.moves {
		return at.Centre
	}
	var first arith.Sum
	for j, h := range box.H {
		if h != 0 {
			first.Add(arith.SumUp(math.Abs(at.K[j]), at.Off[j]), h)
		}
	}
	return FormOf(at.Centre, max(0, first.Hi()), at.Second)
}

// formAt is the form of a row over a box: c'Kc, Kc, which is within off of k, and the largest value of the form of
// the half-widths.
type formAt struct {
	Centre, Second float64
	K, Off         []float64
	moves          bool
}

// At bounds the form over a box: of that of the half-widths the least counts of what its largest factor, its
// turned coordinates and the row itself say.
func (r *WideRow) At(box FedBox) formAt {
	u, wide := make([]arith.Sum, r.M), make([]float64, r.M)
	moves := false
	var far arith.Sum
	for j, x := range box.C {
		h := 0.0
		if j < len(box.H) {
			h = box.H[j]
		}
		if x == 0 && h == 0 {
			continue
		}
		moves = moves || h > 0
		far.Add(h, h)
		for k, q := range r.B[j*r.M : (j+1)*r.M] {
			if x != 0 {
				u[k] = u[k].With(q, x)
			}
			wide[k] += float64(math.Abs(q) * h)
		}
	}
	p, off, centre := make([]float64, r.M), make([]float64, r.M), arith.Interval{}
	for k := range u {
		of := arith.Of(u[k].Lo(), u[k].Hi())
		centre = centre.Plus(of.Square().Times(arith.Exactly(r.W[k])))
		x := of.Times(arith.Exactly(r.W[k]))
		p[k] = x.Middle()
		off[k] = arith.Up(x.Radius() + Loose(r.M)*math.Abs(p[k]) + TopTiny)
	}
	for j, x := range box.C {
		centre = centre.Plus(arith.Exactly(r.More[j]).Times(arith.Exactly(x).Square()))
	}
	at := formAt{Centre: max(0, centre.Hi), K: make([]float64, len(box.H)), Off: make([]float64, len(box.H)), moves: moves}
	if !moves {
		return at
	}
	var more, row, turned arith.Sum
	largest := 0.0
	for j, h := range box.H {
		if h == 0 {
			continue
		}
		s, e := 0.0, 0.0
		for k, q := range r.B[j*r.M : (j+1)*r.M] {
			s += float64(q * p[k])
			e += float64(math.Abs(q) * off[k])
		}
		at.K[j], at.Off[j] = s, arith.SumUp(arith.Up(e*(1+Loose(r.M))+float64(2*r.M)*arith.Eta), arith.Up(r.More[j]*math.Abs(box.C[j])))
		more.Add(arith.Up(r.More[j]*h), h)
		row.Add(r.Sd[j], h)
	}
	for k, w := range r.W {
		largest = max(largest, w)
		x := arith.Up(wide[k]*(1+Loose(r.N)) + TopTiny)
		turned.Add(arith.ProductUp(x, x), w)
	}
	by := min(arith.ProductUp(arith.ProductUp(largest, r.Norm), far.Hi()), turned.Hi())
	second := min(arith.SumUp(by, more.Hi()), arith.ProductUp(row.Hi(), row.Hi()))
	at.Second = arith.Up(max(0, second) + TopTiny)
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
		most = max(most, sum+off*Loose(n))
	}
	return arith.Up(most*(1+Loose(2*n)) + TopTiny)
}
