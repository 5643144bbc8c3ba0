package check

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/moments"
	"psafe/host/check/record"
)

// planesOf is a proof with planes.
func planesOf(p *record.ChernoffProof) (*moments.Proof, error) {
	rows, err := momentRows(p.Rows)
	if err != nil {
		return nil, err
	}
	above, err := momentRows(p.Statements)
	if err != nil {
		return nil, fmt.Errorf("statements: %w", err)
	}
	const size = 8
	if len(p.Rates)%size != 0 {
		return nil, fmt.Errorf("rates: %d bytes, each statement has %d", len(p.Rates), size)
	}
	statements := make([]moments.Row, 0, len(p.Rates)/size+len(above))
	for of := range slices.Chunk(p.Rates, size) {
		statements = append(statements, moments.Row{Rate: math.Float64frombits(binary.LittleEndian.Uint64(of))})
	}
	return &moments.Proof{Rows: rows, Statements: append(statements, above...)}, nil
}

// momentRows are the rows of a proof.
func momentRows(list []record.ChernoffRow) ([]moments.Row, error) {
	rows := make([]moments.Row, len(list))
	for r, l := range list {
		const size = 8
		if len(l.Slopes)%size != 0 {
			return nil, fmt.Errorf("row %d has %d bytes of slopes, each neuron has %d", r, len(l.Slopes), size)
		}
		rows[r] = moments.Row{Rate: l.Rate, Budget: l.Budget, Shares: l.Shares, Squares: l.Squares, Upto: l.Upto}
		for of := range slices.Chunk(l.Slopes, size) {
			slope := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(of[at:]))) }
			p := moments.Plane{Mean: slope(0), Variance: slope(4)}
			if !(math.Abs(p.Mean) <= math.MaxFloat32 && math.Abs(p.Variance) <= math.MaxFloat32) {
				return nil, fmt.Errorf("row %d has slopes that are no numbers", r)
			}
			rows[r].Planes = append(rows[r].Planes, p)
		}
	}
	return rows, nil
}

// byMoments proves a lower bound by exact moments: the failures of the boxes of T add up.
func byMoments(ctx context.Context, q *question) (law.Chance, error) {
	c, err := moments.New(q.post)
	if err != nil {
		return law.Chance{}, fmt.Errorf("posterior: %w", err)
	}
	var proofs []record.ChernoffProof
	if len(q.Proof.Chernoff) == 0 {
		return law.Chance{}, errors.New("proof: chernoff: it is missing")
	}
	if err := record.Strictly(q.Proof.Chernoff, &proofs); err != nil {
		return law.Chance{}, fmt.Errorf("proof: chernoff: %w", err)
	}
	cells, err := q.cellsOrBoxes()
	if err != nil {
		return law.Chance{}, err
	}
	taus, err := q.tausOf(cells)
	switch {
	case err != nil:
		return law.Chance{}, err
	case len(proofs) != len(cells):
		return law.Chance{}, fmt.Errorf("proof: chernoff: there are %d, T has %d cells", len(proofs), len(cells))
	}
	var fails []float64
	for b, p := range proofs {
		how, err := planesOf(&p)
		if err == nil {
			var fail float64
			fail, err = c.FailUp(ctx, cells[b], &q.task.S, taus[b], how)
			fails = append(fails, fail)
		}
		if err != nil {
			return law.Chance{}, fmt.Errorf("proof: chernoff: box %d: %w", b, err)
		}
	}
	return law.Complement(law.TotalUp(fails)), nil
}

// upperByMoments proves an upper bound by exact moments at a witness.
func upperByMoments(ctx context.Context, q *question) (float64, error) {
	c, err := moments.New(q.post)
	if err != nil {
		return 1, fmt.Errorf("posterior: %w", err)
	}
	u, err := q.Proof.ReadUpper()
	if err != nil {
		return 1, err
	}
	at, tau, err := q.upperWitness()
	if err != nil {
		return 1, err
	}
	if taus, err := cases.TausOf([]float64{tau}, 1); err != nil || taus[0] == 0 {
		return 1, fmt.Errorf("proof: upper: tau is %v", tau)
	}
	how, err := planesOf(&record.ChernoffProof{Rows: u.Rows, Rates: u.Rates, Statements: u.Statements})
	if err != nil {
		return 1, fmt.Errorf("proof: upper: %w", err)
	}
	p, err := c.SafeUp(ctx, at, &q.task.S, tau, how)
	if err != nil {
		return 1, fmt.Errorf("proof: upper: %w", err)
	}
	return p, nil
}
