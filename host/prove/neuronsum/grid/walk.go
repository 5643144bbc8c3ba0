package grid

import (
	"math"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// maxAxes bounds the two-sided axes whose weights are cut into bins.
const maxAxes = 8

// walk adds up the probability of a form's event over all products of bins of the e_j.
//
// X(e) = (-u - y - m)/sd is a convex function of e, and the event has the probability Phi(X(e))
// given e. In a product of bins let e' be the means of the e_j there. By Jensen X(e') <= E X <=
// X(e') + D, where D adds up, over the axes, kink/2 times a bound of E|z_j| - |z_j(e')|: at most
// sqrt(z_j(e')^2 + Var z_j) - |z_j(e')|, and 0 where z_j does not change its sign. X changes by at
// most steep_j per unit of e_j, so that Var X <= V = sum_j steep_j^2 Var e_j (Efron and Stein) and
// |X - x| <= R. With x = X(e') + D, Taylor's formula gives
//
//	E Phi(X) <= Phi(x) + 1/2 sup over [x-R, x+R] of max(0, Phi'') (V + D^2)
//
// as E X <= x. Phi(x + R) will do as well.
type walk struct {
	c     *chance
	f     *chanceForm
	slope *phiSlopes
	sum   float64
	// At each level, for the axes to come: z with the e so far, how far it may be from it
	// and its variance.
	z, far, variance [maxAxes + 1][maxAxes]float64
}

// axis adds up the bins of axis j and of those after it; number is -u - y - m so far, variance V,
// far R, both in standard deviations of the form, and kink D.
func (w *walk) axis(j int, mass, number, variance, far, kink float64) {
	a, b, f := &w.c.axes[j], w.f.bins[j], w.f
	last := j+1 == len(w.c.axes)
	own, row, steep, steepSquared := a.row[j], f.row[j], f.steep[j], f.steepSquared[j]
	for q, e := range b.mean {
		z := w.z[j][j] + own*e
		n := number - row*e - min(z*a.before, z*a.after)
		d := kink
		size := math.Abs(z)
		if r := w.far[j][j] + own*b.far[q]; r >= size*(1-0x1p-40) {
			more := math.Sqrt(z*z+(w.variance[j][j]+own*own*b.variance[q])) - size
			d += 0.5 * a.kink * (min(more, r-size) + size*0x1p-40)
		}
		v, r := variance+steepSquared*b.variance[q], far+steep*b.far[q]
		if last {
			w.sum += mass * b.mass[q] * w.slope.phiUp((n+d)*f.perSd+f.slack, v, r, d*f.perSd+2*f.slack)
			continue
		}
		for i := j + 1; i < len(w.c.axes); i++ {
			l := w.c.axes[i].row[j]
			w.z[j+1][i] = w.z[j][i] + l*e
			w.far[j+1][i] = w.far[j][i] + math.Abs(l)*b.far[q]
			w.variance[j+1][i] = w.variance[j][i] + l*l*b.variance[q]
		}
		w.axis(j+1, mass*b.mass[q], n, v, r, d)
	}
}

// phiUp bounds E Phi(X) for E X <= x, Var X <= v, E X >= x - d and |X - x| <= r + d.
func (s *phiSlopes) phiUp(x, v, r, d float64) float64 {
	if x >= phiEnd {
		return 1
	}
	r += d
	p := gauss.PhiUp(x)
	most := min(max(-1, x-r), x+r)
	if most < 0 {
		if more := s.curve[phiAt(most)] * (v + d*d); more > 0.05*p {
			p = min(p+more, gauss.PhiUp(x+r), p*tiltUp(s.hazard[phiAt(x)], v+d*d, r))
		} else {
			p += more
		}
	}
	return min(1, p)
}

// tiltUp bounds E e^(hazard D) for E D <= 0, E D^2 <= v and D <= r: e^y <= 1 + y + y^2 f(m) for y
// <= m, f(m) = (e^m - 1 - m)/m^2 <= 1/2 + m/6 + m^2 e^m/24, which is computed where m is small (as
// (k+2)! >= 24 (k-2)! for k >= 2). As log Phi is concave, Phi(x + D) <= Phi(x) e^(hazard D) for its
// slope hazard at x.
func tiltUp(hazard, v, r float64) float64 {
	m := hazard * r * (1 + 0x1p-50)
	if !(m < 6) {
		return math.Inf(1)
	}
	e := 1 / arith.ExpDown(-m) * (1 + 0x1p-50)
	f := 0.5 + m/6 + m*m/24*e
	if m > 0.5 {
		f = (e - 1 - m) / (m * m)
	}
	return (1 + hazard*hazard*v*f*(1+0x1p-45)) * (1 + 0x1p-45)
}

// phiSlopes are bounds by cells of x: curve[k] of half of the greatest second derivative of Phi, at
// least 0, on [-phiEnd + k/phiParts, -phiEnd + (k+1)/phiParts], the first one on all below, hazard of
// the slope of log Phi, which falls.
type phiSlopes struct {
	curve, hazard [2*phiEnd*phiParts + 1]float64
}

const (
	phiEnd   = 9
	phiParts = 512
)

// slopes are made when first asked for: that takes longer than all else that a program starts with.
var slopes = sync.OnceValue(phiTables)

func phiAt(x float64) int {
	if !(x > -phiEnd) {
		return 0
	}
	return min(int((x+phiEnd)*phiParts), 2*phiEnd*phiParts)
}

func phiTables() *phiSlopes {
	s := new(phiSlopes)
	curve, hazard := &s.curve, &s.hazard
	for k := range curve {
		// A little wider than the cell, for the rounding of phiAt.
		lo, hi := float64(k)/phiParts-phiEnd-0x1p-40, float64(k+1)/phiParts-phiEnd+0x1p-40
		hazard[k] = math.Inf(1)
		if k > 0 {
			least := gauss.TailDown(-lo)
			if lo > 0 {
				least = arith.Down(1 - gauss.TailUp(lo))
			}
			hazard[k] = arith.Up(densityAt(lo).Hi / least)
		}
		if lo < 0 {
			at := max(lo, min(hi, -1)) // -x phi(x) rises up to -1 and falls from there
			curve[k] = arith.Up(arith.Up(0.5*-at) * densityAt(at).Hi)
		}
	}
	return s
}

// densityAt encloses the standard normal density.
func densityAt(x float64) arith.Interval {
	square := arith.Exactly(x).Square().Times(arith.Exactly(0.5))
	e := arith.Of(arith.ExpDown(-square.Hi), arith.ExpUp(-square.Lo))
	return e.Times(arith.Of(0.39894228040143265, 0.3989422804014328)) // 1/sqrt(2 pi) = 0.39894228040143267794
}

// chanceBins are bins of a standard normal variable: the mass of each, its mean there, nearly
// (chanceMeanErr), and at least its variance and its distance from the mean.
type chanceBins struct {
	mass, mean, variance, far []float64
}

// chanceMeanErr bounds the error of chanceBins.mean.
const chanceMeanErr = 1e-9

var binCounts = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192}

