package check

import (
	"context"
	"fmt"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/record"
)

// counted decides the networks of a finite posterior, once.
func (q *question) counted(ctx context.Context) (*census, error) {
	if q.census != nil {
		return q.census, nil
	}
	proofs, err := record.Part[[]record.NetworkProof]("networks", q.Proof.Networks)
	if err != nil {
		return nil, err
	}
	c, err := countNetworks(ctx, q.post, q.task, proofs, *q.SafeSamples)
	switch n := q.post.Networks(); {
	case err != nil:
		return nil, err
	case q.Samples != n.N():
		return nil, fmt.Errorf("samples: %d, the posterior has %d", q.Samples, n.N())
	case *q.SafeSamples > len(c.safe):
		return nil, fmt.Errorf("safe_samples: %d, proved are %d", *q.SafeSamples, len(c.safe))
	case *q.UnsafeSamples != c.unsafe:
		return nil, fmt.Errorf("unsafe_samples: %d, proved are %d", *q.UnsafeSamples, c.unsafe)
	}
	q.census = &c
	return &c, nil
}

func byNetworks(ctx context.Context, q *question) (law.Chance, error) {
	c, err := q.counted(ctx)
	if err != nil {
		return law.Chance{}, err
	}
	return law.Chance{X: arith.NewBig().SetFloat64(c.pLowerDown(*q.SafeSamples))}, nil
}

// counts proves how many networks are safe and unsafe, which are claims too.
func (q *question) counts(ctx context.Context) error {
	_, err := q.counted(ctx)
	return err
}
