package check

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// topMost bounds what is taken, so that products of three numbers do not overflow, and what sums of them in ordinary
// float64 lose where they underflow, Eta/2 of each times one of them, is below topTiny. Sums in arith.Sum know what they
// lose. It is far below what certify adds (covary.Tiny), so that laws of any size are told from it.
const (
	topMost = 0x1p200
	topTiny = 0x1p-800
)

// mostRowNumbers is how many numbers of rows are kept: 256 MiB.
const mostRowNumbers = 1 << 25

// topRow is a row of the last layer: the means of its coefficients, and k, which with delta on the
// diagonal is at least their covariance, less twice that at most.
type topRow struct {
	mean     []arith.Interval
	constant arith.Interval
	n        int
	k, delta []float64
}

// rowOf is a row, prepared once; nil where numbers are out of range.
func (t *topped) rowOf(row *property.Row) *topRow {
	key := fmt.Sprint(row.CLo, row.CHi, row.D)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	r, known := t.rows[key]
	if !known {
		if len(t.rows)*(t.in+1)*(t.in+1) > mostRowNumbers {
			clear(t.rows)
		}
		if inRange(t.layer.Weight.Mean, t.layer.Bias.Mean) {
			r = t.newRow(row)
		}
		t.rows[key] = r
	}
	return r
}

// newRow is a row of a layer with means of any size; nil where other numbers are out of range.
func (t *topped) newRow(row *property.Row) *topRow {
	ok := inRange(row.CLo, row.CHi, []float64{row.D}, t.layer.Weight.SdHi, t.layer.Bias.SdHi)
	if c := t.covariance; c != nil {
		ok = ok && inRange(c.Factor, c.QA, c.QG, c.Sd)
	}
	if !ok {
		return nil
	}
	r := &topRow{n: t.in + 1}
	r.delta, r.k = make([]float64, r.n), make([]float64, r.n*r.n)
	column := make([]float64, t.out)
	for j := range t.in {
		r.mean = append(r.mean, times(row, t.layer.Weight.Mean[j*t.out:(j+1)*t.out], 0))
	}
	r.constant = times(row, t.layer.Bias.Mean, row.D)
	switch c := t.covariance; {
	case c == nil:
		r.independent(row, t.layer)
	case c.Full():
		// K = B B', B_jk = C L_(.j)k
		b := make([]arith.Interval, r.n*c.Rank)
		for j := range r.n {
			for k := range c.Rank {
				for o := range column {
					column[o] = c.Factor[(o*r.n+j)*c.Rank+k]
				}
				b[j*c.Rank+k] = times(row, column, 0)
			}
		}
		r.square(b, slices.Repeat([]arith.Interval{arith.Exactly(1)}, c.Rank))
	default:
		// K = QA Diag(w) QA', w_k = sum_i (C QG)_i^2 sd_ik^2
		w := make([]arith.Interval, r.n)
		for i := range t.out {
			for o := range column {
				column[o] = c.QG[o*t.out+i]
			}
			u := times(row, column, 0).Square()
			for k, sd := range c.Sd[i*r.n : (i+1)*r.n] {
				w[k] = w[k].Plus(u.Times(arith.Exactly(sd).Square()))
			}
		}
		b := make([]arith.Interval, r.n*r.n)
		for e, q := range c.QA {
			b[e] = arith.Exactly(q)
		}
		r.square(b, w)
	}
	return r
}

// times is the row C times w, and more.
func times(row *property.Row, w []float64, more float64) arith.Interval {
	var lo, hi arith.Sum
	lo.Plus(more)
	hi.Plus(more)
	for o, v := range w {
		lo.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], v, v))
		hi.Add(arith.MostProduct(row.CLo[o], row.CHi[o], v, v))
	}
	return arith.Of(lo.Lo(), hi.Hi())
}

// independent: K_jj = sum_o C_o^2 sd_jo^2.
func (r *topRow) independent(row *property.Row, l *posterior.Layer) {
	out := len(row.CLo)
	for j := range r.n {
		var v arith.Interval
		for o := range out {
			sd := arith.Interval{}
			if j < r.n-1 {
				sd = arith.Of(l.Weight.SdLo[j*out+o], l.Weight.SdHi[j*out+o])
			} else {
				sd = arith.Of(l.Bias.SdLo[o], l.Bias.SdHi[o])
			}
			v = v.Plus(arith.Of(row.CLo[o], row.CHi[o]).Square().Times(sd.Square()))
		}
		r.k[j*r.n+j] = v.Middle()
		r.delta[j] = v.Radius()
	}
}

// square is K = B Diag(w) B' for a B of n rows and a w >= 0. What an entry is off by, in B, in w and by
// rounding, is at most e; the sums of e in a row are delta: a symmetric matrix of entries of at most e is
// between -Diag(delta) and Diag(delta).
func (r *topRow) square(b, w []arith.Interval) {
	m := len(w)
	// Sums over the rows of the largest |b|, and of what it is off by.
	size, off := make([]float64, m), make([]float64, m)
	for e, v := range b {
		size[e%m] = arith.Up(size[e%m] + v.Size())
		off[e%m] = arith.Up(off[e%m] + v.Radius())
	}
	for j := range r.n {
		var err arith.Sum
		for k := range m {
			v, most := b[j*m+k], arith.Up(w[k].Size())
			err.Add(arith.Up(v.Radius()*most), size[k])
			err.Add(arith.Up(v.Size()*most), off[k])
			err.Add(arith.Up(v.Size()*w[k].Radius()), size[k])
			err.Add(arith.Up(arith.Up(v.Size()*most)*0x1p-51), size[k]) // the product below is rounded, and so is the sum
		}
		r.delta[j] = arith.Up(err.Hi() + topTiny)
		own := make([]float64, m)
		for k := range m {
			own[k] = b[j*m+k].Middle() * w[k].Middle()
		}
		for i := range j + 1 {
			var s arith.Sum
			for k, v := range own {
				s = s.With(b[i*m+k].Middle(), v)
			}
			at := s.Hi()
			r.k[i*r.n+j], r.k[j*r.n+i] = at, at
		}
	}
}

