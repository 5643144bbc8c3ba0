// Package covary bounds what dependent normal weights of a layer do to rows (docs/theory.md,
// sections 5.1, 5.2 and 5.5): covariances of the coefficients of a row, the largest value of such a
// form over a box, and mean and variance of the row's noise.
package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
)

// Row is the covariance K of a row C [W b] of a layer, over its N inputs and 1. It is between
// K - Diag(Delta) and K + Diag(Delta) in the order of Loewner, and the magnitudes of both are at most
// Spread_i Spread_j. What is claimed grows with K in that order, so that it is said of K + Diag(Delta).
type Row struct {
	N int
	// K is symmetric, [(N+1) x (N+1)].
	K      []float64
	Delta  []float64
	Spread []float64
	// Marginal are upper bounds of the standard deviations of single coefficients.
	Marginal []float64
}

// Most is up to which magnitude numbers are taken, so that no product overflows, and less than Tiny
// is lost where products underflow.
const (
	Most = 0x1p200
	Tiny = 0x1p-400
)

// Grow covers the roundings of sums of n terms >= 0 of a few factors each, and its own.
func Grow(n int) float64 { return 1 + float64(n+32)*0x1p-51 }

// Unit is at least the relative error of a sum of n products, of the sum of their magnitudes.
func Unit(n int) float64 { return float64(n+8) * 0x1p-52 }

// New is the row with the coefficients C in [cLo, cHi] of a layer with this covariance; nil stands for
// independent weights. It is nil where numbers are out of range: then nothing is known. The error is that of ended.
func New(cLo, cHi []float64, l *posterior.Layer, c *posterior.Covariance, ended Ended) (*Row, error) {
	if !InRange(cLo) || !InRange(cHi) {
		return nil, nil
	}
	n := l.Inputs() + 1
	r := &Row{N: n - 1, K: make([]float64, n*n), Delta: make([]float64, n)}
	var known bool
	var err error
	switch {
	case c == nil:
		known = r.ofIndependent(cLo, cHi, l)
	case c.Full():
		known, err = r.ofFactor(cLo, cHi, c, ended)
	default:
		known, err = r.ofKronecker(cLo, cHi, c, ended)
	}
	if !known || err != nil {
		return nil, err
	}
	for j := range n {
		at := r.K[j*n+j]
		r.Marginal = append(r.Marginal, arith.Up(math.Sqrt(arith.Up(max(0, at+r.Delta[j])))))
		r.Spread = append(r.Spread, arith.Up(math.Sqrt(arith.Up(max(0, at+2*r.Delta[j]))*Grow(0))))
	}
	return r, nil
}

// InRange reports whether all magnitudes are at most Most.
func InRange(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return !(math.Abs(v) <= Most) })
}

// ofIndependent: K is diagonal, K_jj = sum_o C_o^2 sd_oj^2.
func (r *Row) ofIndependent(cLo, cHi []float64, l *posterior.Layer) bool {
	if !InRange(l.Weight.SdHi) || !InRange(l.Bias.SdHi) {
		return false
	}
	out, g := len(cLo), Grow(len(cLo))
	for j := range r.N + 1 {
		lo, hi := 0.0, 0.0
		for o := range out {
			c := arith.Of(cLo[o], cHi[o]).Abs()
			sdLo, sdHi := 0.0, 0.0
			if j == r.N {
				sdLo, sdHi = l.Bias.SdLo[o], l.Bias.SdHi[o]
			} else {
				sdLo, sdHi = l.Weight.SdLo[j*out+o], l.Weight.SdHi[j*out+o]
			}
			x, y := float64(c.Lo*sdLo), float64(c.Hi*sdHi)
			lo, hi = lo+float64(x*x), hi+float64(y*y)
		}
		if hi == 0 {
			continue
		}
		hi = float64(hi*g) + Tiny
		r.K[j*(r.N+1)+j], r.Delta[j] = hi, arith.Up(hi-max(0, float64(lo/g)-Tiny))
	}
	return true
}

// ofFactor: K = B B' for B_jk = sum_o C_o L_(oj)k, of rows with columns k for each output. Each entry of B is off by at most e; so is what K
// is off by, and the sums of its rows are on the diagonal (docs/theory.md, section 5.1).
func (r *Row) ofFactor(cLo, cHi []float64, c *posterior.Covariance, ended Ended) (known bool, err error) {
	if !InRange(c.Factor) {
		return false, nil
	}
	n, out := r.N+1, len(cLo)
	mid, off := make([]float64, out), make([]float64, out)
	for o := range out {
		of := arith.Of(cLo[o], cHi[o])
		if of.Lo != 0 || of.Hi != 0 {
			mid[o], off[o] = of.Middle(), arith.Up(of.Radius()+float64(Unit(out)*of.Size()))
		}
	}
	b, e, m := times(c, n, mid, off)
	g := Grow(out)
	for at := range e {
		e[at] *= g
	}
	return true, r.square(b, e, m, ended)
}

