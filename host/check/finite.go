package check

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// census holds what is proved of a finite posterior: how many networks are safe on T and unsafe,
// and what they weigh, of weight together.
type census struct {
	safe                 []int64 // the weight of each
	unsafe               int
	unsafeWeight, weight int64
}

// pLowerDown is the share of the networks proved safe, rounded down; of the so many of them that
// weigh most, since a bound that needs more contradicts a record that counts so many.
func (c *census) pLowerDown(counted int) float64 {
	heaviest := slices.Sorted(slices.Values(c.safe))
	total := int64(0)
	for _, w := range heaviest[max(0, len(heaviest)-counted):] {
		total += w
	}
	return law.RatDown(big.NewRat(total, c.weight))
}

// pUpperUp is the share of the networks not proved unsafe, rounded up.
func (c *census) pUpperUp() float64 {
	return -law.RatDown(big.NewRat(c.unsafeWeight-c.weight, c.weight))
}

// countNetworks decides every network of a finite posterior again (docs/theory.md, section
// 6.1), by intervals and lines; a proof that does not hold is an error. Other lines are tried where
// fewer are proved safe than the record says.
func countNetworks(ctx context.Context, post *posterior.Posterior, task *property.Task, proofs []record.NetworkProof, safe int) (c census, err error) {
	if c, err = countBy(ctx, 1, post, task, proofs); err != nil || len(c.safe) < safe {
		return countBy(ctx, relax.Tries, post, task, proofs)
	}
	return c, nil
}

// countBy is countNetworks with so many choices of lines.
func countBy(ctx context.Context, tries uint64, post *posterior.Posterior, task *property.Task, proofs []record.NetworkProof) (c census, err error) {
	s := post.Networks()
	if s == nil {
		return c, fmt.Errorf("posterior: it is %s, not a finite set of networks", post.Describe())
	}
	how := map[int]*record.NetworkProof{}
	for p := range proofs {
		n := proofs[p].Network
		if n < 0 || n >= s.N() || how[n] != nil {
			return c, fmt.Errorf("proof: network %d is listed twice or not among %d", n, s.N())
		}
		how[n] = &proofs[p]
	}
	c.weight = s.Total()
	err = relax.EachNetwork(post, func(i int, count int64, n *relax.Network) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		proof := how[i]
		switch {
		case proof == nil:
			if n.SafeOn(task.T, &task.S, tries) {
				c.safe = append(c.safe, count)
			}
		case proof.Witness != nil && proof.Cells == nil:
			if err := unsafeAt(n, task, proof.Witness); err != nil {
				return fmt.Errorf("proof: network %d: %w", i, err)
			}
			c.unsafe, c.unsafeWeight = c.unsafe+1, c.unsafeWeight+count
		case proof.Witness == nil && proof.Cells != nil:
			cells, err := cases.CellsOf(task.T, proof.Cells)
			if err != nil {
				return fmt.Errorf("proof: network %d: %w", i, err)
			}
			if !n.SafeOn(cells, &task.S, tries) {
				return fmt.Errorf("proof: network %d is not proved safe on its cells", i)
			}
			c.safe = append(c.safe, count)
		default:
			return fmt.Errorf("proof: network %d has neither cells nor a witness, or both", i)
		}
		return nil
	})
	return c, err
}

// unsafeAt is nil if S surely fails on all of the witness box.
func unsafeAt(n *relax.Network, task *property.Task, w *record.WitnessProof) error {
	b, err := w.Around(task)
	if err != nil {
		return err
	}
	negated := cases.NegatedRows(&task.S)
	intervals := relax.Network{Layers: n.Layers, Graph: n.Graph}
	if task.S.FailsSurely(intervals.RowsLo(b, negated.Rows)) || task.S.FailsSurely(n.ByLines(b, negated.Rows, 0)) {
		return nil
	}
	return errors.New("it is not proved unsafe at its witness")
}
