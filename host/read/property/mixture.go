package property

import (
	"fmt"
	"math"
)

// maxClauses bounds the clauses of a safe set that has mixtures.
const maxClauses = 64

// Clauses writes S as a conjunction of clauses, each an OR of rows: clause c chooses the row
// Rows[clauses[c][a]] of each alternative a, in lexicographic order. Nil where mixtures say
// nothing new or are too many: fewer than two alternatives, an alternative without rows, or more
// than 64 clauses.
func (s *Safe) Clauses() [][]int {
	if len(s.Any) < 2 {
		return nil
	}
	clauses := [][]int{nil}
	for _, all := range s.Any {
		if len(all) == 0 || len(clauses) > maxClauses/len(all) {
			return nil
		}
		var longer [][]int
		for _, c := range clauses {
			for _, r := range all {
				longer = append(longer, append(c[:len(c):len(c)], r))
			}
		}
		clauses = longer
	}
	return clauses
}

// Mixed is S with one alternative more, after the others: that for every clause c (Clauses) its
// mixture holds,
//
//	sum_a theta[c][a] row_(c, a) >= 0                                                       (31)
//
// with theta >= 0, not all of a clause 0. If all rows of a clause were negative, so would its
// mixture be: where all mixtures hold, so does a row of every clause, hence S. The new set is the
// same as S; lower bounds of the new rows, which come after the others, can prove it. They are
// rounded as all rows are: CLo and D down, CHi and DHi up. theta must be chosen before weights are
// drawn where a probability follows. Errors: theta does not fit the clauses, or is negative, not
// finite, or so large that a row would not be finite.
func (s *Safe) Mixed(theta [][]float64) (Safe, error) {
	clauses := s.Clauses()
	if len(clauses) == 0 || len(theta) != len(clauses) {
		return Safe{}, fmt.Errorf("%d mixtures of rows for %d clauses", len(theta), len(clauses))
	}
	mixed := Safe{Rows: append([]Row(nil), s.Rows...), Any: append([][]int(nil), s.Any...)}
	var all []int
	for c, clause := range clauses {
		if len(theta[c]) != len(clause) {
			return Safe{}, fmt.Errorf("mixture %d has %d factors for %d alternatives", c, len(theta[c]), len(clause))
		}
		row, err := s.mixture(clause, theta[c])
		if err != nil {
			return Safe{}, fmt.Errorf("mixture %d %w", c, err)
		}
		all = append(all, len(mixed.Rows))
		mixed.Rows = append(mixed.Rows, row)
	}
	mixed.Any = append(mixed.Any, all)
	return mixed, nil
}

// mixture is sum_a theta[a] Rows[clause[a]], every coefficient and the offset enclosed.
func (s *Safe) mixture(clause []int, theta []float64) (Row, error) {
	outputs := len(s.Rows[clause[0]].CLo)
	row := Row{CLo: make([]float64, outputs), CHi: make([]float64, outputs)}
	positive := false
	for a, r := range clause {
		f := theta[a]
		if !(f >= 0 && f <= math.MaxFloat64) {
			return Row{}, fmt.Errorf("has the factor %v: it must be a number that is at least 0", f)
		}
		if f == 0 {
			continue
		}
		positive = true
		for i := range outputs {
			row.CLo[i], row.CHi[i] = plusTimes(row.CLo[i], row.CHi[i], f, s.Rows[r].CLo[i], s.Rows[r].CHi[i])
		}
		row.D, row.DHi = plusTimes(row.D, row.DHi, f, s.Rows[r].D, s.Rows[r].DHi)
	}
	if !positive {
		return Row{}, fmt.Errorf("has no positive factor")
	}
	for i := range outputs {
		if !ordered(row.CLo[i], row.CHi[i]) {
			return Row{}, fmt.Errorf("is not finite: its factors are too large")
		}
	}
	if !ordered(row.D, row.DHi) {
		return Row{}, fmt.Errorf("is not finite: its factors are too large")
	}
	return row, nil
}

// plusTimes encloses [lo, hi] + f [a, b] for f > 0; what is a float64 stays one, so that halves
// of rows of whole numbers are such rows.
func plusTimes(lo, hi, f, a, b float64) (float64, float64) {
	return addDown(lo, mulDown(f, a)), addUp(hi, 0-mulDown(f, -b))
}
