package check

import (
	"context"
	"errors"
	"fmt"

	"psafe/host/read/property"
)

// upperProof holds how a record says that P_safe was bounded from above: by a method, at a witness.
type upperProof struct {
	Method     string        `json:"method"`
	Witness    witnessProof  `json:"witness"`
	Tau        float64       `json:"tau,omitempty"`
	Rows       []chernoffRow `json:"rows,omitempty"`
	Statements []chernoffRow `json:"statements,omitempty"`
}

// upper is the field upper.
func (p *proof) upper() (*upperProof, error) {
	if len(p.Upper) == 0 {
		return nil, errors.New("proof: there is none of p_upper")
	}
	var u upperProof
	if err := strictly(p.Upper, &u); err != nil {
		return nil, fmt.Errorf("proof: upper: %w", err)
	}
	return &u, nil
}

// upperWitness returns where P_safe is bounded from above, and by which failure budget.
func (q *question) upperWitness() (at property.Box, tau float64, err error) {
	u, err := q.Proof.upper()
	if err != nil {
		return at, 0, err
	}
	at, err = u.Witness.around(q.task)
	return at, u.Tau, err
}

// safeUp bounds P_safe from above by concentration LBP: by the probability that S holds at one
// point of T, anywhere in the witness box, which surely contains a point of the real T
// (docs/theory.md, section 3.4). enough is as in failUp.
func (n *noisy) safeUp(ctx context.Context, task *property.Task, witness property.Box, tau float64, enough func(safe float64) bool) (safe float64, err error) {
	if _, err := tausOf([]float64{tau}, 1); err != nil {
		return 1, err
	}
	s := negatedRows(&task.S)
	safe = 1
	for try := range uint64(tries) {
		if ctx.Err() != nil {
			return 1, ctx.Err()
		}
		if safe = min(safe, n.holdsUp(witness, tau, try, &s)); enough(safe) {
			break
		}
	}
	return safe, nil
}

// negatedRows is S with each row negated: what is a bound of these rows from below is one of the
// rows from above.
func negatedRows(s *property.Safe) property.Safe {
	n := property.Safe{Any: s.Any, Gates: s.Gates}
	for r := range s.Rows {
		n.Rows = append(n.Rows, s.Rows[r].Negated())
	}
	return n
}