// times returns B [n x m] of a row with coefficients within off of mid, and what its entries are off by, before
// rounding of the latter.
func times(c *posterior.Covariance, n int, mid, off []float64) (b, e []float64, m int) {
	first, m := c.Columns(len(mid), func(o int) bool { return mid[o] != 0 || off[o] != 0 })
	b, e = make([]float64, n*m), make([]float64, n*m)
	for o, at := range first {
		if at < 0 {
			continue
		}
		for j := range n {
			own := c.Factor[(o*n+j)*c.Rank : (o*n+j+1)*c.Rank]
			to, err := b[j*m+at:j*m+at+c.Rank], e[j*m+at:j*m+at+c.Rank]
			for k, l := range own {
				to[k] += float64(mid[o] * l)
				err[k] += float64(off[o] * math.Abs(l))
			}
		}
	}
	return b, e, m
}

// square is K = B B' for B [(N+1) x m], each entry of which is off by at most e.
func (r *Row) square(b, e []float64, m int, ended Ended) error {
	n := r.N + 1
	sums, errs := make([]float64, m), make([]float64, m)
	for at := range b {
		sums[at%m] += math.Abs(b[at])
		errs[at%m] += e[at]
	}
	for j := range n {
		own, err, sum := b[j*m:(j+1)*m], e[j*m:(j+1)*m], 0.0
		for k, v := range own {
			sum += float64(err[k]*(sums[k]+errs[k])) + float64(math.Abs(v)*errs[k]) + float64(float64(Unit(m)*math.Abs(v))*sums[k])
		}
		r.Delta[j] = float64(sum*Grow(n+m)) + Tiny
	}
	return r.form(b, m, nil, ended)
}

// form sets K to B times what weigh makes of its rows (gram).
func (r *Row) form(b []float64, m int, weigh func(own []float64), ended Ended) error {
	n := r.N + 1
	if err := gram(r.K, b, n, m, weigh, ended); err != nil {
		return err
	}
	for j := range n {
		for i := range j {
			r.K[i*n+j] = r.K[j*n+i]
		}
	}
	return nil
}

// ofKronecker: K = QA Diag(w) QA', w_k = sum_i (C QG)_i^2 Sd_ik^2 (docs/theory.md (91)).
func (r *Row) ofKronecker(cLo, cHi []float64, c *posterior.Covariance, ended Ended) (known bool, err error) {
	if !InRange(c.QA) || !InRange(c.QG) || !InRange(c.Sd) {
		return false, nil
	}
	n, out := r.N+1, len(cLo)
	lo, hi := make([]float64, n), make([]float64, n)
	mid, wide := make([]float64, out), make([]float64, out)
	for o := range out {
		of := arith.Of(cLo[o], cHi[o])
		mid[o], wide[o] = of.Middle(), arith.Up(of.Radius()+float64(Unit(out)*of.Size()))
	}
	for i := range out {
		if err := ended(); err != nil {
			return false, err
		}
		u, off := 0.0, 0.0
		for o := range out {
			u += float64(mid[o] * c.QG[o*out+i])
			off += float64(wide[o] * math.Abs(c.QG[o*out+i]))
		}
		off = float64(off*Grow(out)) + Tiny
		least, largest := max(0, math.Abs(u)-off), math.Abs(u)+off
		for k, sd := range c.Sd[i*n : (i+1)*n] {
			x, y := float64(least*sd), float64(largest*sd)
			lo[k], hi[k] = lo[k]+float64(x*x), hi[k]+float64(y*y)
		}
	}
	g := Grow(out)
	sums := make([]float64, n)
	for j := range n {
		for k, q := range c.QA[j*n : (j+1)*n] {
			sums[k] += math.Abs(q)
		}
	}
	w, off := hi, make([]float64, n)
	for k := range n {
		w[k] = float64(hi[k]*g) + Tiny
		off[k] = arith.Up(w[k]-max(0, float64(lo[k]/g)-Tiny)) + float64(Unit(n)*w[k])
	}
	for j := range n {
		sum := 0.0
		for k, q := range c.QA[j*n : (j+1)*n] {
			sum += float64(float64(math.Abs(q)*off[k]) * sums[k])
		}
		r.Delta[j] = float64(sum*Grow(2*n)) + Tiny
	}
	return true, r.form(c.QA, n, func(own []float64) {
		for k := range own {
			own[k] = float64(own[k] * w[k])
		}
	}, ended)
}

// AddTimes adds a times each of x to to.
func AddTimes(to []float64, a float64, x []float64) {
	if a == 0 {
		return
	}
	to = to[:len(x)]
	for k, v := range x {
		to[k] += float64(a * v)
	}
}