// standardBins has bins for each of binCounts.
var standardBins = sync.OnceValue(func() (all []*chanceBins) {
	for _, n := range binCounts {
		edges := []float64{-chanceReach, chanceReach}
		for k := 1; k < n; k++ {
			edges = append(edges, math.Sqrt(6)*math.Erfinv(2*float64(k)/float64(n)-1))
		}
		if n >= 4 {
			edges = append(edges, -3.2, 3.2)
		}
		slices.Sort(edges)
		all = append(all, newChanceBins(slices.Compact(edges)))
	}
	return all
})

// newChanceBins: with density phi, E(e | bin) = (phi(l) - phi(h))/P, E(e^2 | bin) = 1 + (l phi(l) -
// h phi(h))/P.
func newChanceBins(edges []float64) *chanceBins {
	b := &chanceBins{}
	for k := range len(edges) - 1 {
		l, h := edges[k], edges[k+1]
		p := massOf(l, h)
		dl, dh := densityAt(l), densityAt(h)
		mean := dl.Minus(dh).Over(p)
		second := arith.Exactly(1).Plus(arith.Exactly(l).Times(dl).Minus(arith.Exactly(h).Times(dh)).Over(p))
		middle := mean.Middle()
		variance := second.Minus(mean.Square()).Hi
		far := arith.Up(max(h-middle, middle-l))
		if !(mean.Radius() < chanceMeanErr) {
			panic("grid: the mean of a bin is not known well enough")
		}
		b.mass, b.mean = append(b.mass, p.Hi), append(b.mean, middle)
		b.far = append(b.far, far)
		b.variance = append(b.variance, min(max(variance, 0), arith.Up(far*far)))
	}
	return b
}

// massOf encloses P(l <= e <= h).
func massOf(l, h float64) arith.Interval {
	if l < 0 && h > 0 {
		return arith.Exactly(1).Minus(arith.Of(gauss.TailDown(-l), gauss.TailUp(-l))).Minus(arith.Of(gauss.TailDown(h), gauss.TailUp(h)))
	}
	if h <= 0 {
		l, h = -h, -l
	}
	return arith.Of(gauss.TailDown(l), gauss.TailUp(l)).Minus(arith.Of(gauss.TailDown(h), gauss.TailUp(h)))
}

// chooseBins takes as many bins as the event is sensitive to each e, and not too many products.
func (f *chanceForm) chooseBins() {
	f.bins = make([]*chanceBins, len(f.steep))
	for fine := 22.0; ; fine *= 0.8 {
		products := 1
		for j, steep := range f.steep {
			k := 0
			for k+1 < len(binCounts) && float64(binCounts[k]) < fine*steep {
				k++
			}
			f.bins[j] = standardBins()[k]
			products *= len(f.bins[j].mass)
		}
		if products <= 4096 || fine < 1e-3 {
			return
		}
	}
}
