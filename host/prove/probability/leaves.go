package probability

import (
	"math"

	"psafe/host/arith/gauss"
)

// LeafTail is a lower bound of a row in one leaf of a tree of phases, as its tail needs it: the row is
// negative somewhere in the leaf only if the noise of the last layer and of the layers below it, of
// these variances, is at most -T.
type LeafTail struct {
	T     float64
	Below []float64
}

// leafSteps is the number of steps of the grid of sharedUp in the least T, mostLeafSteps how many it has.
const leafSteps, mostLeafSteps = 384, 640

// LeafTailsUp is an upper bound of the probability that a row is negative somewhere in one of these
// leaves, all of the same row (docs/theory.md, section 6.5): the sum of their tails (62) or, if shared, also
//
//	E min(1, sum over leaves of q(T + min(g, 0))),   g ~ N(0, last)                              (65)
//
// with q the tail (13b) of the layers below the last, whose noise all leaves share. That needs a mean of
// the last layer's noise that is the same in all leaves, as (11) and (34) are and (38) is not. It is 1 for NaN.
func LeafTailsUp(last float64, shared bool, leaves []LeafTail) float64 {
	sum := 0.0
	for _, l := range leaves {
		sum = up(sum + NoiseTailUp(l.T, append([]float64{last}, l.Below...), 1))
	}
	if shared && len(leaves) > 1 && sum > worthConvolving && last > 0 && last <= math.MaxFloat64 {
		sum = min(sum, sharedUp(last, leaves))
	}
	return min(1, sum)
}

// sharedUp is (65) by step sums. All leaves have the grid T - k h, k = 0, 1, ..., and the common noise g
// is in steps of h from 0 down. Let s_k be what the sum is for g = -k h, or 1 if that is less, H_k =
// Prob(-g >= k h), H_0 = 1/2. The sum falls in g, so that each step counts with its lower end,
//
//	E min(1, .) <= s_0/2 + sum_k (H_k - H_(k+1)) s_(k+1) = (s_0 + s_1)/2 + sum_(k>0) H_k (s_(k+1) - s_k)
//
// to where s_k is 1. In that form every factor is >= 0, so bounds of H_k and of s_k, as long as these do not
// fall, give a bound. At most 2^10 positive terms, each rounded three times, are below (1 + 2^-40) of
// what is computed.
func sharedUp(last float64, leaves []LeafTail) float64 {
	least := math.Inf(1)
	for _, l := range leaves {
		least = min(least, l.T)
		for _, v := range l.Below {
			if !(v >= 0 && v <= math.MaxFloat64) { // unknown
				return 1
			}
		}
	}
	h := least / leafSteps
	if !(h > 0x1p-900) {
		return 1
	}
	var grids [][]float64
	end := mostLeafSteps
	for _, l := range leaves {
		grids = append(grids, leafGrid(l, h))
		end = min(end, len(grids[len(grids)-1])-1)
	}
	sums := make([]float64, end+1)
	for k := range sums {
		for _, q := range grids {
			sums[k] += q[k]
		}
		if sums[k] = min(1, sums[k]*(1+0x1p-40)+0x1p-1000); k > 0 {
			sums[k] = max(sums[k], sums[k-1])
		}
	}
	return stepsUp(halfTailsUp(last, h, len(sums)), sums)
}

// stepsUp is the last form above for s that are 1 in the end.
func stepsUp(tails, s []float64) float64 {
	if len(s) == 1 {
		return 1
	}
	sum := 0.5 * (s[0] + s[1])
	for k, next := range s[min(2, len(s)):] {
		sum += float64(tails[k+1] * (next - s[k+1]))
	}
	return min(1, sum*(1+0x1p-40)+0x1p-1000)
}

// halfTailsUp bounds Prob(-G >= k h) for k < n, G ~ N(0, v).
func halfTailsUp(v, h float64, n int) []float64 {
	tails := make([]float64, n)
	for k := range tails {
		tails[k] = gauss.TailUp(ratioDown(down(h*float64(k)), v))
	}
	return tails
}

// leafGrid bounds the tail of the noise below the last layer at T - k h, as far as it is below 1, and 1 at
// the end: by (13b), layer by layer as sharedUp.
func leafGrid(l LeafTail, h float64) []float64 {
	below := make([]float64, 0, len(l.Below))
	for _, v := range l.Below {
		if v > 0 {
			below = append(below, v)
		}
	}
	var q []float64
	for k := range mostLeafSteps {
		x := down(l.T - up(h*float64(k)))
		if !(x > 0) {
			break
		}
		if q = append(q, 0); len(below) > 0 {
			q[k] = gauss.TailUp(ratioDown(x, below[0]))
		}
		if k > 0 {
			q[k] = max(q[k], q[k-1]) // TailUp is a bound, and need not fall as what it bounds does
		}
	}
	q = append(q, 1)
	for _, v := range below[min(1, len(below)):] {
		tails, next := halfTailsUp(v, h, len(q)), make([]float64, len(q))
		for k := range next {
			if next[k] = stepsUp(tails, q[k:]); k > 0 {
				next[k] = max(next[k], next[k-1])
			}
		}
		q = next
	}
	return q
}
