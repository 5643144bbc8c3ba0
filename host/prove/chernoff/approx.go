package chernoff

import (
	"math"
)

// The search, in ordinary arithmetic. No bound rests on anything here.

// tilt holds what the law of a neuron with the density e^(-al z + b z^2/2) is about: the logarithm of
// the moment, the means of z and of z^2, and the derivatives by mean and variance.
type tilt struct{ log, first, second, byMean, byVar float64 }

// tiltApprox is about one neuron with ReLU.
func tiltApprox(al, b, mean, v float64) tilt {
	if v <= 0 {
		z := max(mean, 0)
		return tilt{log: -al*z + b*z*z/2, first: z, second: z * z}
	}
	d := 1 - b*v
	if !(d > 0) {
		return tilt{log: math.Inf(1)}
	}
	s := math.Sqrt(v)
	m, sig := (mean-al*v)/d, s/math.Sqrt(d)
	y := m / sig
	log1, log2 := logTailApprox(mean/s), -math.Log(d)/2+(b*mean*mean-2*al*mean+al*al*v)/(2*d)+logTailApprox(-y)
	if far := -mean * mean / (2 * v); y < -6 { // see gauss.ReLUMomentUp
		log2 = -math.Log(d)/2 + far + logTailApprox(-y) + y*y/2
	}
	t := tilt{log: max(log1, log2) + math.Log1p(math.Exp(-math.Abs(log1-log2)))}
	p1, p2 := math.Exp(log1-t.log), math.Exp(log2-t.log)
	below, above := hazardApprox(mean/s), hazardApprox(-y)
	t.first = p2 * (m + sig*above)
	t.second = p2 * (m*m + sig*sig + m*sig*above)
	first := p1*(mean-s*below) + t.first
	second := p1*(mean*mean+v-mean*s*below) + t.second
	t.byMean = (first - mean) / v
	t.byVar = ((second-2*mean*first+mean*mean)/v - 1) / (2 * v)
	return t
}

// logTailApprox is log Q(x).
func logTailApprox(x float64) float64 {
	if x < 6 {
		return math.Log(math.Erfc(x/math.Sqrt2) / 2)
	}
	return -x*x/2 - math.Log(hazardApprox(x)) - math.Log(2*math.Pi)/2
}

// hazardApprox is phi(x)/Q(x).
func hazardApprox(x float64) float64 {
	if x < 6 {
		return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) / (math.Erfc(x/math.Sqrt2) / 2)
	}
	return x + 1/(x+2/(x+3/(x+4/(x+5/x))))
}

// outline holds what the search makes of an exponent: about the logarithm of its moment, the planes, and the
// means of the outputs z of its layer, and of z^2, under it.
type outline struct {
	log           float64
	planes        [][]slopes
	first, second []float64
}

const (
	// gridMeans and gridVars are at how many points a rect is looked at, rounds how often planes follow the
	// means and variances that they make likely.
	gridMeans, gridVars = 17, 4
	rounds              = 6
)

// outlineApprox looks for planes of the layers up to k: from the top down where the means and variances of neurons are
// thought to be, then from the bottom up where planes make these likely, round after round.
func (p *point) outlineApprox(k int, al, b []float64, rounds int) outline {
	if k == 0 {
		o := outline{planes: make([][]slopes, len(p.hidden)), first: make([]float64, len(al)), second: make([]float64, len(al))}
		for j, r := range p.rects[0] {
			t := p.hidden[0].tiltApprox(al[j], b[j], r.meanLo, r.varLo)
			o.log, o.first[j], o.second[j] = o.log+t.log, t.first, t.second
		}
		return o
	}
	top := p.hidden[k].newSketches(p.rects[k], al, b)
	mean, variance := make([][]float64, k+1), make([][]float64, k+1)
	for l := 1; l <= k; l++ {
		for _, r := range p.rects[l] {
			mean[l], variance[l] = append(mean[l], (r.meanLo+r.meanHi)/2), append(variance[l], math.Sqrt(r.varLo*r.varHi))
		}
	}
	best := outline{log: math.Inf(1)}
	for round := range rounds {
		log, sketches := 0.0, top
		by, als, bs := make([][]slopes, len(p.hidden)), make([][]float64, k+1), make([][]float64, k+1)
		als[k], bs[k] = al, b
		for l := k; l > 0; l-- {
			if l < k {
				sketches = p.hidden[l].newSketches(p.rects[l], als[l], bs[l])
			}
			if sketches == nil {
				return best
			}
			height := 0.0
			by[l], height = p.hidden[l].planesApprox(sketches, mean[l], variance[l])
			log += height
			als[l-1], bs[l-1] = p.hidden[l].belowApprox(by[l])
		}
		below := p.outlineApprox(0, als[0], bs[0], rounds)
		if log += below.log; math.IsNaN(log) || math.IsInf(log, 1) {
			return best
		}
		if log < best.log {
			best.log, best.planes = log, by
			best.first, best.second = p.hidden[k].tiltsApprox(al, b, mean[k], variance[k])
		}
		share := 0.5
		if round == 0 {
			share = 1
		}
		first, second := below.first, below.second
		for l := 1; l <= k; l++ {
			p.hidden[l].nearApprox(p.rects[l], share, first, second, mean[l], variance[l])
			if l < k {
				first, second = p.hidden[l].tiltsApprox(als[l], bs[l], mean[l], variance[l])
			}
		}
	}
	return best
}

