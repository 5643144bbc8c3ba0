// Package ontop bounds rows of a network of which the last layer alone is random, with normal weights
// of any covariance (docs/posteriors.md (93)). What feeds the last
// layer is then a fixed function of the input, between affine functions of it, so that nothing fails but
// the row itself. Or of one with dropout, in any layers (Masked).
package ontop

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Top is the random last layer of a posterior: [W b] of n inputs. What is known of rows of it is kept.
type Top struct {
	n, out int
	layer  *posterior.Layer
	// covariance is nil where the weights are independent.
	covariance *posterior.Covariance

	mutex sync.Mutex
	rows  map[string]*Row
}

// New takes the last layer of a posterior. The error is that of posterior.OnTop.
func New(post *posterior.Posterior) (*Top, error) {
	if err := post.OnTop(); err != nil {
		return nil, err
	}
	last := len(post.Layers) - 1
	t := &Top{layer: &post.Layers[last], rows: map[string]*Row{}}
	t.n, t.out = t.layer.Inputs(), t.layer.Outputs()
	if c := post.Covariances(); c != nil {
		t.covariance = c[last]
	}
	return t, nil
}

// Row is what a row C [W b] of the last layer is: normal numbers over its inputs and 1, of which the
// means are mean and constant. Their covariance K is between k - Diag(delta) and k + Diag(delta) in
// the order of Loewner, and |K_ij|, |k_ij| are at most spread_i spread_j.
//
// Everything that TailUp says grows with K in that order, so that it is said of k + Diag(delta).
type Row struct {
	n        int
	mean     []arith.Interval
	constant arith.Interval
	// k is symmetric, [(n+1) x (n+1)]; nil where it is 0.
	k      []float64
	delta  []float64
	spread []float64
	// marginal are upper bounds of the standard deviations of single coefficients.
	marginal []float64
}

// mostKept is how many numbers of rows are kept: 256 MiB.
const mostKept = 1 << 25

// most is up to which magnitude numbers are taken, so that no product overflows, and less than tiny
// is lost where products underflow.
const (
	most = 0x1p200
	tiny = 0x1p-400
)

// grow covers the roundings of sums of n terms >= 0 of a few factors each, and its own.
func grow(n int) float64 { return 1 + float64(n+32)*0x1p-51 }

// unit is at least the relative error of a sum of n products, of the sum of their magnitudes.
func unit(n int) float64 { return float64(n+8) * 0x1p-52 }

// Row prepares a row of a property, and keeps it. It is nil where numbers are out of range: then
// nothing is known.
func (t *Top) Row(row *property.Row) *Row {
	key := make([]byte, 0, 16*(len(row.CLo)+1))
	for _, list := range [][]float64{row.CLo, row.CHi, {row.D, row.DHi}} {
		for _, v := range list {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
		}
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	r, known := t.rows[string(key)]
	if !known {
		if len(t.rows)*(t.n+1)*(t.n+1) > mostKept {
			clear(t.rows)
		}
		r = t.newRow(row)
		t.rows[string(key)] = r
	}
	return r
}

func (t *Top) newRow(row *property.Row) *Row {
	for _, list := range [][]float64{row.CLo, row.CHi, {row.D}, t.layer.Weight.Mean, t.layer.Bias.Mean} {
		if !inRange(list) {
			return nil
		}
	}
	r := &Row{n: t.n, mean: make([]arith.Interval, t.n), delta: make([]float64, t.n+1)}
	product := func(weights func(o int) float64, more float64) arith.Interval {
		var lo, hi arith.Sum
		lo.Plus(more)
		hi.Plus(more)
		for o := range t.out {
			w := weights(o)
			lo.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], w, w))
			hi.Add(arith.MostProduct(row.CLo[o], row.CHi[o], w, w))
		}
		return arith.Of(lo.Lo(), hi.Hi())
	}
	for j := range t.n {
		r.mean[j] = product(func(o int) float64 { return t.layer.Weight.Mean[j*t.out+o] }, 0)
	}
	r.constant = product(func(o int) float64 { return t.layer.Bias.Mean[o] }, row.D)
	r.k = make([]float64, (t.n+1)*(t.n+1))
	var known bool
	switch c := t.covariance; {
	case c == nil:
		known = r.ofIndependent(row, t.layer)
	case c.Full():
		known = r.ofFactor(row, c)
	default:
		known = r.ofKronecker(row, c)
	}
	if !known {
		return nil
	}
	for j := range t.n + 1 {
		at := r.k[j*(t.n+1)+j]
		r.marginal = append(r.marginal, arith.Up(math.Sqrt(arith.Up(max(0, at+r.delta[j])))))
		r.spread = append(r.spread, arith.Up(math.Sqrt(arith.Up(max(0, at+2*r.delta[j]))*grow(0))))
	}
	return r
}

func inRange(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return !(math.Abs(v) <= most) })
}

