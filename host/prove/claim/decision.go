package claim

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/prove/branch"
	"psafe/host/read/property"
)

// Decision holds what is proved of the class that the posterior predictive decides for, argmax_k
// pi_k(x) with pi_k(x) = E_w softmax_k(f^w(x)), on all of T (docs/decisions.md). c is the class of
// the task (property.Task.Label).
type Decision struct {
	// Lower <= pi_c(x), RivalUpper >= pi_k(x) and Gap <= pi_c(x) - pi_k(x) for all x of T and every
	// other class k. Gap is from -1 on.
	Lower, RivalUpper, Gap float64
	// Vote is at most the share of networks, at every x of T, that no other class is above c for.
	Vote float64
	// ClassUpper >= pi_k(x) for all x of T, by class, with 1 for class c.
	ClassUpper []float64
	// DrawnLower is at most the mean over drawn networks of softmax_c(f(x)) where it is least on T: of the
	// draws, no bound of pi_c. Nil where no networks were drawn.
	DrawnLower *float64
	// RivalGap <= pi_k(x) - pi_c(x) for k = Proof.Rival at the witness; 0 without one.
	RivalGap float64
	// Action is set where costs decide. Then Gap is at most what any other action's expected cost is above
	// that of this one, and RivalGap at most what the cost of this one is above that of action Proof.Rival,
	// both as shares of the greatest difference between two costs of a class (property.Costs.Over).
	Action *int
	// Proof holds what psafe check needs to prove all that again.
	Proof DecisionProof
}

// BoundRivals takes in upper bounds of the probabilities of all classes but c, in their order.
func (d *Decision) BoundRivals(c int, up []float64) {
	if d.ClassUpper == nil {
		d.ClassUpper = slices.Repeat([]float64{1}, len(up)+1)
	}
	for k, u := range up {
		if k >= c {
			k++
		}
		d.ClassUpper[k] = min(d.ClassUpper[k], u)
	}
	d.RivalUpper = 0
	for k, u := range d.ClassUpper {
		if k != c {
			d.RivalUpper = max(d.RivalUpper, u)
		}
	}
}

// DecisionProof holds how a decision was shown: on the cells of T, each with its tau, as Proof.Cells and
// Proof.Tau have them (of a finite set of networks no tau). The witness, its tau and its class are those
// of RivalGap.
type DecisionProof struct {
	Cells      []int     `json:"cells,omitempty"`
	Tau        []float64 `json:"tau,omitempty"`
	Rival      *int      `json:"rival,omitempty"`
	Witness    *Witness  `json:"witness,omitempty"`
	WitnessTau float64   `json:"witness_tau,omitempty"`
	// Reference is the class whose differences to the others were bounded, WitnessReference the one at
	// the witness; both are for costs.
	Reference        *int `json:"reference,omitempty"`
	WitnessReference *int `json:"witness_reference,omitempty"`
	// Phases are, for each box of T, how it was proved that all margins are at least Margin > 0 for all networks
	// whose noise is confined, but for the failure budget PhasesTau of each bound of it; then what follows
	// counts too.
	Margin    float64         `json:"margin,omitempty"`
	PhasesTau float64         `json:"phases_tau,omitempty"`
	Phases    []*branch.Proof `json:"phases,omitempty"`
}

// AheadBy is the set whose rows are so far above 0.
func AheadBy(s property.Safe, margin float64) property.Safe {
	s.Rows = slices.Clone(s.Rows)
	for r := range s.Rows {
		s.Rows[r].D, s.Rows[r].DHi = arith.SumDown(s.Rows[r].D, -margin), arith.SumUp(s.Rows[r].DHi, -margin)
	}
	return s
}

// Verdicts of a decision.
const (
	DecisionSafe    = "decision_safe"
	DecisionUnsafe  = "decision_unsafe"
	DecisionUnknown = "unknown"
)

// Verdict returns what the bounds decide: safe if class c is the only argmax on all of T, unsafe if
// it is none somewhere; or if the action is the cheapest on all of T, and if it is not somewhere.
func (d *Decision) Verdict() string {
	switch {
	case d.Gap > 0:
		return DecisionSafe
	case d.RivalGap > 0:
		return DecisionUnsafe
	}
	return DecisionUnknown
}