// planesApprox are planes of a layer where means and variances of its neurons are thought to be: with what they add to
// the logarithm of the moment.
func (l *layer) planesApprox(sketches []*sketch, mean, variance []float64) (by []slopes, log float64) {
	by = make([]slopes, l.out)
	for o, s := range sketches {
		height := 0.0
		by[o], height = s.plane(mean[o], variance[o])
		log += height + by[o].mean*l.bias[o] + by[o].variance*(l.biasLo[o]+l.biasHi[o])/2
	}
	return by, log
}

// nearApprox moves means and variances by a share of the way to those that inputs of these means, and means of
// squares, give the neurons.
func (l *layer) nearApprox(rects []rect, share float64, first, second, mean, variance []float64) {
	for o, r := range rects {
		m, v := l.bias[o], l.biasHi[o]
		for j := range first {
			m += l.mean[j*l.out+o] * first[j]
			v += l.squareHi[j*l.out+o] * second[j]
		}
		mean[o] += share * (min(max(m, r.meanLo), r.meanHi) - mean[o])
		variance[o] += share * (min(max(v, r.varLo), r.varHi) - variance[o])
	}
}

// tiltsApprox are about the means of the outputs of tilted neurons, and of their squares.
func (l *layer) tiltsApprox(al, b, mean, variance []float64) (first, second []float64) {
	first, second = make([]float64, len(al)), make([]float64, len(al))
	for o := range al {
		t := l.tiltApprox(al[o], b[o], mean[o], variance[o])
		first[o], second[o] = t.first, t.second
	}
	return first, second
}

// belowApprox is below, in ordinary arithmetic.
func (l *layer) belowApprox(by []slopes) (al, b []float64) {
	al, b = make([]float64, l.in), make([]float64, l.in)
	for j := range al {
		for o, s := range by {
			al[j] -= s.mean * l.mean[j*l.out+o]
			b[j] += 2 * s.variance * l.squareHi[j*l.out+o]
		}
	}
	return al, b
}

// sketch is the logarithm of a neuron's moment, of a tilt, at the points of a grid over its rect.
type sketch struct {
	tilt        func(mean, v float64) tilt
	means, vars []float64
	log         [gridMeans][gridVars]float64
}

// newSketches returns the sketches of a layer; nil where Lam of a neuron is infinite.
func (l *layer) newSketches(rects []rect, al, b []float64) []*sketch {
	sketches := make([]*sketch, len(rects))
	for o, r := range rects {
		if sketches[o] = newSketch(r, func(mean, v float64) tilt { return l.tiltApprox(al[o], b[o], mean, v) }); sketches[o] == nil {
			return nil
		}
	}
	return sketches
}

// newSketch is nil where that is infinite.
func newSketch(r rect, of func(mean, v float64) tilt) *sketch {
	if !(r.varLo > 0) {
		return nil
	}
	s := &sketch{tilt: of}
	for i := range gridMeans {
		s.means = append(s.means, r.meanLo+(r.meanHi-r.meanLo)*float64(i)/(gridMeans-1))
	}
	for i := range gridVars {
		s.vars = append(s.vars, r.varLo*math.Pow(r.varHi/r.varLo, float64(i)/(gridVars-1)))
	}
	for i, mean := range s.means {
		for j, v := range s.vars {
			if s.log[i][j] = of(mean, v).log; math.IsNaN(s.log[i][j]) || math.IsInf(s.log[i][j], 0) {
				return nil
			}
		}
	}
	return s
}

// plane is one above the surface that is about lowest at a point, and its height over 0.
func (s *sketch) plane(mean, variance float64) (slopes, float64) {
	at := s.tilt(mean, variance)
	best, least := slopes{}, math.Inf(1)
	by := slopes{at.byMean, at.byVar}
	try := func() {
		if height := s.height(by, mean, variance, at.log); height+by.mean*mean+by.variance*variance < least {
			best, least = by, height+by.mean*mean+by.variance*variance
		}
	}
	for range 3 {
		try()
		var profile [gridMeans]float64
		for i := range profile {
			profile[i] = math.Inf(-1)
			for j, v := range s.vars {
				profile[i] = max(profile[i], s.log[i][j]-by.variance*v)
			}
		}
		by.mean = hullSlope(s.means, profile[:], mean, at.log-by.variance*variance, at.byMean)
		try()
		var along [gridVars]float64
		for j := range along {
			along[j] = math.Inf(-1)
			for i, m := range s.means {
				along[j] = max(along[j], s.log[i][j]-by.mean*m)
			}
		}
		by.variance = hullSlope(s.vars, along[:], variance, at.log-by.mean*mean, at.byVar)
	}
	try()
	best = slopes{float64(float32(best.mean)), float64(float32(best.variance))}
	return best, s.height(best, mean, variance, at.log)
}

