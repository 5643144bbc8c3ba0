package check

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/mean"
	"psafe/host/check/noise"
	"psafe/host/check/record"
	"psafe/host/model/posterior"
)

// What records say that concentration LBP, a finite posterior and single points show.

// noisyOf prepares a posterior for concentration LBP with rows of so many activations; the last
// one is kept.
func (f *files) noisyOf(p *posterior.Posterior, depth int) (*noise.Posterior, error) {
	if f.noisy == nil || f.noisyPost != p || f.noisy.Graph.Depth != depth {
		n, err := noise.New(p)
		if err != nil {
			return nil, fmt.Errorf("posterior: %w", err)
		}
		n.Graph.Depth = depth
		f.noisy, f.noisyPost = n, p
	}
	return f.noisy, nil
}

// byNoise proves a lower bound by concentration LBP.
func byNoise(ctx context.Context, q *question) (law.Chance, error) {
	n, err := q.held.noisyOf(q.post, q.Asked().Number("--depth"))
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
func upperByNoise(ctx context.Context, q *question) (float64, error) {
	n, err := q.held.noisyOf(q.post, q.Asked().Number("--depth"))
	if err != nil {
		return 1, err
	}
	at, tau, err := q.upperWitness()
	if err != nil {
		return 1, err
	}
	return n.SafeUp(ctx, q.task, at, tau, q.claimedUpper)
}

// claimedUpper says whether p is an upper bound as good as what the record claims.
func (q *question) claimedUpper(p float64) bool {
	return p <= 1 && new(big.Rat).SetFloat64(p).Cmp(q.PUpper.Rat()) <= 0
}

// counted decides the networks of a finite posterior, once.
func (q *question) counted(ctx context.Context) (*census, error) {
	if q.census != nil {
		return q.census, nil
	}
	proofs, err := record.ReadNetworks(q.Proof.Networks)
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

// byNetworks proves the bounds of a finite posterior.
func byNetworks(ctx context.Context, q *question) (law.Chance, error) {
	c, err := q.counted(ctx)
	if err != nil {
		return law.Chance{}, err
	}
	return law.Chance{X: arith.NewBig().SetFloat64(c.pLowerDown(*q.SafeSamples))}, nil
}

func upperByNetworks(ctx context.Context, q *question) (float64, error) {
	c, err := q.counted(ctx)
	if err != nil {
		return 1, err
	}
	return c.pUpperUp(), nil
}

// derivedBounds proves the mean of rows.
func (q *question) derivedBounds(context.Context) error {
	d := q.Derived
	switch {
	case !q.post.Independent():
		return fmt.Errorf("derived: the posterior is %s, not independent normal weights", q.post.Describe())
	case d.InfMeanLower == nil:
		return nil
	}
	mean, known := mean.Down(q.post, q.task, q.proved.FailUp())
	if !known || d.InfMeanLower.Rat().Cmp(new(big.Rat).SetFloat64(mean)) > 0 {
		return fmt.Errorf("derived: inf_mean_lower is %v, proved is %v", d.InfMeanLower, mean)
	}
	return nil
}
