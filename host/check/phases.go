package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Confined noise and phases (docs/theory.md, section 6.4): on one event the noise of every neuron is at
// most a number, for all x of a box, and the drawn network at x is that of the means with biases
// that are off by as much. A record says by which slopes, cuts and multipliers rows are proved for
// all of these.

// phaseProof holds how the rows of S are proved on one box of T.
type phaseProof struct {
	Open   [][]int     `json:"open"`
	Raised [][]int     `json:"raised"`
	Slopes []byte      `json:"slopes,omitempty"`
	Trees  []phaseTree `json:"trees"`
}

// phaseTree is the tree of one clause.
type phaseTree struct {
	Cuts     []int  `json:"cuts"`
	Leaves   []byte `json:"leaves,omitempty"`
	Mixtures []byte `json:"mixtures,omitempty"`
}

// mostPhaseCuts is the greatest number of cuts of all trees of a record: certify looks at two sub-problems for
// each, and at no more than 16,384. The time that a line may take is in proportion.
const mostPhaseCuts = 1 << 13

// cutsOfPhases are the nodes of all trees that are no leaves.
func cutsOfPhases(proofs []phaseProof) (cuts int) {
	for b := range proofs {
		for _, t := range proofs[b].Trees {
			for _, at := range t.Cuts {
				if at != leaf {
					cuts++
				}
			}
		}
	}
	return cuts
}

// slopesIn is the number of steps in a slope of 1.
const slopesIn = 128

// byPhases proves a lower bound by confined noise and phases.
func byPhases(ctx context.Context, q *question) (chance, error) {
	n, err := q.held.noisyOf(q.post, q.asked().number("--depth"))
	if err != nil {
		return chance{}, err
	}
	var proofs []phaseProof
	if err := strictly(q.Proof.Phases, &proofs); err != nil {
		return chance{}, fmt.Errorf("proof: phases: %w", err)
	}
	clauses := clausesOf(&q.task.S)
	taus, err := tausOf(q.Proof.Tau, 1)
	if err != nil {
		return chance{}, err
	}
	cells, err := q.cellsOfPhases()
	switch {
	case err != nil:
		return chance{}, err
	case taus[0] != q.Tau || q.Tau == 0:
		return chance{}, fmt.Errorf("tau: it is %v, that of the proof is another", q.Tau)
	case len(proofs) != len(cells):
		return chance{}, fmt.Errorf("proof: phases: there are %d, T has %d cells", len(proofs), len(cells))
	case !n.splits() || len(clauses) == 0 || slices.ContainsFunc(clauses, func(c []int) bool { return len(c) == 0 }):
		return chance{}, errors.New("proof: phases: the network has other activations than ReLU, or none, or the safe set no clauses")
	}
	if cuts := cutsOfPhases(proofs); cuts > mostPhaseCuts {
		return chance{}, fmt.Errorf("proof: phases: there are %d cuts, the limit is %d", cuts, mostPhaseCuts)
	}
	for b := range proofs {
		if err := n.confinedOn(ctx, &q.task.S, cells[b], clauses, q.Tau, &proofs[b]); err != nil {
			return chance{}, fmt.Errorf("proof: phases: cell %d: %w", b, err)
		}
	}
	rows := map[int]bool{}
	for _, r := range slices.Concat(clauses...) {
		rows[r] = true
	}
	events := n.confinedEvents(len(rows)) * float64(len(proofs)) // of each cell by itself
	return complement(min(1, arith.ProductUp(events, q.Tau))), nil
}

// cellsOfPhases returns the cells of the proof, or the boxes of T where it cuts none.
func (q *question) cellsOfPhases() ([]property.Box, error) {
	if q.Proof.Cells == nil {
		return q.task.T, nil
	}
	return q.cells()
}

// splits reports whether hidden layers have max(t, 0) or no activation, some of them with phases, and
// the last layer is dense.
func (n *noisy) splits() bool {
	phases, last := false, len(n.mean)-1
	for k := range last {
		l := &n.mean[k]
		if !cuts(l.act) && !isIdentity(l.act) {
			return false
		}
		phases = phases || l.phases()
	}
	return phases && n.mean[last].at == nil && n.mean[last].windows == nil
}

// phases reports whether the layer's neurons may be taken to be active or not: they are max(t, 0) of
// what is linear.
func (l *layer) phases() bool { return cuts(l.act) && l.windows == nil }

// random reports whether a weight of layer k deviates.
func (n *noisy) random(k int) bool {
	return anyAbove0(n.deviations[k].sd) || anyAbove0(n.deviations[k].biasVariance)
}

// confinedEvents returns how many bounds may fail, in units of tau: of each hidden neuron both of
// its noise and its radius, and that of each row from below. It is exact: a multiple of 1/64.
func (n *noisy) confinedEvents(rows int) float64 {
	events, last := 0.0, len(n.mean)-1
	for k := range last {
		if n.random(k) {
			events += float64(n.mean[k].out) * (2 + radiusShare)
		}
	}
	if n.random(last) {
		events += float64(rows)
	}
	return events
}

// confinedOn returns why clauses of S are not proved on a cell of T; nil if they are. Where one is not,
// other lines are tried for what the proof does not say.
func (n *noisy) confinedOn(ctx context.Context, safe *property.Safe, cell property.Box, clauses [][]int, tau float64, how *phaseProof) (err error) {
	if err := how.shaped(n.mean, len(clauses)); err != nil {
		return err
	}
	for try := range uint64(tries) {
		p := n.confine(ctx, cell, tau, how, try)
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

// unprovedLeaf is a sub-problem whose bound is below 0.
type unprovedLeaf struct {
	leaf  int
	bound float64
}

func (u *unprovedLeaf) Error() string {
	return fmt.Sprintf("leaf %d of its tree has the bound %.6g, below 0", u.leaf, u.bound)
}

// shaped returns what of a proof does not fit the network.
func (how *phaseProof) shaped(layers []layer, rows int) error {
	hidden, open, slopes := len(layers)-1, 0, 0
	if len(how.Open) != hidden || len(how.Raised) != hidden || len(how.Trees) != rows {
		return fmt.Errorf("it is of %d and %d layers and %d rows, there are %d and %d", len(how.Open), len(how.Raised), len(how.Trees), hidden, rows)
	}
	for k := range hidden {
		for _, list := range [][]int{how.Open[k], how.Raised[k]} {
			for i, unit := range list {
				if unit < 0 || unit >= layers[k].out || i > 0 && unit <= list[i-1] || !layers[k].phases() {
					return fmt.Errorf("neuron %d of layer %d is none, or has no phases, or is out of order", unit, k)
				}
			}
		}
		slopes += 2 * len(how.Raised[k]) * open
		open += len(how.Open[k])
	}
	if len(how.Slopes) != slopes {
		return fmt.Errorf("slopes: there are %d, rows have %d", len(how.Slopes), slopes)
	}
	return nil
}
