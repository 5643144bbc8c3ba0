package check

import (
	"context"
	"fmt"

	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/record"
	"psafe/host/check/sums"
	"psafe/host/read/property"
)

// What records say that sums of neurons show.

// bySums proves a lower bound by sums of neurons: on the cells of the proof, or on its grids.
func bySums(ctx context.Context, q *question) (law.Chance, error) {
	q, err := q.withMixtures()
	if err != nil {
		return law.Chance{}, err
	}
	if q.Proof.Grids != nil {
		return byGrids(ctx, q)
	}
	cells, err := q.cells()
	if err != nil {
		return law.Chance{}, err
	}
	plans, err := cases.PlansOf(&q.task.S, q.Proof.Plans, len(cells))
	if err != nil {
		return law.Chance{}, err
	}
	fail, err := sums.FailUp(ctx, q.post, cells, plans, q.enough)
	return law.Complement(fail), err
}

// upperBySums proves an upper bound by sums of neurons at a witness.
func upperBySums(ctx context.Context, q *question, u *record.UpperProof, at property.Box) (float64, error) {
	if u.Tau != 0 {
		return 1, fmt.Errorf("proof: upper: tau is %v, sums of neurons have none", u.Tau)
	}
	rows, err := cases.RefutingOf(&q.task.S, u.Plans)
	if err != nil {
		return 1, err
	}
	// One of the rows is not positive where S holds.
	return sums.FailUp(ctx, q.post, []property.Box{at}, [][]property.Row{rows}, q.claimedUpper)
}

// byGrids proves a lower bound by the events of grids: of the mixtures of the proof, of the rows that
// it names, or of the only alternative.
func byGrids(ctx context.Context, q *question) (law.Chance, error) {
	n, err := sums.New(q.post)
	if err != nil {
		return law.Chance{}, err
	}
	act := q.post.Layers[0].Activation
	if _, kinked := act.Kinked(); !kinked {
		return law.Chance{}, fmt.Errorf("proof: grids: hidden neurons have the activation %v, of which a line from the kink is no lower bound", act)
	}
	grids, err := sums.Grids(q.task.T, q.Proof.Grids, q.Proof.Centres)
	if err != nil {
		return law.Chance{}, err
	}
	points := 0
	for _, g := range grids {
		points += len(g)
	}
	if points != q.Cells {
		return law.Chance{}, fmt.Errorf("cells: %d, the grids of the proof have %d points", q.Cells, points)
	}
	safe := q.task.S
	if q.Proof.Mixtures != nil { // the last alternative
		safe.Any = safe.Any[len(safe.Any)-1:]
	}
	rows, err := cases.Chosen(&safe, q.Proof.Rows)
	if err != nil {
		return law.Chance{}, err
	}
	if q.Proof.Large != nil {
		if err := sums.LargeFits(q.Proof.Large, len(grids), len(rows), q.post.Inputs()); err != nil {
			return law.Chance{}, err
		}
	}
	fail, err := n.GridsFailUp(ctx, grids, rows, q.Proof.Large, q.enough)
	return law.Complement(fail), err
}
