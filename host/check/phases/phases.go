// Package phases proves rows again by trees of phases (docs/theory.md, sections 6.4 and 6.5): on one event that
// confines the noise of every neuron, or by the sum of tails over the leaves.
package phases

import (
	"context"
	"errors"
	"fmt"

	"psafe/host/check/clbp"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// Confined noise and phases (docs/theory.md, section 6.4): on one event the noise of every neuron is at
// most a number, for all x of a box, and the drawn network at x is that of the means with biases
// that are off by as much. A record says by which slopes, cuts and multipliers rows are proved for
// all of these.

// ConfinedEvents returns how many bounds may fail, in units of tau: of each hidden neuron both of
// its noise and its radius, and that of each row from below. It is exact: a multiple of 1/64.
func ConfinedEvents(n *clbp.Noisy, rows int) float64 {
	events, last := 0.0, len(n.Mean)-1
	for k := range last {
		if random(n, k) {
			events += float64(n.Mean[k].Out) * (2 + clbp.RadiusShare)
		}
	}
	if random(n, last) {
		events += float64(rows)
	}
	return events
}

// ConfinedOn returns why clauses of S are not proved on a cell of T; nil if they are. Where one is not,
// other lines are tried for what the proof does not say.
func ConfinedOn(ctx context.Context, n *clbp.Noisy, safe *property.Safe, cell property.Box, clauses [][]int, tau float64, how *Proof) (err error) {
	if err := how.shaped(n.Mean, len(clauses)); err != nil {
		return err
	}
	for try := range uint64(relax.Tries) {
		p := newConfined(ctx, n, cell, tau, how, try)
		err = nil
		for c, clause := range clauses {
			if err = p.clauseHolds(ctx, safe, clause, &how.Trees[c]); err != nil {
				err = fmt.Errorf("clause %d: %w", c, err)
				break
			}
		}
		if _, unproved := errors.AsType[*unprovedLeaf](err); !unproved {
			return err
		}
	}
	return err
}
