package check

import (
	"context"
	"fmt"
)

// What records say that sums of neurons show.

// bySums proves a lower bound by sums of neurons: on the cells of the proof, or on its grids.
func bySums(ctx context.Context, q *question) (chance, error) {
	task := *q.task
	if q.Proof.Mixtures != nil {
		var err error
		if task.S, err = mixed(&task.S, q.Proof.Mixtures); err != nil {
			return chance{}, err
		}
	}
	if q.Proof.Grids != nil {
		return byGrids(ctx, q, &task.S)
	}
	cells, err := cellsOf(task.T, q.Proof.Cells)
	switch {
	case err != nil:
		return chance{}, err
	case len(cells) != q.Cells:
		return chance{}, fmt.Errorf("cells: %d, the proof has %d", q.Cells, len(cells))
	}
	fail, err := sumsFailUp(ctx, q.post, &task, q.Proof.Cells, func(fail float64) bool { return q.claimed(complement(fail)) })
	if err != nil {
		return chance{}, err
	}
	return complement(fail), nil
}

// upperBySums proves an upper bound by sums of neurons at a witness.
func upperBySums(ctx context.Context, q *question) (float64, error) {
	u, err := readUpper(q.Proof.Upper)
	if err != nil {
		return 1, err
	}
	if u.Tau != 0 {
		return 1, fmt.Errorf("proof: upper: tau is %v, sums of neurons have none", u.Tau)
	}
	at, err := u.Witness.around(q.task)
	if err != nil {
		return 1, err
	}
	return sumsSafeUp(ctx, q.post, q.task, at)
}
