package check

import (
	"context"
	"fmt"
	"slices"

	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/read/property"
)

// What records say that concentration LBP shows.

func byNoise(ctx context.Context, q *question) (law.Chance, error) {
	n, err := q.noisy()
	if err != nil {
		return law.Chance{}, err
	}
	if q, err = q.withMixtures(); err != nil {
		return law.Chance{}, err
	}
	switch _, err := q.cells(); {
	case err != nil:
		return law.Chance{}, err
	case len(q.Proof.Tau) == 0 || slices.Max(q.Proof.Tau) != q.Tau:
		return law.Chance{}, fmt.Errorf("tau: it is %v, the largest of the proof is another", q.Tau)
	}
	if q.Proof.Lines != nil {
		if n, err = n.WithLines(q.Proof.Lines, q.Cells); err != nil {
			return law.Chance{}, err
		}
	}
	fail, err := n.FailUp(ctx, q.task, q.Proof.Cells, q.Proof.Tau, q.enough)
	return law.Complement(fail), err
}

// upperByNoise proves an upper bound by concentration LBP at a witness.
func upperByNoise(ctx context.Context, q *question, u *record.UpperProof, at property.Box) (float64, error) {
	n, err := q.noisy()
	if err != nil {
		return 1, err
	}
	return n.SafeUp(ctx, q.task, at, u.Tau, q.claimedUpper)
}
