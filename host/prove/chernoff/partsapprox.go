package chernoff

import (
	"math"
	"slices"

	"psafe/host/arith"
)

// The search for parts of a row (52a), in ordinary arithmetic. No bound rests on anything here.

const (
	// worthParts is the logarithm of a tail that is worth parts.
	worthParts = -12
	// leastNoise is a variance so small that what multiplies it may overflow.
	leastNoise = 0x1p-500
	// partRounds is how often planes of the parts at the ends follow what they make likely.
	partRounds = 3
)

// nothing is the logarithm of a tail that is not worth lowering.
const nothing = -30

// rowApprox looks for the rate and the parts of a guess: about the logarithm of its tail, too.
func (p *point) rowApprox(g *guess) {
	row := g.head
	g.log = math.Inf(1)
	mean, variance := row.momentsApprox(p.meansApprox())
	if !(mean > 0 && variance > 0) {
		return
	}
	loss, noise := p.lossUp(row), 0.0
	var best trial
	g.rate, _ = leastApprox(mean/variance/2, func(h float64) float64 {
		t, o := p.momentApprox(row, h, arith.Up(h*h)/2, loss, rounds)
		if !(t.log < math.Inf(1)) || len(o.second) < len(row.s) { // NaN, too, as of an infinite rate
			return math.Inf(1)
		}
		v := row.noiseApprox(o)
		log := t.log + tiltedApprox(h, v) - h*h*v/2 // as parts may make it
		if log < g.log {
			g.log, best, noise = log, t, v
		}
		return log
	}, nothing, sections)
	if math.IsInf(g.log, 1) {
		return
	}
	g.plain = best.planes
	if g.log > worthParts {
		g.log, g.parts = p.partsApprox(row, g.rate, loss, best, noise)
	} else {
		g.log, g.parts = best.log, []part{*whole(g.rate, best.planes)}
	}
}

// trial holds what a row's moment is with another multiple of the variance of its own noise.
type trial struct {
	square, log float64
	planes      [][]slopes
}

// momentApprox is about the logarithm of E exp(-h mean + square variance) of a row.
func (p *point) momentApprox(row *head, h, square, loss float64, rounds int) (trial, outline) {
	al, b := row.exponent(h, square)
	o := p.outlineApprox(len(p.hidden)-1, lows(al), b, rounds)
	return trial{square, -h*row.c + square*row.sb + h*loss + o.log, o.planes}, o
}

// noiseApprox is about the mean of the variance of a row's own noise under the law that an outline tilts to.
func (r *head) noiseApprox(o outline) float64 {
	v := r.sb
	for j, s := range r.s {
		v += s * o.second[j]
	}
	return v
}

// tiltedApprox is about g(h sqrt(v)).
func tiltedApprox(h, v float64) float64 {
	u := h * math.Sqrt(v)
	if !(u > 0) {
		return 0
	}
	lo, hi := -16.0, u
	for range 40 {
		if t := (lo + hi) / 2; hazardApprox(t) < u {
			lo = t
		} else {
			hi = t
		}
	}
	return logTailApprox(lo) + u*lo
}

// partsApprox looks for parts of a row of which the moment and the noise are known at a rate: of small variances, of
// those that are likely, and of large ones; about the logarithm of the tail, too.
func (p *point) partsApprox(row *head, h, loss float64, all trial, noise float64) (log float64, parts []part) {
	log, parts = all.log, []part{*whole(h, all.planes)}
	if !(noise > leastNoise && noise <= 1/leastNoise) {
		return log, parts
	}
	var small, large []trial
	for _, times := range []float64{1, 2, 4, 8, 16, 32} {
		t, _ := p.momentApprox(row, h, all.square-times/noise, loss, partRounds)
		small = append(small, t)
	}
	for _, times := range []float64{1, 2, 4, 8} {
		t, _ := p.momentApprox(row, h, all.square+times/noise, loss, partRounds)
		if large = append(large, t); math.IsInf(t.log, 1) {
			break
		}
	}
	// pivoted is the least of trials, each times what takes it above the tail at the ends of a part.
	pivoted := func(of []trial, ends ...float64) (least float64, best trial) {
		least = math.Inf(1)
		for _, t := range of {
			height := math.Inf(-1)
			for _, v := range ends {
				height = max(height, tiltedApprox(h, v)-t.square*v)
			}
			if t.planes != nil && t.log+height < least || len(p.hidden) == 1 && t.log+height < least {
				least, best = t.log+height, t
			}
		}
		return least, best
	}
	type end struct {
		at, g, log float64
		trial
	}
	lows := []end{{at: row.sbLo, g: tiltedApprox(h, row.sbLo), log: math.Inf(-1)}}
	for _, share := range []float64{0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8} {
		if at := share * noise; at > row.sbLo {
			l, t := pivoted(small, row.sbLo, at)
			lows = append(lows, end{at, tiltedApprox(h, at), l, t})
		}
	}
	highs := []end{{at: math.Inf(1), log: math.Inf(-1)}}
	for _, share := range []float64{1.2, 1.4, 1.7, 2, 2.5, 3, 4, 6} {
		l, t := pivoted(large, share*noise)
		highs = append(highs, end{share * noise, tiltedApprox(h, share*noise), l, t})
	}
	var from, to end
	square := all.square
	for _, a := range lows {
		for _, b := range highs {
			middle := all.log + a.g - all.square*a.at
			s := all.square
			if b.at <= math.MaxFloat64 { // the chord, at about the mean
				if !(b.at > a.at) {
					continue
				}
				s = (b.g - a.g) / (b.at - a.at)
				middle = all.log + (s-all.square)*noise + a.g - s*a.at
			}
			if sum := logSumApprox(logSumApprox(middle, a.log), b.log); sum < log {
				log, from, to, square = sum, a, b, s
			}
		}
	}
	if square == all.square && from.log == 0 && to.log == 0 {
		return log, parts
	}
	return p.partsOf(row, h, loss, all, square, from.at, to.at, from.trial, to.trial)
}

// partsOf are parts with the planes of what was tried at the ends, and new ones between.
func (p *point) partsOf(row *head, h, loss float64, all trial, square, from, to float64, small, large trial) (log float64, parts []part) {
	middle := all
	if square != all.square {
		middle, _ = p.momentApprox(row, h, square, loss, rounds)
	}
	list := []part{{square: square, from: from, to: to, planes: middle.planes}}
	logs := []float64{middle.log}
	if from > row.sbLo {
		list, logs = slices.Insert(list, 0, part{square: small.square, from: row.sbLo, to: from, planes: small.planes}), slices.Insert(logs, 0, small.log)
	}
	if to <= math.MaxFloat64 {
		list, logs = append(list, part{square: large.square, from: to, to: math.Inf(1), planes: large.planes}), append(logs, large.log)
	}
	log = math.Inf(-1)
	for i := range list {
		log = logSumApprox(log, logs[i]+list[i].heightUp(h))
	}
	if !(log < all.log) {
		return all.log, []part{*whole(h, all.planes)}
	}
	return log, list
}
