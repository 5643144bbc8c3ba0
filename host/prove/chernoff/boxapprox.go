package chernoff

import (
	"math"
)

// The search on boxes, in ordinary arithmetic. No bound rests on anything here.

// tiltApprox is about one neuron: the law with the density of the unit.
func (u *unit) tiltApprox(mean, v float64) (t tilt) {
	if v <= 0 {
		z := max(mean, 0)
		return tilt{log: u.certainUp(mean, mean), first: z, second: z * z}
	}
	var logs, firsts, seconds [4]float64
	most, from := math.Inf(-1), math.Inf(-1)
	for i, p := range u.pieces {
		d := 1 - p.Bend*v
		if !(d > 0) {
			return tilt{log: math.Inf(1)}
		}
		mode, sig := (mean+p.Slope*v)/d, math.Sqrt(v/d)
		y0, y1 := (from-mode)/sig, (p.To-mode)/sig
		power := (p.Bend*mean*mean + 2*p.Slope*mean + p.Slope*p.Slope*v) / (2 * d)
		mass, e1, e2 := betweenApprox(y0, y1)
		if x := from; y0 > 6 || y1 < -6 { // see gauss.PiecesMomentUp
			y := y0
			if y1 < -6 {
				x, y = p.To, y1
			}
			power = p.Slope*x + p.Bend*x*x/2 - (x-mean)*(x-mean)/(2*v)
			mass += y * y / 2
		}
		logs[i] = p.Power + power - math.Log(d)/2 + mass
		firsts[i], seconds[i] = mode+sig*e1, mode*mode+2*mode*sig*e1+sig*sig*e2
		if x := firsts[i]; !(x >= from && x <= p.To) {
			firsts[i] = min(max(x, from), p.To)
			seconds[i] = firsts[i] * firsts[i]
		}
		if math.IsNaN(logs[i]) {
			logs[i] = math.Inf(-1)
		}
		most, from = max(most, logs[i]), p.To
	}
	sum, first, second := 0.0, 0.0, 0.0
	for i := range u.pieces {
		w := math.Exp(logs[i] - most)
		if !(w > 0) {
			continue
		}
		sum, first, second = sum+w, first+w*firsts[i], second+w*seconds[i]
		if i > 0 && u.pieces[i-1].To >= 0 {
			t.first, t.second = t.first+w*firsts[i], t.second+w*seconds[i]
		}
	}
	first, second = first/sum, second/sum
	t.log, t.first, t.second = most+math.Log(sum), t.first/sum, t.second/sum
	t.byMean = (first - mean) / v
	t.byVar = ((second-2*mean*first+mean*mean)/v - 1) / (2 * v)
	return t
}

// betweenApprox is the logarithm of the mass of a standard normal Y between two numbers, and the means of Y and
// of Y^2 there.
func betweenApprox(a, b float64) (log, first, second float64) {
	if b <= 0 {
		log, first, second = betweenApprox(-b, -a)
		return log, -first, second
	}
	narrow := func() (float64, float64, float64) {
		m := a + (b-a)/2
		return math.Log(b-a) - m*m/2 - math.Log(2*math.Pi)/2, m, m * m
	}
	if a < 0 {
		below, above := math.Erfc(-a/math.Sqrt2)/2, math.Erfc(b/math.Sqrt2)/2
		mass, at, to := 1-below-above, 0.0, 0.0
		if b-a < 1e-5 {
			return narrow()
		}
		if a > -40 {
			at = math.Exp(-a*a/2) / math.Sqrt(2*math.Pi)
		} else {
			a = 0
		}
		if b < 40 {
			to = math.Exp(-b*b/2) / math.Sqrt(2*math.Pi)
		} else {
			b = 0
		}
		return math.Log(mass), (at - to) / mass, 1 + (a*at-b*to)/mass
	}
	log, h0 := logTailApprox(a), hazardApprox(a)
	ratio, h1 := 0.0, 0.0
	if b < math.Inf(1) {
		h1 = hazardApprox(b)
		ratio = math.Exp((a-b)*(a+b)/2) * h0 / h1
	} else {
		b = 0
	}
	if !(1-ratio > 1e-5) {
		return narrow()
	}
	return log + math.Log1p(-ratio), (h0 - h1*ratio) / (1 - ratio), 1 + (a*h0-b*h1*ratio)/(1-ratio)
}

// unitsApprox looks for planes for a row at the rate h: about the logarithm of the product of its units' moments.
func (b *region) unitsApprox(row *spread, h float64) (log float64, planes [][]slopes) {
	last := len(b.hidden) - 1
	planes = make([][]slopes, len(b.hidden))
	units := make([]unit, len(b.rects[last]))
	for j := range units {
		units[j] = row.last(b, h, j)
	}
	if last == 0 {
		for j, r := range b.rects[0] {
			log += units[j].tiltApprox(r.meanLo, r.varLo).log
		}
		return log, planes
	}
	l := b.hidden[1]
	sketches, mean, variance := make([]*sketch, l.out), make([]float64, l.out), make([]float64, l.out)
	for o, r := range b.rects[1] {
		if sketches[o] = newSketch(r, units[o].tiltApprox); sketches[o] == nil {
			return math.Inf(1), nil
		}
		mean[o], variance[o] = (r.meanLo+r.meanHi)/2, math.Sqrt(r.varLo*r.varHi)
	}
	log = math.Inf(1)
	for round := range rounds {
		by, sum := l.planesApprox(sketches, mean, variance)
		al, bend := l.belowApprox(by)
		first, second := make([]float64, l.in), make([]float64, l.in)
		for i, r := range b.rects[0] {
			u := row.first(b, h, al[i], bend[i], i)
			t := u.tiltApprox(r.meanLo, r.varLo)
			sum, first[i], second[i] = sum+t.log, t.first, t.second
		}
		if math.IsNaN(sum) || math.IsInf(sum, 1) {
			return log, planes
		}
		part := 0.5
		if round == 0 {
			part = 1
		}
		l.nearApprox(b.rects[1], part, first, second, mean, variance)
		if sum < log {
			log, planes[1] = sum, by
		}
	}
	return log, planes
}

// rowApprox looks for the rate, the budget and the planes of a row: about the logarithm of its failure, too.
func (b *region) rowApprox(row *spread) (g boxGuess) {
	g = boxGuess{spread: row, log: math.Inf(1)}
	mean, variance := row.momentsApprox(b.laws[len(b.laws)-1].outline)
	mean -= row.loss
	if !(mean > 0 && variance > 0) {
		return g
	}
	noise := math.Sqrt(row.variance)
	leastApprox(mean/variance/2, func(h float64) float64 {
		log, planes := b.unitsApprox(row, h)
		log += -h*row.c + h*h*row.sb/2 + h*row.loss
		best := math.Inf(1)
		for k, q := range b.quantiles {
			total := logSumApprox(log+h*q*noise, float64(-k-firstBudget)*math.Ln2)
			if best = min(best, total); total < g.log {
				g.log, g.rate, g.planes, g.budget = total, h, planes, k
			}
		}
		return best
	}, nothing, sections)
	return g
}

// logSumApprox is log(e^a + e^b).
func logSumApprox(a, b float64) float64 {
	m := max(a, b)
	if math.IsInf(m, 0) {
		return m
	}
	return m + math.Log(math.Exp(a-m)+math.Exp(b-m))
}
