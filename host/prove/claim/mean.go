package claim

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Mean holds what is proved of the mean E f_i(x) of each output i over the posterior, for all x of
// T (docs/theory.md, section 9.8).
type Mean struct {
	// Lower[i] <= E f_i(x) <= Upper[i].
	Lower, Upper []float64
	// DeviationLower[i] <= sd of f_i(x) over the posterior <= DeviationUpper[i].
	DeviationLower, DeviationUpper []float64
	// TotalLower and TotalUpper are that with the noise of the data (WithNoise), nil without.
	TotalLower, TotalUpper []float64
	// Refuted reports whether the mean is surely not in S at the witness.
	Refuted bool
	Proof   MeanProof
}

// MeanProof holds on which cells of T means were bounded, and where one is not in S.
type MeanProof struct {
	Cells   []int    `json:"cells,omitempty"`
	Witness *Witness `json:"witness,omitempty"`
}

// Verdicts of a mean.
const (
	MeanSafe    = "mean_safe"
	MeanUnsafe  = "mean_unsafe"
	MeanUnknown = "unknown"
)

// Verdict returns what the bounds decide for an output box: safe if it holds all that the means may be.
func (m *Mean) Verdict(s *property.Safe) string {
	switch {
	case HoldsOn(s, m.Lower, m.Upper):
		return MeanSafe
	case m.Refuted:
		return MeanUnsafe
	}
	return MeanUnknown
}

// WithNoise adds the standard deviation of the noise of the data, which does not depend on the weights:
// variances add up.
func (m *Mean) WithNoise(noise property.Decimal) {
	square := arith.Of(noise.Lo, noise.Hi).Square()
	for i := range m.DeviationLower {
		total := arith.Of(m.DeviationLower[i], m.DeviationUpper[i]).Square().Plus(square).Sqrt()
		// A little is kept, as decimals are rounded.
		m.TotalLower = append(m.TotalLower, max(0, total.Lo*(1-0x1p-40)))
		m.TotalUpper = append(m.TotalUpper, total.Hi*(1+0x1p-40))
	}
}

// HoldsOn reports whether S holds for all outputs between these bounds.
func HoldsOn(s *property.Safe, lo, hi []float64) bool {
	rows := make([]float64, len(s.Rows))
	for r := range rows {
		rows[r] = rowDown(&s.Rows[r], lo, hi)
	}
	return s.Holds(rows)
}

// FailsOn reports whether S fails for all outputs between these bounds.
func FailsOn(s *property.Safe, lo, hi []float64) bool {
	negated := make([]float64, len(s.Rows))
	for r := range negated {
		row := s.Rows[r].Negated()
		negated[r] = rowDown(&row, lo, hi)
	}
	return s.FailsSurely(negated)
}

// rowDown is at most the row for all outputs between the bounds, -Inf where nothing is known.
func rowDown(row *property.Row, lo, hi []float64) float64 {
	sum := row.D
	for i := range lo {
		least := math.Inf(1)
		for _, c := range []float64{row.CLo[i], row.CHi[i]} {
			if c == 0 {
				least = min(least, 0)
				continue
			}
			least = min(least, math.Nextafter(c*lo[i], math.Inf(-1)), math.Nextafter(c*hi[i], math.Inf(-1)))
		}
		if least != 0 {
			sum = math.Nextafter(sum+least, math.Inf(-1))
		}
	}
	if math.IsNaN(sum) {
		return math.Inf(-1)
	}
	return sum
}
