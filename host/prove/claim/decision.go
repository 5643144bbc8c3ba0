package claim

// Decision is what is proved of the class that the posterior predictive decides for,
// argmax_k pi_k(x) with pi_k(x) = E_w softmax_k(f^w(x)), on all of T (docs/decisions.md). c is the
// class of the task (property.Task.Label).
type Decision struct {
	// Lower <= pi_c(x), RivalUpper >= pi_k(x) and Gap <= pi_c(x) - pi_k(x) for all x of T and every
	// other class k. Gap is from -1 on.
	Lower, RivalUpper, Gap float64
	// Vote is at most the share of networks, at every x of T, that no other class is above c for.
	Vote float64
	// RivalGap <= pi_k(x) - pi_c(x) for k = Proof.Rival at the witness; 0 without one.
	RivalGap float64
	// Proof is what psafe check needs to prove all that again.
	Proof DecisionProof
}

// DecisionProof says how a decision was shown: on the cells of T, each with its tau, as Proof.Cells and
// Proof.Tau have them (of a finite set of networks no tau). The witness, its tau and its class are those
// of RivalGap.
type DecisionProof struct {
	Cells      []int     `json:"cells,omitempty"`
	Tau        []float64 `json:"tau,omitempty"`
	Rival      *int      `json:"rival,omitempty"`
	Witness    *Witness  `json:"witness,omitempty"`
	WitnessTau float64   `json:"witness_tau,omitempty"`
}

// Verdicts of a decision.
const (
	DecisionSafe    = "decision_safe"
	DecisionUnsafe  = "decision_unsafe"
	DecisionUnknown = "unknown"
)

// Verdict is what the bounds decide: safe if class c is the only argmax on all of T, unsafe if it
// is none somewhere.
func (d *Decision) Verdict() string {
	switch {
	case d.Gap > 0:
		return DecisionSafe
	case d.RivalGap > 0:
		return DecisionUnsafe
	}
	return DecisionUnknown
}
