package grid

import (
	"math"

	"psafe/host/arith/gauss"
	"psafe/host/read/property"
)

// This file has what grids and mixtures are chosen by. Nothing of it enters a bound.

// lawApprox are, about and for each neuron at a point, the first two moments of low and of high, and
// the mean and deviation of t, and of what is added to t around the point to give M (shift, tau).
type lawApprox struct{ low1, low2, high1, high2, mean, sd, shift, tau []float64 }

// lawsApprox computes a lawApprox for each point.
type lawsApprox struct {
	n    *sums
	into [][]int
}

func (n *sums) lawsApprox() *lawsApprox {
	l := &lawsApprox{n: n}
	for i := range n.Hidden.Outputs() {
		into := make([]int, n.Hidden.Inputs())
		for j, at := range n.Hidden.Dense().Into(i) {
			into[j] = at
		}
		l.into = append(l.into, into)
	}
	return l
}

func (l *lawsApprox) point(p *point) *lawApprox {
	h := l.n.Hidden.Outputs()
	a := &lawApprox{make([]float64, h), make([]float64, h), make([]float64, h), make([]float64, h), make([]float64, h), make([]float64, h), make([]float64, h), make([]float64, h)}
	for i := range h {
		l.neuron(p, i, a)
	}
	return a
}

// neuron integrates over u = t(v): that t is not positive around v is taken for a normal event,
// with the moments that s and m have given u = 0.
func (l *lawsApprox) neuron(p *point, i int, a *lawApprox) {
	var low1, low2, high1, high2 float64
	w, b := &l.n.Hidden.Weight, &l.n.Hidden.Bias
	mean, variance := b.Mean[i], b.SdHi[i]*b.SdHi[i]
	for j, at := range l.into[i] {
		x := p.x[j]
		mean += x * w.Mean[at]
		variance += x * x * w.SdHi[at] * w.SdHi[at]
	}
	var s, m, big, spread, withU float64 // means of s, m and M, the variance of s + m
	for j, at := range l.into[i] {
		v := w.SdHi[at] * w.SdHi[at]
		mu := w.Mean[at]
		if variance > 0 {
			mu -= v * p.x[j] / variance * mean
		}
		if !p.twoSided(j) {
			d := p.beside[j].Lo
			s += mu * d
			spread += d * d * v
			withU += d * v * p.x[j]
			continue
		}
		half, tilt := (p.after[j].Hi-p.before[j].Lo)/2, (p.after[j].Hi+p.before[j].Lo)/2
		size := absApprox(mu, w.SdHi[at])
		m += tilt*mu - half*size
		big += tilt*mu + half*size
		spread += half*half*max(0, mu*mu+v-size*size) + tilt*tilt*v
	}
	if variance > 0 {
		spread -= withU * withU / variance
	}
	sd, tau := math.Sqrt(variance), math.Sqrt(max(spread, 1e-30*(1+variance)))
	for k, z := range midpointsApprox {
		u, f := mean+sd*z, weightsApprox[k]
		other := l.n.Slope * u
		h, toward := max(u, other), (u+s+big)/tau // P(M > 0)
		if u > 0 {
			toward = (u + s + m) / tau // P(L > 0)
		}
		high1 += f * h
		high2 += f * h * h
		low := u
		if toward < 5 {
			up := tailApprox(-toward)
			low2 += f * (up*u*u + (1-up)*other*other)
			low1 += f * (up*u + (1-up)*other)
			continue
		}
		low1 += f * low
		low2 += f * low * low
	}
	a.low1[i], a.low2[i], a.high1[i], a.high2[i], a.mean[i], a.sd[i], a.shift[i], a.tau[i] = low1, low2, high1, high2, mean, sd, s+big, tau
}

