// Package covary bounds variances of rows under dependent normal weights, for the checker: over
// boxes of what feeds the layer (docs/theory.md, sections 5.3 to 5.6).
package covary

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// TopMost bounds what is taken, so that products of three numbers do not overflow, and what sums of them in ordinary
// float64 lose where they underflow, Eta/2 of each times one of them, is below TopTiny. Sums in arith.Sum know what they
// lose. It is far below what certify adds (covary.Tiny), so that laws of any size are told from it.
const (
	TopMost = 0x1p200
	TopTiny = 0x1p-800
)

// mostRowNumbers is how many numbers of rows are kept: 256 MiB.
const mostRowNumbers = 1 << 25

// TopRow is a row of the last layer: the means of its coefficients, and k, which with delta on the
// diagonal is at least their covariance, less twice that at most.
type TopRow struct {
	Mean     []arith.Interval
	Constant arith.Interval
	N        int
	K, Delta []float64
}

// RowOf is a row, prepared once; nil where numbers are out of range.
func (t *Topped) RowOf(row *property.Row) *TopRow {
	key := fmt.Sprint(row.CLo, row.CHi, row.D)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	r, known := t.Rows[key]
	if !known {
		if len(t.Rows)*(t.In+1)*(t.In+1) > mostRowNumbers {
			clear(t.Rows)
		}
		if InRange(t.Layer.Weight.Mean, t.Layer.Bias.Mean) {
			r = t.newRow(row)
		}
		t.Rows[key] = r
	}
	return r
}

// newRow is a row of a layer with means of any size; nil where other numbers are out of range.
func (t *Topped) newRow(row *property.Row) *TopRow {
	ok := InRange(row.CLo, row.CHi, []float64{row.D}, t.Layer.Weight.SdHi, t.Layer.Bias.SdHi)
	if c := t.Covariance; c != nil {
		ok = ok && InRange(c.Factor, c.QA, c.QG, c.Sd)
	}
	if !ok {
		return nil
	}
	r := &TopRow{N: t.In + 1}
	r.Delta, r.K = make([]float64, r.N), make([]float64, r.N*r.N)
	for j := range t.In {
		r.Mean = append(r.Mean, Times(row, t.Layer.Weight.Mean[j*t.Out:(j+1)*t.Out], 0))
	}
	r.Constant = Times(row, t.Layer.Bias.Mean, row.D)
	switch c := t.Covariance; {
	case c == nil:
		r.independent(row, t.Layer)
	case c.Full():
		b, m := t.byFactor(row)
		r.square(b, slices.Repeat([]arith.Interval{arith.Exactly(1)}, m))
	default:
		b := make([]arith.Interval, r.N*r.N)
		for e, q := range c.QA {
			b[e] = arith.Exactly(q)
		}
		r.square(b, t.byProduct(row)) // K = QA Diag(w) QA'
	}
	return r
}

// byFactor returns B [n x m] of K = B B': B_jk = C L_(.j)k, of rows that of each output the row meets.
func (t *Topped) byFactor(row *property.Row) (b []arith.Interval, m int) {
	c, n := t.Covariance, t.In+1
	if c.Apart {
		first, m := c.Columns(t.Out, func(o int) bool { return row.CLo[o] != 0 || row.CHi[o] != 0 })
		b = make([]arith.Interval, n*m)
		for e, l := range c.Factor {
			o, j, k := e/c.Rank/n, e/c.Rank%n, e%c.Rank
			if first[o] >= 0 {
				b[j*m+first[o]+k] = arith.Of(row.CLo[o], row.CHi[o]).Times(arith.Exactly(l))
			}
		}
		return b, m
	}
	b, column := make([]arith.Interval, n*c.Rank), make([]float64, t.Out)
	for at := range b {
		for o := range column {
			column[o] = c.Factor[o*len(b)+at]
		}
		b[at] = Times(row, column, 0)
	}
	return b, c.Rank
}

// byProduct is w of a row, w_k = sum_i (C QG)_i^2 sd_ik^2.
func (t *Topped) byProduct(row *property.Row) []arith.Interval {
	n := t.In + 1
	w, column := make([]arith.Interval, n), make([]float64, t.Out)
	for i := range t.Out {
		for o := range column {
			column[o] = t.Covariance.QG[o*t.Out+i]
		}
		u := Times(row, column, 0).Square()
		for k, sd := range t.Covariance.Sd[i*n : (i+1)*n] {
			w[k] = w[k].Plus(u.Times(arith.Exactly(sd).Square()))
		}
	}
	return w
}

