package check

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// eachPoint proves each_lower: what is above p_lower, by the worst cell of its proof.
func (q *question) eachPoint(ctx context.Context) error {
	if q.EachLower.Cmp(q.PLower.Exact) <= 0 {
		return nil
	}
	proof, err := record.Part[record.EachProof]("each", q.Proof.Each)
	if err != nil {
		return err
	}
	cells, err := cases.CellsOf(q.task.T, proof.Cells)
	if err != nil {
		return fmt.Errorf("each_lower: %w", err)
	}
	var least law.Chance
	if q.post.Networks() != nil {
		if proof.Tau != nil {
			return errors.New("each_lower: a finite posterior has no tau")
		}
		least, err = q.leastShare(ctx, cells)
	} else {
		least, err = q.leastByNoise(ctx, cells, proof.Tau)
	}
	if err == nil && !least.Reaches(q.EachLower.Rat()) {
		err = fmt.Errorf("each_lower: it is %v, proved is %v", q.EachLower, least.Float())
	}
	return err
}

// leastByNoise bounds the probability of safe outputs at the worst point of cells by concentration LBP.
func (q *question) leastByNoise(ctx context.Context, cells []property.Box, taus []float64) (least law.Chance, err error) {
	n, err := q.noisyNetworks("each_lower")
	if err != nil {
		return least, err
	}
	enough := func(fail float64) bool { return law.Complement(fail).Reaches(q.EachLower.Rat()) }
	fail, err := n.PointFailUp(ctx, &q.task.S, cells, taus, enough)
	return law.Complement(fail), err
}

// leastShare is the least share of the networks of a finite posterior that are safe on all of a cell.
func (q *question) leastShare(ctx context.Context, cells []property.Box) (least law.Chance, err error) {
	safe := make([]int64, len(cells))
	err = relax.EachNetwork(q.post, func(_ int, count int64, n *relax.Network) error {
		for c := range cells {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if n.SafeOn(cells[c:c+1], &q.task.S, relax.Tries) {
				safe[c] += count
			}
		}
		return nil
	})
	if err != nil {
		return least, err
	}
	share := law.RatDown(big.NewRat(slices.Min(safe), q.post.Networks().Total()))
	return law.Chance{X: arith.NewBig().SetFloat64(share)}, nil
}