// height is the least height over 0 of a plane above the surface, and above log at a point.
func (s *sketch) height(by slopes, mean, variance, log float64) float64 {
	most := log - by.mean*mean - by.variance*variance
	for i, m := range s.means {
		for j, v := range s.vars {
			most = max(most, s.log[i][j]-by.mean*m-by.variance*v)
		}
	}
	return most
}

// hullSlope is the slope at x of the upper concave hull of points (xs, ys) and (x, y), where slope is that of
// the function at x.
func hullSlope(xs, ys []float64, x, y, slope float64) float64 {
	most := y
	for i, left := range xs {
		if left > x {
			break
		}
		for j := len(xs) - 1; j > i && xs[j] >= x; j-- {
			rise := (ys[j] - ys[i]) / (xs[j] - left)
			if at := ys[i] + rise*(x-left); at > most {
				most, slope = at, rise
			}
		}
	}
	return slope
}

// rateApprox looks for the rate h at which the quantile (K(h) + log)/h of sum -al z + b z^2/2 is least, K the logarithm
// of its moment; z are the outputs of the first hidden layer.
func (p *point) rateApprox(al, b []float64, log float64) float64 {
	size := 0.0
	for j, r := range p.rects[0] {
		m, v := p.hidden[0].mostApprox(r), r.varHi
		size += al[j]*al[j]*v + b[j]*b[j]*v*(m*m+v)
	}
	if !(size > 0) {
		return 0x1p40 // nothing varies
	}
	cuts := sections
	if p.quick {
		cuts = 0
	}
	h, _ := leastApprox(math.Sqrt(2*log/size), func(h float64) float64 {
		sum := log
		for j, r := range p.rects[0] {
			sum += p.hidden[0].tiltApprox(h*al[j], h*b[j], r.meanLo, r.varLo).log
		}
		return sum / h
	}, math.Inf(-1), cuts)
	return h
}

// sections is how many golden sections find a rate.
const sections = 8

// leastApprox is about where a function of h > 0 that falls and then grows is least, and its value: from a start on by
// factors of two, and then by so many golden sections, until it is below enough.
func leastApprox(start float64, f func(h float64) float64, enough float64, cuts int) (h, least float64) {
	const golden, mostDoubled = 0.6180339887498949, 60
	h, least = start, math.Inf(1)
	try := func(at float64) float64 {
		v := f(at)
		if math.IsNaN(v) {
			v = math.Inf(1)
		}
		if v < least {
			h, least = at, v
		}
		return v
	}
	at, here, factor := start, try(start), 2.0
	if try(2*start) > here || math.IsInf(here, 1) {
		factor = 0.5
	}
	for range mostDoubled {
		at *= factor
		next := try(at)
		if !(next < here) && !math.IsInf(here, 1) || least < enough {
			break
		}
		here = next
	}
	lo, hi := math.Log(h/2), math.Log(2*h)
	x1, x2 := hi-golden*(hi-lo), lo+golden*(hi-lo)
	f1, f2 := try(math.Exp(x1)), try(math.Exp(x2))
	for range cuts {
		if least < enough {
			break
		}
		if f1 <= f2 {
			hi, x2, f2 = x2, x1, f1
			x1 = hi - golden*(hi-lo)
			f1 = try(math.Exp(x1))
		} else {
			lo, x1, f1 = x1, x2, f2
			x2 = lo + golden*(hi-lo)
			f2 = try(math.Exp(x2))
		}
	}
	return h, least
}

// momentsApprox are about the mean and the variance of the row.
func (r *head) momentsApprox(o outline) (mean, variance float64) {
	mean, variance = r.c, r.sb
	for j, a := range r.a {
		z, square := o.first[j], o.second[j]
		mean += a * z
		variance += a*a*(square-z*z) + r.s[j]*square
	}
	return mean, variance
}

// meansApprox are about the means of the outputs of the last hidden layer and of their squares.
func (p *point) meansApprox() (o outline) {
	for k, l := range p.hidden {
		next := outline{first: make([]float64, l.out), second: make([]float64, l.out)}
		for j, r := range p.rects[k] {
			mean, v := r.meanLo, r.varLo
			if k > 0 {
				mean, v = l.bias[j], l.biasHi[j]
				for i := range o.first {
					at := i*l.out + j
					mean += l.mean[at] * o.first[i]
					v += l.squareHi[at]*o.second[i] + l.mean[at]*l.mean[at]*(o.second[i]-o.first[i]*o.first[i])
				}
			}
			t := l.tiltApprox(0, 0, mean, v)
			next.first[j], next.second[j] = t.first, t.second
		}
		o = next
	}
	return o
}