// Times is the row C times w, and more.
func Times(row *property.Row, w []float64, more float64) arith.Interval {
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
func (r *TopRow) independent(row *property.Row, l *posterior.Layer) {
	out := len(row.CLo)
	for j := range r.N {
		var v arith.Interval
		for o := range out {
			sd := arith.Interval{}
			if j < r.N-1 {
				sd = arith.Of(l.Weight.SdLo[j*out+o], l.Weight.SdHi[j*out+o])
			} else {
				sd = arith.Of(l.Bias.SdLo[o], l.Bias.SdHi[o])
			}
			v = v.Plus(arith.Of(row.CLo[o], row.CHi[o]).Square().Times(sd.Square()))
		}
		r.K[j*r.N+j] = v.Middle()
		r.Delta[j] = v.Radius()
	}
}

// square is K = B Diag(w) B' for a B of n rows and a w >= 0. What an entry is off by, in B, in w and by
// rounding, is at most e; the sums of e in a row are delta: a symmetric matrix of entries of at most e is
// between -Diag(delta) and Diag(delta).
func (r *TopRow) square(b, w []arith.Interval) {
	m := len(w)
	// Sums over the rows of the largest |b|, and of what it is off by.
	size, off := make([]float64, m), make([]float64, m)
	for e, v := range b {
		size[e%m] = arith.Up(size[e%m] + v.Size())
		off[e%m] = arith.Up(off[e%m] + v.Radius())
	}
	for j := range r.N {
		var err arith.Sum
		for k := range m {
			v, most := b[j*m+k], arith.Up(w[k].Size())
			err.Add(arith.Up(v.Radius()*most), size[k])
			err.Add(arith.Up(v.Size()*most), off[k])
			err.Add(arith.Up(v.Size()*w[k].Radius()), size[k])
			err.Add(arith.Up(arith.Up(v.Size()*most)*0x1p-51), size[k]) // the product below is rounded, and so is the sum
		}
		r.Delta[j] = arith.Up(err.Hi() + TopTiny)
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
			r.K[i*r.N+j], r.K[j*r.N+i] = at, at
		}
	}
}

func (r *TopRow) entry(i, j int) float64 { return r.K[i*r.N+j] }

// Marginal bounds the standard deviation of coefficient j.
func (r *TopRow) Marginal(j int) float64 {
	return arith.SqrtUp(max(0, arith.SumUp(r.entry(j, j), r.Delta[j])))
}

// spread_j: |k_ij| is at most spread_i spread_j.
func (r *TopRow) spread(j int) float64 {
	return arith.SqrtUp(max(0, arith.SumUp(r.entry(j, j), 2*r.Delta[j])))
}

// Loose returns what a sum of n products in ordinary float64 is off by at most, relative to the sum of their
// magnitudes, and a sum of as many numbers >= 0 relative to itself.
func Loose(n int) float64 { return float64(n+16) * 0x1p-52 }

// AlongUp bounds, for each input x_k of the network, the magnitude of the mean of its coefficient in the
// row and its standard deviation: those of A slope_k and of the root of slope_k' K slope_k.
func (r *TopRow) AlongUp(c *relax.Chosen, live []int, radius []float64) (mean, sd []float64) {
	in := len(radius)
	mean, sd = make([]float64, in), make([]float64, in)
	means, size, square, extra := make([]arith.Interval, in), make([]float64, in), make([]float64, in), make([]float64, in)
	steep := make([]float64, in) // sums of |slope|: what underflows is Eta for each of the sum's terms, twice
	column, u := make([]float64, in), Loose(2*len(live))
	for _, i := range live {
		clear(column)
		for _, j := range live {
			if k := r.entry(i, j); k != 0 {
				for x, a := range c.Slope[j] {
					column[x] += float64(k * a)
				}
			}
		}
		spread := r.spread(i)
		for x, a := range c.Slope[i] {
			square[x] += float64(column[x] * a)
			size[x] += float64(spread * math.Abs(a))
			extra[x] += float64(float64(r.Delta[i]*a) * a)
			steep[x] += math.Abs(a)
			if a != 0 {
				means[x] = means[x].Plus(r.Mean[i].Times(arith.Exactly(a)))
			}
		}
	}
	for x := range mean {
		mean[x] = means[x].Size()
		err := float64(u*size[x])*size[x] + extra[x] + float64(4*float64(len(live))*arith.Eta)*(1+steep[x])
		sd[x] = arith.SqrtUp(arith.Up(max(0, square[x]) + arith.Up(err*(1+4*u)+TopTiny)))
	}
	return mean, sd
}

// Topped is the random last layer of a posterior.
type Topped struct {
	Layer      *posterior.Layer
	Covariance *posterior.Covariance
	In, Out    int
	// Rows are those that have been asked for.
	mutex sync.Mutex
	Rows  map[string]*TopRow
}
