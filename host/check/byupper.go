package check

import (
	"psafe/host/read/property"
)

// upperWitness returns where P_safe is bounded from above, and by which failure budget.
func (q *question) upperWitness() (at property.Box, tau float64, err error) {
	u, err := q.Proof.ReadUpper()
	if err != nil {
		return at, 0, err
	}
	at, err = u.Witness.Around(q.task)
	return at, u.Tau, err
}