// midpointsApprox and their weights integrate against the normal density.
var midpointsApprox, weightsApprox = func() (z, w []float64) {
	const step = 0.4
	for x := -4.4; x < 4.5; x += step {
		z, w = append(z, x), append(w, step*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	}
	return z, w
}()

// tailApprox is about Q(z), fast.
func tailApprox(z float64) float64 {
	switch {
	case z < -5:
		return 1
	case z > 5:
		return 0
	}
	return 1 / (1 + math.Exp(z*(1.5976+0.070566*z*z)))
}

// absApprox is E|W| for a normal W.
func absApprox(mean, sd float64) float64 {
	if sd == 0 {
		return math.Abs(mean)
	}
	z := mean / sd
	return sd*0.7978845608*math.Exp(-z*z/2) + mean*math.Erf(z/math.Sqrt2)
}

// rowApprox has what the a_i of a row, and a_0, are.
type rowApprox struct {
	pos1, pos2, neg1, neg2 []float64
	a, sd                  []float64 // means and deviations of the a_i
	mean, variance         float64
}

func (n *sums) rowApprox(row *property.Row) *rowApprox {
	h := n.Hidden.Outputs()
	r := &rowApprox{pos1: make([]float64, h), pos2: make([]float64, h), neg1: make([]float64, h), neg2: make([]float64, h), a: make([]float64, h), sd: make([]float64, h), mean: row.D}
	w, b := &n.Output.Weight, &n.Output.Bias
	for c, k := range row.CLo {
		r.mean += k * b.Mean[c]
		r.variance += k * k * b.SdHi[c] * b.SdHi[c]
	}
	for i := range h {
		mean, variance := 0.0, 0.0
		for c, at := range n.Output.Dense().From(i) {
			k := row.CLo[c]
			mean += k * w.Mean[at]
			variance += k * k * w.SdHi[at] * w.SdHi[at]
		}
		sd := math.Sqrt(variance)
		r.a[i], r.sd[i] = mean, sd
		below, bump := 0.0, 0.0
		switch {
		case sd > 0:
			below = math.Erfc(mean/sd/math.Sqrt2) / 2
			bump = sd * math.Exp(-mean*mean/(2*variance)) / math.Sqrt(2*math.Pi)
		case mean < 0:
			below = 1
		}
		r.pos1[i] = bump + mean*(1-below)
		r.pos2[i] = (mean*mean+variance)*(1-below) + mean*bump
		r.neg1[i] = mean - r.pos1[i]
		r.neg2[i] = mean*mean + variance - r.pos2[i]
	}
	return r
}

// failApprox is about the probability that the row's stand-ins at a point are not positive.
// Products of normal variables have heavier tails than normal ones, most of all where one neuron
// makes up much of the variance: given its value the rest is taken for normal.
func (r *rowApprox) failApprox(l *lawApprox) float64 {
	mean, variance := r.mean, r.variance
	var top [3]int
	var most, means [3]float64
	for i, low := range l.low1 {
		m := r.pos1[i]*low + r.neg1[i]*l.high1[i]
		mean += m
		v := r.pos2[i]*l.low2[i] + r.neg2[i]*l.high2[i] - m*m
		variance += v
		for k := range top {
			if v > most[k] {
				copy(top[k+1:], top[k:])
				copy(most[k+1:], most[k:])
				copy(means[k+1:], means[k:])
				top[k], most[k], means[k] = i, v, m
				break
			}
		}
	}
	p := gauss.TailUp(heavy * mean / math.Sqrt(variance))
	for k, i := range top {
		given := 0.0
		for q, z := range midpointsApprox {
			u, rest := l.mean[i]+l.sd[i]*z, max(0, variance-most[k])
			number := mean - means[k]
			f := tailApprox(heavy * (number + r.a[i]*u) / math.Sqrt(rest+r.sd[i]*r.sd[i]*u*u))
			if u < 0 {
				up := tailApprox(-(u + l.shift[i]) / l.tau[i])
				f = up*f + (1-up)*tailApprox(heavy*number/math.Sqrt(rest))
			}
			given += weightsApprox[q] * f
		}
		p = max(p, given)
	}
	return p
}

// heavy is how much nearer the tail of a sum of products is than that of a normal variable, about
// (measured on VCAS).
const heavy = 0.9

// coarseWeight and coarseValue say whether coarse bins will do for a_i, and for the value of neuron
// i, at a point: 1 if what they add to the ranges of roundings is little beside the sum's variance;
// more where the row hardly ever fails.
func (r *rowApprox) coarseWeight(l *lawApprox, i int, rare bool) int {
	return r.coarse(l, rare, r.sd[i]*r.sd[i]*max(l.low2[i], l.high2[i]))
}

func (r *rowApprox) coarseValue(l *lawApprox, i int, rare bool) int {
	return r.coarse(l, rare, (r.a[i]*r.a[i]+r.sd[i]*r.sd[i])*l.sd[i]*l.sd[i]*tailApprox(-l.mean[i]/l.sd[i]))
}

// coarse says so for a range with a mean square of so many squares of the bins' width.
func (r *rowApprox) coarse(l *lawApprox, rare bool, squares float64) int {
	most := 1e-4
	if rare {
		most = 4e-4
	}
	if squares*coarseWidth*coarseWidth*float64(len(r.a)) < most*r.varianceApprox(l) {
		return 1
	}
	return 0
}

func (r *rowApprox) varianceApprox(l *lawApprox) float64 {
	variance := r.variance
	for i, low := range l.low1 {
		m := r.pos1[i]*low + r.neg1[i]*l.high1[i]
		variance += r.pos2[i]*l.low2[i] + r.neg2[i]*l.high2[i] - m*m
	}
	return variance
}