// entry is k_ij.
func (r *topRow) entry(i, j int) float64 { return r.k[i*r.n+j] }

// marginal bounds the standard deviation of coefficient j.
func (r *topRow) marginal(j int) float64 {
	return arith.SqrtUp(max(0, arith.SumUp(r.entry(j, j), r.delta[j])))
}

// spread_j: |k_ij| is at most spread_i spread_j.
func (r *topRow) spread(j int) float64 {
	return arith.SqrtUp(max(0, arith.SumUp(r.entry(j, j), 2*r.delta[j])))
}

// loose is what a sum of n products in ordinary float64 is off by at most, relative to the sum of their
// magnitudes, and a sum of as many numbers >= 0 relative to itself.
func loose(n int) float64 { return float64(n+16) * 0x1p-52 }

// alongUp bounds, for each input x_k of the network, the magnitude of the mean of its coefficient in the
// row and its standard deviation: those of A slope_k and of the root of slope_k' K slope_k.
func (r *topRow) alongUp(c *chosen, live []int, radius []float64) (mean, sd []float64) {
	in := len(radius)
	mean, sd = make([]float64, in), make([]float64, in)
	means, size, square, extra := make([]arith.Interval, in), make([]float64, in), make([]float64, in), make([]float64, in)
	steep := make([]float64, in) // sums of |slope|: what underflows is Eta for each of the sum's terms, twice
	column, u := make([]float64, in), loose(2*len(live))
	for _, i := range live {
		clear(column)
		for _, j := range live {
			if k := r.entry(i, j); k != 0 {
				for x, a := range c.slope[j] {
					column[x] += float64(k * a)
				}
			}
		}
		spread := r.spread(i)
		for x, a := range c.slope[i] {
			square[x] += float64(column[x] * a)
			size[x] += float64(spread * math.Abs(a))
			extra[x] += float64(float64(r.delta[i]*a) * a)
			steep[x] += math.Abs(a)
			if a != 0 {
				means[x] = means[x].Plus(r.mean[i].Times(arith.Exactly(a)))
			}
		}
	}
	for x := range mean {
		mean[x] = means[x].Size()
		err := float64(u*size[x])*size[x] + extra[x] + float64(4*float64(len(live))*arith.Eta)*(1+steep[x])
		sd[x] = arith.SqrtUp(arith.Up(max(0, square[x]) + arith.Up(err*(1+4*u)+topTiny)))
	}
	return mean, sd
}

// variance holds that of the row at every point of the cell, and bounds from above what (92) says of the
// whole form.
func (t *topPass) variance(r *topRow, c *chosen) arith.Interval {
	at := append(slices.Clone(c.at), 1)
	w, own := make([]arith.Interval, r.n), arith.Interval{}
	over := arith.Exactly(r.delta[t.in])
	for i := range w {
		var s arith.Sum
		for j, x := range at {
			s = s.With(r.k[i*r.n+j], x)
		}
		s.Add(r.delta[i], at[i])
		w[i] = arith.Of(s.Lo(), s.Hi())
		own = own.Plus(w[i].Times(arith.Exactly(at[i])))
		if i < t.in {
			far := arith.SumUp(math.Abs(at[i]), c.reach[i])
			over = over.Plus(arith.Exactly(r.delta[i]).Times(arith.Exactly(far).Square()))
		}
	}
	first := t.firstOrderUp(w, c)
	second := min(r.formUp(c.reach), r.linesUp(c, t.radius))
	centre := max(0, own.Hi)
	root := arith.SumUp(arith.SqrtUp(centre), arith.SqrtUp(second))
	most := min(arith.SumUp(arith.SumUp(centre, 2*first), second), arith.ProductUp(root, root))
	least := arith.SumDown(arith.SumDown(own.Lo, -2*first), -arith.Up(2*over.Hi))
	return arith.Of(max(0, least), most)
}

// firstOrderUp bounds |w (z - at)| over the cell: by how far each z may be, and along the lines.
func (t *topPass) firstOrderUp(w []arith.Interval, c *chosen) float64 {
	var box, lines arith.Sum
	along := make([]arith.Interval, len(t.radius))
	for j := range t.in {
		box.Add(w[j].Size(), c.reach[j])
		lines.Add(w[j].Size(), c.half[j])
		for k, a := range c.slope[j] {
			if a != 0 && t.radius[k] != 0 {
				along[k] = along[k].Plus(w[j].Times(arith.Exactly(a)))
			}
		}
	}
	for k, radius := range t.radius {
		lines.Add(along[k].Size(), radius)
	}
	return max(0, min(box.Hi(), lines.Hi()))
}
