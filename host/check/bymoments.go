package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/moments"
	"psafe/host/check/record"
	"psafe/host/read/property"
)

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
	cells, proofs, err := eachCell[record.ChernoffProof](q, "chernoff", q.Proof.Chernoff)
	if err != nil {
		return law.Chance{}, err
	}
	taus, err := q.tausOf(cells)
	if err != nil {
		return law.Chance{}, err
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
func upperByMoments(ctx context.Context, q *question, u *record.UpperProof, at property.Box) (float64, error) {
	c, err := moments.New(q.post)
	if err != nil {
		return 1, fmt.Errorf("posterior: %w", err)
	}
	if taus, err := cases.TausOf([]float64{u.Tau}, 1); err != nil || taus[0] == 0 {
		return 1, fmt.Errorf("proof: upper: tau is %v", u.Tau)
	}
	how, err := planesOf(&record.ChernoffProof{Rows: u.Rows, Rates: u.Rates, Statements: u.Statements})
	if err != nil {
		return 1, fmt.Errorf("proof: upper: %w", err)
	}
	p, err := c.SafeUp(ctx, at, &q.task.S, u.Tau, how)
	if err != nil {
		return 1, fmt.Errorf("proof: upper: %w", err)
	}
	return p, nil
}
