package property

import (
	"fmt"
	"math"
	"slices"
)

// Negated is the row -C y - d: a lower bound of it over the intervals held, with
// the offset D of the result, is one of minus the real row. It panics if D > DHi.
func (r *Row) Negated() Row {
	if !(r.D <= r.DHi) {
		panic(fmt.Sprintf("property: Negated: a row with offset from %v to %v", r.D, r.DHi))
	}
	n := Row{CLo: make([]float64, len(r.CLo)), CHi: make([]float64, len(r.CHi)), D: 0 - r.DHi, DHi: 0 - r.D}
	for i := range r.CLo {
		n.CLo[i], n.CHi[i] = 0-r.CHi[i], 0-r.CLo[i] // 0-x rather than -x: never negative zero
	}
	return n
}

// Outside is a row of float64 that holds nowhere where r does: its value and that of r have a negative sum. ok is false
// where a coefficient of r is none, or its offset is the least.
func (r *Row) Outside() (out Row, ok bool) {
	out = r.Negated()
	out.D = down(out.D)
	out.DHi = out.D
	return out, slices.Equal(r.CLo, r.CHi) && out.D >= -math.MaxFloat64
}

// FailsSurely reports whether S surely fails, given a lower bound of each row negated
// (Row.Negated): whether the rows whose bound is above 0, so that they are below 0, keep every
// alternative from holding. S is closed, so 0 is not enough. An alternative with no rows never
// fails, and a set without alternatives always does. A bound that is NaN or infinite proves
// nothing. It panics unless there is a bound for each row.
func (s *Safe) FailsSurely(negLo []float64) bool {
	if len(negLo) != len(s.Rows) {
		panic(fmt.Sprintf("property: FailsSurely: %d bounds for %d rows", len(negLo), len(s.Rows)))
	}
	mayHold := make([]float64, len(negLo)) // 1 if the row may hold, else -1
	for r, lo := range negLo {
		mayHold[r] = 1
		if lo > 0 && lo <= math.MaxFloat64 {
			mayHold[r] = -1
		}
	}
	return !s.Holds(mayHold)
}
