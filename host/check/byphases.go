package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/phases"
)

// byPhases proves a lower bound by confined noise and phases.
func byPhases(ctx context.Context, q *question) (law.Chance, error) {
	n, err := q.noisy()
	if err != nil {
		return law.Chance{}, err
	}
	clauses := cases.ClausesOf(&q.task.S)
	taus, err := cases.TausOf(q.Proof.Tau, 1)
	if err != nil {
		return law.Chance{}, err
	}
	cells, proofs, err := eachCell[phases.Proof](q, "phases", q.Proof.Phases)
	switch {
	case err != nil:
		return law.Chance{}, err
	case taus[0] != q.Tau || q.Tau == 0:
		return law.Chance{}, fmt.Errorf("tau: it is %v, that of the proof is another", q.Tau)
	case !phases.Splits(n.Noisy) || len(clauses) == 0 || slices.ContainsFunc(clauses, func(c []int) bool { return len(c) == 0 }):
		return law.Chance{}, errors.New("proof: phases: the network has other activations than ReLU, or none, or the safe set no clauses")
	}
	if cuts := phases.CutsOfPhases(proofs); cuts > phases.MostPhaseCuts {
		return law.Chance{}, fmt.Errorf("proof: phases: there are %d cuts, the limit is %d", cuts, phases.MostPhaseCuts)
	}
	for b := range proofs {
		if err := phases.ConfinedOn(ctx, n.Noisy, &q.task.S, cells[b], clauses, q.Tau, &proofs[b]); err != nil {
			return law.Chance{}, fmt.Errorf("proof: phases: cell %d: %w", b, err)
		}
	}
	rows := map[int]bool{}
	for _, r := range slices.Concat(clauses...) {
		rows[r] = true
	}
	events := phases.ConfinedEvents(n.Noisy, len(rows)) * float64(len(proofs)) // of each cell by itself
	return law.Complement(min(1, arith.ProductUp(events, q.Tau))), nil
}

// mostLeafCuts is the greatest number of cuts of all trees of a record, leafTries that of choices of lines.
const mostLeafCuts, leafTries = 1 << 11, 4

// byPhasesOrLeaves proves a lower bound of method phases by what its proof is.
func byPhasesOrLeaves(ctx context.Context, q *question) (law.Chance, error) {
	if q.Proof.Leaves == nil {
		return byPhases(ctx, q)
	}
	return byLeaves(ctx, q)
}

// byLeaves proves a lower bound by sums over leaves of phases.
func byLeaves(ctx context.Context, q *question) (law.Chance, error) {
	n, err := q.noisy()
	if err != nil {
		return law.Chance{}, err
	}
	if q, err = q.withMixtures(); err != nil {
		return law.Chance{}, err
	}
	cells, proofs, err := eachCell[phases.LeafProof](q, "leaves", q.Proof.Leaves)
	if err != nil {
		return law.Chance{}, err
	}
	taus, err := q.tausOf(cells)
	switch {
	case err != nil:
		return law.Chance{}, err
	case !phases.Splits(n.Noisy) || !n.Graph.Chain:
		return law.Chance{}, errors.New("proof: leaves: the network is no chain of dense layers with ReLU")
	}
	if cuts := phases.CutsOfLeaves(proofs); cuts > mostLeafCuts {
		return law.Chance{}, fmt.Errorf("proof: leaves: there are %d cuts, the limit is %d", cuts, mostLeafCuts)
	}
	fail, err := phases.TriedUp(len(proofs), leafTries, q.enough, func(b int, try uint64) (float64, error) {
		fail, err := phases.LeavesUp(ctx, n.Noisy, &q.task.S, cells[b], taus[b], &proofs[b], try)
		if err != nil {
			err = fmt.Errorf("proof: leaves: cell %d: %w", b, err)
		}
		return fail, err
	})
	return law.Complement(fail), err
}
