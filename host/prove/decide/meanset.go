package decide

import (
	"context"
	"math"
	"math/big"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// MeanOfSet bounds, on each box, the mean over a finite set of networks of each output: the means of what
// LBP bounds of each network, rounded once.
func MeanOfSet(ctx context.Context, e *engine.Engine, boxes []property.Box) (lower, upper [][]float64, err error) {
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
		return nil, nil, err
	}
	for b := range boxes {
		ends := make([]float64, 2*outputs)
		for r := range ends {
			ends[r] = meanDown(asked[b], r, s.Counts, s.Total())
		}
		for i := outputs; i < len(ends); i++ {
			ends[i] = -ends[i]
		}
		lower, upper = append(lower, ends[:outputs]), append(upper, slices.Clone(ends[outputs:]))
	}
	return lower, upper, nil
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
