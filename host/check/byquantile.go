package check

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/read/property"
)

// quantile proves a quantile of the worst margin: that it is lower or more on all of T is that T is safe by the rows
// less lower, which concentration LBP shows with the cells and taus of the proof.
func (q *question) quantile(ctx context.Context) error {
	proof, err := record.Part[record.EachProof]("quantile", q.Proof.Quantile)
	if err != nil {
		return err
	}
	n, err := q.noisyNetworks("quantile")
	if err != nil {
		return err
	}
	if q.post.Networks() != nil {
		return fmt.Errorf("quantile: it is not proved of %s", q.post.Describe())
	}
	if lower := q.Quantile.Lower; !(math.Abs(lower.Lo) <= 0x1p100) { // what is added to constants stays a float64
		return fmt.Errorf("quantile: %v is no margin", lower)
	}
	task := *q.task
	task.S.Rows = slices.Clone(task.S.Rows)
	for r := range task.S.Rows {
		lessLower(&task.S.Rows[r], q.Quantile.Lower.Rat())
	}
	most := q.Quantile.Level.Rat()
	reaches := func(fail float64) bool {
		return law.Complement(fail).Reaches(new(big.Rat).Sub(big.NewRat(1, 1), most))
	}
	fail, err := n.FailUp(ctx, &task, proof.Cells, proof.Tau, reaches)
	if err != nil {
		return fmt.Errorf("quantile: %w", err)
	}
	if !reaches(fail) {
		return fmt.Errorf("quantile: the margin is %v or more but for %v, proved is but for %v", q.Quantile.Lower, q.Quantile.Level, fail)
	}
	return nil
}

// lessLower takes a number off a row: its constant is rounded down, and the constant by which it fails up.
func lessLower(row *property.Row, lower *big.Rat) {
	less := func(d float64) *big.Rat { return new(big.Rat).Sub(rat(d), lower) }
	row.D, row.DHi = law.RatDown(less(row.D)), -law.RatDown(new(big.Rat).Neg(less(row.DHi)))
}