// ofIndependent: K is diagonal, K_jj = sum_o C_o^2 sd_oj^2.
func (r *Row) ofIndependent(row *property.Row, l *posterior.Layer) bool {
	if !inRange(l.Weight.SdHi) || !inRange(l.Bias.SdHi) {
		return false
	}
	out, g := len(row.CLo), grow(len(row.CLo))
	for j := range r.n + 1 {
		lo, hi := 0.0, 0.0
		for o := range out {
			c := arith.Of(row.CLo[o], row.CHi[o]).Abs()
			sdLo, sdHi := 0.0, 0.0
			if j == r.n {
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
		hi = float64(hi*g) + tiny
		r.k[j*(r.n+1)+j], r.delta[j] = hi, arith.Up(hi-max(0, float64(lo/g)-tiny))
	}
	return true
}

// ofFactor: K = B B' for B_jk = sum_o C_o L_(oj)k. Each entry of B is off by at most e; so is what K
// is off by, and the sums of its rows are on the diagonal (docs/posteriors.md).
func (r *Row) ofFactor(row *property.Row, c *posterior.Covariance) bool {
	if !inRange(c.Factor) {
		return false
	}
	n, m, out := r.n+1, c.Rank, len(row.CLo)
	b, e := make([]float64, n*m), make([]float64, n*m)
	for o := range out {
		of := arith.Of(row.CLo[o], row.CHi[o])
		if of.Lo == 0 && of.Hi == 0 {
			continue
		}
		mid := of.Middle()
		off := arith.Up(of.Radius() + float64(unit(out)*of.Size()))
		for at, l := range c.Factor[o*n*m : (o+1)*n*m] {
			b[at] += float64(mid * l)
			e[at] += float64(off * math.Abs(l))
		}
	}
	g := grow(out)
	sums, errs := make([]float64, m), make([]float64, m)
	for j := range n {
		for k := range m {
			at := j*m + k
			e[at] *= g
			sums[k] += math.Abs(b[at])
			errs[k] += e[at]
		}
	}
	for j := range n {
		own, err, sum := b[j*m:(j+1)*m], e[j*m:(j+1)*m], 0.0
		for k, v := range own {
			sum += float64(err[k]*(sums[k]+errs[k])) + float64(math.Abs(v)*errs[k]) + float64(float64(unit(m)*math.Abs(v))*sums[k])
		}
		r.delta[j] = float64(sum*grow(n+m)) + tiny
		for i := range j + 1 {
			dot := 0.0
			for k, v := range b[i*m : (i+1)*m] {
				dot += float64(v * own[k])
			}
			r.k[i*n+j], r.k[j*n+i] = dot, dot
		}
	}
	return true
}

// ofKronecker: K = QA Diag(w) QA', w_k = sum_i (C QG)_i^2 Sd_ik^2 (docs/posteriors.md (91)).
func (r *Row) ofKronecker(row *property.Row, c *posterior.Covariance) bool {
	if !inRange(c.QA) || !inRange(c.QG) || !inRange(c.Sd) {
		return false
	}
	n, out := r.n+1, len(row.CLo)
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range out {
		u, off := 0.0, 0.0
		for o := range out {
			of := arith.Of(row.CLo[o], row.CHi[o])
			u += float64(of.Middle() * c.QG[o*out+i])
			off += float64(arith.Up(of.Radius()+float64(unit(out)*of.Size())) * math.Abs(c.QG[o*out+i]))
		}
		off = float64(off*grow(out)) + tiny
		least, largest := max(0, math.Abs(u)-off), math.Abs(u)+off
		for k, sd := range c.Sd[i*n : (i+1)*n] {
			x, y := float64(least*sd), float64(largest*sd)
			lo[k], hi[k] = lo[k]+float64(x*x), hi[k]+float64(y*y)
		}
	}
	g := grow(out)
	sums := make([]float64, n)
	for j := range n {
		for k, q := range c.QA[j*n : (j+1)*n] {
			sums[k] += math.Abs(q)
		}
	}
	w, off := hi, make([]float64, n)
	for k := range n {
		w[k] = float64(hi[k]*g) + tiny
		off[k] = arith.Up(w[k]-max(0, float64(lo[k]/g)-tiny)) + float64(unit(n)*w[k])
	}
	for j := range n {
		own, sum := make([]float64, n), 0.0
		for k, q := range c.QA[j*n : (j+1)*n] {
			own[k] = float64(q * w[k])
			sum += float64(float64(math.Abs(q)*off[k]) * sums[k])
		}
		r.delta[j] = float64(sum*grow(2*n)) + tiny
		for i := range j + 1 {
			dot := 0.0
			for k, q := range c.QA[i*n : (i+1)*n] {
				dot += float64(q * own[k])
			}
			r.k[i*n+j], r.k[j*n+i] = dot, dot
		}
	}
	return true
}
