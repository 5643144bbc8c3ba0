package record

import (
	"fmt"

	"psafe/host/prove/claim"
)

// OutputMeans counts what records say of the means of outputs. Its zero value is ready.
type OutputMeans struct {
	N      int `json:"means"`
	Safe   int `json:"mean_safe"`
	Unsafe int `json:"mean_unsafe"`
}

// Add takes in a record.
func (m *OutputMeans) Add(r *Record) {
	if r.OutputMean == nil {
		return
	}
	m.N++
	switch r.OutputMean.Verdict {
	case claim.MeanSafe:
		m.Safe++
	case claim.MeanUnsafe:
		m.Unsafe++
	}
}

// Words tells in a line what they are, empty if there are none.
func (m *OutputMeans) Words() string {
	if m.N == 0 {
		return ""
	}
	return fmt.Sprintf("means of the outputs over the posterior: of %d, %s; their bounds are in the field output_mean", m.N, m.Verdicts())
}

// Verdicts returns how many have which verdict.
func (m *OutputMeans) Verdicts() string {
	return fmt.Sprintf("%d mean_safe, %d mean_unsafe, %d unknown", m.Safe, m.Unsafe, m.N-m.Safe-m.Unsafe)
}
