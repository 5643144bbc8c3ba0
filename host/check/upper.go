package check

import (
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

// negatedRows is S with each row negated: what is a bound of these rows from below is one of the
// rows from above.
func negatedRows(s *property.Safe) property.Safe {
	n := property.Safe{Any: s.Any, Gates: s.Gates}
	for r := range s.Rows {
		n.Rows = append(n.Rows, s.Rows[r].Negated())
	}
	return n
}
