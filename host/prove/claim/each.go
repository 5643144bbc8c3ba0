package claim

// Each holds what is proved of inf over x in T of Prob_w(f^w(x) in S): networks are drawn anew for each x, so that the
// worst x counts, and P_safe is at most that.
type Each struct {
	Lower float64
	// Proof is empty where the lower bound of P_safe is the best that is known.
	Proof EachProof
}

// EachProof holds how it was shown: on the cells of T, each with its tau, as Proof.Cells and Proof.Tau have them (of a
// finite set of networks no tau).
type EachProof struct {
	Cells []int     `json:"cells,omitempty"`
	Tau   []float64 `json:"tau,omitempty"`
}
