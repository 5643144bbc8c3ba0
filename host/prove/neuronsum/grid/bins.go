package grid

import (
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
)

// normalBins cut a standard normal variable Z. Of bin k, from z[k] to z[k+1], at most lower[k] goes
// to z[k] and upper[k] to z[k+1] if every value is moved to one of the two at random with its mean
// kept (probability.Split); mass bounds lower and upper together, beyond what is outside of all bins.
type normalBins struct {
	z, lower, upper, mass []float64
	beyond                float64
}

// newNormalBins makes bins with the width fine up to the distance even of 0, from there wider as
// the inverse of the third root of the density, as makes the mean square of widths small beyond it,
// and up to widest: what stands in for a large number must not be far from it.
//
// For 0 <= p < q, M = P(p < Z < q) and phi the density, the mean of (q - Z)/(q - p) over the bin is
// (q M - (phi(p) - phi(q)))/(q - p), and what is left of M goes to q.
func newNormalBins(fine, widest, even float64) *normalBins {
	b := &normalBins{beyond: arith.Up(2 * gauss.TailUp(law.Reach))}
	z := []float64{0}
	for x := 0.0; x < law.Reach; {
		far := max(0, x*x-even*even)
		x = min(law.Reach, x+min(fine*math.Exp(far/6), widest))
		z = append(z, x)
	}
	var lower, upper, mass []float64
	for k := range len(z) - 1 {
		p, q := arith.Exactly(z[k]), arith.Exactly(z[k+1])
		m := massOf(z[k], z[k+1])
		d := densityAt(z[k]).Minus(densityAt(z[k+1]))
		lower = append(lower, max(0, q.Times(m).Minus(d).Over(q.Minus(p)).Hi))
		upper = append(upper, max(0, d.Minus(p.Times(m)).Over(q.Minus(p)).Hi))
		mass = append(mass, m.Hi)
	}
	for k := len(z) - 1; k > 0; k-- {
		b.z, b.mass = append(b.z, -z[k]), append(b.mass, mass[k-1])
		b.lower, b.upper = append(b.lower, upper[k-1]), append(b.upper, lower[k-1])
	}
	b.z, b.mass = append(b.z, z...), append(b.mass, mass...)
	b.lower, b.upper = append(b.lower, lower...), append(b.upper, upper...)
	return b
}

// at encloses the edges of bins of a normal variable.
func (b *normalBins) at(mean, sd arith.Interval) []arith.Interval {
	x := make([]arith.Interval, len(b.z))
	for k, z := range b.z {
		x[k] = mean.Plus(sd.Times(arith.Exactly(z)))
	}
	return x
}

// squareUp bounds the square of the width of a bin between these edges.
func squareUp(from, to arith.Interval) float64 {
	return arith.Exactly(to.Hi).Minus(arith.Exactly(from.Lo)).Square().Hi
}

// signed parts a normal variable by its sign. The bin that 0 is in is not parted: there a number of
// it is known to be in an interval.
func (b *normalBins) signed(mean, sd arith.Interval) (neg, pos probability.Split) {
	if sd.Hi == 0 {
		if mean.Lo < 0 {
			neg.Add(mean.Lo, min(mean.Hi, 0), 1, 0)
		}
		if mean.Hi >= 0 {
			pos.Add(max(mean.Lo, 0), mean.Hi, 1, 0)
		}
		return neg, pos
	}
	x := b.at(mean, sd)
	for k := range b.mass {
		from, to := x[k], x[k+1]
		switch square := squareUp(from, to); {
		case from.Lo >= 0:
			pos.Add(from.Lo, from.Hi, b.lower[k], square)
			pos.Add(to.Lo, to.Hi, b.upper[k], square)
		case to.Hi <= 0:
			neg.Add(from.Lo, from.Hi, b.lower[k], square)
			neg.Add(to.Lo, to.Hi, b.upper[k], square)
		default:
			below, over := b.around(k, mean, sd)
			neg.Add(from.Lo, 0, below, 0)
			pos.Add(0, to.Hi, over, 0)
		}
	}
	return neg, pos
}

// around bounds the masses of bin k on the two sides of where mean + sd Z is 0.
func (b *normalBins) around(k int, mean, sd arith.Interval) (below, over float64) {
	zero := arith.Of(-mean.Hi, -mean.Lo).Over(sd)
	if to := min(b.z[k+1], zero.Hi); to > b.z[k] {
		below = massOf(b.z[k], to).Hi
	}
	if from := max(b.z[k], zero.Lo); from < b.z[k+1] {
		over = massOf(from, b.z[k+1]).Hi
	}
	return below, over
}

// sumBins are the bins of normal variables in sums at points of grids: by coarseness, 0 or 1, and
// by how far from 0 they are fine.
type sumBins [2][6]*normalBins

func newSumBins(fine, coarse, widest float64) *sumBins {
	var all sumBins
	for c, width := range []float64{fine, coarse} {
		for k := range all[c] {
			all[c][k] = newNormalBins(width, widest, float64(k))
		}
	}
	return &all
}

// boundBins returns the bins of bounds.
var boundBins = sync.OnceValue(func() *sumBins { return newSumBins(1./128, coarseWidth, 1./24) })

const coarseWidth = 1. / 32

// of are the bins for a neuron that is active where a normal variable is positive: fine where it
// often is.
func (b *sumBins) of(mean, sd arith.Interval, coarse int) *normalBins {
	all := &b[coarse]
	return all[int(min(float64(len(all)-1), max(0, -mean.Hi/sd.Hi)+2.5))]
}
