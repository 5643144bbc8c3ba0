package record

import (
	"fmt"

	"psafe/host/prove/claim"
)

// Decisions says what records say of decisions of posterior predictives. Its zero value is ready.
type Decisions struct {
	N int
	// Safe and Unsafe count verdicts, Vote those of which more than half of the networks are proved to
	// vote for the class at every x.
	Safe, Unsafe, Vote int
	lower              Sum
}

// Add takes in a record.
func (d *Decisions) Add(r *Record) {
	if r.Decision == nil {
		return
	}
	d.N++
	switch r.Decision.Verdict {
	case claim.DecisionSafe:
		d.Safe++
	case claim.DecisionUnsafe:
		d.Unsafe++
	}
	if r.Decision.Vote > 0.5 {
		d.Vote++
	}
	d.lower.Add(float64(r.Decision.Lower))
}

// Unknown counts the decisions that are not known.
func (d *Decisions) Unknown() int { return d.N - d.Safe - d.Unsafe }

// MeanLower is the mean of the lower bounds of the class's probability, rounded down.
func (d *Decisions) MeanLower() Down { return Down(d.lower.MeanDown()) }

// Words say in a line what they are, empty if there are none.
func (d *Decisions) Words() string {
	if d.N == 0 {
		return ""
	}
	return fmt.Sprintf("decision of the posterior predictive: of %d, %d decision_safe, %d decision_unsafe, %d unknown; the class has a mean probability of at least %s; the vote is proved for %d",
		d.N, d.Safe, d.Unsafe, d.Unknown(), FormatDown(d.MeanLower(), 4), d.Vote)
}
