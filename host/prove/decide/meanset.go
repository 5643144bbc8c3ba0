package decide

import (
	"context"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// Moments bounds the mean and the standard deviation of each output over a finite set of networks, on a box.
type Moments struct{ Lower, Upper, DeviationDown, DeviationUp []float64 }

// MomentsOfSet bounds, on each box, the moments of each output: means of what LBP bounds of each network,
// rounded once, and deviations from the middles of these bounds (deviationOf).
func MomentsOfSet(ctx context.Context, e *engine.Engine, boxes []property.Box) ([]Moments, error) {
	s, outputs := e.Posterior.Networks(), e.Posterior.Outputs()
	d := &decision{e: e}
	rows := make([]property.Row, 2*outputs) // y_i, and then -y_i
	for i := range outputs {
		rows[i] = property.Row{CLo: make([]float64, outputs), CHi: make([]float64, outputs)}
		rows[i].CLo[i], rows[i].CHi[i] = 1, 1
		rows[outputs+i] = rows[i].Negated()
	}
	var qs []*question
	asked := make([][]*question, len(boxes))
	for n := range s.N() {
		d.nets = append(d.nets, s.Weights(n))
		fits := d.fits(n)
		for b := range boxes {
			q := &question{net: n, box: boxes[b], rows: rows}
			asked[b] = append(asked[b], q)
			if fits {
				qs = append(qs, q)
			}
		}
	}
	if err := d.ask(ctx, bound.LBP, qs); err != nil {
		return nil, err
	}
	list := make([]Moments, len(boxes))
	for b := range boxes {
		ends := make([]float64, 2*outputs)
		for r := range ends {
			ends[r] = meanDown(asked[b], r, s.Counts, s.Total())
		}
		for i := outputs; i < len(ends); i++ {
			ends[i] = -ends[i]
		}
		list[b].Lower, list[b].Upper = ends[:outputs], slices.Clone(ends[outputs:])
		for i := range outputs {
			lo, hi := deviationOf(asked[b], i, outputs+i, s.Counts, s.Total())
			list[b].DeviationDown, list[b].DeviationUp = append(list[b].DeviationDown, lo), append(list[b].DeviationUp, hi)
		}
	}
	return list, nil
}

// deviationOf bounds the standard deviation over the networks of an output of which rows r and negated are
// lower bounds, and those of its negative: it is a norm of the values less their mean, so that it is within
// the root of the mean square of the radii of what it is for the middles.
func deviationOf(qs []*question, r, negated int, counts []int64, total int64) (lo, hi float64) {
	mean, square, radii := new(big.Rat), new(big.Rat), new(big.Rat)
	for n, q := range qs {
		if q.lo == nil || !(math.Abs(q.lo[r]) <= math.MaxFloat64/4 && math.Abs(q.lo[negated]) <= math.MaxFloat64/4) {
			return 0, math.Inf(1)
		}
		share := big.NewRat(counts[n], total)
		mid := arith.Middle(q.lo[r], -q.lo[negated])
		radius := max(0, arith.SumUp(mid, -q.lo[r]), arith.SumUp(-q.lo[negated], -mid))
		x := new(big.Rat).SetFloat64(mid)
		mean.Add(mean, new(big.Rat).Mul(share, x))
		square.Add(square, x.Mul(x, x).Mul(x, share))
		x = new(big.Rat).SetFloat64(radius)
		radii.Add(radii, x.Mul(x, x).Mul(x, share))
	}
	v := square.Sub(square, mean.Mul(mean, mean))
	off := arith.SqrtUp(-ratDown(radii.Neg(radii)))
	lo = arith.SumDown(arith.Down(math.Sqrt(max(0, ratDown(v)))), -off)
	return max(0, lo), arith.SumUp(arith.SqrtUp(max(0, -ratDown(v.Neg(v)))), off)
}

// meanDown is the mean of what is known of row r, rounded down; -Inf where nothing is of a network.
func meanDown(qs []*question, r int, counts []int64, total int64) float64 {
	sum := new(big.Rat)
	for n, q := range qs {
		if q.lo == nil || !(math.Abs(q.lo[r]) <= math.MaxFloat64) {
			return math.Inf(-1)
		}
		sum.Add(sum, new(big.Rat).Mul(big.NewRat(counts[n], total), new(big.Rat).SetFloat64(q.lo[r])))
	}
	return ratDown(sum)
}
